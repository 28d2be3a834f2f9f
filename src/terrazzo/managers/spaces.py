"""What CellAppMgr knows of each space and of each CellApp, and how it shows them as plain data (what JSON can hold)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from terrazzo.game import Space
from terrazzo.managers.loads import is_load, smoothed
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellLoad, SpaceTree
from terrazzo.world.bsp import Branch, BspTree, Leaf


@dataclass
class CellAppState:
    """One CellApp."""

    load: float | None = None
    cells: dict[int, CellLoad] = field(default_factory=dict)
    """Its cells by space, as it reported them; loads smoothed."""
    is_lost: bool = False

    def take_in(self, report: CellAppLoad) -> bool:
        """Whether the report can be true; if so it counts from now on."""
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


@dataclass
class SpaceState:
    """One space of the game. The version counts the trees it has had; it never goes back, even when the tree does."""

    id: int
    policy: Space
    version: int = 0
    tree: BspTree | None = None

    def plant(self, tree: BspTree) -> None:
        """A new tree, from here on."""
        self.tree = tree
        self.version += 1

    def has(self, app: AppId) -> bool:
        """Whether this CellApp has a cell here."""
        return self.tree is not None and self.tree.leaf_of(app) is not None

    def as_message(self) -> SpaceTree:
        """The tree as CellApps hear of it."""
        assert self.tree is not None, f"space {self.policy.name} has no tree yet"
        return SpaceTree(self.id, self.policy.name, self.version, self.tree.pack())

    def view(self, apps: dict[AppId, CellAppState]) -> dict[str, Any]:
        """For the console: cells with what of them is within the bounds, and the tree itself."""
        tree = self.tree
        return {
            "id": self.id,
            "name": self.policy.name,
            "bounds": list(map(float, self.policy.bounds)),
            "version": self.version,
            "tree": _view_branch(tree.root) if tree else None,
            "cells": [self._view_cell(tree, leaf, apps[leaf.app]) for leaf in tree.leaves()] if tree else [],
        }

    def _view_cell(self, tree: BspTree, leaf: Leaf, app: CellAppState) -> dict[str, Any]:
        reported = app.cells.get(self.id)
        return {
            "cell": leaf.cell,
            "app": str(leaf.app),
            "rect": list(tree.rect_of(leaf).clip(tree.bounds)),
            "load": reported.load if reported else None,
            "reals": reported.reals if reported else 0,
            "ghosts": reported.ghosts if reported else 0,
            "is_lost": app.is_lost,
        }


def _view_branch(branch: Branch) -> dict[str, Any]:
    if isinstance(branch, Leaf):
        return {"cell": branch.cell, "app": str(branch.app)}
    return {
        "axis": branch.axis.name.lower(),
        "position": branch.position,
        "left": _view_branch(branch.left),
        "right": _view_branch(branch.right),
    }
