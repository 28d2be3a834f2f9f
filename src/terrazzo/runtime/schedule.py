"""When the next tick is due.

Tick n is due at start + n · tick_s, whatever happened to those before it: nothing drifts. After a hold-up (a long tick,
a machine that stood still) missed ticks are made up for, one after the other with the network heard in between, but
never more than `late_max` in a row: then all that are still missing are given up, and the next tick is again one of
the grid, in the future. A process that cannot keep up thus gets slower instead of falling ever further behind.
"""

from __future__ import annotations


class Schedule:
    """The ticks of one app."""

    def __init__(self, start: float, tick_s: float, late_max: int) -> None:
        self.given_up = 0
        self._start = start
        self._tick_s = tick_s
        self._late_max = late_max
        self._number = 0
        self._late_in_row = 0

    @property
    def due_at(self) -> float:
        """When the next tick is due."""
        return self._start + self._number * self._tick_s

    def advance(self, now: float) -> int:
        """A tick has been made; gives how many are given up."""
        self._number += 1
        if now < self.due_at:
            self._late_in_row = 0
            return 0
        self._late_in_row += 1
        if self._late_in_row <= self._late_max:
            return 0
        missed = int((now - self.due_at) / self._tick_s) + 1
        self._number += missed
        self._late_in_row = 0
        self.given_up += missed
        return missed
