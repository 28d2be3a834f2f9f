"""A real BaseApp with a stand-in of a CellApp, and the clients that benchmarks put into it step by step."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from terrazzo.bench import base_game
from terrazzo.bench.base_cell import REST_FILE, TOTALS_FILE, Totals
from terrazzo.bench.clusters import own_cluster
from terrazzo.errors import UsageError
from terrazzo.runtime.botjobs import BotJob, BotJobs
from terrazzo.runtime.config import Apps, Config, Listen, LoginSettings, StrangerSettings
from terrazzo.runtime.cpuload import used_s
from terrazzo.runtime.crowd import Crowd, Rates, percentile
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.launcher import LocalLauncher
from terrazzo.runtime.orders import Bots, ClusterFile
from terrazzo.runtime.soak import resident_kib
from terrazzo.runtime.walkers import Sample, WalkersOrder
from terrazzo.schema.digest import digest
from terrazzo.wire.pairs.login_db import BOT_PREFIX

TICK_HZ = 10.0
COME_IN_S = 300.0
PATIENCE_S = 30.0
"""A step fails when its clients are not in the world after COME_IN_S, or none has come in for PATIENCE_S."""
SETTLE_S = 2.0
REST_S = 2.0
RESTS_MAX = 5
ENOUGH = 0.8
"""A step goes on without the others when so many of its clients are in. A busy machine lets some logins time out."""

Say = Callable[[str], None]


class Step(msgspec.Struct):
    """One number of clients, measured."""

    clients: int
    clients_served: float
    """Client-ticks a second / 10."""
    base_share: float
    """Of a core."""
    stand_in_share: float
    crowd_share: float
    base_kib: int
    datagrams_up: float
    """For each client and tick. Over WebSocket neither is counted."""
    datagrams_down: float
    bytes_up: float
    """Of a packet's body, on average."""
    bytes_down: float
    packets_missed: int
    resent_bytes: int
    moves_merged: int
    """Moves that a later one of the same client has replaced at the BaseApp, or that were lost on the way."""
    datagrams_dropped: int
    """By the BaseApp's socket, which was full."""
    crowd_dropped: int
    """By the crowd's sockets, which were full."""
    lost: int
    """Of all messages that were sent since the first step, those that have not arrived. Over WebSocket: not counted."""
    gaps: int
    """Of all clients: times of more than a quarter of a second between two updates."""
    gap_p50_ms: int | None
    gap_p99_ms: int | None
    round_trip_p50_ms: float | None
    out: int


class Fit(NamedTuple):
    """A straight line."""

    intercept: float
    slope: float

    def reaches(self, share: float) -> float:
        """Where the line has this height."""
        return (share - self.intercept) / self.slope


def fit(points: list[tuple[float, float]]) -> Fit:
    """The line of least squares; through the origin, if there is one point only."""
    if len(points) == 1:
        return Fit(0.0, points[0][1] / points[0][0])
    mean_x, mean_y = (sum(each) / len(points) for each in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return Fit(mean_y - slope * mean_x, slope)


class TooMany(UsageError):
    """The clients of a step did not all come in."""


class _Patience:
    """How long a step waits for its clients."""

    def __init__(self) -> None:
        self._began_at = self._newest_at = time.monotonic()
        self._walking = 0

    def check(self, walking: int, count: int, why: str) -> None:
        """TooMany when no client has come in for PATIENCE_S, or not all after COME_IN_S."""
        now = time.monotonic()
        if walking > self._walking:
            self._walking, self._newest_at = walking, now
        if now > min(self._began_at + COME_IN_S, self._newest_at + PATIENCE_S):
            seconds = now - self._began_at
            raise TooMany(f"{walking} of {count} clients are in after {seconds:.0f} s: {why or 'no answer'}")


def dropped_datagrams(port: int) -> int:
    """How many datagrams the sockets of a UDP port of this machine have dropped, as Linux counts them."""
    try:
        lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    except OSError as problem:
        raise UsageError(f"cannot read the dropped datagrams of port {port}: {problem}") from None
    fields = [line.split() for line in lines]
    return sum(int(each[-1]) for each in fields if int(each[1].rpartition(":")[2], 16) == port)


def _mean(rates: Rates, total: Callable[[Sample], int], count: Callable[[Sample], int]) -> float:
    return rates.total(total) / max(rates.total(count), 1)


class Stage:
    """The cluster with the stand-in, and crowds that come into it."""

    def __init__(self, cluster: ClusterFile, folder: DataFolder, schema_digest: str, seconds: float, say: Say) -> None:
        self._steps: list[Step] = []
        self._cluster = cluster
        self._folder = folder
        self._digest = schema_digest
        self._seconds = seconds
        self.say = say
        self._crowds: list[Crowd] = []
        self._bots: list[tuple[BotJobs, asyncio.Task[None]]] = []
        self._pids = {app.name: app.pid for app in cluster.apps}
        self._base_port = next(app.udp_port for app in cluster.apps if app.name == "base_app-0")
        self._count = 0
        self._number = 0

    @property
    def count(self) -> int:
        """How many clients are in."""
        return self._count

    @property
    def base_pid(self) -> int:
        """Of the BaseApp."""
        return self._pids["base_app-0"]

    async def add(self, count: int, *, is_udp: bool = True) -> None:
        """So many clients more; returns when they are in."""
        login, self._number = self._cluster.login, self._number + 1
        order = WalkersOrder(
            count=count, host=login.host, udp_port=login.udp_port, ws_port=login.ws_port, is_udp=is_udp,
            public_key=self._cluster.public_key, name=f"{BOT_PREFIX}{self._number}",
            password=self._folder.bots_password(), digest=self._digest, bounds={1: base_game.BOUNDS}, is_numbered=True,
        )  # fmt: skip
        crowd = Crowd([order])
        self._crowds.append(crowd)
        await crowd.start()
        self._count += count
        patience = _Patience()
        while (seen := crowd.look()).walking < count:
            if seen.walking >= ENOUGH * count and seen.walking + seen.out >= count:
                self.say(f"{seen.out} clients did not come in: {'; '.join(seen.why)}")
                self._count += seen.walking - count
                break
            patience.check(seen.walking, count, "; ".join(seen.why))
            await asyncio.sleep(0.2)

    async def add_bots(self, count: int) -> int:
        """So many whole clients more, in a process of their own; gives its pid when they are in."""
        login, self._number = self._cluster.login, self._number + 1
        bots = Bots(
            count=count, host=login.host, udp_port=login.udp_port, public_key=self._cluster.public_key,
            name=f"{BOT_PREFIX}{self._number}", password=self._folder.bots_password(),
        )  # fmt: skip
        jobs = BotJobs([BotJob(bots=bots, game=str(base_game.__file__))])
        await jobs.start()
        self._bots.append((jobs, asyncio.create_task(jobs.run())))
        self._count += count
        patience = _Patience()
        while (walking := self.totals().clients) < self._count:
            patience.check(walking, self._count, "")
            await asyncio.sleep(0.2)
        return jobs.pids[0]

    async def measure(self, *, is_udp: bool = True) -> Step:
        """The present clients for a while."""
        await asyncio.sleep(min(SETTLE_S, self._seconds))
        for crowd in self._crowds:
            crowd.take_gaps()
        dropped = dropped_datagrams(self._base_port)
        before, samples, used, at = self.totals(), self._samples(), used_s(self.base_pid), time.monotonic()
        await asyncio.sleep(self._seconds)
        after, then = self.totals(), self._samples()
        span = time.monotonic() - at
        base_share = (used_s(self.base_pid) - used) / span
        rates = Rates(list(zip(samples, then, strict=True)))
        ticks_s = (after.updates - before.updates) / (after.at - before.at)
        gaps = sorted(sum((crowd.take_gaps() for crowd in self._crowds), start=Counter[int]()).items())
        trips = sorted(trip for each in then for trip in each.round_trips_ms)
        step = Step(
            clients=self._count,
            clients_served=ticks_s / TICK_HZ,
            base_share=base_share,
            stand_in_share=(after.cpu_s - before.cpu_s) / (after.at - before.at),
            crowd_share=rates.per_s(lambda each: each.cpu_s),
            base_kib=resident_kib(self.base_pid),
            datagrams_up=rates.per_s(lambda each: each.tally.packets_sent) / ticks_s,
            datagrams_down=rates.per_s(lambda each: each.tally.packets_received) / ticks_s,
            bytes_up=_mean(rates, lambda each: each.tally.bytes_sent, lambda each: each.tally.packets_sent),
            bytes_down=_mean(rates, lambda each: each.tally.bytes_received, lambda each: each.tally.packets_received),
            packets_missed=rates.total(lambda each: each.tally.packets_missed),
            resent_bytes=rates.total(lambda each: each.tally.resent_bytes),
            gaps=rates.total(lambda each: each.tally.gaps),
            moves_merged=(after.moves_made - after.moves_arrived) - (before.moves_made - before.moves_arrived),
            gap_p50_ms=percentile(gaps, 0.5),
            gap_p99_ms=percentile(gaps, 0.99),
            round_trip_p50_ms=trips[len(trips) // 2] if trips else None,
            datagrams_dropped=dropped_datagrams(self._base_port) - dropped,
            crowd_dropped=rates.total(lambda each: each.overruns),
            lost=await self._count_lost() if is_udp else 0,
            out=sum(each.out for each in then),
        )
        self._steps.append(step)
        self.say(
            f"{step.clients} clients ({step.clients_served:.0f} served): BaseApp {100 * step.base_share:.1f} %, "
            f"stand-in {100 * step.stand_in_share:.1f} %, crowd {100 * step.crowd_share:.1f} % of a core"
        )
        return step

    async def _count_lost(self) -> int:
        """How many of all messages that were sent since the start have not arrived: the stand-in rests meanwhile."""
        rest = self._folder.root / REST_FILE
        rest.touch()
        try:
            await asyncio.sleep(REST_S)
            while not self.totals().is_resting:
                await asyncio.sleep(0.1)
            for _ in range(RESTS_MAX):  # on a busy machine it takes longer until all has arrived
                await asyncio.sleep(REST_S)
                lost = self.totals().muted - sum(each.tally.muted + each.updates for each in self._samples())
                if not lost:
                    break
        finally:
            rest.unlink()
        return lost

    def take_steps(self) -> list[Step]:
        """The steps since the last call."""
        steps, self._steps = self._steps, []
        return steps

    async def leave(self) -> None:
        """All clients leave."""
        for jobs, _ in self._bots:
            jobs.stop()
        await asyncio.gather(*(crowd.stop() for crowd in self._crowds), *(task for _, task in self._bots))
        self._crowds.clear()
        self._bots.clear()
        self._count = 0

    def totals(self) -> Totals:
        """What the stand-in has counted, as of half a second ago at most."""
        return msgspec.json.decode((self._folder.root / TOTALS_FILE).read_bytes(), type=Totals)

    def _samples(self) -> list[Sample]:
        return [sample for crowd in self._crowds for sample in crowd.samples()]


@asynccontextmanager
async def staged(seconds: float, say: Say) -> AsyncIterator[Stage]:
    """A cluster as `terrazzo run` starts it, but for its CellApp; it ends with the context. A step of the stage is
    measured for so many seconds."""
    launcher = LocalLauncher({"cell_app": "terrazzo.bench.base_cell"})
    with tempfile.TemporaryDirectory(prefix="terrazzo-bench-base-") as root:
        async with own_cluster(Path(base_game.__file__), _config(), Path(root), launcher=launcher) as own:
            stage = Stage(own.file, own.folder, digest(own.game.schema), seconds, say)
            try:
                yield stage
            finally:
                await stage.leave()
    if own.failure:
        raise UsageError(own.failure)


def _config() -> Config:
    """One BaseApp, on ports that are free; nothing that is there against strangers slows the clients' logins down."""
    udp_login, udp_base, ws_login, ws_base = free_ports()
    return Config(
        apps=Apps(cells=1, bases=1),
        listen=Listen(login_udp_port=udp_login, login_ws_port=ws_login, base_udp_port=udp_base, base_ws_port=ws_base),
        login=LoginSettings(attempts_per_s=10_000.0, attempts_burst=10_000, players_max=100_000),
        strangers=StrangerSettings(
            total_max=10_000, address_max=10_000, address_per_s=10_000.0, address_burst=10_000, login_s=60.0
        ),
    )


def free_ports() -> tuple[int, int, int, int]:
    """Two UDP ports and two TCP ports of the loopback that no program has just now."""
    sockets = [socket.socket(type=kind) for kind in (*[socket.SOCK_DGRAM] * 2, *[socket.SOCK_STREAM] * 2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports[0], ports[1], ports[2], ports[3]
