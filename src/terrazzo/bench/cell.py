"""`terrazzo bench cell`: how many clients one core's CellApp sustains.

One CellApp, whole; its peers are in the process, too, but not counted (`cell_world.py`). Every client walks at 5 m/s,
sends ten moves a second, has 62 others in its area of 80 m on average, and is sent at most 20 kbit/s; a property of
each entity changes every 5 s. Counted is the processor time of one tick: bundles decoded, messages handled, the tick,
bundles made.

The number of clients is adjusted until a tick takes 80 % of its time (20 % head-room): `clients_per_core`
(`cell_search.py`). Meanwhile the CellApp is not given the time of its ticks, so that no client is sent less to save
time. Then it is, and half as many more are put on the same core: ticks must stay in time, and clients are sent less
(`beyond`): `late_ticks`, `tick_p99_ms` and `updates_per_client_s`, the mean and of the client with the fewest.

Machines vary. `limit_ratio` is the time of a bare compiled pass over the same pairs in the same run (`cell_limit.py`)
over the time of the whole tick; `kib_per_client` is measured in a process of its own (`cell_memory.py`).
"""

from __future__ import annotations

from typing import Any

from terrazzo._speed import COMPILED
from terrazzo.bench.cell_limit import limit_s
from terrazzo.bench.cell_memory import kib_per_client
from terrazzo.bench.cell_search import search
from terrazzo.bench.cell_world import RADIUS_M, World
from terrazzo.cell.cellapp import TICK_S
from terrazzo.runtime.collector import calm_collector

HEAD_ROOM = 0.2
SETTLE_TICKS = 50
"""Until every client has the descriptions of all entities around it."""
FIRST_GUESS = 1500
BEYOND = 1.5


def measure(clients: int = 0, ticks: int = 50, beyond: float = BEYOND, seed: int = 1) -> dict[str, Any]:
    """The figures, and what explains them. With `clients`, one run with so many, from which the figures are estimated;
    and one with `beyond` times as many."""
    target_ms = 1000 * TICK_S * (1 - HEAD_ROOM)
    runs: list[dict[str, Any]] = []

    def used(count: int) -> float:
        runs.append(_run(count, ticks, seed))
        return float(runs[-1]["tick_mean_ms"] / target_ms)

    sustained = 0
    if clients:
        used(clients)
    else:
        sustained = search(used, FIRST_GUESS)
    best = min(
        (run for run in runs if run["clients"] == sustained) if sustained else runs,
        key=lambda run: run["tick_mean_ms"] / run["clients"],
    )
    if not sustained:
        sustained = round(best["clients"] * target_ms / best["tick_mean_ms"])
    phases = best.pop("phases")
    result: dict[str, Any] = {
        "bench": "cell",
        "compiled": COMPILED,
        "figures": {
            "clients_per_core": sustained,
            "bytes_per_client_s": best["bytes_per_client_s"],
            "tick_p99_ms": best["tick_p99_ms"],
            "limit_ratio": best["limit_ratio"],
            "kib_per_client": kib_per_client(),
        },
        "run": best,
        "microseconds_per_client_and_tick": phases,
    }
    if beyond:
        over = _run(round((clients or sustained) * beyond), ticks, seed, is_limited=True)
        over.pop("phases")
        result["beyond"] = over
    return result


def _run(clients: int, ticks: int, seed: int, *, is_limited: bool = False) -> dict[str, Any]:
    """One world with so many clients, settled, then measured. The collector is as in a process of a cluster."""
    calm_collector()
    world = World(clients, seed=seed, is_limited=is_limited)
    world.settle(SETTLE_TICKS)
    started = world.clock.now
    world.run(ticks)
    seconds = world.clock.now - started
    cell = world.cells[0]
    assert len(cell.reals) == clients, f"{len(cell.reals)} of {clients} walkers are there"
    per_tick = sorted(world.tick_s)
    reliable = sum(carrier.reliable_bytes for carrier in world.carriers)
    places = sum(carrier.places_bytes for carrier in world.carriers)
    updates = [world.carrier_of(entity).updates.get(entity, 0) for entity in world.walkers]
    witnesses = [real.witness for real in cell.reals.values() if real.witness is not None]
    places_bytes = places / max(sum(updates), 1)
    limit = limit_s(cell, places_bytes, RADIUS_M)
    return {
        "clients": clients,
        "limit_ratio": limit if isinstance(limit, str) else limit / (sum(per_tick) / ticks),
        "around": sum(len(each.entities()) for each in witnesses) / clients,
        "tick_mean_ms": 1000 * sum(per_tick) / ticks,
        "tick_p99_ms": 1000 * per_tick[int(0.99 * (ticks - 1))],
        "tick_interval_ms": 1000 * seconds / ticks,
        "late_ticks": sum(spent > TICK_S for spent in per_tick),
        "bytes_per_client_s": (reliable + places) / clients / seconds,
        "reliable_bytes_per_client_s": reliable / clients / seconds,
        "updates_per_client_s": sum(updates) / clients / seconds,
        "updates_per_client_s_min": min(updates) / seconds,
        "microseconds_per_client": 1e6 * sum(per_tick) / ticks / clients,
        "limit_microseconds_per_client": limit if isinstance(limit, str) else 1e6 * limit / clients,
        "throttle": cell.scheduler.throttle,
        "phases": {name: 1e6 * spent / ticks / clients for name, spent in world.meter.seconds.items()},
    }
