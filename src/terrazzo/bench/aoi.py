"""`terrazzo bench aoi`: enters and leaves of areas, by our kernel, a plain C kernel and SciPy's cKDTree.

All have the same walk: entities spread evenly over a plane of 1000 × 1000; each goes up to 1.0 in any direction in each
tick and is turned back at the edges; each watches a circle that about so many others are in. A tick is: all places are
put, and the enter and leave events of all areas come out as arrays. The contenders take turns in short rounds; the best
round of each counts, in CPU time.

    ours      the area kernel through its public interface: circles with a radius of their own each, a hysteresis of
              HYSTERESIS_M, members kept. `no_ring` is the same without hysteresis: then all three give the same events.
    limit     benchmarks/aoi_limit.c: the least that finds them (its comment has how), built when this runs, by the
              compiler and with the flags that built our kernels
    ckdtree   a tree built anew each tick, all pairs asked for, compared with those of the tick before

    limit_ratio     ours / limit, moves per CPU second; the lowest of the sizes
    ckdtree_ratio   ours / ckdtree, likewise

What is missing (a C compiler, this project's clone with `benchmarks/`, SciPy) is named and left out; its figure is
null.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from math import cos, pi, sin, sqrt, tau
from random import Random
from typing import Any, NamedTuple

from terrazzo._speed import COMPILED
from terrazzo._speed.area import Area
from terrazzo.bench.aoi_rivals import Rival, ckdtree, limit
from terrazzo.bench.rounds import best_of_rounds

PLANE_M = 1000.0
STEP_M = 1.0
HYSTERESIS_M = 5.0


class Size(NamedTuple):
    """How many, how many of them near each, and how many ticks a round has."""

    entities: int
    near: int
    ticks: int

    @property
    def radius(self) -> float:
        """Of the circle that this many are in, away from the edges."""
        return sqrt(self.near * PLANE_M * PLANE_M / (pi * self.entities))


SIZES = (Size(1_000, 20, 100), Size(5_000, 100, 20), Size(10_000, 20, 20))


class Walk:
    """Where all entities are, tick by tick: there and back again, without end."""

    def __init__(self, size: Size, seed: int) -> None:
        rng = Random(seed)
        xs = [rng.uniform(0, PLANE_M) for _ in range(size.entities)]
        zs = [rng.uniform(0, PLANE_M) for _ in range(size.entities)]
        self.places = [(array("f", xs), array("f", zs))]
        for _ in range(size.ticks):
            for i in range(size.entities):
                angle, length = tau * rng.random(), STEP_M * rng.random()
                xs[i] = _turned_back(xs[i] + cos(angle) * length)
                zs[i] = _turned_back(zs[i] + sin(angle) * length)
            self.places.append((array("f", xs), array("f", zs)))

    def ticks(self) -> Iterator[int]:
        """Which of `places` comes next, beginning behind the first."""
        last = len(self.places) - 1
        while True:
            yield from range(1, last + 1)
            yield from range(last - 1, -1, -1)


def _turned_back(at: float) -> float:
    return -at if at < 0 else 2 * PLANE_M - at if at > PLANE_M else at


def measure(*, rounds: int = 15, seed: int = 1, sizes: Sequence[Size] = SIZES) -> dict[str, Any]:
    """The figures, and a table for each size."""
    missing: dict[str, str] = {}
    tables = {
        f"{size.entities} entities, {size.near} near": _measure_size(size, rounds, seed, missing) for size in sizes
    }
    return {
        "bench": "aoi",
        "compiled": COMPILED,
        "figures": {
            figure: min((table[figure] for table in tables.values() if figure in table), default=None)
            for figure in ("limit_ratio", "ckdtree_ratio")
        },
        **tables,
        "hysteresis_m": HYSTERESIS_M,
        "left_out": missing,
    }


def _measure_size(size: Size, rounds: int, seed: int, missing: dict[str, str]) -> dict[str, float]:
    walk = Walk(size, seed)
    makers: dict[str, Callable[[], Rival | str]] = {
        "ours": lambda: ours(walk, size.radius, HYSTERESIS_M),
        "no_ring": lambda: ours(walk, size.radius, 0.0),
        "limit": lambda: limit(walk.places, size.radius, PLANE_M, STEP_M),
        "ckdtree": lambda: ckdtree(walk.places, size.radius),
    }
    events: dict[str, int] = {}
    ticks: dict[str, int] = {}
    contenders: dict[str, Callable[[], object]] = {}
    for name, make in makers.items():
        rival = make()
        if isinstance(rival, str):
            missing[name] = rival
            continue
        events[name] = ticks[name] = 0
        contenders[name] = _turn(name, rival, walk.ticks(), events, ticks)
    seconds = best_of_rounds(contenders, rounds=rounds, calls=size.ticks, clock=time.process_time)
    rates = {name: size.entities / each for name, each in seconds.items()}
    table: dict[str, float] = {f"{name}_moves_per_cpu_s": float(round(rate)) for name, rate in rates.items()}
    table |= {f"{name}_events_per_tick": round(events[name] / ticks[name], 1) for name in rates}
    table |= {f"{name}_ratio": rates["ours"] / rates[name] for name in ("limit", "ckdtree") if name in rates}
    return table


def _turn(
    name: str, rival: Rival, ticks: Iterator[int], events: dict[str, int], played: dict[str, int]
) -> Callable[[], None]:
    """One tick of a contender."""

    def turn() -> None:
        events[name] += rival(next(ticks))
        played[name] += 1

    return turn


def ours(walk: Walk, radius: float, hysteresis: float) -> Rival:
    """The kernel, with all entities in it and each with an area; the first enters are behind it."""
    xs, zs = walk.places[0]
    ahead = (0.0, 0.0, 0.0)
    area = Area()
    slots = array("i", [area.add(n, (xs[n], 0.0, zs[n]), ahead, 0.0, 0, 1) for n in range(len(xs))])
    for slot in slots:
        area.watch(slot, radius, hysteresis)
    area.step()
    rows = []
    for xs, zs in walk.places:
        places = array("f", bytes(24 * len(xs)))
        places[0::6], places[2::6] = xs, zs
        rows.append(places)

    def play(tick: int) -> int:
        area.put_many(slots, rows[tick])
        interests, _, _ = area.step()
        return len(interests)

    return play
