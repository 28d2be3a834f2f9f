"""A space as one CellApp has it: the tree, its own cell, and every body in it, real or ghost.

`Grid` finds who is near. It is all that knows how: a compiled index with the same five methods can take its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, inf

from terrazzo.cell.body import Body
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.base_cell import Position
from terrazzo.world.bsp import BspTree, Leaf
from terrazzo.world.rect import PLANE, Rect

SQUARE_M = 40.0

_ON_THE_EDGE_M = 1e-9
"""A point on a far edge is 0 m away from the cell and yet the neighbour's."""


class Grid:
    """Ids by place, in squares of a fixed size; what it gives is in the same order on every run."""

    def __init__(self, square_m: float = SQUARE_M) -> None:
        self._square_m = square_m
        self._squares: dict[tuple[int, int], dict[int, None]] = {}
        self._places: dict[int, tuple[float, float, tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def _square(self, x: float, z: float) -> tuple[int, int]:
        return floor(x / self._square_m), floor(z / self._square_m)

    def put(self, entity: int, x: float, z: float) -> None:
        """The entity is here now."""
        square = self._square(x, z)
        known = self._places.get(entity)
        if known is None or known[2] != square:
            if known is not None:
                self._take_out(entity, known[2])
            self._squares.setdefault(square, {})[entity] = None
        self._places[entity] = (x, z, square)

    def remove(self, entity: int) -> None:
        """The entity is gone."""
        self._take_out(entity, self._places.pop(entity)[2])

    def _take_out(self, entity: int, square: tuple[int, int]) -> None:
        inside = self._squares[square]
        del inside[entity]
        if not inside:
            del self._squares[square]

    def within(self, area: Rect) -> Iterator[int]:
        """Those in a rectangle, all its edges included."""
        (i0, k0), (i1, k1) = self._square(area.x0, area.z0), self._square(area.x1, area.z1)
        wanted = (i1 - i0 + 1) * (k1 - k0 + 1)
        if wanted > len(self._squares):
            squares = [each for each in self._squares if i0 <= each[0] <= i1 and k0 <= each[1] <= k1]
        else:
            squares = [(i, k) for i in range(i0, i1 + 1) for k in range(k0, k1 + 1) if (i, k) in self._squares]
        for square in squares:
            for entity in self._squares[square]:
                x, z, _ = self._places[entity]
                if area.x0 <= x <= area.x1 and area.z0 <= z <= area.z1:
                    yield entity


class Space:
    """One space."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.name = ""
        self.version = -1
        self.tree: BspTree | None = None
        self.leaf: Leaf | None = None
        self.rect: Rect = PLANE
        self.bounds: Rect = PLANE
        self.bodies: dict[int, Body] = {}
        self.moved: dict[int, Body] = {}
        """Those that came or moved since the witnesses last looked."""
        self._grid = Grid()

    def set_tree(self, name: str, version: int, tree: BspTree, me: AppId) -> bool:
        """A newer tree; False when this one is not newer."""
        if version <= self.version:
            return False
        self.name, self.version, self.tree = name, version, tree
        self.bounds = tree.bounds
        self.leaf = tree.leaf_of(me)
        self.rect = PLANE if self.leaf is None else tree.rect_of(self.leaf)
        return True

    def outside_by(self, position: Position) -> float:
        """How far a point is outside the cell of this app; without one, everything is infinitely far out."""
        if self.leaf is None:
            return inf
        x, _, z = position
        if self.rect.contains(x, z):
            return 0.0
        return max(self.rect.outside_by(x, z), _ON_THE_EDGE_M)

    def home_of(self, position: Position) -> AppId | None:
        """Whose cell a point is in, by the tree known here."""
        return None if self.tree is None else self.tree.leaf_at(position[0], position[2]).app

    def apps_touching(self, area: Rect) -> list[AppId]:
        """Whose cells an area reaches into."""
        return [] if self.tree is None else [leaf.app for leaf in self.tree.leaves_touching(area)]

    def allows(self, position: Position) -> bool:
        """Whether a point is within the bounds of the space."""
        x, y, z = position
        is_finite = x - x == y - y == z - z == 0
        return is_finite and self.bounds.outside_by(x, z) == 0

    def add(self, body: Body) -> None:
        """A body begins here."""
        self.bodies[body.id] = body
        self.place(body, body.position, body.yaw)

    def remove(self, body: Body) -> None:
        """A body is gone."""
        del self.bodies[body.id]
        self.moved.pop(body.id, None)
        self._grid.remove(body.id)

    def place(self, body: Body, position: Position, yaw: float) -> None:
        """A body is here now."""
        body.position, body.yaw = position, yaw
        self._grid.put(body.id, position[0], position[2])
        self.moved[body.id] = body

    def within(self, area: Rect) -> list[Body]:
        """The bodies in an area."""
        return [self.bodies[entity] for entity in self._grid.within(area)]
