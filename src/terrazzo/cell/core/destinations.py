"""Which CellApp a real should leave for, and when it should stay.

A real leaves when its place is outside the cell of this CellApp by more than the margin, and a link with the CellApp of
that place is up. A real that has just arrived stays for STAY_S, unless the tree has changed since or this CellApp has
no cell any more: two CellApps with different trees would else send it to and fro (race 8).
"""

from __future__ import annotations

from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.wire.ids import AppId
from terrazzo.world.rect import Rect

STAY_S = 0.5


class Destinations:
    """Where the reals of one CellApp belong."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._links = core.links

    def of(self, real: Real) -> AppId | None:
        """The CellApp that a real should leave for; None while it stays."""
        core, body, space = self._core, real.body, real.body.space
        if real.is_destroyed or space.outside_by(body.position) <= core.offload_margin_m:
            return None
        is_new = real.arrived_at is not None and core.host.now < real.arrived_at + STAY_S
        if is_new and real.tree_version == space.version and space.has_ground:
            return None
        leaf = space.leaf_at(body.position)
        if leaf is None or leaf.app == core.me:
            return None
        if leaf.app in self._links.lost:
            return self._shelter(real)
        return leaf.app if self._links.reaches(leaf.app) else None

    def _shelter(self, real: Real) -> AppId | None:
        """A neighbour that the square of a real touches: there is no cell here, and its own is out of reach."""
        space, (x, _, z) = real.body.space, real.body.position
        if space.has_ground:
            return None
        square = Rect.around(x, z, self._core.ghost_reach_m + real.body.kind.schema.appeal_radius)
        found = (leaf.app for leaf in space.leaves_touching(square) if self._links.reaches(leaf.app))
        return next(found, None)
