"""The attacks over UDP; see `attackers.py`."""

from __future__ import annotations

import asyncio
import os
import time
from itertools import count, cycle
from struct import Struct

from terrazzo.bench.attack_order import PAUSE_S, Attacker
from terrazzo.bench.attack_raw import RawSession
from terrazzo.wire.client import handshake, limits


async def sessions(attacker: Attacker) -> None:
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
        await asyncio.sleep(PAUSE_S)
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
