"""When the next tick is due.

Tick n is due at start + n · tick_s, whatever happened to the ticks before it, so ticks do not drift. After a delay (a
long tick, a suspended machine) missed ticks are made up for, one after the other with reading from the network in
between, but never more than `late_max` in a row: then all that are still missing are skipped, and the next tick is the
next of the grid. So a process that cannot keep up has fewer ticks, instead of ever later ones.
"""

from __future__ import annotations


class TickSchedule:
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
        """Called after a tick; returns how many ticks are skipped."""
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
