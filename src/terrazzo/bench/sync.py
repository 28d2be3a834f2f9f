"""`terrazzo bench sync`: what a changed property costs, from the assignment to the packets for those that see it.

63 players stand within sight of each other, so each change has 62 receivers. In each tick every player changes one
property: a number at the top (`changes_per_cpu_s`), or a field of a record in a list (`nested_per_cpu_s`). Counted is
the processor time of the CellApp: game code, steps, witnesses, entity channels, bundles made. A world in which nothing
changes is measured in the same way, and what it takes is left out.

**Naive** does the same fan-out over the same channels in plain Python: for each receiver of each change it encodes the
change anew, and puts it into that receiver's mail. `naive_ratio` is how many times more changes per second ours does.

`bytes_over_raw` is from the scripted minute (`bench/minute.py`).
"""

from __future__ import annotations

from typing import Any

from terrazzo._speed import COMPILED
from terrazzo._speed.values import Change
from terrazzo.bench import minute
from terrazzo.bench.cell_peers import WALKER
from terrazzo.bench.cell_world import World
from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.runtime.collector import calm_collector
from terrazzo.sync.protocol import encode_change, with_alias
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ToClient

PLAYERS = 63
SETTLE_TICKS = 40
SIDE_M = 50.0
BITS_S = 10_000_000.0
"""So much that no client waits for bytes."""


def measure(ticks: int = 100, rounds: int = 3, minute_s: float = minute.MINUTE_S, seed: int = 1) -> dict[str, Any]:
    """The figures, and what explains them."""
    calm_collector()
    contenders = {"nothing": _Still, "top": _Top, "nested": _Nested, "naive": _Naive}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, contender in contenders.items():
            best[name] = min(best[name], contender(seed).run(ticks))
    changes = {name: PLAYERS / (best[name] - best["nothing"]) for name in ("top", "nested", "naive")}
    played = minute.play(seed, seconds=minute_s)
    return {
        "bench": "sync",
        "compiled": COMPILED,
        "figures": {
            "changes_per_cpu_s": changes["top"],
            "nested_per_cpu_s": changes["nested"],
            "naive_ratio": changes["top"] / changes["naive"],
            "bytes_over_raw": played["bytes_over_raw"],
        },
        "receivers": PLAYERS - 1,
        "tick_ms": {name: 1000 * seconds for name, seconds in best.items()},
        "naive_changes_per_cpu_s": changes["naive"],
        "minute": played,
    }


class _Still:
    """Players that stand in each other's sight."""

    def __init__(self, seed: int) -> None:
        self.world = World(PLAYERS, seed=seed, client_bits_s=BITS_S, side_m=SIDE_M)
        self.world.settle(SETTLE_TICKS)
        self.cell: CellApp = self.world.cells[0]
        for real in self._reals():
            real.part.gear = [{"kind": number, "count": 1} for number in range(3)]
        self.world.settle(SETTLE_TICKS)
        assert all(len(real.witness.entities()) == PLAYERS - 1 for real in self._reals() if real.witness is not None)

    def _reals(self) -> list[Real]:
        return list(self.cell.reals.values())

    def run(self, ticks: int) -> float:
        """Processor seconds of a tick, on average."""
        meter = self.world.meter
        for tick in range(ticks):
            meter.enter("game")
            self.act(tick)
            meter.enter("")
            self.world.tick(may_be_late=False)
        return meter.total / ticks

    def act(self, tick: int) -> None:
        """What the game's code does in this tick."""


class _Top(_Still):
    """Each changes a number."""

    def act(self, tick: int) -> None:
        """See _Still."""
        for real in self._reals():
            real.part.health = tick % 100


class _Nested(_Still):
    """Each changes a field of a record in a list."""

    def act(self, tick: int) -> None:
        """See _Still."""
        for real in self._reals():
            real.part.gear[tick % 3].count = tick % 250


class _Naive(_Still):
    """Each changes a number, and it is encoded for each receiver."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._changes: list[tuple[int, Change]] = []
        self._index = WALKER.client_layout.index["health"]

    def act(self, tick: int) -> None:
        """Only the change itself is the state's own; all that follows is done here."""
        for real in self._reals():
            listener = real.body.state.listener
            real.body.state.listener = lambda change, entity=real.body.id: self._changes.append((entity, change))
            real.part.health = tick % 100
            real.body.state.listener = listener
        count = len(WALKER.client_layout)
        for real in self._reals():
            messages = []
            for entity, change in self._changes:
                if entity != real.body.id:
                    messages.append(with_alias(1 + entity % 200, encode_change(change, self._index, count)))
            payload = REGISTRY.encode(ToClient(1, tuple(messages)))
            self.cell.switchboard.send(real.body.part, real.body.base_part, payload)
        self._changes.clear()
