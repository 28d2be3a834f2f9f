"""Which numbers can be part of a place: coordinates in metres, angles in radians.

Places are kept and sent as 32-bit floats, and sums of them are made on the way (a rider on its vehicle, somebody beside
somebody). What is within PLACE_MAX can go through all of that; what is not is refused where it comes in, by whoever is
the first to see it, since further in there is nobody left who could be told.
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
