"""What is to be done later: acts with their times, done in order at the tick."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from terrazzo.wire.app import Host


class Alarm:
    """One act that waits for its time."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Callable[[], None] | None = act

    def cancel(self) -> None:
        """It will not be done."""
        self.act = None


class Alarms:
    """All that waits, of one app."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._heap: list[tuple[float, int, Alarm]] = []
        self._serial = 0

    def after(self, seconds: float, act: Callable[[], None]) -> Alarm:
        """Does it at the first tick after so many seconds, unless it is cancelled."""
        alarm = Alarm(act)
        self._serial += 1  # two of one time ring in the order in which they were set
        heappush(self._heap, (self._host.now + seconds, self._serial, alarm))
        return alarm

    def on_tick(self) -> None:
        """Does what is due. What an act sets for at once waits for the next tick."""
        now = self._host.now
        due = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heappop(self._heap)[2])
        for alarm in due:
            act = alarm.act
            if act is not None:
                act()
