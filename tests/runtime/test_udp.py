"""The client channel over real UDP sockets on loopback."""

import asyncio
import os
import socket
import sys

import pytest

from terrazzo.runtime.doors import Doors
from terrazzo.runtime.shell import Pace
from terrazzo.runtime.udp import UdpClient, UdpServer, resolve
from terrazzo.wire.client import Drop, Reason
from tests.runtime.channels import Owner, client_endpoint, server_endpoint
from tests.runtime.support import on_both_loops, play

MESSAGES = [b"%d" % n for n in range(500)] + [os.urandom(50_000), b"", b"last"]


async def pair(*, pace=None, host="127.0.0.1"):
    above, below = Owner(echo=True), Owner()
    more = {} if pace is None else {"pace": pace}
    server = UdpServer(server_endpoint(), above.on_turn, host=host, **more)
    client = UdpClient(client_endpoint(), below.on_turn, server.address, **more)
    assert await below.inbox.next() == ("connected", b"")
    assert await above.inbox.next() == ("connected", b"hi")
    return server, above, client, below


async def send(client, below, messages):
    below.session.send_many(messages)
    client.flush()


@on_both_loops
@pytest.mark.parametrize("pace", [None, Pace(tick_s=0.002, budget_bytes=6000)], ids=["at once", "by ticks"])
def test_reliable_messages_go_both_ways(loop, pace):
    async def main():
        server, above, client, below = await pair(pace=pace)
        await send(client, below, MESSAGES)
        assert await above.inbox.take(len(MESSAGES)) == MESSAGES
        assert await below.inbox.take(len(MESSAGES)) == MESSAGES
        await client.close()
        assert await above.inbox.next() is Reason.ENDED
        assert await below.inbox.next() is Reason.ENDED
        await server.close()

    play(loop, main())


@on_both_loops
def test_over_ipv6_and_by_name(loop):
    async def main():
        server, _, client, below = await pair(host="::1")
        assert (await resolve("::1", server.address[1]))[:2] == server.address[:2]
        await send(client, below, MESSAGES)
        assert await below.inbox.take(len(MESSAGES)) == MESSAGES
        await client.close()
        await server.close()

    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    play(loop, main())


@on_both_loops
def test_garbage_is_counted_and_affects_no_session(loop):
    async def main():
        server, _, client, below = await pair()
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stranger.connect(server.address)
        junk = [b"", b"x", bytes(1200), os.urandom(1200), os.urandom(9000), b"\x06" + os.urandom(60)]
        for each in junk:
            stranger.send(each)
        await send(client, below, MESSAGES)
        assert await below.inbox.take(len(MESSAGES)) == MESSAGES
        assert server.endpoint.drops.total() == len(junk)
        assert server.endpoint.drops[Drop.OVERSIZED] == 1
        stranger.close()
        await client.close()
        await server.close()

    play(loop, main())


@on_both_loops
def test_lost_datagrams_come_again(loop):
    async def main():
        server, above, client, below = await pair()
        kept, dropped = client.datagrams.send, []

        def lossy(packets):
            dropped.extend(packets[1::3])
            kept([packet for n, packet in enumerate(packets) if n % 3 != 1])

        client.datagrams.send = lossy
        await send(client, below, MESSAGES)
        assert await above.inbox.take(len(MESSAGES)) == MESSAGES
        assert dropped
        client.datagrams.send = kept
        await client.close()
        await server.close()

    play(loop, main())


@on_both_loops
def test_a_client_that_changes_its_address_goes_on(loop):
    async def main():
        server, above, client, below = await pair()
        before = above.session.address
        client.rebind()
        await send(client, below, MESSAGES)
        assert await below.inbox.take(len(MESSAGES)) == MESSAGES
        assert above.session.address == client.datagrams.socket.getsockname() != before
        assert len(server.endpoint.sessions) == 1
        await client.close()
        await server.close()

    play(loop, main())


@on_both_loops
def test_a_socket_that_takes_no_more_keeps_the_order(loop):
    async def main():
        server, above, client, below = await pair()
        write = client.datagrams._write
        refused: list[bytes] = []

        def reluctant(made, packet):
            if len(refused) < 20 and packet not in refused:
                refused.append(packet)
                raise BlockingIOError
            return write(made, packet)

        client.datagrams._write = reluctant
        await send(client, below, MESSAGES)
        assert await above.inbox.take(len(MESSAGES)) == MESSAGES
        assert len(refused) == 20
        assert below.session.channel.recovery.lost == 0
        await client.close()
        await server.close()

    play(loop, main())


@on_both_loops
def test_a_server_that_closes_ends_its_sessions_in_order(loop):
    async def main():
        server, above, client, below = await pair()
        above.session.send_many(MESSAGES)
        await server.close()
        assert await above.inbox.next() is Reason.ENDED
        assert await below.inbox.take(len(MESSAGES) + 1) == [*MESSAGES, Reason.ENDED]
        await client.close()

    play(loop, main())


@on_both_loops
def test_abort_reaches_the_peer_at_once(loop):
    async def main():
        server, above, client, below = await pair()
        server.abort()
        assert await above.inbox.next() is Reason.ABORTED
        assert await below.inbox.next() is Reason.ABORTED
        await client.close()
        await server.close()

    play(loop, main())


@on_both_loops
def test_client_without_a_server_ends_with_no_answer(loop):
    async def main():
        empty = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        empty.bind(("127.0.0.1", 0))
        address = empty.getsockname()
        empty.close()
        below = Owner()
        client = UdpClient(client_endpoint(handshake_timeout_s=0.3), below.on_turn, address)
        assert await below.inbox.next() is Reason.NO_ANSWER
        assert client.datagrams.errors >= 1
        await client.close()

    play(loop, main())


def test_taken_port_raises_at_once():
    async def main():
        server = UdpServer(server_endpoint(), Owner().on_turn)
        with pytest.raises(OSError, match="in use"):
            UdpServer(server_endpoint(), Owner().on_turn, port=server.address[1])
        await server.close()

    play("asyncio", main())


def test_a_client_cancelled_while_it_closes_lets_go_of_its_socket():
    async def main():
        server, _, client, _ = await pair()
        server.datagrams.close()  # there is no peer any more
        closing = asyncio.create_task(client.close())
        await asyncio.wait([closing], timeout=0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert client.datagrams.socket.fileno() == -1
        server._released = True

    play("asyncio", main())


@on_both_loops
def test_packets_that_a_busy_process_had_no_room_for_are_counted(loop):
    async def main():
        server = UdpServer(server_endpoint(), Owner().on_turn, buffer_bytes=8192)
        assert server.datagrams.overruns == 0
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stranger.connect(server.address)
        for _ in range(200):  # the loop does not run meanwhile
            stranger.send(bytes(1000))
        if sys.platform == "linux":
            assert 150 < server.datagrams.overruns < 200
        stranger.close()
        await server.close()
        assert server.datagrams.overruns == 0, "a socket that is closed has no counts"

    play(loop, main())


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not count what it drops")
def test_overruns_of_a_door_are_in_the_list_of_refusals():
    async def main():
        doors = Doors(os.urandom(32), buffer_bytes=8192)
        await doors.open("127.0.0.1", [0], [0])
        assert 0 < doors.buffer_bytes < 1 << 20
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(200):
            stranger.sendto(bytes(1000), ("127.0.0.1", doors.udp_port))
        stranger.close()
        told = {(each["door"], each["reason"]): each["count"] for each in doors.refusals()}
        assert told[("udp", "overrun")] > 150
        await doors.close()

    asyncio.run(main())
