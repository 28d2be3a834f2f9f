"""Where the entities around one client are, in arrays by alias; and the PLACES messages that put them there.

`_speed/sight.py` writes PLACES and draws them. Reading is total: any bytes give places or a DecodeError, and a message
that is malformed anywhere changes nothing.

**The table** (`PlaceTable`) has a row for each alias that a client's view has: position, direction, and the turn in
which the alias became its entity's own (`sync/turns.py`). `take` puts a whole message into the rows without an object
for an entry. Its result names only what the owner of the table has asked for, by flags of the row:

    ASKED      the row has been changed: `(alias, None)`
    SPECIAL    the row is left as it is, and the owner gets the place: `(alias, (position, direction))`. For riders and
               vehicles, of which one place may change others, or count for nothing

An entry about an alias without a row, or of a turn that does not cover the row's, is counted in `late`.
"""

from __future__ import annotations

import struct
from math import isfinite, pi

from terrazzo._speed.sight import AIR, FULL, GROUND
from terrazzo.errors import DecodeError

ASKED, SPECIAL = 1, 2
ALIAS_MAX = 0xFFFF

Place = tuple[float, float, float]
Entry = tuple[int, Place, tuple[float, ...]]
"""Alias, position, and yaw, pitch, roll as far as they are in the message."""

_HEAD = struct.Struct("<B3s3sf")
_STEP = pi / 128


class PlaceTable:
    """The places of one client's view."""

    __slots__ = ("_rows", "late")

    def __init__(self) -> None:
        self.late = 0
        """Entries that were passed over."""
        self._rows: dict[int, list[object]] = {}

    def add(self, alias: int, position: Place, direction: Place, turn: int, flags: int) -> None:
        """An alias is an entity's from now on."""
        if not 0 <= alias <= ALIAS_MAX:
            raise ValueError(f"no alias is {alias}")
        self._rows[alias] = [position, direction, turn, flags]

    def remove(self, alias: int) -> None:
        """The alias is no entity's any more."""
        self._rows.pop(alias, None)

    def position(self, alias: int) -> Place:
        """Where the entity with this alias is; KeyError without a row."""
        return self._rows[alias][0]  # type: ignore[return-value]

    def direction(self, alias: int) -> Place:
        """Yaw, pitch and roll of the entity with this alias."""
        return self._rows[alias][1]  # type: ignore[return-value]

    def put(self, alias: int, position: Place, direction: Place) -> None:
        """The entity with this alias is here."""
        self._rows[alias][:2] = position, direction

    def turn(self, alias: int) -> int:
        """The turn of a row."""
        return self._rows[alias][2]  # type: ignore[return-value]

    def set_turn(self, alias: int, turn: int) -> None:
        """What bears an earlier turn is passed over from now on."""
        self._rows[alias][2] = turn

    def set_flag(self, alias: int, flag: int, is_on: bool) -> None:
        """ASKED or SPECIAL, on or off."""
        row = self._rows[alias]
        flags: int = row[3]  # type: ignore[assignment]
        row[3] = flags | flag if is_on else flags & ~flag

    def take(self, data: bytes, now: int) -> list[tuple[int, tuple[Place, Place] | None]]:
        """The body of a PLACES message, which is what follows its number; `now` is the present turn."""
        told, entries = decode_places(data)
        found: list[tuple[int, tuple[Place, Place] | None]] = []
        ago = now - told & 255
        for alias, position, angles in entries:
            row = self._rows.get(alias)
            if row is None or ago >= 128 or now - ago < row[2]:  # type: ignore[operator]
                self.late += 1
                continue
            before: Place = row[1]  # type: ignore[assignment]
            direction: Place = (*angles, *before[len(angles) :])  # type: ignore[assignment]
            flags: int = row[3]  # type: ignore[assignment]
            if flags & SPECIAL:
                found.append((alias, (position, direction)))
                continue
            row[0], row[1] = position, direction
            if flags & ASKED:
                found.append((alias, None))
        return found


def decode_places(data: bytes) -> tuple[int, list[Entry]]:
    """The turn and the entries of a PLACES message's body."""
    if len(data) < _HEAD.size:
        raise DecodeError("places without a reference", len(data))
    turn, x, z, y = _HEAD.unpack_from(data)
    reference = (_int24(x), y, _int24(z))
    if not isfinite(y):
        raise DecodeError("a reference that is not finite", 7)
    entries: list[Entry] = []
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
    return turn, entries


def _read_entry(data: bytes, at: int, form: int, reference: Place, entries: list[Entry]) -> int:
    kind, angles = form >> 2, form & 3
    alias, at = _read_alias(data, at)
    size = 12 + 4 * angles if kind == FULL else (3 if kind == GROUND else 5) + angles
    if len(data) - at < size:
        raise DecodeError("places are cut off", len(data))
    if kind == FULL:
        values = struct.unpack_from(f"<{3 + angles}f", data, at)
        if not all(map(isfinite, values)):
            raise DecodeError("a place that is not finite", at)
        entries.append((alias, values[:3], values[3:]))
        return at + size
    x, y, z = reference
    flat = int.from_bytes(data[at : at + 3], "little")
    if kind == AIR:
        y += unpack16(int.from_bytes(data[at + 3 : at + 5], "little"))
    turned = tuple(unpack_angle(each) for each in data[at + size - angles : at + size])
    entries.append((alias, (x + unpack12(flat & 0xFFF), y, z + unpack12(flat >> 12)), turned))
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
