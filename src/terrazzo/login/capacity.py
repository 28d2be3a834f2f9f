"""Whether the world takes one more player now: busy servers (`admission.py`), a full world (`room.py`), too many
attempts in work. The figures come from the DBApp; the load of the own process is measured here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from terrazzo.cluster.app import Host
from terrazzo.cluster.loads import OwnLoad
from terrazzo.login.admission import Admission, AdmissionState, Overload
from terrazzo.login.attempts import Attempts, LoginAttempt
from terrazzo.login.limits import LoginLimits
from terrazzo.login.room import Room
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import DoorLoad


class Capacity:
    """See the module."""

    def __init__(
        self, host: Host, limits: LoginLimits, attempts: Attempts[Any], count_overloaded: Callable[[], int]
    ) -> None:
        """`count_overloaded` gives how many logins were refused because the servers were busy."""
        self.admission = Admission(limits.admission)
        self.room = Room()
        self._host = host
        self._limits = limits
        self._attempts = attempts
        self._count_overloaded = count_overloaded
        self._own_load = OwnLoad(host)

    def on_tick(self) -> None:
        """Measures the own load."""
        if self._own_load.on_tick():
            self._admit_by({Overload.LOGIN_APP: self._own_load.value})

    def note(self, message: DoorLoad) -> None:
        """New figures."""
        world = message.world
        self.room.note(world)
        self._admit_by(
            {
                Overload.DB_APP: message.db_app,
                Overload.BASE_APPS: world.base_app if world else None,
                Overload.CELL_APPS: world.cell_most if world else None,
                Overload.CELL_MEAN: world.cell_mean if world else None,
            }
        )

    def why_no_room(self, attempt: LoginAttempt[Any], *, is_bot: bool = False) -> LoginRefusal | None:
        """Why the world cannot take this player now; None: it can."""
        if not is_bot and self.admission.is_shut(self._host.now):
            return LoginRefusal.OVERLOADED
        in_work = self._attempts.in_work(attempt.is_known)
        if in_work >= (self._limits.known_max if attempt.is_known else self._limits.asked_max):
            return LoginRefusal.TOO_MANY
        in_work += self._attempts.in_work(not attempt.is_known)
        return LoginRefusal.FULL if not is_bot and self.room.is_full(in_work, self._host.now) else None

    def _admit_by(self, loads: Mapping[Overload, float | None]) -> None:
        before = self.admission.state
        self.admission.note(loads, self._host.now)
        if self.admission.state is not before:
            facts = {**self.admission.view(), "refused": self._count_overloaded()}
            is_open = self.admission.state is AdmissionState.OPEN
            self._host.log(LogEvent.LOGINS_OPEN if is_open else LogEvent.LOGINS_OVERLOADED, **facts)
