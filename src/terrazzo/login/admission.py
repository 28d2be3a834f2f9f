"""Whether the servers take more players at present: the bounds on their measured loads.

    OPEN ── a load is above its bound ──▶ TOLERANT: at most `tolerance_s`, and `tolerance_logins` logins
      ▲                                      │
      │                                      └── either is used up ──▶ SHUT: every login is refused
      └───────────── every load is within its bound ──────────────────────┘

A load is the share of a core that a process uses, or the lateness of its ticks if that is more
(`cluster.app.ProcessLoad`), smoothed over some seconds. The bounds are on

    LOGIN_APP    this process            DB_APP       the DBApp
    BASE_APPS    the least loaded one: a new player goes there
    CELL_APPS    the most loaded one     CELL_MEAN    their mean

The managers report their figures once a second, by way of the DBApp. A load without a figure bounds nothing: no app has
measured it, or the link that brings it is lost. A bound of 0 is no bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Overload(Enum):
    """The loads that have a bound; the values are the names of the settings."""

    LOGIN_APP = "login_app"
    DB_APP = "db_app"
    BASE_APPS = "base_app"
    CELL_APPS = "cell_app"
    CELL_MEAN = "cell_mean"


class AdmissionState(Enum):
    """See the module."""

    OPEN = "open"
    TOLERANT = "tolerant"
    SHUT = "shut"


@dataclass(frozen=True)
class AdmissionLimits:
    """The bounds; 0: none."""

    load_max: Mapping[Overload, float] = field(default_factory=dict)
    tolerance_s: float = 5.0
    tolerance_logins: int = 10


class Admission:
    """The loads of the servers, and what follows from them."""

    def __init__(self, limits: AdmissionLimits) -> None:
        self.loads: dict[Overload, float | None] = dict.fromkeys(Overload)
        self.state = AdmissionState.OPEN
        self._limits = limits
        self._since = 0.0
        """When TOLERANT began."""
        self._logins = 0
        """In TOLERANT."""

    def over(self) -> list[Overload]:
        """The loads that are above their bounds."""
        bounds = self._limits.load_max
        return [each for each, load in self.loads.items() if load is not None and 0.0 < bounds.get(each, 0.0) < load]

    def note(self, loads: Mapping[Overload, float | None], now: float) -> None:
        """Some of the loads have new figures."""
        self.loads.update(loads)
        if not self.over():
            self.state = AdmissionState.OPEN
        elif self.state is AdmissionState.OPEN:
            self.state = AdmissionState.TOLERANT
            self._since, self._logins = now, 0
        self._shut_if_used_up(now)

    def is_shut(self, now: float) -> bool:
        """Whether a login is refused now."""
        self._shut_if_used_up(now)
        return self.state is AdmissionState.SHUT

    def count_login(self, now: float) -> None:
        """A login has begun."""
        self._logins += 1
        self._shut_if_used_up(now)

    def _shut_if_used_up(self, now: float) -> None:
        limits = self._limits
        is_used_up = now >= self._since + limits.tolerance_s or self._logins >= limits.tolerance_logins
        if self.state is AdmissionState.TOLERANT and is_used_up:
            self.state = AdmissionState.SHUT

    def view(self) -> dict[str, Any]:
        """For the console."""
        return {
            "state": self.state.value,
            "loads": {each.value: None if load is None else round(load, 3) for each, load in self.loads.items()},
            "over": [each.value for each in self.over()],
        }
