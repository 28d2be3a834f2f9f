"""Real apps on real sockets: links between two drivers, over TCP and unix sockets, and the life of a driver."""

import asyncio
import os
import socket
import struct
from contextlib import suppress

import pytest

from terrazzo.runtime.driver import Ending
from terrazzo.runtime.links import TcpPlace, TransportLimits, UnixPlace
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from tests.runtime.apps import Cluster, Say
from tests.runtime.support import on_both_loops, play

over_both = pytest.mark.parametrize("carrier", ["tcp", "unix"])
STOPPED = Ending.STOPPED


def on(tmp_path, carrier):
    return Cluster(tmp_path if carrier == "unix" else None)


async def joined(cluster):
    a, b = await cluster.start(1), await cluster.start(2)
    a.app.todo.append(lambda: a.join(b.id))
    assert await a.app.links.next() == ("up", b.id)
    assert await b.app.links.next() == ("up", a.id)
    return a, b


async def raw(place):
    """A bare connection to an app, as a stranger would make it."""
    if isinstance(place, UnixPlace):
        return await asyncio.open_unix_connection(place.path)
    return await asyncio.open_connection(*place)


async def ended(reader):
    """The connection is ended by the app, which has sent nothing."""
    with suppress(ConnectionError):  # cut, with our bytes unread
        assert await reader.read() == b""


@on_both_loops
@over_both
def test_bundles_arrive_in_order_both_ways(loop, carrier, tmp_path):
    async def main():
        cluster = on(tmp_path, carrier)
        a, b = await joined(cluster)
        words = [Say(n, bytes(n % 300)) for n in range(3000)] + [Say(-n, os.urandom(900_000)) for n in range(1, 12)]
        for at in range(0, len(words), 100):
            a.app.say(b.id, *words[at : at + 100])
            b.app.say(a.id, *words[at : at + 100])
            await a.app.tick()
        assert await b.app.heard.take(len(words)) == [(a.id, word) for word in words]
        assert await a.app.heard.take(len(words)) == [(b.id, word) for word in words]
        assert await cluster.stop() == [STOPPED, STOPPED]
        assert a.app.links.seen == [("up", b.id)]

    play(loop, main())
    assert not list(tmp_path.iterdir())


@on_both_loops
@over_both
def test_the_end_of_a_peer_is_an_event(loop, carrier, tmp_path):
    async def main():
        cluster = on(tmp_path, carrier)
        a, b = await joined(cluster)
        b.app.say(a.id, Say(1))
        b.app.todo.append(b.stop)
        assert await b.task is STOPPED
        assert await a.app.heard.next() == (b.id, Say(1))
        assert await a.app.links.next() == ("lost", b.id)
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
def test_the_last_words_leave(loop):
    async def main():
        cluster = Cluster()
        a, b = await joined(cluster)
        a.app.say(b.id, *[Say(n, bytes(100_000)) for n in range(40)])
        a.stop()  # before the tick that would have sent them
        assert [word.number for _, word in await b.app.heard.take(40)] == list(range(40))
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
@over_both
def test_a_new_incarnation_takes_the_place_of_the_old(loop, carrier, tmp_path):
    async def main():
        cluster = on(tmp_path, carrier)
        a, b = await joined(cluster)
        newer = await cluster.start(2, incarnation=2)
        newer.app.say(a.id, Say(7))
        assert await a.app.links.take(2) == [("lost", b.id), ("up", newer.id)]
        assert await a.app.heard.next() == (newer.id, Say(7))
        # The old one is a survivor of its own death: it dials again, is refused, and ends.
        b.app.say(a.id, Say(8))
        assert await b.task is Ending.FENCED
        assert a.app.heard.seen == [(newer.id, Say(7))]
        assert await cluster.stop() == [STOPPED, Ending.FENCED, STOPPED]

    play(loop, main())


@on_both_loops
def test_fenced_app_is_cut_off_and_ends(loop):
    async def main():
        cluster = Cluster()
        a, b = await joined(cluster)
        a.app.todo.append(lambda: a.fence(b.id))
        assert await a.app.links.next() == ("lost", b.id)
        assert await b.app.links.next() == ("lost", a.id)
        b.app.say(a.id, Say(1))
        assert await b.task is Ending.FENCED
        assert a.app.heard.seen == []
        assert await cluster.stop() == [STOPPED, Ending.FENCED]

    play(loop, main())


@on_both_loops
@over_both
def test_a_peer_that_comes_later_is_dialled_again(loop, carrier, tmp_path):
    async def main():
        cluster = on(tmp_path, carrier)
        a = await cluster.start(1)
        nobody = tmp_path / "nobody"
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        slot = (AppKind.CELL_APP, 2)
        cluster.places[slot] = UnixPlace(str(nobody)) if carrier == "unix" else TcpPlace("127.0.0.1", port)
        a.app.say(AppId(*slot, ANY_INCARNATION), Say(5))
        while len(cluster.logged("dial failed")) < 3:
            await a.app.tick()
        b = await cluster.start(2)
        assert await b.app.heard.next() == (a.id, Say(5))
        assert await a.app.links.next() == ("up", b.id)
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
def test_a_broken_connection_is_an_event_at_both_ends_and_a_new_one_can_be_made(loop):
    async def main():
        cluster = Cluster()
        a, b = await joined(cluster)
        for connection in list(a._transport._connections.values()):
            connection.transport.abort()
        assert await a.app.links.next() == ("lost", b.id)
        assert await b.app.links.next() == ("lost", a.id)
        b.app.say(a.id, Say(2))
        assert await a.app.heard.next() == (b.id, Say(2))
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
@over_both
@pytest.mark.parametrize(
    "junk",
    [
        b"\xff" * 100,
        struct.pack("<I", 2000) + bytes(2000),
        struct.pack("<I", 3) + b"abc",
        struct.pack("<I", 0),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=range(5),
)
def test_garbage_ends_its_connection_and_nothing_else(loop, carrier, tmp_path, junk):
    async def main():
        cluster = on(tmp_path, carrier)
        a, b = await joined(cluster)
        reader, writer = await raw(cluster.places[a.id.slot])
        writer.write(junk)
        await ended(reader)
        writer.close()
        b.app.say(a.id, Say(3))
        assert await a.app.heard.next() == (b.id, Say(3))
        assert a.app.links.seen == [("up", b.id)]
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
@over_both
def test_a_peer_that_does_not_read_is_cut(loop, carrier, tmp_path):
    async def main():
        cluster = on(tmp_path, carrier)
        a = await cluster.start(1, transport_limits=TransportLimits(write_bytes_max=1 << 20))
        b = await cluster.start(2)
        a.app.todo.append(lambda: a.join(b.id))
        await b.app.links.next()
        for connection in b._transport._connections.values():
            connection.transport.pause_reading()
        for _ in range(40):
            a.app.say(b.id, Say(1, bytes(500_000)))
        assert await a.app.links.take(2) == [("up", b.id), ("lost", b.id)]
        assert "does not read" in cluster.logged("connection cut")[0]["why"]
        for connection in b._transport._connections.values():
            connection.transport.resume_reading()
        assert await cluster.stop() == [STOPPED, STOPPED]

    play(loop, main())


@on_both_loops
def test_strangers_find_room_for_so_many(loop):
    async def main():
        cluster = Cluster()
        a = await cluster.start(1, transport_limits=TransportLimits(connections_max=2))
        strangers = [await raw(cluster.places[a.id.slot]) for _ in range(3)]
        await ended(strangers[2][0])
        assert await cluster.stop() == [STOPPED]
        for _, writer in strangers:
            writer.close()

    play(loop, main())


@on_both_loops
def test_an_app_that_raises_ends_with_its_error(loop):
    async def main():
        cluster = Cluster()
        a, b = await joined(cluster)

        def fail():
            raise AssertionError("an invariant is broken")

        a.app.todo.append(fail)
        assert await b.app.links.next() == ("lost", a.id)
        with pytest.raises(AssertionError, match="an invariant is broken"):
            await a.task
        assert a.ending is Ending.FAILED
        await cluster.stop()

    play(loop, main())


def test_late_ticks_are_skipped_and_logged():
    async def main():
        now = [0.0]
        cluster = Cluster()
        a = await cluster.start(1, clock=lambda: now[0], late_ticks_max=2, tick_s=1.0)
        await a.app.tick()
        now[0] = 10.5
        while not cluster.logged("ticks skipped"):
            await asyncio.wait([a.task], timeout=0)
            a._timer.cancel()
            a._tick()
        assert a.app.ticks == 4
        assert cluster.logged("ticks skipped") == [{"count": 7}]
        assert a.schedule.due_at == 11.0
        await cluster.stop()

    play("asyncio", main())


def test_host_has_a_clock_and_a_random_stream_of_its_own():
    async def main():
        now = [5.0]
        cluster = Cluster()
        a = await cluster.start(1, clock=lambda: now[0])
        b = await cluster.start(1, clock=lambda: now[0])
        assert [a.rng.random() for _ in range(5)] == [b.rng.random() for _ in range(5)]
        seen = []

        def look():
            seen.append(a.now)
            now[0] += 1.0
            seen.append(a.now)

        a.app.todo.append(look)
        a._tick()
        assert seen == [5.0, 5.0]
        await cluster.stop()

    play("asyncio", main())


@on_both_loops
def test_cancelled_driver_closes_its_links(loop):
    async def main():
        cluster = Cluster()
        a, b = await joined(cluster)
        a.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await a.task
        assert await b.app.links.next() == ("lost", a.id)
        b.stop()
        assert await b.task is STOPPED

    play(loop, main())
