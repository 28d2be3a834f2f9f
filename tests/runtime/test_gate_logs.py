"""What clients send does not fill the disk by way of the web server's logs."""

from aiohttp import web

from terrazzo.runtime.doors import serve_http
from terrazzo.runtime.orders import WS_PATH
from tests.runtime.support import on_both_loops, play
from tests.runtime.test_gate import WHOLE, Line, doors

UPGRADE = (
    f"GET {WS_PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: a, b, c\r\n\r\n"
).encode()


@on_both_loops
def test_subprotocols_that_a_client_asks_for_are_not_logged(loop, caplog):
    async def main():
        async with doors() as made:
            line = await Line.open(made.ws_port, UPGRADE)
            assert b"101" in await line.reader.readline()
            line.close()

    play(loop, main())
    assert caplog.records == []


def test_error_that_a_client_causes_again_and_again_is_logged_ever_more_rarely(capsys):
    async def fail(request):
        raise LookupError("a mistake of ours")

    async def main():
        app = web.Application()
        app.router.add_get("/", fail)
        server, port = await serve_http(app, "127.0.0.1", [0])
        for _ in range(10):
            line = await Line.open(port, WHOLE)
            assert b"500" in await line.reader.readline()
            line.close()
        await server.cleanup()

    play("asyncio", main())
    assert capsys.readouterr().err.count("LookupError: a mistake of ours") == 4  # the 1st, 2nd, 4th and 8th
