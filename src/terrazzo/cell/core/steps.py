"""Phase 6 of a tick: the step of each real is closed and sent to its ghosts.

A real with an open step (a change, a call, a place that is an event) gets a message of its own. Reals that have only
moved need none: the arrays close their steps together, as rows of places, one message for each CellApp with ghosts.
"""

from __future__ import annotations

from collections import Counter
from struct import Struct

from terrazzo.cell.core.core import Core
from terrazzo.cell.core.history import PLACE
from terrazzo.wire.pairs.cell_cell import GhostPlaces

ROWS_BYTES_MAX = 44 * 8192
_ROW = Struct("<i40x")
"""Of a row (`_speed/places`), its entity."""


class Steps:
    """Closes the steps of the reals of one CellApp."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def close_all(self) -> None:
        """Closes the steps of all reals: one by one where something happened, together where they have only moved."""
        core = self._core
        opened, core.open_steps = core.open_steps, {}
        for real in opened.values():
            if real.body.real is real:
                core.confine(real.body, "step", core.close_step, real)
        for space in core.spaces.values():
            for slot in space.area.eventful_moved():
                moved = space.by_slot[slot].real
                assert moved is not None
                core.confine(moved.body, "step", core.close_step, moved)
            for bit, rows in space.area.close_places():
                to = space.neighbours.app_of(bit)
                for at in range(0, len(rows), ROWS_BYTES_MAX):
                    part = rows[at : at + ROWS_BYTES_MAX]
                    self._count_places(part, core.send(to, GhostPlaces(space.id, part)))

    def _count_places(self, rows: bytes, size: int) -> None:
        bodies, head = self._core.bodies, size - len(rows)
        for kind, count in Counter(bodies[entity].kind for (entity,) in _ROW.iter_unpack(rows)).items():
            self._core.account.add(kind.page.ghosts[PLACE], count, count * _ROW.size + head)
            head = 0
