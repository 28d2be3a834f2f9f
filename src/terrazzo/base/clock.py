"""The timers of one base: an alarm of its BaseApp rings when the next one is due (`sync/timers.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from terrazzo.base.alarms import Alarm, Alarms
from terrazzo.sync.timers import TimerTable


class BaseTimers(TimerTable):
    """What is due, and the one alarm for it."""

    __slots__ = ("_alarm", "_alarms", "_now", "_on_timer", "_owner")

    def __init__(
        self, owner: object, alarms: Alarms, now: Callable[[], float], on_timer: Callable[[int], object]
    ) -> None:
        """`on_timer` is called with the number of each timer that is due; it confines the code of the game."""
        super().__init__()
        self._owner = owner
        self._alarms = alarms
        self._now = now
        self._on_timer = on_timer
        self._alarm: Alarm | None = None

    def __str__(self) -> str:
        return str(self._owner)

    def _look_at(self, due: float) -> None:
        self.next_due = due
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if due == inf else self._alarms.after(max(due - self._now(), 0.0), self._ring)

    def _ring(self) -> None:
        now = self._now()
        try:
            for number in self.take(now):
                if self.fire(number, now):
                    self._on_timer(number)
        finally:
            self.find_next_due()
