"""Vector2, Vector3, Vector4: immutable tuples of numbers with the arithmetic a game needs.

They are tuples (`x, y, z = position` works, and so does comparing with a plain tuple), so a property is changed by
assigning a new vector: `self.position = self.position + step`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Self


class Vector(tuple[float, ...]):
    """What the three vectors have in common. Make one of its subclasses, not this."""

    __slots__ = ()
    dimensions = 0

    def __new__(cls, *parts: float | Iterable[float]) -> Self:
        """From numbers, or from one iterable of numbers."""
        values: Any = parts[0] if len(parts) == 1 else parts
        vector = tuple.__new__(cls, map(float, values))
        if len(vector) != cls.dimensions:
            raise TypeError(f"{cls.__name__} takes {cls.dimensions} numbers, got {len(vector)}")
        return vector

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{part:g}' for part in self)})"

    def __getnewargs__(self) -> tuple[float, ...]:
        return tuple(self)

    def __add__(self, other: Any) -> Self:
        return type(self)(a + b for a, b in zip(self, other, strict=True))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return type(self)(a - b for a, b in zip(self, other, strict=True))

    def __rsub__(self, other: Any) -> Self:
        return type(self)(b - a for a, b in zip(self, other, strict=True))

    def __mul__(self, factor: Any) -> Self:
        return type(self)(a * factor for a in self)

    __rmul__ = __mul__

    def __truediv__(self, factor: float) -> Self:
        return type(self)(a / factor for a in self)

    def __neg__(self) -> Self:
        return type(self)(-a for a in self)

    def dot(self, other: Iterable[float]) -> float:
        """The dot product."""
        return math.fsum(a * b for a, b in zip(self, other, strict=True))

    @property
    def length(self) -> float:
        """The distance from the origin."""
        return math.hypot(*self)

    def distance_to(self, other: Iterable[float]) -> float:
        """The distance between two points."""
        return math.dist(self, tuple(other))

    @property
    def x(self) -> float:
        """First part."""
        return self[0]

    @property
    def y(self) -> float:
        """Second part; in a space, the height."""
        return self[1]


class Vector2(Vector):
    """Two numbers: x, y."""

    __slots__ = ()
    dimensions = 2


class Vector3(Vector):
    """Three numbers: x, y, z. In a space x and z span the ground and y is height."""

    __slots__ = ()
    dimensions = 3

    @property
    def z(self) -> float:
        """Third part."""
        return self[2]


class Vector4(Vector):
    """Four numbers: x, y, z, w."""

    __slots__ = ()
    dimensions = 4

    @property
    def z(self) -> float:
        """Third part."""
        return self[2]

    @property
    def w(self) -> float:
        """Fourth part."""
        return self[3]


VECTORS: dict[int, type[Vector]] = {2: Vector2, 3: Vector3, 4: Vector4}
