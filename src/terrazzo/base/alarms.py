"""What is to be done later: acts with their times, done in order at the tick."""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cluster.app import Host
from terrazzo.wire.schedule import Schedule


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

    def __init__(self, host: Host, ring: Callable[[Callable[[], None]], object] = lambda act: act()) -> None:
        """`ring` does an act, and confines what it raises."""
        self._host = host
        self._ring = ring
        self._schedule: Schedule[Alarm] = Schedule(lambda alarm: alarm.act is None)

    def after(self, seconds: float, act: Callable[[], None]) -> Alarm:
        """Does it at the first tick after so many seconds, unless it is cancelled."""
        alarm = Alarm(act)
        self._schedule.add(self._host.now + seconds, alarm)
        return alarm

    def on_tick(self) -> None:
        """Does what is due. What an act sets for at once waits for the next tick."""
        for alarm in self._schedule.take(self._host.now):
            act = alarm.act
            if act is not None:  # an act before may have cancelled it
                self._ring(act)
