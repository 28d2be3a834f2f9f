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
"""

from __future__ import annotations

from math import sqrt
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

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


class Row(NamedTuple):
    """One move of one client."""

    entity: int
    number: int
    position: tuple[float, float, float]
    direction: tuple[float, float, float]


def pack_row(row: Row) -> bytes:
    """As it travels."""
    return ROW.pack(row.entity, row.number, *row.position, *row.direction)


class _Mover:
    __slots__ = ("allowance_s", "at", "corrected_at", "has_veto", "number")

    def __init__(self, number: int, allowance_s: float, at: float, corrected_at: float | None, has_veto: bool) -> None:
        self.number = number
        self.allowance_s = allowance_s
        self.at = at
        self.corrected_at = corrected_at
        self.has_veto = has_veto

    def grow(self, now: float) -> None:
        """Time passes."""
        self.allowance_s = min(self.allowance_s + (now - self.at), ALLOWANCE_S)
        self.at = now


class Movers:
    """The reals with a client in one area, by slot."""

    def __init__(self, area: Area) -> None:
        self._area = area
        self._movers: dict[int, _Mover] = {}

    def enter(self, slot: int, number: int, allowance_s: float, corrected_s: float, now: float, has_veto: bool) -> None:
        """A real with a client is here. `corrected_s`: seconds since it was put back, if no place near that has come
        since; else -1."""
        corrected_at = None if corrected_s < 0 else now - corrected_s
        self._movers[slot] = _Mover(number, allowance_s, now, corrected_at, has_veto)

    def leave(self, slot: int) -> None:
        """It is gone, or has no client any more."""
        self._movers.pop(slot, None)

    def has(self, slot: int) -> bool:
        """Whether it has a mover here."""
        return slot in self._movers

    def pack(self, slot: int, now: float) -> tuple[int, float, float]:
        """Number, allowance_s and corrected_s, as `enter` takes them."""
        mover = self._movers[slot]
        mover.grow(now)
        return mover.number, mover.allowance_s, -1.0 if mover.corrected_at is None else now - mover.corrected_at

    def correct(self, slot: int, now: float) -> None:
        """The client was put back."""
        self._movers[slot].corrected_at = now

    def is_corrected(self, slot: int) -> bool:
        """Whether the client was put back, and no place near that has come since."""
        return self._movers[slot].corrected_at is not None

    def take(
        self, rows: bytes, now: float, top_speed: float, bounds: tuple[float, float, float, float]
    ) -> tuple[list[tuple[int, Row]], bytes]:
        """Accepts what is possible; the rows that need the caller, with the reason, and the rows of others."""
        if len(rows) % ROW.size:
            raise DecodeError(f"rows of moves have {ROW.size} bytes each", len(rows))
        area = self._area
        seen: list[tuple[int, Row]] = []
        rest: list[bytes] = []
        for at in range(0, len(rows), ROW.size):
            entity, number, *place = ROW.unpack_from(rows, at)
            slot = area.find(entity)
            mover = None if slot < 0 else self._movers.get(slot)
            if mover is None:
                rest.append(rows[at : at + ROW.size])
                continue
            if number < mover.number:
                continue
            mover.number = number
            x, y, z, yaw, pitch, roll = place
            position, direction = (x, y, z), (yaw, pitch, roll)
            kind = self._judge(mover, slot, position, direction, now, top_speed, bounds)
            if kind == 0:
                area.put(slot, position, direction)
            elif kind > 0:
                seen.append((kind, Row(entity, number, position, direction)))
        return seen, b"".join(rest)

    def _judge(
        self,
        mover: _Mover,
        slot: int,
        position: tuple[float, float, float],
        direction: tuple[float, float, float],
        now: float,
        top_speed: float,
        bounds: tuple[float, float, float, float],
    ) -> int:
        """0: accepted, -1: passed over, else the reason for the caller."""
        x, y, z = position
        x0, z0, x1, z1 = bounds
        is_place = all(-PLACE_MAX <= number <= PLACE_MAX for number in (*position, *direction))
        may_be_late = mover.corrected_at is not None and now < mover.corrected_at + AGAIN_S
        if not (is_place and x0 <= x <= x1 and z0 <= z <= z1):
            return -1 if may_be_late else OUT_OF_BOUNDS
        from_x, from_y, from_z = self._area.position(slot)
        east, up, north = x - from_x, y - from_y, z - from_z
        distance = sqrt(east * east + up * up + north * north)
        if mover.corrected_at is not None:
            if distance > NEAR_M + top_speed * (now - mover.corrected_at) / 2:
                return -1 if may_be_late else TOO_FAST
            mover.corrected_at = None
        mover.grow(now)
        if distance > mover.allowance_s * top_speed:
            return TOO_FAST
        if top_speed > 0:
            mover.allowance_s -= distance / top_speed
        return ASK if mover.has_veto else 0
