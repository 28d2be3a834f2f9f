"""The timers of one part of an entity, base or cell: when each is due, and how often it repeats.

A timer has a number. The game chooses one (0 … 65535), and setting that number again replaces the timer; or a number is
drawn that nothing else of this part has or had.

    set ──▶ due ──take──▶ fire ──▶ gone                  a timer that fires is removed before its code runs
             ▲              │
             └── repeats ───┘                            due again one period after it was due; periods that were missed
                                                         in a long pause are not made up for

The table gives its owner the time of the next due timer (`_look_at`). At that time the owner takes what is due, fires
each, and looks again.
"""

from __future__ import annotations

from math import inf

from terrazzo.errors import UsageError
from terrazzo.schema.arguments import number as plain
from terrazzo.schema.arguments import whole

DRAWN = 1 << 16
"""Numbers that the game chooses lie below; those drawn for it lie above."""

NUMBER_MAX = (1 << 62) - 1
"""Of what the game has chosen or was given."""

TIMERS_MAX = 256


class TimerTable:
    """When each timer is due, and how often it repeats."""

    __slots__ = ("_due", "_repeat", "next_due", "next_number")

    def __init__(self) -> None:
        self.next_due = inf
        """Before that there is nothing to take."""
        self._due: dict[int, float] = {}
        self._repeat: dict[int, float] = {}
        self.next_number = DRAWN
        """The next to be drawn."""

    def __len__(self) -> int:
        return len(self._due)

    def draw(self) -> int:
        """A number that nothing of this part has or had."""
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

    def clear(self) -> None:
        """Removes all timers."""
        self._due.clear()
        self._repeat.clear()
        self._look_at(inf)

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
        if repeat > 0:
            self._due[number] = due + repeat if due + repeat > now else now + repeat
        else:
            self.cancel(number)
        return True

    def find_next_due(self) -> None:
        """When the next is due, after a round."""
        self._look_at(min(self._due.values(), default=inf))

    def _look_at(self, due: float) -> None:
        """The next timer is due then; inf: there is none."""
        self.next_due = due


def chosen(number: int, name: str) -> int:
    """A number that the game chose, if it may."""
    return whole(number, f"{name} (None has one drawn)", least=0, most=DRAWN - 1)


def given(number: int, name: str) -> int:
    """A number that the game chose or was given, as it gives it to `cancel`."""
    return whole(number, name, least=0, most=NUMBER_MAX)
