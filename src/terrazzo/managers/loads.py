"""How the managers use the loads that apps report: checked, and smoothed so that one busy tick decides nothing.

A load is the measured share of one core that an app uses: 0 for idle, 1 for a whole core. None means that the app has
not measured it yet.
"""

from __future__ import annotations

from math import isfinite

NEW_SHARE = 0.3
"""How much of a smoothed load is the newest report: after ten reports all but 3 % of the old is forgotten."""


def is_load(value: float | None) -> bool:
    """Whether a reported load can be one."""
    return value is None or (isfinite(value) and value >= 0.0)


def smoothed(old: float | None, new: float | None) -> float | None:
    """The load to go by; the first report counts whole."""
    if old is None or new is None:
        return old if new is None else new
    return old + (new - old) * NEW_SHARE
