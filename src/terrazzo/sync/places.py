"""Reading PLACES messages: where the entities in a client's area are. `_speed/sight.py` writes them and draws them.

A client's view does not use this: it puts the entries into the arrays of its `PlaceTable` (`_speed/view.py`) at once.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo._speed import view
from terrazzo._speed.view import unpack12, unpack16, unpack_angle

__all__ = ["PackedPlace", "PlacesMessage", "decode_places", "unpack12", "unpack16", "unpack_angle"]


class PackedPlace(NamedTuple):
    """Where one entity is."""

    alias: int
    position: tuple[float, float, float]
    angles: tuple[float, ...]
    """Yaw, pitch, roll, as far as they are in the message."""


class PlacesMessage(NamedTuple):
    """One message."""

    turn: int
    """See `sync.turns`."""
    entries: list[PackedPlace]


def decode_places(data: bytes) -> PlacesMessage:
    """The places of a PLACES message's body, which is what follows its number; DecodeError for any other bytes."""
    turn, entries = view.decode_places(data)
    return PlacesMessage(turn, [PackedPlace(*each) for each in entries])
