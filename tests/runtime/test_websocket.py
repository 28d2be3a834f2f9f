"""The client channel over real WebSockets on loopback."""

import os
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from terrazzo.runtime import websocket
from terrazzo.runtime.websocket import WebSocketClient, WebSocketServer
from terrazzo.wire.client import WEBSOCKET, Reason
from tests.runtime.channels import Owner, client_endpoint, server_endpoint
from tests.runtime.support import on_both_loops, play

MESSAGES = [b"%d" % n for n in range(500)] + [os.urandom(500_000), b"", b"last"]


@asynccontextmanager
async def serving(above, **more):
    """A server on a free port and a way to connect to it."""
    server = WebSocketServer(server_endpoint(WEBSOCKET), above.on_turn, **more)
    app = web.Application()
    app.router.add_get("/play", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with aiohttp.ClientSession() as http:
        yield server, http, f"http://127.0.0.1:{port}/play"
        await server.close()
    await runner.cleanup()


async def join(http, url, above):
    below = Owner()
    client = await WebSocketClient.connect(http, url, client_endpoint(WEBSOCKET), below.on_turn)
    assert await below.inbox.next() == ("connected", b"")
    assert await above.inbox.next() == ("connected", b"hi")
    return client, below


@on_both_loops
def test_reliable_messages_go_both_ways(loop):
    async def main():
        above = Owner(echo=True)
        async with serving(above) as (_, http, url):
            client, below = await join(http, url, above)
            below.session.send_many(MESSAGES)
            client.flush()
            assert await above.inbox.take(len(MESSAGES)) == MESSAGES
            assert await below.inbox.take(len(MESSAGES)) == MESSAGES
            await client.close()
            assert await above.inbox.next() is Reason.ENDED
            assert await below.inbox.next() is Reason.ENDED

    play(loop, main())


@on_both_loops
def test_a_server_that_closes_ends_its_sessions_in_order(loop):
    async def main():
        above = Owner()
        async with serving(above) as (server, http, url):
            client, below = await join(http, url, above)
            above.session.send_many(MESSAGES)
            await server.close()
            assert await below.inbox.take(len(MESSAGES) + 1) == [*MESSAGES, Reason.ENDED]
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await http.ws_connect(url)
            await client.close()

    play(loop, main())


@on_both_loops
@pytest.mark.parametrize("junk", [os.urandom(100), bytes(26), b"", "text", bytes(16385), bytes(1 << 20)], ids=range(6))
def test_garbage_of_one_connection_affects_no_other(loop, junk):
    async def main():
        above = Owner(echo=True)
        async with serving(above) as (server, http, url):
            client, below = await join(http, url, above)
            stranger = await http.ws_connect(url)
            if isinstance(junk, str) or len(junk) > WEBSOCKET.packet_bytes_max:
                await (stranger.send_str if isinstance(junk, str) else stranger.send_bytes)(junk)
                assert (await stranger.receive()).type is aiohttp.WSMsgType.CLOSE
            else:
                await stranger.send_bytes(junk)
            below.session.send_many(MESSAGES)
            client.flush()
            assert await below.inbox.take(len(MESSAGES)) == MESSAGES
            await stranger.close()
            await client.close()
            assert not server.endpoint.sessions

    play(loop, main())


@on_both_loops
def test_the_end_of_a_connection_is_the_end_of_its_session(loop):
    async def main():
        above = Owner()
        async with serving(above) as (_, http, url):
            client, below = await join(http, url, above)
            client._pipe.cut()
            assert await above.inbox.next() is Reason.PATH_LOST
            assert await below.inbox.next() is Reason.PATH_LOST
            await client.close()

    play(loop, main())


@on_both_loops
def test_connection_without_a_session_is_closed(loop, monkeypatch):
    monkeypatch.setattr(websocket, "OPENING_S", 0.05)

    async def main():
        async with serving(Owner()) as (_, http, url):
            stranger = await http.ws_connect(url)
            assert (await stranger.receive()).type is aiohttp.WSMsgType.CLOSE
            await stranger.close()

    play(loop, main())


def test_connection_beyond_the_limit_is_refused():
    async def main():
        async with serving(Owner(), connections_max=1) as (_, http, url):
            first = await http.ws_connect(url)
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await http.ws_connect(url)
            await first.close()

    play("uvloop", main())


@on_both_loops
def test_a_peer_that_does_not_read_is_cut(loop, monkeypatch):
    monkeypatch.setattr(websocket, "PIPE_BYTES_MAX", 100_000)
    monkeypatch.setattr(websocket, "CLOSE_S", 0.1)

    async def main():
        above = Owner()
        async with serving(above) as (server, http, url):
            client, _ = await join(http, url, above)
            pipe = server._pipes[above.session.address]
            for _ in range(2000):  # the system takes some megabytes of them
                pipe.send(bytes(16_000))
            assert await above.inbox.next() is Reason.PATH_LOST
            await client.close()

    play(loop, main())


@on_both_loops
@pytest.mark.parametrize("size", [1, 125, 126, 1000, 16384, 65535])
def test_a_packet_is_one_binary_message_of_any_size(loop, size):
    async def main():
        above = Owner()
        async with serving(above) as (server, http, url):
            stranger = await http.ws_connect(url)
            (pipe,) = server._pipes.values()
            packet = os.urandom(size)
            pipe.send(packet)
            pipe.send(b"next")
            messages = [await stranger.receive(), await stranger.receive()]
            assert [(each.type, each.data) for each in messages] == [
                (aiohttp.WSMsgType.BINARY, packet),
                (aiohttp.WSMsgType.BINARY, b"next"),
            ]
            pipe.finish()
            assert (await stranger.receive()).type is aiohttp.WSMsgType.CLOSE
            pipe.send(b"late")
            await stranger.close()

    play(loop, main())


def test_the_head_of_a_large_frame_has_eight_bytes_for_its_size():
    assert websocket.binary_head(1 << 16) == b"\x82\x7f" + (1 << 16).to_bytes(8, "big")
