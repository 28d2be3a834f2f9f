"""Darts: entities without a base part, which creatures throw (P1).

In a third of the worlds creatures spawn darts where they stand. A dart is judged as every other entity: it walks over
borders, is called from far away, jumps, rides, is seen by clients, and ends by its own code. Beside that: each dart
that was spawned is born once, in a tick or two, and no other entity has its number.
"""

from __future__ import annotations

from random import Random
from typing import Any

from terrazzo.errors import UsageError
from terrazzo.sim.oracle import Broken
from terrazzo.sim.world import World

DARTS_MAX = 12
"""Darts that live at one time."""
BORN_S = 3.0
"""How late a dart may be born; CellApps may be paused."""


class Darts:
    """All darts of one world."""

    def __init__(self, world: World) -> None:
        self.often = world.rng("darts").choice([0.0, 0.0, 0.15])
        """How often a creature throws one, each time it acts."""
        self.born: set[int] = set()
        self.ended: set[int] = set()
        self._world = world
        self._thrown: dict[int, float] = {}
        """When each was spawned."""
        self._rngs: dict[int, Random] = {}

    def rng(self, entity: int) -> Random:
        """The thrower's own stream for this."""
        if entity not in self._rngs:
            self._rngs[entity] = self._world.rng(f"darts of {entity}")
        return self._rngs[entity]

    def act(self, being: Any) -> Broken | None:
        """A creature acts; returns what is wrong with the dart that it throws."""
        has_enough = len(self._thrown) - len(self.ended) >= DARTS_MAX
        if not self.often or has_enough or self.rng(being.id).random() >= self.often:
            return None
        try:
            dart = being.spawn("Dart").id
        except UsageError as problem:
            if "no entity ids are left" in str(problem):
                return None  # its CellApp has not got any yet
            raise
        other = self._thrown.setdefault(dart, self._world.clock.now)
        if other != self._world.clock.now:
            return Broken("P1", f"entity {being.id} throws dart {dart}, which was thrown {other:.2f} s before", dart)
        return None

    def bear(self, dart: int) -> Broken | None:
        """A dart is born; returns what is wrong with that."""
        if dart in self.born or dart not in self._thrown:
            return Broken("P1", f"dart {dart} is born, and was born before, or never thrown", dart)
        self.born.add(dart)
        return None

    def unrest(self) -> tuple[str, int] | None:
        """A dart that was thrown and is not born."""
        now = self._world.clock.now
        late = [dart for dart, at in self._thrown.items() if dart not in self.born and now - at > BORN_S]
        return (f"dart {late[0]} was thrown, and is not born", late[0]) if late else None
