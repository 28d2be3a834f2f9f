"""Reads PLACES messages: the places of entities in a client's area. `_speed/sight.py` writes them, and has a drawing.

Reading is total: any bytes give places or a DecodeError. Aliases are not checked here.
"""

from __future__ import annotations

import struct
from math import isfinite, pi
from typing import NamedTuple

from terrazzo._speed.sight import AIR, FULL, GROUND
from terrazzo.errors import DecodeError

_HEAD = struct.Struct("<B3s3sf")
_STEP = pi / 128


class PackedPlace(NamedTuple):
    """The place of one entity."""

    alias: int
    position: tuple[float, float, float]
    angles: tuple[float, ...]
    """Yaw, pitch, roll, as far as they are in the message."""


class Places(NamedTuple):
    """One message."""

    turn: int
    """See `sync.turns`."""
    entries: list[PackedPlace]


def decode_places(data: bytes) -> Places:
    """The places of a PLACES message's body, which is what follows its number."""
    if len(data) < _HEAD.size:
        raise DecodeError("places without a reference", len(data))
    turn, x, z, y = _HEAD.unpack_from(data)
    reference = (_int24(x), y, _int24(z))
    if not isfinite(y):
        raise DecodeError("a reference that is not finite", 7)
    entries: list[PackedPlace] = []
    at = _HEAD.size
    while at < len(data):
        if len(data) - at < 2:
            raise DecodeError("a section of places has a form and a count", at)
        form, count = data[at], data[at + 1]
        if form >> 2 > FULL:
            raise DecodeError(f"there is no form {form} of places", at)
        at += 2
        for _ in range(count):
            at = _read_entry(data, at, form, reference, entries)
    return Places(turn, entries)


def _read_entry(
    data: bytes, at: int, form: int, reference: tuple[float, float, float], entries: list[PackedPlace]
) -> int:
    kind, angles = form >> 2, form & 3
    alias, at = _read_alias(data, at)
    size = 12 + 4 * angles if kind == FULL else (3 if kind == GROUND else 5) + angles
    if len(data) - at < size:
        raise DecodeError("places are cut off", len(data))
    if kind == FULL:
        values = struct.unpack_from(f"<{3 + angles}f", data, at)
        if not all(map(isfinite, values)):
            raise DecodeError("a place that is not finite", at)
        entries.append(PackedPlace(alias, values[:3], values[3:]))
        return at + size
    x, y, z = reference
    flat = int.from_bytes(data[at : at + 3], "little")
    if kind == AIR:
        y += unpack16(int.from_bytes(data[at + 3 : at + 5], "little"))
    turned = tuple(unpack_angle(each) for each in data[at + size - angles : at + size])
    position = (x + unpack12(flat & 0xFFF), y, z + unpack12(flat >> 12))
    entries.append(PackedPlace(alias, position, turned))
    return at + size


def _read_alias(data: bytes, at: int) -> tuple[int, int]:
    if at < len(data) and data[at] != 255:
        return data[at], at + 1
    if len(data) - at < 3:
        raise DecodeError("an alias is cut off", len(data))
    alias = data[at + 1] | data[at + 2] << 8
    if alias < 255:
        raise DecodeError("an alias in a longer form than it needs", at)
    return alias, at + 3


def _int24(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def unpack12(code: int) -> float:
    """Metres relative to the reference, from 12 bits."""
    return _unpack(code & 0x800, code >> 8 & 7, (code & 0xFF) / 256)


def unpack16(code: int) -> float:
    """Metres relative to the reference, from 16 bits."""
    return _unpack(code & 0x8000, code >> 11 & 15, (code & 0x7FF) / 2048)


def _unpack(sign: int, exponent: int, fraction: float) -> float:
    size = (2 << exponent) * (1 + fraction) - 2.0
    return -size if sign else size


def unpack_angle(code: int) -> float:
    """Radians, from 8 bits."""
    return (code - 256 if code > 127 else code) * _STEP
