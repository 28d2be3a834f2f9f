"""Cells are added and retired, and borders move, while the world is in play: the manager's side (`cell/ground.py` has
the CellApp's).

Each change is a new version of the space's tree, which all members get; each of them sends CellReady when it uses this
version. Two changes take several steps: an entity is never sent to a CellApp that does not expect it yet, and no entity
is left behind.

A new cell has no area, so that no entity and no ghost is sent to it, and grows when its CellApp has the tree:

    add_cell ──tree with an empty cell──▶ NEWBORN ──CellReady from it──▶ tree with the border where it was wanted
                                             └──── its link is lost ───▶ it retires

A cell that retires is out of the tree at once: its area is its neighbour's, and each entity moves once, to its final
CellApp. A CellApp without a cell in the tree may still get entities from CellApps that have an older tree; it passes
them on.

    retire_cell ──tree without it──▶ RETIRING ──CellEmpty──▶ LEAVING ──CellReady from all──▶ CellRemoved
                                    in the list that            off the list: ghosts            │
                                    comes with the tree         there are deleted               ▼
                                                    no member any more  ◀──CellEmpty── drops the space

A CellApp gets the data of the space after its first tree, each change of it, and all of it again when it is back.

CellReady promises that no entity of the sender is on its way to a CellApp that is neither in the tree nor in the list.
So when all members have sent it, no more entities can arrive at the leaving CellApp, and it holds all that is left when
it gets CellRemoved: it sends CellEmpty again when those have gone, too. Until then it gets every tree. The manager
waits for a member with a lost link: an entity may be on its way from it. A member that is back gets everything again
that it may have missed.

While a cell is newborn, its space is not changed otherwise, or an entity could be sent there too early. That takes one
round trip: the caller of a change tries again. A CellApp can get a cell of the space again as soon as it is no member.
"""

from __future__ import annotations

from collections.abc import Collection

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.errors import UsageError
from terrazzo.managers.spaces import CellAppState, Leaving, Newborn, SpaceState
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cellmgr_cell import CellRemoved
from terrazzo.world.bsp import BspTree, Leaf, Path
from terrazzo.world.rect import Axis


class Cells:
    """Changes the trees of spaces in play, for one CellAppMgr."""

    def __init__(self, manager: ClusterApp, apps: dict[AppId, CellAppState], spaces: Collection[SpaceState]) -> None:
        self._manager = manager
        self._apps = apps
        self._spaces = spaces

    # Changes.

    def add(
        self,
        space: SpaceState,
        app: AppId | None,
        beside: AppId | None,
        axis: Axis | None,
        position: float | None,
        *,
        is_near: bool,
    ) -> AppId:
        """See CellAppMgr.add_cell."""
        tree = _changeable(space)
        app = self._spare_for(space, app)
        leaf = self._widest(space, tree) if beside is None else _leaf_of(tree, beside)
        rect = tree.rect_of(leaf).clip(tree.bounds)
        if axis is None:
            axis = Axis.X if rect.width >= rect.depth else Axis.Z
        if position is None:
            position = sum(rect.range_of(axis)) / 2
        tree.split(
            leaf, axis, position, app, is_near=is_near
        )  # raises now for an impossible border, not when the cell grows
        low, high = tree.rect_of(leaf).range_of(axis)
        space.newborn = Newborn(app, float(position))
        self._plant(
            space, tree.split(leaf, axis, low if is_near else high, app, is_near=is_near), LogEvent.CELL_ADDED, app
        )
        return app

    def retire(self, space: SpaceState, app: AppId) -> None:
        """See CellAppMgr.retire_cell."""
        tree = _changeable(space)
        self._retire(space, tree, _leaf_of(tree, app))

    def _retire(self, space: SpaceState, tree: BspTree, leaf: Leaf) -> None:
        without = tree.remove(leaf)
        space.retiring[leaf.app] = None
        self._plant(space, without, LogEvent.CELL_RETIRES, leaf.app)

    def move_border(self, space: SpaceState, path: Path, position: float) -> None:
        """See CellAppMgr.move_border."""
        self._plant(space, _changeable(space).move_border(path, position), LogEvent.BORDER_MOVED)

    def _plant(self, space: SpaceState, tree: BspTree, what: LogEvent, app: AppId | None = None) -> None:
        space.plant(tree)
        facts = {} if app is None else {"app": str(app)}
        self._manager.host.log(what, space=space.policy.name, version=space.version, **facts)
        message = space.as_message()
        for member, known in space.members.items():
            if not self._apps[member].is_lost:
                self._manager.send(member, message)
                if not known and space.data:
                    self._manager.send(member, space.data_message())

    # Messages of CellApps, and lost links.

    def on_ready(self, space: SpaceState, app: AppId, version: int) -> None:
        """A member uses this version."""
        space.members[app] = max(space.members[app], version)
        self._grow(space)
        self._remove(space)

    def on_empty(self, space: SpaceState, app: AppId, version: int) -> bool:
        """A member without a cell has no real any more; False when the sender is no member."""
        leaving = space.leaving.get(app)
        if app in space.retiring and space.tree is not None:
            del space.retiring[app]
            self._plant(space, space.tree, LogEvent.CELL_EMPTY, app)
            space.leaving[app] = Leaving(space.version)
        elif leaving is not None and leaving.is_notified and leaving.version == version:
            del space.leaving[app], space.members[app]
            self._manager.host.log(LogEvent.CELL_REMOVED, space=space.policy.name, app=str(app))
            self._remove(space)
        return leaving is not None or app in space.members

    def on_lost(self, space: SpaceState, app: AppId) -> None:
        """The link with a member is lost. Its newborn cell holds no entity, so it retires at once."""
        if space.newborn is not None and space.newborn.app == app and space.tree is not None:
            space.newborn = None
            self._retire(space, space.tree, _leaf_of(space.tree, app))

    def on_back(self, space: SpaceState, app: AppId) -> None:
        """A member is back: it gets the tree and CellRemoved again, since it may have missed them."""
        self._manager.send(app, space.as_message())
        if space.data:
            self._manager.send(app, space.data_message())
        leaving = space.leaving.get(app)
        if leaving is not None and leaving.is_notified:
            self._manager.send(app, CellRemoved(space.id, leaving.version))

    def _grow(self, space: SpaceState) -> None:
        """Gives the newborn cell its area, when its CellApp has the tree."""
        newborn, tree = space.newborn, space.tree
        if newborn is None or tree is None or space.members[newborn.app] < space.version:
            return
        space.newborn = None
        path = tree.path_of(_leaf_of(tree, newborn.app))
        self._plant(space, tree.move_border(path[:-1], newborn.position), LogEvent.CELL_GROWS, newborn.app)

    def _remove(self, space: SpaceState) -> None:
        """Sends CellRemoved to each leaving CellApp, when all members use a tree without it."""
        for app, leaving in space.leaving.items():
            if not leaving.is_notified and all(known >= leaving.version for known in space.members.values()):
                leaving.is_notified = True
                self._manager.send(app, CellRemoved(space.id, leaving.version))

    # Choices.

    def least_loaded(self) -> AppId:
        """The CellApp for the first cell of a new space."""
        linked = [app for app, known in self._apps.items() if not known.is_lost]
        if not linked:
            raise UsageError("the links with all CellApps are lost; try again later")
        return self._idlest(linked)

    def _idlest(self, apps: Collection[AppId]) -> AppId:
        cell_load = self._mean_cell_load()
        return min(apps, key=lambda app: (*self._expected_load(app, cell_load), app))

    def _spare_for(self, space: SpaceState, wanted: AppId | None) -> AppId:
        """The CellApp for a new cell."""
        free = [app for app, known in self._apps.items() if app not in space.members and not known.is_lost]
        if wanted is None:
            if not free:
                raise UsageError(f"every CellApp has a cell of space {space.policy.name!r}; start another one")
            return self._idlest(free)
        if wanted not in free:
            why = "has a cell of it, or is still leaving it" if wanted in space.members else "is not there"
            raise UsageError(f"{wanted} cannot have a new cell of space {space.policy.name!r}: it {why}")
        return wanted

    def _mean_cell_load(self) -> float:
        """The mean load of one cell, as reported."""
        loads = [cell.load or 0.0 for known in self._apps.values() for cell in known.cells.values()]
        return sum(loads) / len(loads) if loads else 0.0

    def _expected_load(self, app: AppId, cell_load: float) -> tuple[float, int]:
        """An estimate: the load of a CellApp, with `cell_load` for each cell that it was given and has not reported
        yet; and the number of its cells."""
        known = self._apps[app]
        given = [space.id for space in self._spaces if app in space.members]
        unreported = sum(id not in known.cells for id in given)
        return (known.load or 0.0) + unreported * cell_load, len(given)

    def _widest(self, space: SpaceState, tree: BspTree) -> Leaf:
        """The cell that is divided by default: the one with the largest area."""
        leaves = [leaf for leaf in tree.leaves() if not self._apps[leaf.app].is_lost]
        if not leaves:
            raise UsageError(f"the links with all CellApps of space {space.policy.name!r} are lost; try again later")
        rects = {leaf: tree.rect_of(leaf).clip(tree.bounds) for leaf in leaves}
        return max(leaves, key=lambda leaf: rects[leaf].width * rects[leaf].depth)


def _changeable(space: SpaceState) -> BspTree:
    """The tree of a space that may be changed now."""
    name = space.policy.name
    if space.tree is None:
        raise UsageError(f"space {name!r} has no cells yet; wait until the spaces are ready")
    if space.newborn is not None:
        raise UsageError(f"space {name!r} is being changed: {space.newborn.app} makes its cell; try again in a moment")
    return space.tree


def _leaf_of(tree: BspTree, app: AppId) -> Leaf:
    leaf = tree.leaf_of(app)
    if leaf is None:
        raise UsageError(
            f"{app} has no cell in this space; its cells are with {', '.join(str(each.app) for each in tree.leaves())}"
        )
    return leaf
