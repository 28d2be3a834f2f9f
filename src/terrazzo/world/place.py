"""Which numbers can be part of a place: coordinates in metres, angles in radians.

Places are stored and sent as 32-bit floats, and some are sums of others (a rider is placed relative to its vehicle).
Numbers within PLACE_MAX survive all of that. Others are refused by the first code that receives them, since only there
an error can be returned to the caller.
"""

from __future__ import annotations

from terrazzo._speed.places import PLACE_MAX

__all__ = ["PLACE_MAX", "fits", "fitting"]


def fits(*numbers: float) -> bool:
    """Whether all of these can be part of a place; what is not finite cannot."""
    return all(-PLACE_MAX <= number <= PLACE_MAX for number in numbers)


def fitting(number: float) -> float:
    """The same number, or the nearest that can be part of a place."""
    return min(max(number, -PLACE_MAX), PLACE_MAX)
