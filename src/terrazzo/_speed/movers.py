"""The moves that clients send for their avatars, many at once: each is accepted if it is possible.

A row is "<iI6f": entity, number (counts a client's moves), x y z, yaw pitch roll. For a real with a client here:

    older than the last one looked at                passed over: a former cell forwarded it late
    accepted,  out of bounds or no place at all      OUT_OF_BOUNDS to the caller, which puts the client back
    accepted,  further than its allowance            TOO_FAST to the caller, likewise
    corrected, out of bounds or not near its place   passed over: the client sent it before the correction arrived;
                                                     from AGAIN_S after that on as if accepted: it is corrected again
    otherwise                                        accepted; the allowance shrinks; the place is put into the area,
                                                     or, where the game has a veto, the row goes to the caller (ASK)

    accepted ──put back (`correct`)──▶ corrected
       ▲                                   │
       └────── a row that is near ─────────┘

The allowance is time: it grows as time passes, up to ALLOWANCE_S, and a move takes as much of it as the way lasts at
top speed; so packets that come late and together do no harm. How near is near grows as well: a client that has lost
packets has walked on meanwhile and must not be stuck.

`world/place.py` defines what can be a place. Rows of entities without a client here are not looked at; they come
back as they are.

One source for both forms: `movers.pxd` has the C types.
"""

from __future__ import annotations

from array import array
from struct import Struct
from sys import byteorder
from typing import TYPE_CHECKING, Any, NamedTuple

from terrazzo._speed.places import PLACE_MAX
from terrazzo.errors import DecodeError

if TYPE_CHECKING:
    from terrazzo._speed.area import Area

OUT_OF_BOUNDS = 1
TOO_FAST = 2
ASK = 3

ALLOWANCE_S = 1.0
NEAR_M = 2.0
AGAIN_S = 3.0
"""A client that sends no place near the correction by then will not by itself: it is elsewhere, or out of bounds."""

ROW = Struct("<iI6f")

_OUT_OF_BOUNDS, _TOO_FAST, _ASK, _ACCEPTED, _PASSED_OVER = OUT_OF_BOUNDS, TOO_FAST, ASK, 0, -1
_ALLOWANCE_S, _NEAR_M, _AGAIN_S, _PLACE_MAX = ALLOWANCE_S, NEAR_M, AGAIN_S, PLACE_MAX
_ROW_BYTES = ROW.size
_NUMBERS = 8
"""Numbers in a row, of four bytes each."""


class Row(NamedTuple):
    """One move of one client."""

    entity: int
    number: int
    position: tuple[float, float, float]
    direction: tuple[float, float, float]


def pack_row(row: Row) -> bytes:
    """As it travels."""
    return ROW.pack(row.entity, row.number, *row.position, *row.direction)


class Mover:
    """How far the client of one real may move."""

    __slots__ = ("allowance_s", "at", "corrected_at", "has_veto", "is_corrected", "number")

    def __init__(self, number: int, allowance_s: float, corrected_s: float, now: float, has_veto: bool) -> None:
        """As `Movers.enter` takes it."""
        self.number = number
        self.allowance_s = allowance_s
        self.at = now
        self.is_corrected = corrected_s >= 0
        self.corrected_at = now - corrected_s
        self.has_veto = has_veto

    def grow(self, now: float) -> None:
        """Time passes."""
        self.allowance_s = min(self.allowance_s + (now - self.at), _ALLOWANCE_S)
        self.at = now

    def judge(self, is_within: bool, distance: float, now: float, top_speed: float) -> int:
        """Of a row with a place at this distance from the present one: _ACCEPTED, _PASSED_OVER, or the reason for the
        caller."""
        may_be_late = self.is_corrected and now < self.corrected_at + _AGAIN_S
        if not is_within:
            return _PASSED_OVER if may_be_late else _OUT_OF_BOUNDS
        if self.is_corrected:
            if distance > _NEAR_M + top_speed * (now - self.corrected_at) / 2:
                return _PASSED_OVER if may_be_late else _TOO_FAST
            self.is_corrected = False
        self.grow(now)
        if distance > self.allowance_s * top_speed:
            return _TOO_FAST
        if top_speed > 0:
            self.allowance_s -= distance / top_speed
        return _ASK if self.has_veto else _ACCEPTED


class Movers:
    """The reals with a client in one area, by slot."""

    __slots__ = ("_area", "_movers")

    def __init__(self, area: Area) -> None:
        self._area = area
        self._movers: list[Mover | None] = []
        """By slot."""

    def enter(self, slot: int, number: int, allowance_s: float, corrected_s: float, now: float, has_veto: bool) -> None:
        """A real with a client is here. `corrected_s`: seconds since it was put back, if no place near that has come
        since; else -1."""
        self._area.entity(slot)  # raises if the slot is not in use
        self._movers.extend([None] * (slot + 1 - len(self._movers)))
        self._movers[slot] = Mover(number, allowance_s, corrected_s, now, has_veto)

    def leave(self, slot: int) -> None:
        """It is gone, or has no client any more."""
        if self._find(slot) is not None:
            self._movers[slot] = None

    def has(self, slot: int) -> bool:
        """Whether it has a mover here."""
        return self._find(slot) is not None

    def pack(self, slot: int, now: float) -> tuple[int, float, float]:
        """Number, allowance_s and corrected_s, as `enter` takes them."""
        mover = self._get(slot)
        mover.grow(now)
        return mover.number, mover.allowance_s, now - mover.corrected_at if mover.is_corrected else -1.0

    def correct(self, slot: int, now: float) -> None:
        """The client was put back."""
        mover = self._get(slot)
        mover.is_corrected = True
        mover.corrected_at = now

    def is_corrected(self, slot: int) -> bool:
        """Whether the client was put back, and no place near that has come since."""
        return self._get(slot).is_corrected

    def take(
        self, rows: bytes, now: float, top_speed: float, bounds: tuple[float, float, float, float]
    ) -> tuple[list[tuple[int, Row]], bytes]:
        """Accepts what is possible; the rows that need the caller, with the reason, and the rows of others."""
        if len(rows) % _ROW_BYTES:
            raise DecodeError(f"rows of moves have {_ROW_BYTES} bytes each", len(rows))
        area = self._area
        x0, z0, x1, z1 = bounds
        seen: list[tuple[int, Row]] = []
        rest: list[bytes] = []
        entities, counts, places = _numbers(rows, "i"), _numbers(rows, "I"), _numbers(rows, "f")
        for at in range(0, len(entities), _NUMBERS):
            slot = area.find(entities[at])
            mover = self._find(slot)
            if mover is None:
                rest.append(rows[4 * at : 4 * at + _ROW_BYTES])
                continue
            number = counts[at + 1]
            if number < mover.number:
                continue
            mover.number = number
            x, y, z = places[at + 2], places[at + 3], places[at + 4]
            yaw, pitch, roll = places[at + 5], places[at + 6], places[at + 7]
            is_within = x0 <= x <= x1 and z0 <= z <= z1 and _is_place(x, y, z, yaw, pitch, roll)
            kind = mover.judge(is_within, area.distance(slot, x, y, z), now, top_speed)
            if kind == _ACCEPTED:
                area.put_at(slot, x, y, z, yaw, pitch, roll)
            elif kind != _PASSED_OVER:
                seen.append((kind, Row(entities[at], number, (x, y, z), (yaw, pitch, roll))))
        return seen, b"".join(rest)

    def _find(self, slot: int) -> Mover | None:
        return self._movers[slot] if 0 <= slot < len(self._movers) else None

    def _get(self, slot: int) -> Mover:
        mover = self._find(slot)
        if mover is None:
            raise KeyError(slot)
        return mover


def _numbers(rows: bytes, code: str) -> array[Any]:
    """The rows as numbers of this kind, four bytes each."""
    numbers: array[Any] = array(code, rows)
    if byteorder == "big":
        numbers.byteswap()
    return numbers


def _is_place(x: float, y: float, z: float, yaw: float, pitch: float, roll: float) -> bool:
    """Whether all of them are finite, and a place can have them."""
    most = _PLACE_MAX
    return (
        -most <= x <= most
        and -most <= y <= most
        and -most <= z <= most
        and -most <= yaw <= most
        and -most <= pitch <= most
        and -most <= roll <= most
    )
