"""A space on one CellApp: the tree, the cell of this CellApp, and every body in the space, real or ghost.

Places are in the arrays of `area` (`_speed/area`), by slot; `bodies` has the Python side, by entity.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from terrazzo._speed.area import Area
from terrazzo._speed.sight import Headlines
from terrazzo._speed.tally import Tally
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.neighbours import CellAppBits
from terrazzo.errors import shown
from terrazzo.game import LoadedGame, is_instance_name
from terrazzo.sync.riding import Ride
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.wire.pairs.cellmgr_cell import SpaceItem
from terrazzo.world.bsp import BspTree, Leaf
from terrazzo.world.place import fits
from terrazzo.world.rect import PLANE, Rect

_ON_THE_EDGE_M = 1e-9
"""A point on a far edge is 0 m away from the cell and yet the neighbour's."""


class CellSpace:
    """One space."""

    def __init__(self, id: int, tally: Tally) -> None:
        self.id = id
        self.name = ""
        self.version = -1
        self.tree: BspTree | None = None
        self.leaf: Leaf | None = None
        """The cell of this app; None: it has none (any more)."""
        self.retiring: frozenset[AppId] = frozenset()
        """CellApps that had a cell, with reals that are leaving it."""
        self.is_ended = False
        """The game has ended the space: its reals are being destroyed, and no other comes in."""
        self.data: dict[str, SpaceItem] = {}
        """The data that the code of the game has set (`cell/client/space_data.py`)."""
        self.data_version = 0
        self.rect: Rect = PLANE
        self.bounds: Rect = PLANE
        self.area = Area()
        self.headlines = Headlines(tally)
        self.neighbours = CellAppBits()
        """The CellApps that have ghosts of the reals here."""
        self.bodies: dict[int, Body] = {}
        self.by_slot: dict[int, Body] = {}
        self._riders: dict[int, dict[int, None]] = {}
        """By the vehicle, whether it has a body here or not: the bodies here that stand on it."""

    def set_tree(
        self, name: str, version: int, tree: BspTree, me: AppId, retiring: frozenset[AppId] = frozenset()
    ) -> None:
        """A tree; one that is not newer changes nothing."""
        if version <= self.version:
            return
        self.retiring = retiring
        self.name, self.version, self.tree = name, version, tree
        self.bounds = tree.bounds
        self.leaf = tree.leaf_of(me)
        self.rect = PLANE if self.leaf is None else tree.rect_of(self.leaf)

    def end(self, version: int) -> None:
        """The space ends; this is its last version."""
        self.is_ended, self.version = True, max(self.version, version)
        self.tree = self.leaf = None
        self.retiring = frozenset()
        self.rect = PLANE

    def members(self) -> list[AppId]:
        """The CellApps that are part of the space: in its tree, or retiring."""
        leaves = () if self.tree is None else self.tree.leaves()
        return [*(leaf.app for leaf in leaves), *sorted(self.retiring)]

    @property
    def has_ground(self) -> bool:
        """Whether any point belongs to this CellApp. If none does, no margin holds, and no ghosts are made here."""
        return self.leaf is not None and not self.rect.is_empty

    def outside_by(self, position: Position) -> float:
        """How far a point is outside the cell of this app; without ground, everything is infinitely far out."""
        if not self.has_ground:
            return inf
        x, _, z = position
        if self.rect.contains(x, z):
            return 0.0
        return max(self.rect.outside_by(x, z), _ON_THE_EDGE_M)

    def leaf_at(self, position: Position) -> Leaf | None:
        """The cell that a point is in, by the tree known here."""
        return None if self.tree is None else self.tree.leaf_at(position[0], position[2])

    def leaves_touching(self, area: Rect) -> list[Leaf]:
        """The cells that an area reaches into."""
        return [] if self.tree is None else self.tree.leaves_touching(area)

    def allows(self, position: Position) -> bool:
        """Whether a point is within the bounds of the space."""
        x, y, z = position
        return fits(x, y, z) and self.bounds.outside_by(x, z) == 0

    def problem_with(self, position: Position, direction: Direction) -> str | None:
        """What is wrong with a place and a direction; None: nothing."""
        if not self.allows(position):
            return f"{position} is not within {tuple(self.bounds)}, the bounds of {self.name}"
        return None if fits(*direction) else f"a direction is three angles in radians, not {direction}"

    def add(self, body: Body) -> None:
        """A body begins here."""
        self.bodies[body.id] = body
        self.by_slot[body.slot] = body
        self._set_ranges(body)
        if body.kind.is_eventful:
            self.area.set_eventful(body.slot)
        self._begin_ride(body)

    def remove(self, body: Body) -> None:
        """A body ends here; the witnesses that had it in their area notice that with the next look
        (`cell/client/interests.py`)."""
        self._end_ride(body)
        del self.bodies[body.id]
        del self.by_slot[body.slot]
        body.freeze()
        self.area.remove(body.slot)

    def seat(self, body: Body, ride: Ride | None) -> None:
        """A body that is here stands on something, or no longer (`cell/motion/riding.py`)."""
        self._end_ride(body)
        body.ride = ride
        self._begin_ride(body)

    def riders_of(self, vehicle: int) -> Collection[int]:
        """The bodies here that stand on it."""
        return self._riders.get(vehicle, ())

    def _begin_ride(self, body: Body) -> None:
        if body.ride is not None:
            self._riders.setdefault(body.ride.vehicle, {})[body.id] = None
            self._follow_vehicle(body.ride.vehicle)

    def _end_ride(self, body: Body) -> None:
        if body.ride is not None:
            riders = self._riders[body.ride.vehicle]
            del riders[body.id]
            if not riders:
                del self._riders[body.ride.vehicle]
            self._follow_vehicle(body.ride.vehicle)

    def _follow_vehicle(self, vehicle: int) -> None:
        if vehicle in self.bodies:
            self._set_ranges(self.bodies[vehicle])

    def _set_ranges(self, body: Body) -> None:
        has_riders = body.id in self._riders
        self.headlines.begin(body.slot, body.kind.ranges_of_vehicles if has_riders else body.kind.ranges)

    def place(self, body: Body, position: Position, direction: Direction) -> None:
        """A body is here now."""
        self.area.put(body.slot, position, direction)

    def within(self, position: Position, radius: float) -> list[Body]:
        """The bodies at most so far from a point, measured on the ground, nearest first."""
        return [self.by_slot[slot] for slot in self.area.within(position[0], position[2], radius)]


def place_problem(game: LoadedGame, space: str, position: Position) -> str | None:
    """What is wrong with a point of a space; None: nothing. The bounds of an instance are known at the CellAppMgr."""
    if is_instance_name(space):
        return None if fits(*position) else f"{position} is no place in the space {shown(space)}"
    for each in game.policy.spaces:
        if each.name == space:
            x, y, z = position
            x0, z0, x1, z1 = each.bounds
            is_inside = x0 <= x <= x1 and z0 <= z <= z1 and fits(x, y, z)
            return None if is_inside else f"{position} is not within {each.bounds}, the bounds of {space}"
    return f"there is no space {shown(space)}; the game has {', '.join(each.name for each in game.policy.spaces)}"
