"""`terrazzo bench latency`: from a client's move to another client's view, and a call to the own cell part and back.

A whole cluster in the simulator (two CellApps, one BaseApp), so the figures do not depend on this machine: links take
1 ms, the ways of clients 20 ms, nothing is lost. Three players: Ann and Ben in one cell, Cid in the other.

    Ann ── move ──▶ her BaseApp ──▶ her CellApp ─────────────────▶ Ben's BaseApp ──▶ Ben: the same cell
                                        └──▶ the next CellApp ───▶ Cid's BaseApp ──▶ Cid: across the border

Ann moves at times that are drawn, all phases of the ticks alike, and her client sends each move at once. Each watcher's
view is looked at after each packet that comes. The ticks of two apps have a phase between them, which a run keeps: so
several worlds are measured, each with phases of its own. The figures are in ticks, and do not contain the time that the
packets are on their way: a move within a cell waits for nothing but the CellApp's tick, 0.5 of one on average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from terrazzo.bench.latency_game import SPACE, Position, game_of
from terrazzo.errors import UsageError
from terrazzo.managers.cellapp_mgr import ManagerState
from terrazzo.sim.cluster import Cluster, Seat
from terrazzo.sim.world import World

TICK_S = 0.1
LINK_S = 0.001
CLIENT_S = 0.02
START_S = 10.0
"""How long the world and all logins may take."""
SETTLE_S = 5.0
GAP_S = (0.11, 0.29)
"""Between two moves, and between two calls."""
STEP_M = 0.3


@dataclass
class Samples:
    """The times of one kind, in ticks, without the ways."""

    way_s: float
    ticks: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """One that took so long."""
        self.ticks.append((seconds - self.way_s) / TICK_S)

    def quantile(self, share: float) -> float:
        """The time that this share of all stays below."""
        if not self.ticks:
            raise UsageError("nothing was measured: take more seconds")
        ordered = sorted(self.ticks)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    def plain(self) -> dict[str, float]:
        """For a person."""
        names = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
        return {"samples": len(self.ticks), **{name: round(self.quantile(share), 3) for name, share in names}}


def measure(worlds: int = 20, seconds: float = 15.0, seed: int = 1) -> dict[str, Any]:
    """The figures, and what explains them. `seconds` are virtual ones, of each world."""
    move, border = Samples(2 * CLIENT_S + 2 * LINK_S), Samples(2 * CLIENT_S + 3 * LINK_S)
    call, logins = Samples(2 * CLIENT_S + 2 * LINK_S), list[float]()
    for number in range(worlds):
        bench = _Bench(seed + number, move, border, call)
        logins.append(bench.run(seconds))
    return {
        "bench": "latency",
        "figures": {
            "move_p50_ticks": round(move.quantile(0.5), 3),
            "move_p99_ticks": round(move.quantile(0.99), 3),
            "border_p50_ticks": round(border.quantile(0.5), 3),
            "border_p99_ticks": round(border.quantile(0.99), 3),
            "call_p50_ticks": round(call.quantile(0.5), 3),
            "call_p99_ticks": round(call.quantile(0.99), 3),
            "login_ms": round(1000.0 * sum(logins) / len(logins)),
        },
        "move": move.plain(),
        "border": border.plain(),
        "call": call.plain(),
        "conditions": {
            "tick_ms": 1000.0 * TICK_S,
            "link_ms": 1000.0 * LINK_S,
            "client_ms": 1000.0 * CLIENT_S,
            "worlds": worlds,
            "virtual_s": seconds,
        },
    }


class _Bench:
    """One cluster, and what is measured in it."""

    def __init__(self, seed: int, move: Samples, border: Samples, call: Samples) -> None:
        self.world = World(seed)
        self.world.network.default.latency_s = LINK_S
        self.places: list[Position] = []
        self.cluster = Cluster(self.world, game_of(self.places), cells=2, bases=1, tick_s=TICK_S)
        self.cluster.conditions = (CLIENT_S, 0.0, 0.0, 0.0)
        self._samples = (move, border)
        self._call_times = call
        self._rng = self.world.rng("bench latency")
        self._made: list[tuple[float, float]] = []
        """Each move: where to, and when."""
        self._asked: list[float] = []
        """When each call was made."""
        self._answered = 0
        self._is_over = False

    def run(self, seconds: float) -> float:
        """Everything; how long a login took on average, from the first packet to the body."""
        self._await(lambda: self.cluster.manager.state is ManagerState.READY)
        axis, border = self._border()
        self._axis = axis
        begun = self.world.clock.now
        ann, ben, cid = (self._enter(axis, border + off) for off in (-6.0, -9.0, 6.0))
        login_s = (self.world.clock.now - begun) / 3
        self._run(SETTLE_S)
        assert ann.app.player is not None
        self._ann = ann
        self._x, _, self._z = ann.app.player.position
        for watcher, samples in zip((ben, cid), self._samples, strict=True):
            self._watch(watcher, ann.app.player.id, samples)
        ann.on_heard = self._on_answer
        self._move()
        self._call()
        self._run(seconds)
        self._is_over = True
        return login_s

    def _border(self) -> tuple[int, float]:
        tree = self.cluster.manager.tree_of(SPACE)
        (_, node, _), *_ = tree.nodes()
        return int(node.axis), node.position

    def _enter(self, axis: int, at: float) -> Seat:
        """A player with a place that is so far along the axis that the border parts."""
        self.places.append((at, 0.0, 0.0) if axis == 0 else (0.0, 0.0, at))
        seat = self.cluster.client(f"player-{len(self.places)}-{at:g}", "secret")
        self._await(lambda: seat.app.has_body)
        return seat

    def _await(self, is_so: Callable[[], bool]) -> None:
        until = self.world.clock.now + START_S
        while not is_so():
            assert self.world.clock.now < until, "the world does not begin"
            self._run(0.01)

    def _run(self, seconds: float) -> None:
        self.world.clock.run_until(self.world.clock.now + seconds)

    # Moves.

    def _move(self) -> None:
        """Ann makes a step along the border, to and fro; no place comes twice in a while."""
        if self._is_over:
            return
        count, now = len(self._made), self.world.clock.now
        along = (count % 100) * STEP_M + STEP_M
        x, z = (self._x, self._z + along) if self._axis == 0 else (self._x + along, self._z)
        self._made.append((along, now))
        self._ann.app.move((x, 0.0, z))
        self._ann.app.tick(now)
        self._ann.flush()
        self.world.clock.after(self._rng.uniform(*GAP_S), self._move)

    def _watch(self, seat: Seat, entity: int, samples: Samples) -> None:
        """After each packet: which of Ann's places has come? Those that it has skipped have come with it."""
        seen = 0

        def look() -> None:
            nonlocal seen
            found = seat.app.view.find(entity)
            if found is None:
                return
            start = self._z if self._axis == 0 else self._x
            along = found.position[2 if self._axis == 0 else 0] - start
            for number in range(len(self._made) - 1, seen - 1, -1):
                if abs(self._made[number][0] - along) < STEP_M / 2:
                    for _, at in self._made[seen : number + 1]:
                        samples.add(self.world.clock.now - at)
                    seen = number + 1
                    return

        seat.on_heard = look

    # Calls.

    def _call(self) -> None:
        if self._is_over:
            return
        player = self._ann.app.player
        assert player is not None
        self._asked.append(self.world.clock.now)
        player.cell.ask(len(self._asked))
        self._ann.flush()
        self.world.clock.after(self._rng.uniform(*GAP_S), self._call)

    def _on_answer(self) -> None:
        player: Any = self._ann.app.player
        while self._answered < player.answered:
            self._call_times.add(self.world.clock.now - self._asked[self._answered])
            self._answered += 1
