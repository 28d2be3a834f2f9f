"""`terrazzo bench cell --scale`: what makes a CellApp's tick longer, and that nothing does so more than in proportion.

Each line is one world of few clients; the clients of a core are estimated from what one of them costs there.

    around      clients with 20 … 400 others in their area. The time for a client must grow with its pairs, or less
    changes     0 … 5 changes of a property a second and entity, with 62 around
    border      two CellApps side by side: the shares of a tick that go to ghosts and to offloads
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from terrazzo.bench.cell_world import World
from terrazzo.cell.cellapp import TICK_S
from terrazzo.cell.client.clients import witness_of
from terrazzo.runtime.collector import calm_collector

AROUNDS = (20, 62, 150, 400)
CHANGES = (0.0, 1.0, 5.0)
SETTLE_TICKS = 60
SHARE = 0.8


def measure_scale(clients: int = 1500, ticks: int = 30, seed: int = 1) -> dict[str, Any]:
    """All lines."""
    by_around = [_line(World(clients, around=around, seed=seed, is_limited=False), ticks) for around in AROUNDS]
    by_changes = [
        _line(World(clients, change_s=1 / changes if changes else 0.0, seed=seed, is_limited=False), ticks)
        | {"changes_per_s": changes}
        for changes in CHANGES
    ]
    border = World(clients, cells=2, seed=seed, is_limited=False)
    line = _line(border, ticks)
    total = sum(border.meter.seconds.values())
    shares = {f"{name}_share": border.meter.seconds.get(name, 0.0) / total for name in ("ghosts", "offloads", "steps")}
    figures: dict[str, float] = {}
    for around, each in zip(AROUNDS, by_around, strict=True):
        figures[f"clients_per_core_{around}_around"] = each["clients_per_core"]
    for each in by_changes:
        figures[f"clients_per_core_{each['changes_per_s']:g}_changes"] = each["clients_per_core"]
    return {
        "bench": "cell --scale",
        "figures": {**figures, "growth": growth(by_around)},
        "around": by_around,
        "changes": by_changes,
        "border": {**line, **shares},
    }


def growth(lines: list[dict[str, Any]]) -> float:
    """How much faster than in proportion the time for a client grows with its pairs, between two lines at most; 1 and
    less: not faster."""
    steps = pairwise(lines)
    return max(
        float(more["microseconds_per_client"] / less["microseconds_per_client"] / (more["around"] / less["around"]))
        for less, more in steps
    )


def _line(world: World, ticks: int) -> dict[str, Any]:
    calm_collector()
    world.settle(SETTLE_TICKS)
    world.run(ticks)
    seconds = sum(world.tick_s) / ticks / len(world.cells)
    each = seconds / world.clients * len(world.cells)
    witnesses = [witness_of(real) for cell in world.cells for real in cell.reals.values()]
    pairs = sum(len(witness.entities()) for witness in witnesses if witness is not None)
    return {
        "clients": world.clients,
        "around": pairs / world.clients,
        "clients_per_core": round(TICK_S * SHARE / each),
        "microseconds_per_client": 1e6 * each,
        "nanoseconds_per_pair": 1e9 * each * world.clients / max(pairs, 1),
    }
