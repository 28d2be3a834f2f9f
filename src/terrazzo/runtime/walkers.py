"""A process of walkers: `python -m terrazzo.runtime.walkers`, started by `runtime/crowd.py`.

    WalkersOrder (one JSON line) ──▶ stdin; its end is the word to leave
    Sample (JSON lines)          ◀── stdout, one a second

Over UDP, SOCKET_WALKERS walkers are a herd (`client/herd.py`) behind one socket. A tick has SLICES slices, in each of
which a part of the walkers takes a step, so that the load is even. Over WebSocket each walker has a connection of its
own (`ws_walkers.py`).

Walkers log in one after the other, at most LOGGING_IN_MAX at a time. One that is refused or sent away stays out, and is
counted with the reason. At the end all send BYE, and the process ends LEAVE_S later at the latest.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Protocol

import msgspec

from terrazzo.client.herd import Herd, HerdEntrance, WalkerStage
from terrazzo.client.sights import SightCounts
from terrazzo.game import Bounds
from terrazzo.runtime.collector import calm_collector
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.udp import UdpSwarm
from terrazzo.wire.client import ClientSwarm, SessionEvent
from terrazzo.wire.client.lane import SessionTally

SOCKET_WALKERS = 1000
SLICES = 10
LOGGING_IN_MAX = 16
SAMPLE_S = 1.0
LEAVE_S = 3.0
HARD_END_S = 8.0


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
    """Whether moves bear their number in place of their height, as only the benchmark's stand-in takes them."""


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
    moves: int = 0
    updates: int = 0
    """Updates of the walkers that are sampled one by one."""
    gaps_ms: list[tuple[int, int]] = []
    """Of the same walkers: milliseconds between two updates, and how often."""
    tally: SessionTally = SessionTally()
    """Of all sessions; over WebSocket it stays empty."""
    overruns: int = 0
    """Packets that the system dropped because the buffer of a socket was full; over WebSocket there are none."""
    round_trips_ms: list[float] = []
    """One for each walker that has measured one."""


class Walkers(Protocol):
    """What runs the walkers of a process."""

    stopping: threading.Event
    """Set, from another thread, to have all of them leave."""

    async def run(self) -> None:
        """Until it is stopped, and all have left."""


class UdpWalkers:
    """Herds over UDP."""

    def __init__(self, order: WalkersOrder) -> None:
        self.stopping = threading.Event()
        self._order = order
        self._sights = SightCounts()
        self._herds: list[Herd] = []
        self._shells: list[UdpSwarm] = []
        self._begun = 0

    async def run(self) -> None:
        """See Walkers."""
        order = self._order
        for _ in range(0, order.count, SOCKET_WALKERS):
            self._open_herd()
        slice_s = order.tick_s / SLICES
        turn, due_at = 0, time.monotonic()
        sample_at, end_at = due_at + SAMPLE_S, float("inf")
        while True:
            now = time.monotonic()
            if self.stopping.is_set() and end_at > now + LEAVE_S:
                end_at = now + LEAVE_S
                for herd in self._herds:
                    herd.leave(now)
            if now >= end_at or (self.stopping.is_set() and not any(each.swarm.sessions for each in self._shells)):
                break
            self._begin_some(now)
            for herd, shell in zip(self._herds, self._shells, strict=True):
                herd.step(turn % SLICES, SLICES, now)
                shell.flush()
            turn += 1
            if now >= sample_at:
                sample_at = now + SAMPLE_S
                write_sample(self._sample())
            due_at = max(due_at + slice_s, now - order.tick_s)  # what was missed long ago is not made up for
            await asyncio.sleep(max(due_at - time.monotonic(), 0.0))
        write_sample(self._sample())
        for shell in self._shells:
            shell.abort()

    def _open_herd(self) -> None:
        order = self._order
        entry = HerdEntrance(
            login=(order.host, order.udp_port),
            server_key=bytes.fromhex(order.public_key),
            password=order.password,
            digest=order.digest,
        )
        swarm = ClientSwarm(entropy=os.urandom)
        herd = Herd(
            swarm, entry, self._sights, Random(os.urandom(8)),
            bounds=order.bounds.get, tick_s=order.tick_s, is_numbered=order.is_numbered,
        )  # fmt: skip

        def on_turn(events: list[SessionEvent]) -> None:
            herd.on_events(events, time.monotonic())

        self._herds.append(herd)
        self._shells.append(UdpSwarm(swarm, on_turn, host="::" if ":" in order.host else "0.0.0.0"))

    def _begin_some(self, now: float) -> None:
        coming = sum(herd.count(WalkerStage.LOGGING_IN, WalkerStage.JOINING) for herd in self._herds)
        while self._begun < self._order.count and coming < LOGGING_IN_MAX and not self.stopping.is_set():
            name = f"{self._order.name}-{self._order.first + self._begun}"
            self._herds[self._begun // SOCKET_WALKERS].begin(name, now)
            self._begun += 1
            coming += 1

    def _sample(self) -> Sample:
        tally, why = SessionTally(), Counter[str]()
        for herd, shell in zip(self._herds, self._shells, strict=True):
            tally = tally.plus(shell.swarm.tally())
            why.update(herd.why)
        return Sample(
            at=time.monotonic(),
            cpu_s=time.process_time(),
            walking=sum(herd.walking for herd in self._herds),
            on_their_way=sum(herd.count(WalkerStage.LOGGING_IN, WalkerStage.JOINING) for herd in self._herds),
            out=sum(why.values()),
            why=dict(why),
            moves=self._sights.moves,
            updates=self._sights.updates,
            gaps_ms=self._sights.take_gaps(),
            tally=tally,
            overruns=sum(shell.datagrams.overruns for shell in self._shells),
            round_trips_ms=[round(1000 * trip, 2) for herd in self._herds for trip in herd.round_trips_s()],
        )


def write_sample(sample: Sample) -> None:
    """Writes a sample for the process that started this one."""
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
    run_loop(walkers.run())


def _watch_starter(walkers: Walkers) -> None:
    while os.read(0, 1024):
        pass
    walkers.stopping.set()
    time.sleep(HARD_END_S)
    os._exit(3)


if __name__ == "__main__":
    main()
