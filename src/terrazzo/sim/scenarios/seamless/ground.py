"""How the cells of the seamless scenario change: cells are added and retired, borders are moved.

The changes go through the manager's own methods, as those of a balancer would; a change that the manager refuses for
the moment is left for the next time. Borders move by a little, to the other end of the world, and exactly onto an
entity.
"""

from __future__ import annotations

from random import Random

from terrazzo.errors import UsageError
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.sim.cluster import Cluster
from terrazzo.sim.scenarios.seamless.shape import CELLS_MIN, Shape
from terrazzo.sim.scenarios.seamless.walking import EDGE_M, Border
from terrazzo.sim.world import World
from terrazzo.world.bsp import BspTree
from terrazzo.world.rect import Axis


class SeamlessGround:
    """See Ground in `walking.py`."""

    def __init__(self, world: World, shape: Shape) -> None:
        self.is_working = True
        self.changes: dict[str, int] = {}
        """The number of changes of each kind."""
        self._world = world
        self._shape = shape
        self._rng = world.rng("ground")
        self._cluster: Cluster | None = None

    def begin(self, cluster: Cluster) -> None:
        """Begins to change the ground of a cluster."""
        self._cluster = cluster
        if self._shape.ground_s:
            self._world.clock.after(self._shape.ground_s, self._stir)

    # Called by walkers.

    def reach(self, space: str) -> float:
        """See Ground."""
        return self._shape.reaches[space]

    def entry(self, rng: Random) -> tuple[str, tuple[float, float, float]]:
        """See Ground."""
        space = rng.choice(list(self._shape.reaches))
        reach = self._shape.reaches[space] * rng.choice([0.3, 0.9])
        return space, (rng.uniform(-reach, reach), rng.choice([0.0, 0.0, 20.0]), rng.uniform(-reach, reach))

    def borders(self, space: str) -> list[Border]:
        """See Ground."""
        tree, reach = self._tree(space), self._shape.reaches[space]
        found = []
        for _, node, rect in tree.nodes() if tree is not None else ():
            is_x = node.axis is Axis.X
            low, high = rect.range_of(Axis.Z if is_x else Axis.X)
            low, high = max(low, -reach), min(high, reach)
            if low < high and abs(node.position) < reach:
                found.append(Border(is_x, node.position, low, high))
        return found

    def _tree(self, space: str) -> BspTree | None:
        manager = self._manager()
        try:
            return None if manager is None else manager.tree_of(space)
        except UsageError:
            return None

    def _manager(self) -> CellAppMgr | None:
        app = None if self._cluster is None else self._cluster.cell_mgr.app
        return app if isinstance(app, CellAppMgr) else None

    # Changes.

    def _stir(self) -> None:
        """Makes one change in one space."""
        if not self.is_working:
            return
        self._world.clock.after(self._shape.ground_s * self._rng.uniform(0.2, 1.8), self._stir)
        space = self._rng.choice(list(self._shape.reaches))
        manager, tree = self._manager(), self._tree(space)
        if manager is None or tree is None:
            return
        what = self._rng.choice(["add", "add", "retire", "move", "move", "move"])
        if what == "retire" and len(tree.leaves()) <= CELLS_MIN and self._rng.random() < 0.8:
            what = "move"
        try:
            if what == "add":
                self._add(manager, tree, space)
            elif what == "retire":
                manager.retire_cell(space, self._rng.choice(tree.leaves()).app)
            else:
                self._move(manager, tree, space)
        except UsageError as problem:
            self._world.trace.add("ground", "refused", what=what, problem=str(problem))
            return
        self.changes[what] = self.changes.get(what, 0) + 1

    def _add(self, manager: CellAppMgr, tree: BspTree, space: str) -> None:
        rng, reach = self._rng, self._shape.reaches[space]
        leaf, axis = rng.choice(tree.leaves()), rng.choice(list(Axis))
        low, high = tree.rect_of(leaf).range_of(axis)
        position = self._within(max(low, -reach), min(high, reach))
        manager.add_cell(space, beside=leaf.app, axis=axis, position=position, is_near=rng.random() < 0.5)

    def _move(self, manager: CellAppMgr, tree: BspTree, space: str) -> None:
        nodes = list(tree.nodes())
        if nodes:
            path, node, rect = self._rng.choice(nodes)
            low, high = rect.range_of(node.axis)
            reach = self._shape.reaches[space]
            manager.move_border(space, path, self._within(max(low, -reach), min(high, reach)))

    def _within(self, low: float, high: float) -> float:
        """A number between, at an end, or just beside the middle."""
        middle = (low + high) / 2
        choices = [self._rng.uniform(low, high), middle, low + EDGE_M, high - EDGE_M]
        return min(high, max(low, self._rng.choice(choices)))
