"""Without faults, no call and no body takes longer than the paths allow (P1, P2).

*Calls.* Half of the worlds without faults are swift: all paths are short. There every call between two parts must
arrive before its sender's resend timer could have repeated it: a call that takes longer was lost on its way, and the
timer repaired that. So the bound is `resend_s` of the entity channel, from when the call was made. Within it an unknown
callee may have to be located, and its stream renewed. A base and its own cell part always have each other's place, or
the place of a moment ago, from where a frame is forwarded: for these two a few ticks are enough.

*Bodies.* A body that ended gets a successor when all its peers have noted its end. A peer that has ended by then has to
be located; between two requests there is a pause of two seconds. Where paths are long, up to a second each, a search
takes four of them, and the parts that are sought may end and be made again meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.shape import Shape
from terrazzo.wire.entity.limits import ChannelLimits

OWN_S = 0.35
"""Between a base and its own cell part: three hops between CellApps of a tick each, since it moves; a BaseApp adds
none, because it takes turns. The longest of 4,158 in 30 worlds took 0.23 s."""
STRANGER_S = ChannelLimits().resend_s
WAYS = ("base to cell", "cell to base", "cell to cell", "base to base")
AGAIN_S = 20.0
AGAIN_SWIFT_S = 5.0


class Latency:
    """The times of calls, and the times for which bases wait for their next cell part."""

    def __init__(self, now: Callable[[], float], shape: Shape) -> None:
        self._now = now
        self._is_swift = shape.is_swift
        self._again_s = inf if not shape.is_peaceful else AGAIN_SWIFT_S if shape.is_swift else AGAIN_S
        self._wanted: dict[int, float] = {}
        """The entities that wait for another cell part, and since when."""

    def most_s(self, way: str, source: int, target: int) -> float:
        """How long a call may take."""
        if not self._is_swift or way not in WAYS:
            return inf
        return OWN_S if source == target else STRANGER_S

    def lose(self, entity: int) -> None:
        """A base part has lost its cell part, and asks for another."""
        self._wanted[entity] = self._now()

    def regain(self, entity: int) -> Broken | None:
        """A base part has a cell part again; returns what is wrong with that."""
        waited_s = self._now() - self._wanted.pop(entity, inf)
        if waited_s <= self._again_s:
            return None
        return Broken("P1", f"entity {entity} got its next cell part after {waited_s:.1f} s", entity)
