"""The walks of the entities of the seamless scenario, along borders and around corners.

    ROAM     anywhere                                     CORNER   around a point where cells meet
    HUG      along a border, a little to either side      SWAY     to and fro across a border, the same two points
    REST     nowhere

The borders are read each time that a new goal is chosen, since they move. A `Gait` chooses goals; each entity walks in
strides of its own length, so that one stride may cross a border, or a whole cell.
"""

from __future__ import annotations

from enum import Enum
from math import hypot
from random import Random
from typing import NamedTuple, Protocol

EDGE_M = 0.5
"""No entity goes nearer to the end of a space."""


class Border(NamedTuple):
    """A piece of a line between cells."""

    is_x: bool
    """Whether it is a line x = `at`."""
    at: float
    low: float
    high: float

    def point(self, along: float, aside: float) -> tuple[float, float]:
        """A point so far along it (0…1), so far to its side."""
        run = self.low + (self.high - self.low) * along
        return (self.at + aside, run) if self.is_x else (run, self.at + aside)


class Ground(Protocol):
    """The spaces, as walkers use them."""

    def borders(self, space: str) -> list[Border]:
        """The lines between cells, within the bounds."""

    def reach(self, space: str) -> float:
        """The distance from the middle of the space to its edges."""

    def entry(self, rng: Random) -> tuple[str, tuple[float, float, float]]:
        """A place for a new entity."""


class Mode(Enum):
    """See the module."""

    ROAM = "roam"
    HUG = "hug"
    CORNER = "corner"
    SWAY = "sway"
    REST = "rest"


class Gait:
    """The goals of one walker."""

    def __init__(self, ground: Ground, rng: Random) -> None:
        self._ground = ground
        self._rng = rng
        self._mode = Mode.ROAM
        self._goals_left = 0
        self._border: Border | None = None
        self._along = 0.0
        self._aside = 1.0
        self._goal: tuple[str, float, float] | None = None

    def stride(self, space: str, x: float, z: float, length: float) -> tuple[float, float]:
        """The end of the next stride."""
        if self._goal is None or self._goal[0] != space:
            self._goal = (space, *self.goal(space))
        _, goal_x, goal_z = self._goal
        away = hypot(goal_x - x, goal_z - z)
        if away <= length:
            self._goal = None
            return goal_x, goal_z
        return x + (goal_x - x) / away * length, z + (goal_z - z) / away * length

    def goal(self, space: str) -> tuple[float, float]:
        """The next goal."""
        rng, reach = self._rng, self._ground.reach(space) - EDGE_M
        if self._goals_left <= 0:
            self._change(space)
        self._goals_left -= 1
        x, z = self._next(rng, reach)
        return max(-reach, min(reach, x)), max(-reach, min(reach, z))

    def _change(self, space: str) -> None:
        rng = self._rng
        borders = self._ground.borders(space)
        self._goals_left = rng.randrange(2, 12)
        self._mode = rng.choice([*Mode, Mode.SWAY, Mode.CORNER]) if borders else rng.choice([Mode.ROAM, Mode.REST])
        self._border = rng.choice(borders) if borders else None
        self._along = rng.choice([0.0, rng.random(), 1.0])
        self._aside = rng.choice([0.2, 1.0, 2.0, 4.0, 8.0])

    def _next(self, rng: Random, reach: float) -> tuple[float, float]:
        border = self._border
        if border is None or self._mode is Mode.ROAM:
            part = reach * rng.choice([0.2, 0.5, 1.0])
            return rng.uniform(-part, part), rng.uniform(-part, part)
        if self._mode is Mode.HUG:
            self._along = min(1.0, max(0.0, self._along + rng.uniform(-0.2, 0.2)))
            return border.point(self._along, rng.uniform(-self._aside, self._aside))
        if self._mode is Mode.SWAY:
            self._aside = -self._aside
            return border.point(self._along, self._aside)
        if self._mode is Mode.CORNER:
            x, z = border.point(round(self._along), 0.0)
            return x + rng.choice([-1, 1]) * self._aside, z + rng.choice([-1, 1]) * self._aside
        return border.point(self._along, self._aside)
