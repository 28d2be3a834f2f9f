"""The attacks of `terrazzo attack`: each is a program without a login that has sockets and time, and nothing else.

Each attack runs in a process of its own (`python -m terrazzo.bench.attackers`, its order on stdin, what it did on
stdout), so that it takes no time from the player that is measured. The rules:

- loopback only: an order with any other target is refused;
- every attack ends after `seconds`, and has a number that it does not exceed (connections, sessions, packets a second);
- an attacker comes from `sources`, loopback addresses that are not the honest player's.

    name        door    what it does
    sessions    both    opens as many sessions as it can, over one WebSocket or over UDP from many ports
    requests    TCP     half-sent HTTP requests, one more byte a second; what is cut is opened again
    opens       UDP     OPENs with a valid cookie and a forged seal
    fresh       UDP     as `opens`, with a new cookie and a new port for each
    streams     UDP     sessions that send all of the stream's window but its first byte
    hellos      UDP     HELLOs, datagrams without a byte, bytes at random
    replays     UDP     a recorded session, sent again and again
    frames      TCP     a WebSocket full of empty messages and pings
    pages       TCP     HTTP requests one after the other on one connection, and headers without an end
    churn       TCP     connections that are closed as soon as they are open
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count, cycle
from struct import Struct

import msgspec

from terrazzo.bench.attack_raw import RawSession, Target
from terrazzo.errors import UsageError
from terrazzo.runtime.loop import run as run_loop
from terrazzo.wire.client import handshake, limits

HALF_REQUEST = b"GET /play HTTP/1.1\r\nHost: x\r\nX-Slow: "
UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_PAUSE_S = 0.01
STARTED = "started"
"""The first line of an attacker."""


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """What an attacker is told to do."""

    name: str
    host: str
    udp_port: int
    tcp_port: int
    path: str
    public_key: str
    sources: list[str]
    seconds: float
    most: int
    """Sessions or connections at a time, or packets a second: what the attack does not exceed."""

    def target(self) -> Target:
        """Where to. UsageError for anything that is not this machine."""
        if not ipaddress.ip_address(self.host).is_loopback:
            raise UsageError(f"{self.host} is not this machine: attacks are for loopback addresses only")
        return Target(self.host, self.udp_port, self.tcp_port, bytes.fromhex(self.public_key))


class Attacker:
    """The time, the sources and the counts of one attack."""

    def __init__(self, order: Attack) -> None:
        self.order = order
        self.target = order.target()
        self.sources = cycle(order.sources)
        self.counts: dict[str, int] = {}
        self._until = time.monotonic() + order.seconds

    def count(self, what: str, by: int = 1) -> None:
        """For the report."""
        self.counts[what] = self.counts.get(what, 0) + by

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._until

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection from the next source."""
        made = await asyncio.open_connection(self.target.host, self.target.tcp_port, local_addr=(next(self.sources), 0))
        self.count("connections")
        return made

    async def at_rate(self, send: Callable[[], object]) -> None:
        """Calls `send` as often a second as the order allows."""
        began_at, sent = time.monotonic(), 0
        while self.goes_on:
            due = int((time.monotonic() - began_at) * self.order.most)
            while sent < due:
                send()
                sent += 1
            await asyncio.sleep(_PAUSE_S)


# UDP.


async def sessions_udp(attacker: Attacker) -> None:
    """Sessions from many ports, none of which logs in."""
    began_at = time.monotonic()
    for number in range(attacker.order.most):
        if not attacker.goes_on:
            return
        ahead_s = number * attacker.order.seconds / attacker.order.most - (time.monotonic() - began_at)
        await asyncio.sleep(max(ahead_s, 0.0))
        session = RawSession(attacker.target, next(attacker.sources))
        attacker.count("opened" if await session.open(0.2) else "not opened")
        session.close()


async def opens(attacker: Attacker) -> None:
    """One cookie, any number of forged OPENs."""
    session = RawSession(attacker.target, next(attacker.sources))
    while attacker.goes_on and not await session.get_cookie(0.5):
        attacker.count("no cookie")
    got_at = time.monotonic()

    def send() -> None:
        session.send(session.forged_open())
        attacker.count("OPENs")

    async def renew() -> None:
        nonlocal got_at
        while attacker.goes_on:
            await asyncio.sleep(0.5)
            if time.monotonic() - got_at > limits.COOKIE_LIFE_S / 2 and await session.get_cookie(0.5):
                got_at = time.monotonic()

    await asyncio.gather(attacker.at_rate(send), renew())
    session.close()


async def fresh(attacker: Attacker) -> None:
    """A new key, a new cookie and a new port for each forged OPEN."""

    async def one() -> None:
        while attacker.goes_on:
            session = RawSession(attacker.target, next(attacker.sources))
            if await session.get_cookie(0.5):
                session.send(session.forged_open())
                attacker.count("OPENs")
            else:
                attacker.count("no cookie")
            session.close()

    await asyncio.gather(*(one() for _ in range(min(attacker.order.most, 50))))


async def streams(attacker: Attacker) -> None:
    """Sessions that hold as much of the stream as they can: everything but its first byte."""
    piece = bytes(1100)
    pieces = [
        b"\x02" + Struct("<IH").pack(offset, len(piece)) + piece
        for offset in range(1, limits.STREAM_WINDOW_BYTES - len(piece), len(piece))
    ]
    sessions: list[RawSession] = []
    while attacker.goes_on and len(sessions) < attacker.order.most:
        session = RawSession(attacker.target, next(attacker.sources))
        if not await session.open(0.5):
            attacker.count("not opened")
            session.close()
            continue
        attacker.count("opened")
        sessions.append(session)
        for body in pieces:
            session.send_body(body)
        attacker.count("bytes", len(pieces) * len(piece))
        await asyncio.sleep(_PAUSE_S)
    while attacker.goes_on:
        await asyncio.sleep(0.1)
    for session in sessions:
        session.close()


async def hellos(attacker: Attacker) -> None:
    """HELLOs of strangers, nothing at all, and noise."""
    session = RawSession(attacker.target, next(attacker.sources))
    packets = [session.hello(), b"", os.urandom(200), bytes([handshake.DATA]) + os.urandom(60)]
    turns = cycle(packets)

    def send() -> None:
        session.send(next(turns))
        attacker.count("datagrams")

    await attacker.at_rate(send)
    session.close()


async def replays(attacker: Attacker) -> None:
    """Every packet of a session, again and again, from its own port and from another."""
    session = RawSession(attacker.target, next(attacker.sources))
    attacker.count("opened" if await session.open(1.0) else "not opened")
    for _ in range(20):
        session.send_body(b"\x04")
    other = RawSession(attacker.target, next(attacker.sources))
    recorded = cycle(session.sent)
    number = count()

    def send() -> None:
        (session if next(number) % 2 else other).resend(next(recorded))
        attacker.count("packets")

    await attacker.at_rate(send)
    session.close()
    other.close()


# TCP.


async def sessions_ws(attacker: Attacker) -> None:
    """One WebSocket with as many sessions as it takes."""
    while attacker.goes_on:
        try:
            reader, writer = await _web_socket(attacker)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        waiting: dict[int, RawSession] = {}
        gone = asyncio.create_task(_go_on(attacker, reader, writer, waiting))
        interval_s = attacker.order.seconds / attacker.order.most / 2
        due_at = time.monotonic()
        while attacker.goes_on and not gone.done():
            session = RawSession(attacker.target, "")
            waiting[session.client_id] = session
            _write(writer, _frame(session.open_packet(handshake.NO_COOKIE)))
            attacker.count("OPENs")
            due_at += interval_s
            await asyncio.sleep(max(due_at - time.monotonic(), 0.0))
        gone.cancel()
        writer.transport.abort()


async def _go_on(
    attacker: Attacker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: dict[int, RawSession]
) -> None:
    """Answers each WELCOME with the DATA that opens the session."""
    while (packet := await _read_message(reader)) is not None:
        session = waiting.pop(int.from_bytes(packet[2:6], "little"), None)
        if session is not None and session.on_welcome(packet):
            _write(writer, _frame(session.seal_body(b"\x04")))
            attacker.count("opened")


async def sessions_many_ws(attacker: Attacker) -> None:
    """A WebSocket for each session: each opens one, and stays."""

    async def one() -> None:
        while attacker.goes_on:
            try:
                reader, writer = await _web_socket(attacker)
            except (OSError, asyncio.IncompleteReadError):
                attacker.count("not connected")
                await asyncio.sleep(0.1)
                continue
            session = RawSession(attacker.target, "")
            writer.write(_frame(session.open_packet(handshake.NO_COOKIE)))
            head = await _read_message(reader)
            if head is not None and session.on_welcome(head):
                attacker.count("opened")
                writer.write(_frame(session.seal_body(b"\x04")))
            await _drain(reader)
            writer.transport.abort()

    await _until_end(attacker, [one() for _ in range(attacker.order.most)])


async def requests(attacker: Attacker) -> None:
    """Half-sent requests."""

    async def one() -> None:
        while attacker.goes_on:
            try:
                reader, writer = await attacker.connect()
            except OSError:
                attacker.count("not connected")
                await asyncio.sleep(0.1)
                continue
            writer.write(HALF_REQUEST)
            gone = asyncio.create_task(_drain(reader))
            while not gone.done() and attacker.goes_on:
                await asyncio.sleep(1.0)
                _write(writer, b"x")
            gone.cancel()
            writer.transport.abort()

    await _until_end(attacker, [one() for _ in range(attacker.order.most)])


async def frames(attacker: Attacker) -> None:
    """Empty messages and pings, 10,000 of them in a write."""
    block = (b"\x82\x80\0\0\0\0" + b"\x89\x80\0\0\0\0") * 5000

    async def one() -> None:
        while attacker.goes_on:
            try:
                reader, writer = await _web_socket(attacker)
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.1)
                continue
            gone = asyncio.create_task(_drain(reader))
            while attacker.goes_on and not gone.done():
                _write(writer, block)
                attacker.count("frames", 10_000)
                await asyncio.sleep(0.05)
            gone.cancel()
            writer.transport.abort()

    await _until_end(attacker, [one() for _ in range(attacker.order.most)])


async def pages(attacker: Attacker) -> None:
    """Many requests in one write; on the next connection, headers without an end."""
    block = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n" * 100
    turns = cycle((False, True))

    async def one() -> None:
        while attacker.goes_on:
            try:
                reader, writer = await attacker.connect()
                gone = asyncio.create_task(_drain(reader))
                is_headers = next(turns)
                for number in range(200):
                    if gone.done():
                        break
                    _write(writer, b"X-%d: %s\r\n" % (number, b"y" * 500) if is_headers else block)
                    attacker.count("headers" if is_headers else "requests", 1 if is_headers else 100)
                    await asyncio.sleep(0.005)
                gone.cancel()
                writer.transport.abort()
            except OSError:
                await asyncio.sleep(0.05)

    await _until_end(attacker, [one() for _ in range(attacker.order.most)])


async def churn(attacker: Attacker) -> None:
    """In and out."""

    async def one() -> None:
        while attacker.goes_on:
            try:
                _, writer = await attacker.connect()
                writer.transport.abort()
            except OSError:
                attacker.count("not connected")
                await asyncio.sleep(0.01)

    await _until_end(attacker, [one() for _ in range(attacker.order.most)])


async def _until_end(attacker: Attacker, works: list[Awaitable[None]]) -> None:
    """Lets them work until the time is over, whatever they wait for then."""
    tasks = [asyncio.ensure_future(work) for work in works]
    while attacker.goes_on:
        await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _web_socket(attacker: Attacker) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await attacker.connect()
    place = f"{attacker.target.host}:{attacker.target.tcp_port}"
    writer.write(UPGRADE % (attacker.order.path.encode(), place.encode()))
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head.split(b"\r\n")[0]:
        writer.transport.abort()
        raise ConnectionRefusedError(head[:40])
    return reader, writer


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Writes, unless the server has closed the connection meanwhile."""
    with suppress(RuntimeError, OSError):
        writer.write(data)


def _frame(data: bytes) -> bytes:
    """A binary message as a client sends it; masked with zeros."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x82" + size + bytes(4) + data


async def _read_message(reader: asyncio.StreamReader) -> bytes | None:
    try:
        head = await reader.readexactly(2)
        size = head[1] if head[1] < 126 else int.from_bytes(await reader.readexactly(2), "big")
        return await reader.readexactly(size)
    except (OSError, asyncio.IncompleteReadError):
        return None


async def _drain(reader: asyncio.StreamReader) -> None:
    """Until the other side closes."""
    try:
        while await reader.read(65536):
            pass
    except OSError:
        pass


ATTACKS: dict[str, Callable[[Attacker], Awaitable[None]]] = {
    "sessions_ws": sessions_ws,
    "sessions_many_ws": sessions_many_ws,
    "sessions_udp": sessions_udp,
    "requests": requests,
    "opens": opens,
    "fresh": fresh,
    "streams": streams,
    "hellos": hellos,
    "replays": replays,
    "frames": frames,
    "pages": pages,
    "churn": churn,
}


def main() -> int:
    """Does what stdin orders; what it did goes to stdout."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Attack)
    attacker = Attacker(order)
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))

    async def work() -> None:
        print(STARTED, flush=True)
        await ATTACKS[order.name](attacker)

    run_loop(work())
    sys.stdout.write(msgspec.json.encode(attacker.counts).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
