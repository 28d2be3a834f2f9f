"""The timers of one real: they travel with it, and each fires once for each time it is due, wherever that is."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from terrazzo.errors import UsageError

DRAWN = 1 << 16
"""Numbers that the game chooses lie below; those drawn for it lie above."""

TIMERS_MAX = 256

PackedTimer = tuple[int, float, float, int]
"""Number, seconds until due, repeat (0: once), 0."""


class Timers:
    """When each timer is due, and how often it repeats."""

    __slots__ = ("_due", "_next_due", "_next_number", "_repeat")

    def __init__(self, home: int) -> None:
        """`home` counts the homes of the real: no two of them draw the same number."""
        self._due: dict[int, float] = {}
        self._repeat: dict[int, float] = {}
        self._next_due = inf
        self._next_number = DRAWN * (home + 1)

    def set(self, now: float, seconds: float, repeat: float, number: int | None) -> int:
        """Sets a timer, or sets one again; the number tells it apart."""
        if not 0 <= seconds < inf or not 0 <= repeat < inf:
            raise UsageError(f"a timer takes seconds of 0 or more, not {seconds!r} and {repeat!r}")
        if number is None:
            number = self._next_number
            self._next_number += 1
        elif not 0 <= number < DRAWN:
            raise UsageError(f"a timer's number is 0 … {DRAWN - 1}, or none to have one drawn; not {number}")
        if number not in self._due and len(self._due) >= TIMERS_MAX:
            raise UsageError(f"an entity has at most {TIMERS_MAX} timers; cancel some, or use one that repeats")
        self._due[number] = now + seconds
        self._repeat[number] = repeat
        self._next_due = min(self._next_due, now + seconds)
        return number

    def cancel(self, number: int) -> None:
        """Forgets a timer, if it is still there."""
        self._due.pop(number, None)
        self._repeat.pop(number, None)

    def is_due(self, now: float) -> bool:
        """Whether `take` may find something."""
        return self._next_due <= now

    def take(self, now: float) -> list[int]:
        """The numbers that are due, earliest first. Each must be fired with `fire`."""
        return sorted((number for number, due in self._due.items() if due <= now), key=lambda each: self._due[each])

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

    def settle(self) -> None:
        """When the next is due, after a round."""
        self._next_due = min(self._due.values(), default=inf)

    def pack(self, now: float) -> tuple[PackedTimer, ...]:
        """All of them at rest."""
        return tuple((number, due - now, self._repeat[number], 0) for number, due in self._due.items())

    def unpack(self, packed: Iterable[PackedTimer], now: float) -> None:
        """Goes on with those of the former home."""
        for number, seconds, repeat, _ in packed:
            self._due[number], self._repeat[number] = now + seconds, repeat
        self.settle()
