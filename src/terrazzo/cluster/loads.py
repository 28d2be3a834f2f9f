"""Loads that apps report to one another: checked, and smoothed so that no single busy tick decides a placement.

A load is the measured share of one core that an app uses: 0 for idle, 1 for a whole core. None means that the app has
not measured it yet.
"""

from __future__ import annotations

from math import isfinite

from terrazzo.cluster.app import LOAD_S, Host

NEW_SHARE = 0.3
"""The weight of the newest report in a smoothed load: after ten reports, 3 % of the old value is left."""


def is_load(value: float | None) -> bool:
    """Whether a reported load is a possible value."""
    return value is None or (isfinite(value) and value >= 0.0)


def smoothed(old: float | None, new: float | None) -> float | None:
    """The new smoothed load; the first report counts in full."""
    if old is None or new is None:
        return old if new is None else new
    return old + (new - old) * NEW_SHARE


class OwnLoad:
    """The smoothed load of the own process, measured once in LOAD_S."""

    def __init__(self, host: Host) -> None:
        self.value: float | None = None
        self._host = host
        self._next_at = host.now + LOAD_S

    def on_tick(self) -> bool:
        """Whether there is a new figure."""
        if self._host.now < self._next_at:
            return False
        self._next_at = self._host.now + LOAD_S
        self.value = smoothed(self.value, self._host.process_load().busy)
        return True
