"""How long a world may take to come to rest: each kind of check at rest has a bound of its own.

Peace begins when the workload has ended and the last fault is over. From then on the runner gets from the scenario what
is still under way. Each problem has a kind, and each kind has a bound, derived from the timers of the protocol that
resolves it (`scenarios/seamless/liveness_bounds.py`). The time of a kind counts from the latest of

    the beginning of peace,
    the last moment in which there was no problem of this kind,
    the last moment in which there was a problem of a kind that it depends on (`after`),
    the last moment in which an entity began or ended (a player that comes in peace makes work for all others).

A kind that has had a problem for longer than its bound breaks `liveness`, whatever else is still under way.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenario import Unrest


class Bound(NamedTuple):
    """How long a kind of problem may last in peace."""

    within_s: float
    derivation: str
    """The timers that it is derived from; for the docs."""
    after: tuple[Enum, ...] = ()
    """The kinds that must be at rest before."""


class Problem(NamedTuple):
    """A condition that does not hold yet."""

    kind: Enum
    what: str
    about: tuple[object, ...] = ()


class Liveness:
    """Judges one world in peace."""

    def __init__(self, bounds: dict[Enum, Bound]) -> None:
        self.longest_s: dict[Enum, float] = {}
        """The longest time for which there was a problem of each kind."""
        self._bounds = bounds
        self._clean_at: dict[Enum, float] = {}
        self._seen_at: dict[Enum, float] = {}

    def judge(self, now: float, begun_at: float, problems: Iterable[Problem]) -> Unrest | None:
        """The first problem that is still under way; raises Broken for one that has lasted too long. `begun_at`: the
        beginning of peace, or the last time that an entity began or ended."""
        first: dict[Enum, Problem] = {}
        for problem in problems:
            first.setdefault(problem.kind, problem)
        self._seen_at.update(dict.fromkeys(first, now))
        for kind, bound in self._bounds.items():
            if kind not in first:
                self._clean_at[kind] = now
                continue
            since = [self._clean_at.get(kind, begun_at), *(self._seen_at.get(each, begun_at) for each in bound.after)]
            lasts_s = now - max(begun_at, *since)
            self.longest_s[kind] = max(lasts_s, self.longest_s.get(kind, 0.0))
            if lasts_s > bound.within_s:
                what = f"not at rest after {lasts_s:.1f} s of peace, {bound.within_s:.1f} s at most: {first[kind].what}"
                raise Broken("liveness", what, *first[kind].about)
        worst = next(iter(first.values()), None)
        return None if worst is None else Unrest(worst.what, worst.about)
