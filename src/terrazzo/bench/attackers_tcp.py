"""The attacks over TCP; see `attackers.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import suppress
from itertools import cycle

from terrazzo.bench.attack_order import Attacker
from terrazzo.bench.attack_raw import RawSession
from terrazzo.wire.client import handshake

HALF_REQUEST = b"GET /play HTTP/1.1\r\nHost: x\r\nX-Slow: "
UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


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
