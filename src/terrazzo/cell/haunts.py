"""Where reals have ghosts: in each cell that the square around them reaches into.

The square is the ghost distance (and the type's appeal radius) in each direction, and never smaller than what a client
in a neighbouring cell can see. Ghosts are kept until a little further out than where they are created, and not deleted
in their first moments, so that pacing at the edge costs nothing. A ghost of a destroyed entity goes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.real import Real
from terrazzo.cell.witness import HYSTERESIS_M
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cell_cell import DeleteGhost
from terrazzo.world.rect import Rect

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

KEEP_M = 10.0
LIFE_MIN_S = 2.0
CHECK_TICKS = 10


class Haunts:
    """Makes and unmakes the ghosts of the reals here."""

    def __init__(self, app: CellApp, margin_m: float) -> None:
        self._app = app
        policy = app.game.policy
        # Both the watcher and the watched may be outside their cells by the margin.
        self._distance_m = max(policy.ghost_distance_m, policy.area_radius_m + HYSTERESIS_M + 2 * margin_m)

    def close_step(self, real: Real) -> None:
        """Tells the ghosts what happened to the real since the last time."""
        step = real.close_step()
        if step is not None:
            for haunt in real.haunts:
                self._app.send(haunt, step)

    def tend(self, real: Real) -> None:
        """Ghosts where they are needed now, and only there. Where neither the real nor the ground has moved,
        now and then is enough."""
        body, app = real.body, self._app
        is_due = body.id in body.space.moved or real.haunts_version != body.space.version
        if not is_due and (app.tick + body.id) % CHECK_TICKS:
            return
        real.haunts_version = body.space.version
        distance = self._distance_m + body.kind.schema.appeal_radius
        area = Rect.around(body.position[0], body.position[2], distance)
        for haunt in body.space.apps_touching(area):
            if haunt != app.me and haunt not in real.haunts:
                self.create(real, haunt)
        if real.haunts:
            kept = body.space.apps_touching(area.inflate(KEEP_M))
            for haunt, since in list(real.haunts.items()):
                if haunt not in kept and app.host.now >= since + LIFE_MIN_S:
                    del real.haunts[haunt]
                    app.send(haunt, DeleteGhost(body.id, body.epoch, is_destroyed=False))

    def create(self, real: Real, haunt: AppId) -> None:
        """Makes a ghost, or makes one anew; only between steps."""
        self._app.send(haunt, real.ghost())
        self._app.send(haunt, real.past())
        real.haunts[haunt] = self._app.host.now

    def end(self, real: Real) -> None:
        """The entity has no body any more, anywhere."""
        for haunt in real.haunts:
            self._app.send(haunt, DeleteGhost(real.body.id, real.body.epoch, is_destroyed=True))

    def on_link_up(self, peer: AppId) -> None:
        """Steps may have been lost with the former link: the ghosts there get everything anew."""
        for real in self._app.reals.values():
            if peer in real.haunts:
                self.close_step(real)
                self.create(real, peer)
