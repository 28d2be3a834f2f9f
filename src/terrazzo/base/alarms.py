"""Alarms: calls that a BaseApp makes at a later tick, in the order in which they fall due."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from terrazzo.cluster.app import Host
from terrazzo.sync.gamecode import Confinement
from terrazzo.wire.schedule import Schedule


class Alarm:
    """One call that waits for its time."""

    __slots__ = ("act",)

    def __init__(self, act: Callable[[], None]) -> None:
        self.act: Callable[[], None] | None = act

    def cancel(self) -> None:
        """The call is not made."""
        self.act = None


class Alarms:
    """All alarms of one app."""

    def __init__(self, host: Host, confinement: Confinement) -> None:
        self._host = host
        self._confinement = confinement
        self._schedule: Schedule[Alarm] = Schedule(lambda alarm: alarm.act is None)

    def after(self, seconds: float, act: Callable[[], None]) -> Alarm:
        """Calls `act` at the first tick after so many seconds, unless the alarm is cancelled."""
        alarm = Alarm(act)
        self._schedule.add(self._host.now + seconds, alarm)
        return alarm

    def on_tick(self) -> None:
        """Makes the calls that are due. An alarm that one of them sets for zero seconds rings in the next tick."""
        for alarm in self._schedule.take(self._host.now):
            act = alarm.act
            if act is not None:  # an earlier call of this tick may have cancelled it
                self._ring(act)

    def _ring(self, act: Callable[[], None]) -> None:
        """Makes a call. The object with the method is named in the report of a failure; its text names the entity."""
        function = act.func if isinstance(act, partial) else act
        owner = getattr(function, "__self__", "the BaseApp")
        self._confinement.run(owner, getattr(function, "__name__", "alarm"), act)
