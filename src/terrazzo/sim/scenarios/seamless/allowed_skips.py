"""Which steps a ghost may skip, by CellApp and by entity (P3).

A ghost takes every step of its real, in order. It may skip some for one reason: a gap did not close, and the CellApp
mended it (`cell/ghosts/mending.py`), either with a snapshot that it requested from the real, or with a creation that
was held. The CellApp counts both. Each count allows one skip, of this entity on this CellApp; a count for another ghost
allows nothing.
"""

from __future__ import annotations

from collections import Counter

from terrazzo.cell.cellapp import CellApp
from terrazzo.wire.log_events import LogEvent

COUNTED = (LogEvent.SNAPSHOT_ASKED, LogEvent.GAP_PASSED_OVER)
"""What a CellApp counts when a ghost may skip something."""


class AllowedSkips:
    """The skips that the ghosts of one world are allowed."""

    def __init__(self) -> None:
        self.used = 0
        """How many skips were allowed."""
        self._open: Counter[tuple[CellApp, int]] = Counter()

    def watch(self, app: CellApp) -> None:
        """Notes what this CellApp counts."""
        count = app.core.count

        def counted(what: LogEvent, /, **facts: object) -> None:
            entity = facts.get("entity")
            if what in COUNTED and isinstance(entity, int):
                self._open[app, entity] += 1
            count(what, **facts)

        vars(app.core)["count"] = counted

    def take(self, app: CellApp, entity: int) -> bool:
        """The ghost of an entity has skipped steps. Returns whether that was allowed; each count allows one skip."""
        if self._open[app, entity] <= 0:
            return False
        self._open[app, entity] -= 1
        self.used += 1
        return True
