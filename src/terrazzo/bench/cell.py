"""`terrazzo bench cell`: how many clients one core's CellApp sustains.

One CellApp, whole; its peers are in the process, too, but not counted (`cell_world.py`). Every client walks at 5 m/s,
says so ten times a second, has 62 others in its area of 80 m on average, and is sent at most 20 kbit/s; a property of
each entity changes every 5 s. Counted is the processor time of one tick: bundles decoded, messages handled, the tick,
bundles made.

The number of clients is adjusted until a tick takes 80 % of its time (20 % head-room): `clients_per_core`. Meanwhile
the CellApp does not know how long its ticks take, so that nobody is told less to save time. Then it does, and half as
many more are put on the same core: ticks must stay in time, and what is told becomes less (`beyond`): `late_ticks`,
`tick_p99_ms` and `updates_per_client_s`, the mean and of who had the fewest.
"""

from __future__ import annotations

from typing import Any

from terrazzo._speed import COMPILED
from terrazzo.bench.cell_world import World
from terrazzo.cell.cellapp import TICK_S
from terrazzo.runtime.collector import calm_collector

HEAD_ROOM = 0.2
SETTLE_TICKS = 50
"""Until everybody around everybody is described."""
FIRST_GUESS = 1500
RUNS_MAX = 4
NEAR_ENOUGH = 0.03
BEYOND = 1.5


def measure(clients: int = 0, ticks: int = 50, beyond: float = BEYOND, seed: int = 1) -> dict[str, Any]:
    """The figures, and what explains them. With `clients`, one run with so many, from which the figures are estimated;
    and one with `beyond` times as many."""
    target_ms = 1000 * TICK_S * (1 - HEAD_ROOM)
    runs = [_run(clients or FIRST_GUESS, ticks, seed)]
    while not clients and len(runs) < RUNS_MAX:
        used = runs[-1]["tick_mean_ms"] / target_ms
        if 1 - NEAR_ENOUGH <= used <= 1:
            break
        runs.append(_run(round(runs[-1]["clients"] / used * (1 - NEAR_ENOUGH / 2)), ticks, seed))
    fitting = [run for run in runs if run["tick_mean_ms"] <= target_ms]
    best = max(fitting or runs[-1:], key=lambda run: run["clients"])
    sustained = best["clients"]
    if clients or not fitting:
        sustained = round(sustained * target_ms / best["tick_mean_ms"])
    phases = best.pop("phases")
    result: dict[str, Any] = {
        "bench": "cell",
        "compiled": COMPILED,
        "figures": {
            "clients_per_core": sustained,
            "bytes_per_client_s": best["bytes_per_client_s"],
            "tick_p99_ms": best["tick_p99_ms"],
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
    return {
        "clients": clients,
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
        "throttle": cell.scheduler.throttle,
        "phases": {name: 1e6 * spent / ticks / clients for name, spent in world.meter.seconds.items()},
    }
