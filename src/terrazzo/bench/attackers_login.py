"""The attacks on the login, and those of clients that have logged in; see `attackers.py`."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from struct import Struct

import msgspec

from terrazzo.bench.attack_order import PAUSE_S, Attacker
from terrazzo.bench.attack_raw import RawSession, Target, udp_socket
from terrazzo.client.link import ClientLink, Phase
from terrazzo.schema.indexes import METHOD_IDS
from terrazzo.schema.model import Side
from terrazzo.sync.protocol import LoginReply, LoginRequest, ToClient, ToServer
from terrazzo.wire.client.limits import SERVER

_ENTITY = Struct("<i")
_READ_BYTES = 2048
OPEN_S = 0.5
PATIENCE_S = 5.0
"""How long an attacker waits for its login."""
WORKERS, WAITING_MAX = 20, 20
"""So many attackers with half-open handshakes, and so many sockets that each of them keeps."""
CALLS = 5
"""In each turn of a client that is in the world."""


# Requests to the LoginApp.


async def guesses(attacker: Attacker) -> None:
    """Passwords of a player that is in the world, one after the other, a session for each."""
    order, numbers = attacker.order, count()

    def guess() -> bytes:
        return _request(order.victim, f"guess {next(numbers)}", order.digest)

    await _ask_again_and_again(attacker, guess)


async def digests(attacker: Attacker) -> None:
    """Requests of clients of another game."""
    await _ask_again_and_again(attacker, lambda: _request("ann", "secret", os.urandom(16).hex()))


async def malformed(attacker: Attacker) -> None:
    """Requests that are none: noise, JSON of another form, names without an end, more than a message may be."""
    forms = (
        os.urandom(100),
        b"[" * 2000,
        b'{"name": 7}',
        _request("x" * 1500, "secret", attacker.order.digest),
        bytes(SERVER.receive_message_bytes_max + 1),
    )
    numbers = count()
    await _ask_again_and_again(attacker, lambda: forms[next(numbers) % len(forms)])


async def half_open(attacker: Attacker) -> None:
    """Handshakes that are right and never finished: an OPEN with everything, and then nothing."""

    async def one() -> None:
        waiting: deque[RawSession] = deque()
        while attacker.goes_on:
            session = RawSession(attacker.target, next(attacker.sources))
            waiting.append(session)
            if await session.get_cookie(OPEN_S):
                session.send(session.open_packet(session.cookie))
                attacker.count("OPENs")
            if len(waiting) > WAITING_MAX:
                waiting.popleft().close()
            await asyncio.sleep(WORKERS / attacker.order.most)
        for session in waiting:
            session.close()

    await asyncio.gather(*(one() for _ in range(WORKERS)))


async def forged_keys(attacker: Attacker) -> None:
    """Sessions with the BaseApp that show a login key which the attacker has invented."""
    while attacker.goes_on:
        session = RawSession(attacker.target, next(attacker.sources), os.urandom(16) + os.urandom(16).hex().encode())
        attacker.count("keys" if await session.open(OPEN_S) else "not opened")
        session.close()
        await asyncio.sleep(1 / attacker.order.most)


def _request(name: str, password: str, digest: str) -> bytes:
    return msgspec.json.encode(LoginRequest(name, password, digest, os.urandom(16).hex()))


async def _ask_again_and_again(attacker: Attacker, request: Callable[[], bytes]) -> None:
    while attacker.goes_on:
        session = RawSession(attacker.target, next(attacker.sources))
        if await session.open(OPEN_S):
            session.send_message(request())
            attacker.count("requests")
        else:
            attacker.count("not opened")
        session.close()
        await asyncio.sleep(1 / attacker.order.most)


# Clients that have logged in.


class Rogue(ClientLink):
    """A client with a login, which then sends whatever its attack wants."""

    def __init__(self, attacker: Attacker, *, stops_at_key: bool = False) -> None:
        order = attacker.order
        self.entity = 0
        self.seen: set[int] = set()
        """The entities that it was sent."""
        self.way: LoginReply | None = None
        """The answer to its login."""
        self._stops_at_key = stops_at_key
        super().__init__(
            digest=order.digest, login=(order.host, order.udp_port), server_key=bytes.fromhex(order.public_key),
            name=f"rogue-{os.urandom(6).hex()}", password="rogue", entropy=os.urandom, now=time.monotonic(),
        )  # fmt: skip

    @property
    def key(self) -> bytes:
        """What it shows to the BaseApp."""
        assert self.way is not None
        return bytes.fromhex(self.way.key) + self._attempt.encode()

    def send_raw(self, message: bytes) -> None:
        """Sends a message, whatever it is."""
        self._send(message)

    def tick(self, now: float) -> None:
        """Nothing of its own."""

    def _on_reply(self, data: bytes, now: float) -> None:
        with suppress(msgspec.DecodeError):
            self.way = msgspec.json.decode(data, type=LoginReply)
        if self._stops_at_key:
            self._finish("", now)
        else:
            super()._on_reply(data, now)

    def _on_messages(self, messages: list[bytes], now: float) -> None:
        for message in messages:
            number = message[0] if message else -1
            if number == ToClient.BASE_PLAYER:
                [self.entity] = _ENTITY.unpack_from(message, 1)
                self._on_player()
            elif number == ToClient.ANNOUNCE and len(message) > _ENTITY.size:
                self.seen.add(_ENTITY.unpack_from(message, 1)[0])
            elif number == ToClient.LOGGED_OFF:
                self._on_logged_off(message[2:].decode(errors="replace"), now)


class _Driver:
    """The socket of a client, at an address of the attacker's choice."""

    def __init__(self, link: ClientLink, source: str) -> None:
        self._link = link
        self._socket = udp_socket(source)

    def turn(self) -> None:
        """What has come, and what is to be sent."""
        now = time.monotonic()
        with suppress(OSError):
            while True:
                self._link.on_datagram(self._socket.recv(_READ_BYTES), now)
        for address, packet in self._link.poll(now):
            with suppress(OSError):
                self._socket.sendto(packet, address)

    def close(self) -> None:
        """Without a word to the server."""
        self._socket.close()


async def calls(attacker: Attacker) -> None:
    """A client in the world that calls what is not exposed, what is another's, and what does not exist."""
    while attacker.goes_on:
        rogue = Rogue(attacker)
        driver = _Driver(rogue, next(attacker.sources))
        patience, messages = time.monotonic() + PATIENCE_S, _bad_messages(rogue)
        while attacker.goes_on and not rogue.is_over and time.monotonic() < patience:
            driver.turn()
            if rogue.phase is Phase.PLAYING:
                patience = time.monotonic() + PATIENCE_S
                for _ in range(CALLS):
                    rogue.send_raw(next(messages))
                    attacker.count("messages")
            await asyncio.sleep(PAUSE_S)
        attacker.count("was in" if rogue.entity else "not in")
        driver.close()
        await asyncio.sleep(1 / attacker.order.most)


def _bad_messages(rogue: Rogue) -> Iterator[bytes]:
    """Messages that no honest client sends, or far too many of them that one does."""
    cell, base = METHOD_IDS[Side.CELL].first, METHOD_IDS[Side.BASE].first
    number = Struct("<I")
    for turn in count():
        own, other = _ENTITY.pack(rogue.entity), _ENTITY.pack(next(iter(rogue.seen), rogue.entity + 1))
        yield bytes((base,)) + own  # there is no exposed base method
        yield bytes((base,)) + other
        yield bytes((cell,)) + other + number.pack(turn)  # another's: not exposed to others
        yield bytes((cell,)) + _ENTITY.pack(turn + 1) + number.pack(turn)  # an entity that it does not see
        yield bytes((cell + 7,)) + own
        yield bytes((cell,)) + own + b"\x01"  # arguments that are cut off
        yield bytes((1,)) + os.urandom(20)
        for _ in range(20):
            yield bytes((cell,)) + own + number.pack(turn)  # exposed, and far too often


async def old_keys(attacker: Attacker) -> None:
    """Login keys that were used already: shown again, from another port."""
    while attacker.goes_on:
        way = await _log_in(attacker)
        if way is not None:
            target, key = way
            for _ in range(3):
                session = RawSession(target, next(attacker.sources), key)
                attacker.count("shown" if await session.open(OPEN_S) else "not opened")
                session.close()
        await asyncio.sleep(1 / attacker.order.most)


async def deaf(attacker: Attacker) -> None:
    """Clients in the world that never acknowledge a packet. They send PINGs, so that their sessions are not silent."""
    sessions: list[RawSession] = []
    while attacker.goes_on:
        if len(sessions) < attacker.order.most and (way := await _log_in(attacker)) is not None:
            session = RawSession(way[0], next(attacker.sources), way[1])
            sessions.append(session)
            if await session.open(OPEN_S):
                session.send_message(bytes((ToServer.READY,)))
                attacker.count("in")
        for session in sessions:
            with suppress(AssertionError):  # not opened
                session.send_body(b"\x04" * 9)
        await asyncio.sleep(0.2)
    for session in sessions:
        session.close()


async def _log_in(attacker: Attacker) -> tuple[Target, bytes] | None:
    """A login of an honest form; the way to the BaseApp, and the key for it."""
    rogue = Rogue(attacker, stops_at_key=True)
    driver = _Driver(rogue, next(attacker.sources))
    patience = time.monotonic() + PATIENCE_S
    while attacker.goes_on and rogue.way is None and not rogue.is_over and time.monotonic() < patience:
        driver.turn()
        await asyncio.sleep(PAUSE_S)
    driver.close()
    if rogue.way is None or rogue.way.error:
        attacker.count("not in")
        return None
    order, way = attacker.order, rogue.way
    return Target(way.host or order.host, way.udp_port, way.ws_port, bytes.fromhex(order.public_key)), rogue.key
