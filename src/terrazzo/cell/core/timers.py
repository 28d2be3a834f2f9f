"""The timers of one real (`sync/timers.py`): they travel with it, and each fires once for each time it is due, on
whichever CellApp.

A drawn number is one that no other timer, controller, proximity trigger or question of the entity has or had, in any of
its homes. Packed, a timer is the seconds that are left: it fires once, here or there (race 13), since a timer that
fires here is removed before its code runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from terrazzo.sync.timers import DRAWN as DRAWN
from terrazzo.sync.timers import TIMERS_MAX as TIMERS_MAX
from terrazzo.sync.timers import TimerTable
from terrazzo.sync.timers import chosen as chosen
from terrazzo.wire.pairs.cell_cell import Timer

if TYPE_CHECKING:
    from terrazzo.cell.core.agenda import Agenda


class Timers(TimerTable):
    """The timers of one real, which are entered into the agenda of its CellApp."""

    __slots__ = ("_agenda", "_entity")

    def __init__(self, agenda: Agenda | None = None, entity: int = 0) -> None:
        """The agenda has when the entity is to be looked at."""
        super().__init__()
        self._agenda = agenda
        self._entity = entity

    def _look_at(self, due: float) -> None:
        self.next_due = due
        if self._agenda is not None:
            self._agenda.enter(due, self._entity)

    def pack(self, now: float) -> tuple[Timer, ...]:
        """All of them at rest."""
        return tuple(Timer(number, due - now, self._repeat[number]) for number, due in self._due.items())

    def unpack(self, packed: Iterable[Timer], next_number: int, now: float) -> None:
        """Goes on with those of the former home. `next_number` goes along, so no two homes of the real draw the
        same."""
        self.next_number = next_number
        for number, seconds, repeat in packed:
            self._due[number], self._repeat[number] = now + seconds, repeat
        self.find_next_due()
