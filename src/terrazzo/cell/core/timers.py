"""The timers of one real: they travel with it, and each fires once for each time it is due, on whichever CellApp.

A timer has a number. The game chooses one (0 … 65535), and setting that number again replaces the timer; or a number is
drawn that no other timer, controller, proximity trigger or question of the entity has or had, in any of its homes.

    set ──▶ due ──take──▶ fire ──▶ gone                  packed, a timer is the seconds that are left: it fires once,
             ▲              │                            here or there (race 13), since a timer that fires here is
             └── repeats ───┘                            removed before its code runs
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from terrazzo.errors import UsageError
from terrazzo.schema.arguments import number as plain
from terrazzo.schema.arguments import whole
from terrazzo.wire.pairs.cell_cell import Timer

if TYPE_CHECKING:
    from terrazzo.cell.core.agenda import Agenda

DRAWN = 1 << 16
"""Numbers that the game chooses lie below; those drawn for it lie above."""

TIMERS_MAX = 256


class Timers:
    """When each timer is due, and how often it repeats."""

    __slots__ = ("_agenda", "_due", "_entity", "_repeat", "next_due", "next_number")

    def __init__(self, agenda: Agenda | None = None, entity: int = 0) -> None:
        """The agenda has when the entity is to be looked at."""
        self._agenda = agenda
        self._entity = entity
        self.next_due = inf
        """Before that there is nothing to take."""
        self._due: dict[int, float] = {}
        self._repeat: dict[int, float] = {}
        self.next_number = DRAWN
        """The next to be drawn; it goes along, so no two homes of the real draw the same."""

    def draw(self) -> int:
        """A number that nothing of this entity has or had."""
        number = self.next_number
        self.next_number += 1
        return number

    def set(self, now: float, seconds: float, repeat: float, number: int | None) -> int:
        """Sets a timer, or sets one again; gives its number."""
        seconds, repeat = plain(seconds, "timer: seconds", least=0), plain(repeat, "timer: repeat", least=0)
        number = self.draw() if number is None else chosen(number, "timer: number")
        if number not in self._due and len(self._due) >= TIMERS_MAX:
            raise UsageError(f"an entity has at most {TIMERS_MAX} timers; cancel some, or use one that repeats")
        self._due[number] = now + seconds
        self._repeat[number] = repeat
        if now + seconds < self.next_due:
            self._look_at(now + seconds)
        return number

    def cancel(self, number: int) -> bool:
        """Removes a timer; False when there is none of this number."""
        self._repeat.pop(number, None)
        return self._due.pop(number, None) is not None

    def take(self, now: float) -> list[int]:
        """The numbers that are due, earliest first. Each must be fired with `fire`."""
        due = [number for number, at in self._due.items() if at <= now]
        return due if len(due) < 2 else sorted(due, key=lambda number: self._due[number])

    def fire(self, number: int, now: float) -> bool:
        """Settles one that is due, before its code runs; False when it was cancelled or set again in between."""
        due = self._due.get(number, inf)
        if due > now:
            return False
        repeat = self._repeat[number]
        if repeat > 0:  # what was missed in a long pause is not made up for
            self._due[number] = due + repeat if due + repeat > now else now + repeat
        else:
            self.cancel(number)
        return True

    def find_next_due(self) -> None:
        """When the next is due, after a round."""
        self._look_at(min(self._due.values(), default=inf))

    def _look_at(self, due: float) -> None:
        self.next_due = due
        if self._agenda is not None:
            self._agenda.enter(due, self._entity)

    def pack(self, now: float) -> tuple[Timer, ...]:
        """All of them at rest."""
        return tuple(Timer(number, due - now, self._repeat[number]) for number, due in self._due.items())

    def unpack(self, packed: Iterable[Timer], next_number: int, now: float) -> None:
        """Goes on with those of the former home."""
        self.next_number = next_number
        for number, seconds, repeat in packed:
            self._due[number], self._repeat[number] = now + seconds, repeat
        self.find_next_due()


def chosen(number: int, name: str) -> int:
    """A number that the game chose, if it may."""
    return whole(number, f"{name} (None has one drawn)", least=0, most=DRAWN - 1)
