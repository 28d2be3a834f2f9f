"""Rectangles of a plane, with one rule about edges.

A rectangle has its near edges and lacks its far ones: rectangles side by side share no point and leave none out.

        z1 ┌ ─ ─ ─ ─ ┐
           │              x0 ≤ x < x1
           │         ╷    z0 ≤ z < z1          an edge may be infinite: what runs at the end of the world
        z0 └─────────     x0 = x1: empty       runs everything beyond it as well
           x0       x1

A distance is the larger of the distances along the two axes: a point that is 3 m away along x and 3 m away along z is
3 m away. The areas of the engine are squares, and this measure fits squares.
"""

from __future__ import annotations

from enum import IntEnum
from math import inf, isfinite
from typing import NamedTuple

from terrazzo.errors import UsageError


class Axis(IntEnum):
    """The two directions of a plane; y is height and is in no map."""

    X = 0
    Z = 1

    @property
    def other(self) -> Axis:
        """The one across."""
        return Axis.Z if self is Axis.X else Axis.X


class Rect(NamedTuple):
    """Least x and z, greatest x and z."""

    x0: float
    z0: float
    x1: float
    z1: float

    @classmethod
    def around(cls, x: float, z: float, radius: float) -> Rect:
        """The square that reaches `radius` in each direction."""
        return cls(x - radius, z - radius, x + radius, z + radius)

    @property
    def width(self) -> float:
        """Size along x."""
        return self.x1 - self.x0

    @property
    def depth(self) -> float:
        """Size along z."""
        return self.z1 - self.z0

    @property
    def is_empty(self) -> bool:
        """Whether no point is in it."""
        return self.x0 >= self.x1 or self.z0 >= self.z1

    def contains(self, x: float, z: float) -> bool:
        """Whether the point is in it; near edges are, far ones are not."""
        return self.x0 <= x < self.x1 and self.z0 <= z < self.z1

    def outside_by(self, x: float, z: float) -> float:
        """How far the point is from it, by the longer axis; 0 within, and on the edges."""
        return max(self.x0 - x, x - self.x1, self.z0 - z, z - self.z1, 0.0)

    def inflate(self, by: float) -> Rect:
        """The same, each edge further out; a negative number draws them in, and too much of it leaves it empty."""
        return Rect(self.x0 - by, self.z0 - by, self.x1 + by, self.z1 + by)

    def intersects(self, other: Rect) -> bool:
        """Whether some point is in both."""
        across = max(self.x0, other.x0) < min(self.x1, other.x1)
        return across and max(self.z0, other.z0) < min(self.z1, other.z1)

    def clip(self, to: Rect) -> Rect:
        """What of it lies within `to`; an empty rectangle at an edge of `to` when nothing does."""
        return Rect(
            min(max(self.x0, to.x0), to.x1),
            min(max(self.z0, to.z0), to.z1),
            max(min(self.x1, to.x1), to.x0),
            max(min(self.z1, to.z1), to.z0),
        )

    def cut(self, axis: Axis, position: float) -> tuple[Rect, Rect]:
        """The two sides of a border, near side first; `position` lies within."""
        if axis is Axis.X:
            return self._replace(x1=position), self._replace(x0=position)
        return self._replace(z1=position), self._replace(z0=position)

    def range_of(self, axis: Axis) -> tuple[float, float]:
        """Its two edges across this axis."""
        return (self.x0, self.x1) if axis is Axis.X else (self.z0, self.z1)


PLANE = Rect(-inf, -inf, inf, inf)
"""Everywhere."""


def checked_bounds(bounds: tuple[float, float, float, float]) -> Rect:
    """The bounds of a space as a rectangle; raises UsageError with the reason if they are not one."""
    rect = Rect(*map(float, bounds))
    if not all(map(isfinite, rect)) or not isfinite(rect.width) or not isfinite(rect.depth) or rect.is_empty:
        raise UsageError(f"bounds {tuple(rect)} hold no area; give least x, least z, greatest x, greatest z")
    return rect
