"""The state of each space and of each CellApp at the CellAppMgr, and their views as plain data (what JSON can hold)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from terrazzo.cluster.loads import is_load, smoothed
from terrazzo.errors import UsageError
from terrazzo.game import DATA_BYTES_MAX, DATA_KEYS_MAX, Space
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellLoad, SpaceData, SpaceItem, SpaceTree
from terrazzo.world.bsp import Branch, BspTree, Leaf
from terrazzo.world.rect import Rect


@dataclass
class CellAppState:
    """One CellApp."""

    load: float | None = None
    cells: dict[int, CellLoad] = field(default_factory=dict)
    """Its cells by space, as last reported; loads are smoothed."""
    is_lost: bool = False

    def take_in(self, report: CellAppLoad) -> bool:
        """Applies a report; False when its values are impossible."""
        if not is_load(report.load) or not all(is_load(cell.load) for cell in report.cells):
            return False
        self.load = smoothed(self.load, report.load)
        before, self.cells = self.cells, {}
        for cell in report.cells:
            old = before.get(cell.space)
            self.cells[cell.space] = cell._replace(load=smoothed(old.load if old else None, cell.load))
        return True

    def view(self, app: AppId) -> dict[str, Any]:
        """For the console."""
        return {
            "app": str(app),
            "index": app.index,
            "load": self.load,
            "reals": sum(cell.reals for cell in self.cells.values()),
            "ghosts": sum(cell.ghosts for cell in self.cells.values()),
            "is_lost": self.is_lost,
        }


class Newborn(NamedTuple):
    """A cell that has no area until its CellApp has the tree."""

    app: AppId
    position: float
    """The position of its border from then on."""


@dataclass
class Leaving:
    """A CellApp that had a cell and has no real of the space any more."""

    version: int
    """The version that all members must use before this CellApp may drop the space."""
    is_notified: bool = False


@dataclass
class SpaceState:
    """One space. The version counts its trees; it never decreases, even when the tree is cleared."""

    id: int
    policy: Space
    version: int = 0
    tree: BspTree | None = None
    members: dict[AppId, int] = field(default_factory=dict)
    """The CellApps that get each tree: those with a cell, and those that had one and have not dropped the space yet.
    With the newest version that each uses; 0: none yet."""
    newborn: Newborn | None = None
    retiring: dict[AppId, None] = field(default_factory=dict)
    leaving: dict[AppId, Leaving] = field(default_factory=dict)
    is_instance: bool = False
    """Whether the code of the game has made it (`managers/instances.py`)."""
    is_made: bool = False
    """Of an instance: whether its first cell is there."""
    make_until: float = 0.0
    """Of an instance: how long its first cell is waited for."""
    is_ended: bool = False
    data: dict[str, SpaceItem] = field(default_factory=dict)
    data_version: int = 0

    def plant(self, tree: BspTree) -> None:
        """Sets a new tree, with the next version."""
        self.tree = tree
        self.version += 1
        for leaf in tree.leaves():
            self.members.setdefault(leaf.app, 0)

    def clear(self) -> None:
        """Removes the tree and all members; the version stays."""
        self.tree = self.newborn = None
        self.members.clear()

    def set_data(self, items: Iterable[tuple[str, bytes]]) -> bool:
        """Sets these items, under one version; False when they have these values. Raises for more than the data of a
        space may be."""
        news = {key: value for key, value in items if key not in self.data or self.data[key].value != value}
        if not news:
            return False
        version = self.data_version + 1
        data = {**self.data, **{key: SpaceItem(key, version, value) for key, value in news.items()}}
        size = sum(len(key.encode()) + len(item.value) for key, item in data.items())
        if len(data) > DATA_KEYS_MAX or size > DATA_BYTES_MAX:
            raise UsageError(
                f"the data of space {self.policy.name!r} would be {len(data)} keys and {size} bytes; it is at most "
                f"{DATA_KEYS_MAX} keys and {DATA_BYTES_MAX} bytes"
            )
        self.data, self.data_version = data, version
        return True

    def data_message(self) -> SpaceData:
        """The message that carries the data to CellApps."""
        return SpaceData(self.id, self.data_version, tuple(self.data.values()))

    def end(self) -> None:
        """The space ends: all members are to leave it."""
        self.is_ended = True
        self.version += 1
        self.tree = self.newborn = None
        self.leaving.clear()
        self.retiring = dict.fromkeys(self.members)

    @property
    def is_known_to_all(self) -> bool:
        """Whether all members use the newest tree."""
        return all(known >= self.version for known in self.members.values())

    def as_message(self) -> SpaceTree:
        """The message that carries the tree to CellApps."""
        assert self.tree is not None, f"space {self.policy.name} has no tree yet"
        return SpaceTree(self.id, self.policy.name, self.version, self.tree.pack(), tuple(self.retiring))

    def view(self, apps: dict[AppId, CellAppState]) -> dict[str, Any]:
        """For the console: the cells, clipped to the bounds, and the tree itself."""
        tree = self.tree
        return {
            "id": self.id,
            "name": self.policy.name,
            "is_instance": self.is_instance,
            "bounds": list(map(float, self.policy.bounds)),
            "version": self.version,
            "tree": _view_branch(tree.root, tree.bounds) if tree else None,
            "cells": [self._view_cell(tree, leaf, apps[leaf.app]) for leaf in tree.leaves()] if tree else [],
            "retiring": [str(app) for app in (*self.retiring, *self.leaving)],
        }

    def _view_cell(self, tree: BspTree, leaf: Leaf, app: CellAppState) -> dict[str, Any]:
        reported = app.cells.get(self.id)
        return {
            "cell": leaf.cell,
            "app": str(leaf.app),
            "rect": list(tree.rect_of(leaf).clip(tree.bounds)),
            "load": reported.load if reported else None,
            "is_load_estimated": len(app.cells) > 1,
            "reals": reported.reals if reported else 0,
            "ghosts": reported.ghosts if reported else 0,
            "is_lost": app.is_lost,
        }


def _view_branch(branch: Branch, bounds: Rect) -> dict[str, Any]:
    if isinstance(branch, Leaf):
        return {"cell": branch.cell, "app": str(branch.app)}
    low, high = bounds.range_of(branch.axis)
    return {
        "axis": branch.axis.name.lower(),
        "position": min(max(branch.position, low), high),  # the border of a newborn may be at the end of the world
        "left": _view_branch(branch.left, bounds),
        "right": _view_branch(branch.right, bounds),
    }
