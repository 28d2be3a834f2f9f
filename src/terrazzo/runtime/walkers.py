"""A process of walkers: `python -m terrazzo.runtime.walkers`, started by `runtime/crowd.py`.

    WalkersOrder (one JSON line) ──▶ stdin; its end is the word to leave
    Sample (JSON lines)          ◀── stdout, one a second

Over UDP, SOCKET_WALKERS walkers share a socket: packets bear the id of the connection that they are for. A tick has
SLICES slices, each walker has its turn in one of them, so that the load is even. A slice:

    read all sockets ─▶ walkers take their packets ─▶ those whose turn it is take a step ─▶ poll those that are due

Walkers log in one after the other, at most LOGGING_IN_MAX at a time. One that is refused or sent away stays out, and is
counted with the reason. At the end all say goodbye, and the process ends LEAVE_S later at the latest.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Protocol

import msgspec

from terrazzo.client.link import Phase
from terrazzo.client.walker import Sights, Walker
from terrazzo.game import Bounds
from terrazzo.runtime.batches import DATAGRAM_BYTES
from terrazzo.runtime.collector import calm_collector
from terrazzo.runtime.udp import make_socket
from terrazzo.wire.client import UDP, WEBSOCKET
from terrazzo.wire.client.handshake import DATA

SOCKET_WALKERS = 250
SLICES = 10
LOGGING_IN_MAX = 32
SAMPLE_S = 1.0
LEAVE_S = 3.0
HARD_END_S = 8.0
_ON_THEIR_WAY = (Phase.CONNECTING, Phase.LOGGING_IN, Phase.JOINING)
_DATA = bytes([DATA])


class WalkersOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What one process of walkers is to do."""

    count: int
    first: int = 1
    """The number of its first walker: names of two processes differ."""
    host: str
    udp_port: int
    ws_port: int = 0
    is_udp: bool = True
    public_key: str
    name: str
    password: str
    digest: str
    """Of the game's schema."""
    bounds: dict[int, Bounds] = {}
    """Where to walk, by the number of a space."""
    tick_s: float = 0.1
    is_numbered: bool = False
    """Whether updates are numbered, as only the benchmark's stand-in does."""


class Sample(msgspec.Struct):
    """The counts of a process of walkers since its start, as of one moment; `gaps_ms` since the sample before."""

    at: float = 0.0
    """The monotonic clock of this machine."""
    cpu_s: float = 0.0
    walking: int = 0
    on_their_way: int = 0
    out: int = 0
    why: dict[str, int] = {}
    """Reasons of those that are out."""
    updates: int = 0
    updates_lost: int = 0
    words: int = 0
    moves: int = 0
    datagrams_in: int = 0
    datagrams_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    packets_lost: int = 0
    gaps_ms: list[tuple[int, int]] = []
    round_trips_ms: list[float] = []
    """One for each walker that has measured one."""


class Walkers(Protocol):
    """What runs the walkers of a process."""

    stopping: threading.Event
    """Set, from another thread, to have all of them leave."""

    def run(self) -> None:
        """Until it is told to stop, and all have left."""


class UdpWalkers:
    """Walkers over UDP, in a loop of their own."""

    def __init__(self, order: WalkersOrder) -> None:
        self.stopping = threading.Event()
        self._order = order
        self._sights = Sights()
        self._rng = Random(os.urandom(8))
        family = socket.AF_INET6 if ":" in order.host else socket.AF_INET
        lanes = (order.count + SOCKET_WALKERS - 1) // SOCKET_WALKERS
        self._sockets = [make_socket(family) for _ in range(lanes)]
        self._poll = select.poll()
        for each in self._sockets:
            self._poll.register(each.fileno(), select.POLLIN)
        self._by_id: dict[int, int] = {}
        self._walkers: dict[int, Walker] = {}
        self._ids: dict[int, list[int]] = {}
        self._due_at: dict[int, float] = {}
        self._coming: set[int] = set()
        self._next = 0
        self._sample = Sample()
        self._why: Counter[str] = Counter()

    def run(self) -> None:
        """Until it is told to stop, and all have left."""
        slice_s = self._order.tick_s / SLICES
        turn, due_at = 0, time.monotonic()
        sample_at, end_at = due_at + SAMPLE_S, 0.0
        while True:
            now = time.monotonic()
            if self.stopping.is_set() and not end_at:
                end_at = now + LEAVE_S
                for number in list(self._walkers):
                    self._walkers[number].leave(now)
                    self._poll_one(number, now)
            if end_at and (now >= end_at or not self._walkers):
                break
            self._read()
            if not end_at:
                self._begin_some(time.monotonic())
            for number in range(turn % SLICES, self._next, SLICES):
                walker = self._walkers.get(number)
                if walker is not None:
                    now = time.monotonic()
                    walker.tick(now)
                    self._poll_one(number, now)
            self._poll_due(time.monotonic())
            turn += 1
            if now >= sample_at:
                sample_at = now + SAMPLE_S
                self._tell()
            due_at = max(due_at + slice_s, now - self._order.tick_s)  # what was missed long ago is not made up for
            while (left := due_at - time.monotonic()) > 0:
                if self._poll.poll(left * 1000):
                    self._read()
        self._tell()
        for each in self._sockets:
            each.close()

    def _begin_some(self, now: float) -> None:
        while self._next < self._order.count and len(self._coming) < LOGGING_IN_MAX:
            order, number = self._order, self._next
            self._next += 1
            self._coming.add(number)
            self._walkers[number] = make_walker(order, number, self._sights, self._rng, now)
            self._poll_one(number, now)

    def _read(self) -> None:
        now, sample = time.monotonic(), self._sample
        for each in self._sockets:
            receive = each.recv
            while True:
                try:
                    data = receive(DATAGRAM_BYTES)
                except BlockingIOError:
                    break
                except OSError:
                    continue
                sample.datagrams_in += 1
                sample.bytes_in += len(data)
                at = 1 if data[:1] == _DATA else 2
                number = self._by_id.get(int.from_bytes(data[at : at + 4], "little"))
                if number is not None:
                    self._walkers[number].on_datagram(data, now)
                    self._due_at[number] = 0.0

    def _poll_due(self, now: float) -> None:
        for number, due_at in list(self._due_at.items()):
            if due_at <= now:
                self._poll_one(number, now)

    def _poll_one(self, number: int, now: float) -> None:
        walker, sample = self._walkers[number], self._sample
        send = self._sockets[number // SOCKET_WALKERS].sendto
        for address, data in walker.poll(now):
            with suppress(OSError):
                send(data, address)
            sample.datagrams_out += 1
            sample.bytes_out += len(data)
        due_at = walker.next_timeout()
        if due_at is None:
            self._end(number)
            return
        self._due_at[number] = due_at
        if number in self._coming or self.stopping.is_set():
            self._note_ids(number, walker)
            if walker.phase not in _ON_THEIR_WAY:
                self._coming.discard(number)

    def _note_ids(self, number: int, walker: Walker) -> None:
        for each in self._ids.get(number, ()):
            self._by_id.pop(each, None)
        self._ids[number] = walker.connection_ids
        self._by_id.update(dict.fromkeys(self._ids[number], number))

    def _end(self, number: int) -> None:
        walker = self._walkers.pop(number)
        self._due_at.pop(number, None)
        self._coming.discard(number)
        for each in self._ids.pop(number, ()):
            self._by_id.pop(each, None)
        self._sample.packets_lost += walker.packets_lost
        if walker.error:
            self._why[walker.error] += 1

    def _tell(self) -> None:
        walkers = list(self._walkers.values())
        tell(fill(self._sample, self._sights, walkers, self._why))


def make_walker(order: WalkersOrder, number: int, sights: Sights, rng: Random, now: float) -> Walker:
    """One walker of an order."""
    return Walker(
        sights,
        rng,
        bounds=order.bounds.get,
        is_numbered=order.is_numbered,
        digest=order.digest,
        login=(order.host, order.udp_port if order.is_udp else order.ws_port),
        server_key=bytes.fromhex(order.public_key),
        name=f"{order.name}-{order.first + number}",
        password=order.password,
        entropy=os.urandom,
        now=now,
        transport=UDP if order.is_udp else WEBSOCKET,
    )


def fill(sample: Sample, sights: Sights, walkers: list[Walker], why: Counter[str]) -> Sample:
    """The sample as of now."""
    trips = [walker.round_trip_s for walker in walkers]
    return msgspec.structs.replace(
        sample,
        at=time.monotonic(),
        cpu_s=time.process_time(),
        walking=sum(walker.has_body for walker in walkers),
        on_their_way=sum(walker.phase in _ON_THEIR_WAY for walker in walkers),
        out=sum(why.values()),
        why=dict(why),
        updates=sights.updates,
        updates_lost=sights.updates_lost,
        words=sights.words,
        moves=sights.moves,
        packets_lost=sample.packets_lost + sum(walker.packets_lost for walker in walkers),
        gaps_ms=sights.take_gaps(),
        round_trips_ms=[round(1000 * trip, 2) for trip in trips if trip is not None],
    )


def tell(sample: Sample) -> None:
    """To whoever started this process."""
    with suppress(OSError):
        os.write(1, msgspec.json.encode(sample) + b"\n")


def make_walkers(order: WalkersOrder) -> Walkers:
    """What an order asks for."""
    if order.is_udp:
        return UdpWalkers(order)
    from terrazzo.runtime.ws_walkers import WsWalkers  # with aiohttp, which takes long to import

    return WsWalkers(order)


def main() -> None:
    """Reads the order, and carries it out until the end of stdin."""
    with open(0, "rb", buffering=0, closefd=False) as stdin:  # unbuffered: what follows the line stays unread
        order = msgspec.json.decode(stdin.readline(), type=WalkersOrder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starter gets it, and ends this process in order
    calm_collector()
    walkers = make_walkers(order)
    threading.Thread(target=_watch_starter, args=(walkers,), daemon=True, name="starter").start()
    walkers.run()


def _watch_starter(walkers: Walkers) -> None:
    while os.read(0, 1024):
        pass
    walkers.stopping.set()
    time.sleep(HARD_END_S)
    os._exit(3)


if __name__ == "__main__":
    main()
