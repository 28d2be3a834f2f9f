"""`terrazzo bench base`: how many clients one core's BaseApp sustains.

    the BaseApp    a real process, as `terrazzo run` starts it: real links, real doors; so are DBApp, LoginApp, managers
    the CellApp    a stand-in (`base_cell.py`): sends for each client what `terrazzo bench cell` counts
    the clients    a crowd (`runtime/crowd.py`): real logins, encryption and acknowledgements, a move a tick each

The number of clients grows in steps. Each step gives the processor time of the BaseApp (from /proc, so other programs
that share the machine do not count), and how many client-ticks it has served meanwhile: updates that the stand-in has
sent. From the steps a straight line is fitted: share of a core = intercept + slope * clients, where `clients` are
client-ticks a second / 10. `clients_per_core` is where this line reaches SHARE of a core. The steps end when the
BaseApp uses that much; where the machine's cores are too few for this, at the largest number that it can serve.

`lost` counts messages of the stand-in that did not reach their client, and moves that did not reach the BaseApp; both
are counted from one end to the other, whatever the channel between them sent again.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from terrazzo._speed import COMPILED
from terrazzo.bench import base_game
from terrazzo.bench.base_cell import REST_FILE, TOTALS_FILE, Totals
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.config import Apps, Config, Listen, Login, Strangers
from terrazzo.runtime.cpuload import used_s
from terrazzo.runtime.crowd import Crowd, Rates, percentile
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.launcher import LocalLauncher
from terrazzo.runtime.orders import ClusterFile
from terrazzo.runtime.soak import resident_kib
from terrazzo.runtime.walkers import Sample, WalkersOrder
from terrazzo.schema.digest import digest
from terrazzo.wire.pairs.login_db import BOT_PREFIX

SHARE = 0.8
"""Of a core: 20 % head-room."""
TICK_HZ = 10.0
FIRST_STEP = 50
STEPS_MAX = 5
READY_S = 60.0
COME_IN_S = 300.0
PATIENCE_S = 30.0
"""A step fails when its clients are not in the world after COME_IN_S, or none has come in for PATIENCE_S."""
SETTLE_S = 2.0
REST_S = 2.0
CORES_SHARE = 0.9
"""Of all cores of the machine that all processes of the benchmark together may use."""
GROWTH_MAX = 4.0

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
    bytes_down: float
    packets_missed: int
    resent_bytes: int
    moves_lost: int
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


class Stage:
    """The cluster with the stand-in, and crowds that come into it."""

    def __init__(self, cluster: ClusterFile, folder: DataFolder, schema_digest: str, seconds: float, say: Say) -> None:
        self.steps: list[Step] = []
        self._cluster = cluster
        self._folder = folder
        self._digest = schema_digest
        self._seconds = seconds
        self._say = say
        self._crowds: list[Crowd] = []
        self._pids = {app.name: app.pid for app in cluster.apps}
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
        began_at = newest_at = time.monotonic()
        walking = 0
        while (seen := crowd.look()).walking < count:
            now = time.monotonic()
            if seen.walking > walking:
                walking, newest_at = seen.walking, now
            if now > min(began_at + COME_IN_S, newest_at + PATIENCE_S):
                why = "; ".join(seen.why) or "no answer"
                raise UsageError(f"{walking} of {count} clients are in after {now - began_at:.0f} s: {why}")
            await asyncio.sleep(0.2)

    async def measure(self) -> Step:
        """The present clients for a while."""
        await asyncio.sleep(SETTLE_S)
        for crowd in self._crowds:
            crowd.take_gaps()
        before, samples, used, at = self._totals(), self._samples(), used_s(self.base_pid), time.monotonic()
        await asyncio.sleep(self._seconds)
        after, then = self._totals(), self._samples()
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
            bytes_down=rates.per_s(lambda each: each.tally.bytes_received) / ticks_s,
            packets_missed=rates.total(lambda each: each.tally.packets_missed),
            resent_bytes=rates.total(lambda each: each.tally.resent_bytes),
            gaps=rates.total(lambda each: each.tally.gaps),
            moves_lost=(after.moves_made - after.moves_arrived) - (before.moves_made - before.moves_arrived),
            gap_p50_ms=percentile(gaps, 0.5),
            gap_p99_ms=percentile(gaps, 0.99),
            round_trip_p50_ms=trips[len(trips) // 2] if trips else None,
            out=sum(each.out for each in then),
        )
        self.steps.append(step)
        self._say(
            f"{step.clients} clients ({step.clients_served:.0f} served): BaseApp {100 * step.base_share:.1f} %, "
            f"stand-in {100 * step.stand_in_share:.1f} %, crowd {100 * step.crowd_share:.1f} % of a core"
        )
        return step

    async def count_lost(self) -> int:
        """How many of all messages that were sent since the start have not arrived: the stand-in rests meanwhile."""
        rest = self._folder.root / REST_FILE
        rest.touch()
        try:
            await asyncio.sleep(REST_S)
            while not (totals := self._totals()).is_resting:
                await asyncio.sleep(0.1)
            await asyncio.sleep(REST_S)
        finally:
            rest.unlink()
        arrived = sum(each.tally.muted for each in self._samples()) + sum(each.updates for each in self._samples())
        return totals.muted - arrived

    async def leave(self) -> None:
        """All clients leave."""
        await asyncio.gather(*(crowd.stop() for crowd in self._crowds))
        self._crowds.clear()
        self._count = 0

    def _totals(self) -> Totals:
        return msgspec.json.decode((self._folder.root / TOTALS_FILE).read_bytes(), type=Totals)

    def _samples(self) -> list[Sample]:
        return [sample for crowd in self._crowds for sample in crowd.samples()]


async def measure(
    *, clients: int = 0, seconds: float = 8.0, ws_clients: int = 60, cores: float = 0.0, say: Say = lambda line: None
) -> dict[str, Any]:
    """The figures, and what explains them. With `clients`, steps up to so many instead of a search."""
    game_path = Path(base_game.__file__)
    game = load_game(game_path)
    with tempfile.TemporaryDirectory(prefix="terrazzo-bench-base-") as root:
        folder = DataFolder(Path(root) / "data")
        folder.prepare()
        complaints: list[str] = []
        launcher = LocalLauncher({"cell_app": "terrazzo.bench.base_cell"})
        cluster = Cluster(
            game_path, game, _config(), folder, launcher, say=lambda line: None, complain=complaints.append
        )
        running = asyncio.create_task(cluster.run())
        try:
            await _wait_ready(cluster, running, complaints)
            stage = Stage(folder.read_cluster(), folder, digest(game.schema), seconds, say)
            try:
                await _climb(stage, clients, cores or CORES_SHARE * (os.cpu_count() or 1))
                lost = await stage.count_lost()
                over_udp, stage.steps = stage.steps, []
                await stage.leave()
                if ws_clients:
                    await _climb_ws(stage, ws_clients)
            finally:
                await stage.leave()
        finally:
            cluster.stop()
            code = await running
            folder.release()
    if code or complaints:
        raise UsageError(f"the cluster ended with {code}: {' '.join(complaints)}")
    return report(over_udp, stage.steps, lost)


def report(over_udp: list[Step], over_ws: list[Step], lost: int) -> dict[str, Any]:
    """The figures of these steps. A figure that was not measured is not there."""
    line, last = _line(over_udp), over_udp[-1]
    figures: dict[str, Any] = {
        **_sustained("clients_per_core", line),
        "datagrams_per_client_tick": (last.datagrams_up + last.datagrams_down) / 2,
        "lost": lost + sum(step.moves_lost for step in over_udp),
    }
    if len(over_udp) > 1:
        figures["kib_per_client"] = fit([(step.clients, step.base_kib) for step in over_udp]).slope
    if over_ws:
        figures |= _sustained("ws_clients_per_core", _line(over_ws))
    packets = last.clients_served * TICK_HZ * (last.datagrams_up + last.datagrams_down)
    return {
        "bench": "base",
        "compiled": COMPILED,
        "figures": figures,
        "fit": {
            "intercept": line.intercept,
            "slope_per_client": line.slope,
            "microseconds_per_client_and_tick": 1e6 * line.slope / TICK_HZ,
            "largest_share_measured": max(step.base_share for step in over_udp),
        },
        "packets_per_cpu_s": packets / last.base_share,
        **{f"step {step.clients}": msgspec.structs.asdict(step) for step in over_udp},
        **{f"WebSocket step {step.clients}": msgspec.structs.asdict(step) for step in over_ws},
    }


def _sustained(name: str, line: Fit) -> dict[str, int]:
    """Nothing when the steps were too small for a line that rises."""
    return {name: round(line.reaches(SHARE))} if line.slope > 0 else {}


def _line(steps: list[Step]) -> Fit:
    return fit([(step.clients_served, step.base_share) for step in steps])


async def _climb(stage: Stage, clients: int, cores: float) -> None:
    """Steps until the BaseApp uses SHARE of a core, or all processes together use what the machine has."""
    if clients:
        for share in (0.5, 1.0):
            await stage.add(round(clients * share) - stage.count)
            await stage.measure()
        return
    await stage.add(FIRST_STEP)
    while True:
        step = await stage.measure()
        all_shares = step.base_share + step.stand_in_share + step.crowd_share
        room = min(SHARE / step.base_share, cores / all_shares)
        if room <= 1.05 or len(stage.steps) == STEPS_MAX:
            return
        await stage.add(max(round(step.clients * (min(room, GROWTH_MAX) - 1)), 1))


async def _climb_ws(stage: Stage, clients: int) -> None:
    for share in (0.5, 1.0):
        await stage.add(round(clients * share) - stage.count, is_udp=False)
        await stage.measure()


async def _wait_ready(cluster: Cluster, running: asyncio.Task[int], complaints: list[str]) -> None:
    async with asyncio.timeout(READY_S):
        while not cluster.is_ready:
            if running.done():
                raise UsageError(f"the cluster did not start: {' '.join(complaints)}")
            await asyncio.sleep(0.05)


def _config() -> Config:
    """One BaseApp, on ports that are free; nothing that is there against strangers slows the clients' logins down."""
    udp_login, udp_base, ws_login, ws_base = free_ports()
    return Config(
        apps=Apps(cells=1, bases=1),
        listen=Listen(login_udp_port=udp_login, login_ws_port=ws_login, base_udp_port=udp_base, base_ws_port=ws_base),
        login=Login(attempts_per_s=10_000.0, attempts_burst=10_000, players_max=100_000),
        strangers=Strangers(
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
