"""Where nothing goes wrong, nobody waits longer than the ways take (P1, P2).

*Calls.* Half of the worlds without faults are swift: all ways are short. A base part knows where its cell part is, or
was a moment ago, and what comes to a former home is passed on from there. So what it says comes within a few ticks,
whoever migrates. If it took longer, the message was lost on its way, and what healed that was the sending again, after
a second or more.

*Bodies.* One that ended gets a successor when everybody who had to do with it has heard of its end. Whom it called and
who is gone by then has to be looked for; between two questions there is a pause of two seconds. Where ways are long, up
to a second each, a search takes four of them, and those who are looked for may end and be made again meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless_shape import Shape

HASTE_S = 0.6
"""Several hops of a tick each; less than the time after which something is sent again."""
AGAIN_S = 20.0
AGAIN_SWIFT_S = 5.0


class Haste:
    """The calls of base parts to their cell parts, and the cell parts that they get after the first."""

    def __init__(self, now: Callable[[], float], life: Callable[[int], int], shape: Shape) -> None:
        self._now = now
        self._life = life
        self._is_swift = shape.is_swift
        self._again_s = inf if not shape.is_peaceful else AGAIN_SWIFT_S if shape.is_swift else AGAIN_S
        self._made: dict[tuple[int, int], tuple[float, int]] = {}
        """When each was made, and in which life of the cell part."""
        self._wanted: dict[int, float] = {}
        """Since when somebody who has lost its cell part wants another."""

    def make(self, entity: int, number: int) -> None:
        """A base part calls its cell part."""
        if self._is_swift:
            self._made[entity, number] = (self._now(), self._life(entity))

    def hear(self, entity: int, number: int) -> Broken | None:
        """The call has come; what is wrong with that."""
        made = self._made.pop((entity, number), None)
        if made is None or made[1] != self._life(entity) or self._now() <= made[0] + HASTE_S:
            return None
        late_s = self._now() - made[0]
        return Broken("P2", f"call {number} of base {entity} to its cell part came after {late_s:.1f} s", entity)

    def lose(self, entity: int) -> None:
        """A base part has lost its cell part, and asks for another."""
        self._wanted[entity] = self._now()

    def regain(self, entity: int) -> Broken | None:
        """It has a cell part; what is wrong with that."""
        waited_s = self._now() - self._wanted.pop(entity, inf)
        if waited_s <= self._again_s:
            return None
        return Broken("P1", f"entity {entity} got its next cell part after {waited_s:.1f} s", entity)
