"""`terrazzo bench bots`: how many bots, and how many walkers of a crowd, one core plays.

Both come into a cluster with a real BaseApp and a stand-in of a CellApp (`base_stage.py`), which shows each of them 62
others: 38 of these move in every tick. The bots are whole clients, which keep a view of all others; the walkers keep
none. Each kind comes in two steps, and a straight line is fitted through the processor time of its own process (from
/proc): `bots_per_core` and `crowd_per_core` are where this line reaches SHARE of a core. Client-ticks count that were
really served: a machine that is too busy to serve all in time makes a step smaller, not cheaper.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from terrazzo._speed import COMPILED
from terrazzo.bench.base_stage import SETTLE_S, TICK_HZ, Fit, Say, Stage, fit, staged
from terrazzo.runtime.cpuload import used_s

SHARE = 0.8
"""Of a core: 20 % head-room."""


async def measure(
    *, bots: int = 100, walkers: int = 400, seconds: float = 8.0, say: Say = lambda line: None
) -> dict[str, Any]:
    """The figures, and what explains them."""
    bot_points: list[tuple[float, float]] = []
    walker_points: list[tuple[float, float]] = []
    async with staged(seconds, say) as stage:
        pids: list[int] = []
        for count in (bots // 2, bots - bots // 2):
            pids.append(await stage.add_bots(count))
            bot_points.append(await _look(stage, pids, seconds))
            say(f"{bot_points[-1][0]:.0f} bots: {100 * bot_points[-1][1]:.1f} % of a core")
        await stage.leave()
        for count in (walkers // 2, walkers - walkers // 2):
            await stage.add(count)
            step = await stage.measure()
            walker_points.append((step.clients_served, step.crowd_share))
    return report(bot_points, walker_points)


def report(bots: list[tuple[float, float]], walkers: list[tuple[float, float]]) -> dict[str, Any]:
    """The figures of points (number, share of a core). A line that does not rise gives none."""
    lines = {"bots_per_core": fit(bots), "crowd_per_core": fit(walkers)}
    return {
        "bench": "bots",
        "compiled": COMPILED,
        "figures": {name: round(line.reaches(SHARE)) for name, line in lines.items() if line.slope > 0},
        "microseconds_per_client_and_tick": {
            "bots": _microseconds(lines["bots_per_core"]),
            "crowd": _microseconds(lines["crowd_per_core"]),
        },
        "bots": {f"{count:.0f} served": share for count, share in bots},
        "crowd": {f"{count:.0f} served": share for count, share in walkers},
    }


def _microseconds(line: Fit) -> float:
    return 1e6 * line.slope / TICK_HZ


async def _look(stage: Stage, pids: list[int], seconds: float) -> tuple[float, float]:
    """Clients that are served, and what all their processes use of a core."""
    await asyncio.sleep(min(SETTLE_S, seconds))
    before, used, at = stage.totals(), sum(map(used_s, pids)), time.monotonic()
    await asyncio.sleep(seconds)
    after = stage.totals()
    share = (sum(map(used_s, pids)) - used) / (time.monotonic() - at)
    return (after.updates - before.updates) / (after.at - before.at) / TICK_HZ, share
