"""The events of the seamless scenario that must happen exactly once, in whichever cell the entity is by then.

    timers         each fires once, never early, without faults not late  (race 13)
    controllers    a controller that was begun ends once: done, failed, cancelled or replaced
    jumps          a teleport ends once: the entity arrived at the goal, or the teleport failed and it is where it was
    areas          for each area and proximity trigger, entering and leaving alternate, whichever entity migrates

Each is recorded by entity and life: it ends with the body.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from terrazzo.sim.oracle import Broken
from terrazzo.wire.pairs.base_cell import Position

EARLY_S = 1e-6
"""Times are measured by several clocks; they do not add up exactly."""

Own = tuple[int, int]
"""An entity and its life."""


class Area(NamedTuple):
    """An area of interest (number 0) or a proximity trigger."""

    entity: int
    life: int
    number: int


class TeleportGoal(NamedTuple):
    """The goal of a teleport: a place in a space, or an offset from an entity."""

    space: str
    position: Position
    beside: int = 0


class Once:
    """The events of one world that must happen exactly once."""

    def __init__(self, now: Callable[[], float], life: Callable[[int], int], *, late_s: float = inf) -> None:
        self.timers: dict[tuple[Own, int], float] = {}
        self.controllers: dict[tuple[Own, int], str] = {}
        self.jumps: dict[Own, TeleportGoal] = {}
        self.inside: dict[Area, set[int]] = {}
        self.counts: dict[str, int] = {}
        """The number of events of each kind: a world without them proves nothing."""
        self._now = now
        self._life = life
        self._late_s = late_s

    def _own(self, entity: int) -> Own:
        return entity, self._life(entity)

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # Timers.

    def wind(self, entity: int, number: int, seconds: float) -> None:
        """A timer is set."""
        self.timers[self._own(entity), number] = self._now() + seconds

    def fire(self, entity: int, number: int) -> Broken | None:
        """A timer fires."""
        due = self.timers.pop((self._own(entity), number), None)
        self._count("timers")
        if due is None:
            return Broken("P1", f"timer {number} of entity {entity} fires, but has fired or was never set", entity)
        if self._now() < due - EARLY_S:
            return Broken("P1", f"timer {number} of entity {entity} fires {due - self._now():.3f} s early", entity)
        if self._now() > due + self._late_s:
            return Broken("P1", f"timer {number} of entity {entity} fires {self._now() - due:.3f} s late", entity)
        return None

    # Controllers.

    def begin(self, entity: int, number: int, what: str) -> None:
        """A controller is begun."""
        self.controllers[self._own(entity), number] = what

    def end(self, entity: int, number: int, how: str) -> Broken | None:
        """A controller is over."""
        self._count(how)
        if self.controllers.pop((self._own(entity), number), None) is None:
            return Broken("P1", f"controller {number} of entity {entity} is {how}, but it was over", entity)
        return None

    def meet(self, entity: int, number: int) -> Broken | None:
        """A controller reports its arrival; one that follows goes on, and reports each time it has caught up."""
        if self.controllers.get((self._own(entity), number)) == "follow":
            self._count("caught up")
            return None
        return self.end(entity, number, "reached")

    # Teleports.

    def wish(self, entity: int, wish: TeleportGoal) -> None:
        """A teleport is requested."""
        self.jumps[self._own(entity)] = wish

    def is_jumping(self, entity: int) -> bool:
        """Whether a teleport is under way."""
        return self._own(entity) in self.jumps

    def land(
        self, entity: int, how: str, is_there: Callable[[TeleportGoal], bool] = lambda wish: True
    ) -> Broken | None:
        """A teleport is over; checks whether the entity is at the goal."""
        self._count(how)
        wish = self.jumps.pop(self._own(entity), None)
        if wish is None:
            return Broken("P1", f"a teleport of entity {entity} {how}, but none was under way", entity)
        if not is_there(wish):
            return Broken("P1", f"a teleport of entity {entity} {how}, but not at {wish}", entity)
        return None

    # Areas.

    def enter(self, entity: int, number: int, other: int) -> Broken | None:
        """An entity enters an area."""
        inside = self.inside.setdefault(Area(*self._own(entity), number), set())
        self._count("areas entered" if number == 0 else "triggers entered")
        if other in inside:
            return Broken("P4", f"entity {other} enters area {number} of {entity} twice", entity, other)
        inside.add(other)
        return None

    def leave(self, entity: int, number: int, other: int) -> Broken | None:
        """An entity leaves an area."""
        inside = self.inside.setdefault(Area(*self._own(entity), number), set())
        self._count("areas left" if number == 0 else "triggers left")
        if other not in inside:
            return Broken("P4", f"entity {other} leaves area {number} of {entity}, but was not inside", entity, other)
        inside.discard(other)
        return None

    def left_behind(self, entity: int) -> Broken | None:
        """The entity has come into another space: the hooks must have run for all others that were in its areas."""
        for area, inside in self.inside.items():
            if area[:2] == self._own(entity) and inside:
                what = f"entity {entity} came into another space, and {sorted(inside)} have not left area {area.number}"
                return Broken("P4", what, entity, *inside)
        return None

    # At rest.

    def unrest(self, is_over: Callable[[int, int], bool]) -> tuple[str, int] | None:
        """An event that should have happened by now."""
        for (own, number), due in self.timers.items():
            if not is_over(*own):
                return f"timer {number} of entity {own[0]} is due since {due:.1f}", own[0]
        for (own, number), what in self.controllers.items():
            if not is_over(*own) and what != "follow":
                return f"controller {number} of entity {own[0]} ({what}) does not end", own[0]
        for own, wish in self.jumps.items():
            if not is_over(*own):
                return f"the teleport of entity {own[0]} to {wish} does not end", own[0]
        return None
