"""How loads that apps report are taken in: checked, and smoothed so that one busy tick decides nothing.

A load is the part of its time in which an app was busy, 0 for idle and 1 for all of it; more means that it is late.
"""

from __future__ import annotations

from math import isfinite

NEW_SHARE = 0.3
"""How much of a smoothed load is the newest report: after ten reports all but 3 % of the old is forgotten."""


def is_load(value: float) -> bool:
    """Whether a reported load can be one."""
    return isfinite(value) and value >= 0.0


def smoothed(old: float | None, new: float) -> float:
    """The load to go by; the first report counts whole."""
    return new if old is None else old + (new - old) * NEW_SHARE
