"""The gate before web servers, with real connections: what half a request, a flood and a crowd cost."""

import asyncio
import socket
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from terrazzo.runtime.config import StrangerSettings
from terrazzo.runtime.doors import Doors, serve_http
from terrazzo.runtime.gate import Cut, Gate, GateLimits, vouch_for
from tests.runtime.support import on_both_loops, play

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
UPGRADE = (
    b"GET /play HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def hello(request):
    return web.Response(text="hello")


async def stay(request):
    """Vouches for its connection, and answers with the length of each message."""
    ws = web.WebSocketResponse()
    await ws.prepare(request)
    vouch_for(request)
    async for message in ws:
        await ws.send_str(str(len(message.data)))
    return ws


@asynccontextmanager
async def serving(**limits):
    """A server behind a gate, and its port."""
    app = web.Application()
    app.router.add_get("/", hello)
    app.router.add_get("/stay", stay)
    gate = Gate(GateLimits(**limits))
    server, port = await serve_http(app, "127.0.0.1", [0], gate)
    try:
        yield gate, port
    finally:
        await server.cleanup()


class Line:
    """A raw connection from a loopback address."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port, data=b"", host="127.0.0.1"):
        line = cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0)))
        line.writer.write(data)
        return line

    async def rest(self):
        """Everything until the server closes."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""

    def close(self):
        self.writer.transport.abort()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


@on_both_loops
def test_half_a_request_is_cut_after_its_time(loop):
    async def main():
        async with serving(login_s=0.05) as (gate, port):
            line = await Line.open(port, HALF)
            assert await line.rest() == b""
            assert gate.refused == {Cut.LATE: 1}
            assert len(gate) == 0
            line.close()

    play(loop, main())


@on_both_loops
def test_address_with_too_many_half_requests_loses_its_oldest_and_others_get_in(loop):
    async def main():
        async with serving(source_strangers_max=5, strangers_max=20) as (gate, port):
            lines = [await Line.open(port, HALF, "127.0.0.2") for _ in range(30)]
            assert await lines[0].rest() == b""
            await until(lambda: gate.refused[Cut.CROWDED] == 25)
            assert len(gate) == 5
            async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}/") as answer:
                assert await answer.text() == "hello"
            for line in lines:
                line.close()

    play(loop, main())


@on_both_loops
def test_connection_that_was_vouched_for_stays(loop):
    async def main():
        async with serving(source_strangers_max=2) as (gate, port), aiohttp.ClientSession() as http:
            ws = await http.ws_connect(f"http://127.0.0.1:{port}/stay")
            lines = [await Line.open(port, HALF) for _ in range(6)]
            await until(lambda: gate.refused[Cut.CROWDED] == 4 and len(gate) == 3)
            await ws.send_bytes(bytes(100_000))
            assert await ws.receive_str() == "100000"
            assert gate.refused == {Cut.CROWDED: 4}
            await ws.close()
            for line in lines:
                line.close()

    play(loop, main())


@on_both_loops
def test_connection_that_was_vouched_for_outlives_the_deadline_of_a_login(loop):
    async def main():
        async with serving(login_s=0.2) as (gate, port), aiohttp.ClientSession() as http:
            ws = await http.ws_connect(f"http://127.0.0.1:{port}/stay")
            await ws.send_bytes(b"in")
            assert await ws.receive_str() == "2"
            late = await Line.open(port, HALF)
            assert await late.rest() == b"", "its deadline began after that of the other"
            await ws.send_bytes(b"still in")
            assert await ws.receive_str() == "8"
            assert gate.refused == {Cut.LATE: 1}
            await ws.close()
            late.close()

    play(loop, main())


@on_both_loops
def test_connections_without_a_login_have_at_most_half_of_the_room(loop):
    async def main():
        async with serving(connections_max=10, login_s=600.0) as (gate, port):
            lines = [await Line.open(port, HALF, f"127.0.0.{2 + number}") for number in range(9)]
            await until(lambda: sum(gate.refused.values()) >= 4)
            await until(lambda: len(gate) == 5)
            assert gate.refused == {Cut.CROWDED: 4}
            for line in lines:
                line.close()

    play(loop, main())


@on_both_loops
def test_address_opens_so_many_connections_a_second(loop):
    async def main():
        async with serving(source_burst=3, source_per_s=0.001) as (gate, port):
            lines = [await Line.open(port, HALF, "127.0.0.2") for _ in range(6)]
            for line in lines[3:]:
                assert await line.rest() == b""
            assert gate.refused == {Cut.RATE: 3}
            honest = await Line.open(port, WHOLE)
            assert b"200 OK" in await honest.reader.readline()
            for line in [*lines, honest]:
                line.close()

    play(loop, main())


@on_both_loops
def test_bytes_that_are_no_request_are_counted_and_not_logged(loop, capsys):
    async def main():
        async with serving() as (gate, port):
            line = await Line.open(port, b"\x16\x03\x01 not HTTP at all\r\n\r\n")
            await line.rest()
            line.close()
            await until(lambda: len(gate) == 0)
            assert gate.refused == {Cut.MALFORMED: 1}

    play(loop, main())
    assert capsys.readouterr().err == ""


def test_error_of_a_handler_is_logged(capsys):
    async def fail(request):
        raise LookupError("a mistake of ours")

    async def main():
        app = web.Application()
        app.router.add_get("/", fail)
        server, port = await serve_http(app, "127.0.0.1", [0])
        line = await Line.open(port, WHOLE)
        assert b"500" in await line.reader.readline()
        line.close()
        await server.cleanup()

    play("asyncio", main())
    assert "a mistake of ours" in capsys.readouterr().err


@on_both_loops
def test_header_without_an_end_is_cut(loop):
    async def main():
        async with serving(stranger_bytes_max=10_000) as (gate, port):
            line = await Line.open(port, HALF)
            for _ in range(20):
                line.writer.write(b"x" * 1000 + b"\r\nX-More: ")
            assert b"200" not in await line.rest()
            await until(lambda: len(gate) == 0)
            assert gate.refused == {Cut.TOO_MUCH: 1}
            line.close()

    play(loop, main())


def test_connections_leave_files_for_the_cluster(monkeypatch):
    async def main():
        async with serving(connections_max=2) as (gate, port):
            lines = [await Line.open(port, HALF, f"127.0.0.{number}") for number in range(2, 6)]
            await until(lambda: gate.refused[Cut.NO_ROOM] + gate.refused[Cut.CROWDED] >= 2)
            assert len(gate) <= 2
            for line in lines:
                line.close()

    play("uvloop", main())


# The doors of players.


@asynccontextmanager
async def doors(**strangers):
    made = Doors(bytes(range(32)), StrangerSettings(**strangers))
    await made.open("127.0.0.1", [0], [0])
    try:
        yield made
    finally:
        await made.close()


def counted(made, door):
    return {each["reason"]: each["count"] for each in made.refusals() if each["door"] == door}


@on_both_loops
def test_door_answers_one_request_and_closes(loop):
    async def main():
        async with doors() as made:
            line = await Line.open(made.ws_port, WHOLE * 50)
            told = await line.rest()
            assert told.count(b"HTTP/1.1 404") == 1
            line.close()

    play(loop, main())


@on_both_loops
@pytest.mark.parametrize(
    "frame", [b"\x82\x80\0\0\0\0", b"\x89\x80\0\0\0\0", b"\x8a\x80\0\0\0\0"], ids=["", "ping", "pong"]
)
def test_flood_of_empty_frames_is_cut(loop, frame):
    async def main():
        async with doors() as made:
            line = await Line.open(made.ws_port, UPGRADE)
            assert b"101" in await line.reader.readuntil(b"\r\n\r\n")
            line.writer.write(frame * 4000)
            await line.rest()
            await until(lambda: counted(made, "connections"))
            assert counted(made, "connections") == {"frames": 1}
            line.close()

    play(loop, main())


@on_both_loops
def test_ping_of_an_honest_client_is_answered(loop):
    async def main():
        async with doors() as made:
            line = await Line.open(made.ws_port, UPGRADE)
            assert b"101" in await line.reader.readuntil(b"\r\n\r\n")
            line.writer.write(b"\x89\x82\0\0\0\0hi")
            assert await line.reader.readexactly(4) == b"\x8a\x02hi"
            line.close()
            await until(lambda: not made._ws._pipes)

    play(loop, main())


def test_refusals_have_a_door_a_reason_and_a_sentence():
    async def main():
        async with doors(login_s=0.05) as made:
            line = await Line.open(made.ws_port, HALF)
            await line.rest()
            line.close()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                for data in (b"", bytes(100)):
                    stranger.sendto(data, ("127.0.0.1", made.udp_port))
            await until(lambda: len(made.refusals()) == 3)
            assert counted(made, "udp") == {"truncated": 1, "kind": 1}
            assert counted(made, "connections") == {"late": 1}
            assert all(each["sentence"].endswith(".") for each in made.refusals())

    play("asyncio", main())


def test_door_of_players_does_not_compress():
    async def main():
        async with doors() as made:
            asks = UPGRADE.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n")
            line = await Line.open(made.ws_port, asks)
            head = await line.reader.readuntil(b"\r\n\r\n")
            assert b"101" in head
            assert b"deflate" not in head
            line.close()
            await until(lambda: not made._ws._pipes)

    play("uvloop", main())
