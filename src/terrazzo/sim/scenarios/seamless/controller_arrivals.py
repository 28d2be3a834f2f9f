"""Arrivals of controllers: each is reported at the goal, and once (P1).

    move_to    on_reached comes at the goal. A movement that replaces another, often under the same number, has a goal
               of its own: an arrival at the former goal is not reported any more
    follow     on_reached comes each time that the follower has caught up: between two of them it must have walked

`once.py` judges that each controller ends once. How often an entity replaces a movement is drawn here.
"""

from __future__ import annotations

from collections.abc import Callable
from math import dist, inf
from random import Random

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.entity_story import Story
from terrazzo.sim.world import World

Place = tuple[float, float, float]

GOAL_M = 0.01
"""Places are 32-bit floats, and a walk ends within a millimetre of its goal."""
WALKED_M = 5e-4
"""A follower that has to walk walks at least this far."""
SLOW_M_S = 6.0
"""Slower than anything that goes to a point."""
NUMBERS = (10, 11)
"""The numbers of movements that replace others; timers have other numbers."""


class ControllerArrivals:
    """The goals of all controllers in one world, and where followers have caught up."""

    def __init__(self, world: World, story: Callable[[int], Story | None]) -> None:
        self.restless = world.rng("errands").choice([0.0, 0.1, 0.3])  # another name would change all worlds
        """How often an entity that is under way replaces its movement, each time it acts."""
        self._world = world
        self._story = story
        self._rngs: dict[int, Random] = {}
        self._goals: dict[tuple[int, int], Place] = {}
        self._speeds: dict[tuple[int, int], float] = {}
        self._met: dict[tuple[int, int], tuple[Place, int]] = {}
        """The place where a follower caught up last, and how many places it had had by then."""

    def rng(self, entity: int) -> Random:
        """The entity's own stream for this."""
        if entity not in self._rngs:
            self._rngs[entity] = self._world.rng(f"errands of {entity}")
        return self._rngs[entity]

    def is_restless(self, entity: int) -> bool:
        """Whether an entity that is under way replaces its movement now."""
        return bool(self.restless) and self.rng(entity).random() < self.restless

    def aim(self, entity: int, number: int, goal: Place | None, speed: float = inf) -> None:
        """A controller begins, with its goal if it has one. `speed`: of a follower."""
        self._met.pop((entity, number), None)
        self._speeds[entity, number] = speed
        self._goals.pop((entity, number), None)
        if goal is not None:
            self._goals[entity, number] = goal

    def is_slow(self, entity: int, number: int) -> bool:
        """Whether a follower is too slow to catch up within the bounds of peace: the world is a hundred metres wide."""
        return self._speeds.get((entity, number), inf) < SLOW_M_S

    def reach(self, entity: int, number: int, place: Place) -> Broken | None:
        """on_reached runs at this place; returns what is wrong with that."""
        goal = self._goals.pop((entity, number), None)
        if goal is not None:
            away = dist(goal, place)
            what = f"controller {number} of entity {entity} has reached its goal, {away:.2f} m away from it"
            return Broken("P1", what, entity) if away > GOAL_M else None
        return self._catch_up(entity, number, place)

    def _catch_up(self, entity: int, number: int, place: Place) -> Broken | None:
        """Checks that a follower has walked since the last time that it caught up."""
        story, met = self._story(entity), self._met.get((entity, number))
        places = [] if story is None else story.places
        self._met[entity, number] = (place, len(places))
        if met is None:
            return None
        former, count = met
        if any(dist(former, each) > WALKED_M for each in (place, *(stay.position for stay in places[count:]))):
            return None
        return Broken(
            "P1", f"controller {number} of entity {entity} has caught up twice and not walked between", entity
        )
