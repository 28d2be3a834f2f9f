"""Where everything in one space is: arrays by slot, and what can be read off them without regard to watchers.

A **slot** is the place of one body (real or ghost) in the arrays. Places are float32: what is put reads back rounded.
The `stamp` of a slot grows with each change of its place. A slot that is removed still answers until the step after the
one that reports it (`_speed/area` makes the steps), and only then is it given to another: events that are being
acted on mean what they meant.

**Steps of places.** A real with a place that changed since its last closed step gets the next running number and a row
for each of its ghosts (`close_places`); at the other end `apply_places` puts rows that fit (a ghost, its owner's, of
its epoch, the very next number) and gives back the rest. An eventful real sends more with such a step than its place,
and is left to the caller (`eventful_moved`). A row, 44 bytes, little-endian:

    ┌────────────┬───────────┬────────────┬───┬───┬───┬─────┬───────┬──────┐
    │ entity i32 │ epoch i64 │ number i64 │ x │ y │ z │ yaw │ pitch │ roll │   six float32
    └────────────┴───────────┴────────────┴───┴───┴───┴─────┴───────┴──────┘
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import isfinite, sqrt
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from terrazzo.errors import DecodeError, UsageError

USED, REAL, REMOVED, EVENTFUL = 1, 2, 4, 16
"""Flags of a slot. REMOVED: its entity still answers, see above. EVENTFUL: its steps are not closed with the others."""
RADIUS_MAX = 1e9
PLACE_MAX = 1e9
"""What a coordinate or an angle can be at most (`world/place.py`)."""
_EDGE_M = 1e-9
"""How far a point on a far edge is outside: it is the neighbour's."""
_ROW = Struct("<iqq6f")
_PLACE = Struct("<6f")
_APPEAL = Struct("<f")

Point = tuple[float, float, float]


class Row(NamedTuple):
    """A row that was not applied."""

    entity: int
    epoch: int
    number: int
    position: Point
    direction: Point


class Places:
    """The arrays of one space. The lists are read by other kernels (`area`, `sight`, `movers`)."""

    def __init__(self) -> None:
        self.xs: list[float] = []
        self.ys: list[float] = []
        self.zs: list[float] = []
        self.yaws: list[float] = []
        self.pitches: list[float] = []
        self.rolls: list[float] = []
        self.entities: list[int] = []
        self.appeals: list[float] = []
        self.numbers: list[int] = []
        self.epochs: list[int] = []
        self.newest: list[int] = []
        """The news: the number of the last step with something for clients."""
        self.stamps: list[int] = []
        self.closed: list[int] = []
        """The stamp at the last closed step."""
        self.owners: list[int] = []
        self.receivers: list[int] = []
        self.flags: list[int] = []
        self._slots: dict[int, int] = {}
        self._moved: set[int] = set()
        self._removed: list[int] = []
        self._resting: list[int] = []
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._slots)

    # Slots.

    def add(self, entity: int, position: Point, direction: Point, appeal: float, number: int, epoch: int) -> int:
        """A body begins; its slot."""
        if entity in self._slots:
            raise UsageError(f"entity {entity} is in this area already")
        place = _rounded(position, direction)
        if not 0 <= appeal <= RADIUS_MAX:
            raise UsageError(f"an appeal of {appeal}: it is a distance in metres, from 0 to {RADIUS_MAX:.0f}")
        appeal = _APPEAL.unpack(_APPEAL.pack(appeal))[0]
        slot = self._free.pop() if self._free else self._grow()
        self._set_place(slot, place)
        self.entities[slot], self.appeals[slot], self.numbers[slot], self.epochs[slot] = entity, appeal, number, epoch
        self.newest[slot] = self.owners[slot] = self.receivers[slot] = 0
        self.stamps[slot] = self.closed[slot] = self.stamps[slot] + 1 & 0xFFFFFFFF
        self.flags[slot] = USED
        self._slots[entity] = slot
        self._moved.add(slot)
        return slot

    def remove(self, slot: int) -> None:
        """A body ends; what is known of it can be read until the step after the next."""
        self._check(slot)
        self.flags[slot] = self.flags[slot] & ~(USED | REAL) | REMOVED
        del self._slots[self.entities[slot]]
        self._moved.discard(slot)
        self._removed.append(slot)

    def put(self, slot: int, position: Point, direction: Point) -> None:
        """It is here now, wherever it was."""
        self._check(slot)
        self._move(slot, _rounded(position, direction))

    def put_at(self, slot: int, x: float, y: float, z: float, yaw: float, pitch: float, roll: float) -> None:
        """It is here now: numbers that a float32 can have, as a kernel has read and checked them."""
        self._check(slot)
        self._move(slot, (x, y, z, yaw, pitch, roll))

    def put_many(self, slots: array[int], places: array[float]) -> None:
        """Many at once: slots as array('i'), and array('f') with x, y, z, yaw, pitch, roll for each of them."""
        if slots.typecode != "i" or places.typecode != "f" or len(places) != 6 * len(slots):
            raise UsageError("put_many takes an array('i') of slots and an array('f') with six numbers for each")
        for slot in slots:
            self._check(slot)
        if not all(map(isfinite, places)):
            raise UsageError("a place must be of finite numbers")
        values = iter(places)
        for slot, place in zip(slots, zip(*[values] * 6, strict=True), strict=True):
            self._move(slot, place)

    def position(self, slot: int) -> Point:
        """Where it is."""
        self._check_known(slot)
        return self.xs[slot], self.ys[slot], self.zs[slot]

    def distance(self, slot: int, x: float, y: float, z: float) -> float:
        """How far it is from a point."""
        self._check_known(slot)
        east, up, north = x - self.xs[slot], y - self.ys[slot], z - self.zs[slot]
        return sqrt(east * east + up * up + north * north)

    def direction(self, slot: int) -> Point:
        """Yaw, pitch and roll."""
        self._check_known(slot)
        return self.yaws[slot], self.pitches[slot], self.rolls[slot]

    def entity(self, slot: int) -> int:
        """The entity that has this slot, or had it until the last step."""
        self._check_known(slot)
        return self.entities[slot]

    def find(self, entity: int) -> int:
        """The slot of an entity, or -1."""
        return self._slots.get(entity, -1)

    def stamp(self, slot: int) -> int:
        """Another number after each change of the place."""
        self._check_known(slot)
        return self.stamps[slot]

    def number(self, slot: int) -> int:
        """The running number of the entity's last step."""
        self._check_known(slot)
        return self.numbers[slot]

    def set_number(self, slot: int, number: int) -> None:
        """See `number`."""
        self._check(slot)
        self.numbers[slot] = number

    def epoch(self, slot: int) -> int:
        """The epoch of this copy: the home of the real that it takes steps from."""
        self._check_known(slot)
        return self.epochs[slot]

    def set_epoch(self, slot: int, epoch: int) -> None:
        """See `epoch`."""
        self._check(slot)
        self.epochs[slot] = epoch

    def news(self, slot: int) -> int:
        """The running number of the last step with something for clients."""
        self._check_known(slot)
        return self.newest[slot]

    def set_news(self, slot: int, number: int) -> None:
        """See `news`."""
        self._check(slot)
        self.newest[slot] = number

    def set_owner(self, slot: int, app_number: int) -> None:
        """Which app has the real, as a number of the caller's."""
        self._check(slot)
        self.owners[slot] = app_number

    def set_real(self, slot: int, is_real: bool) -> None:
        """Whether it is a real from now on; its place as it is counts as sent."""
        self._check(slot)
        self.flags[slot] = self.flags[slot] & ~REAL | (REAL if is_real else 0)
        self.closed[slot] = self.stamps[slot]

    def set_eventful(self, slot: int) -> None:
        """Its steps are closed one by one, even those in which only its place changed."""
        self._check(slot)
        self.flags[slot] |= EVENTFUL

    def set_receivers(self, slot: int, mask: int) -> None:
        """Which receivers get its rows: a mask of 64 bits."""
        self._check(slot)
        if not 0 <= mask < 1 << 64:
            raise UsageError("a mask of receivers has 64 bits")
        self.receivers[slot] = mask

    def within(self, x: float, z: float, radius: float, appeal: bool = False) -> list[int]:
        """The slots at most so far from a point (and their appeal farther), nearest first, ties by entity."""
        found = []
        for slot in self._slots.values():
            dx, dz = self.xs[slot] - x, self.zs[slot] - z
            reach = radius + self.appeals[slot] if appeal else radius
            distance = dx * dx + dz * dz
            if reach >= 0 and distance <= reach * reach:
                found.append((distance, self.entities[slot], slot))
        return [slot for _, _, slot in sorted(found)]

    # Steps of places.

    def close(self, slot: int) -> int:
        """A real's step is closed: the next number, which is returned; its place as it is counts as sent."""
        self._check(slot)
        self.numbers[slot] += 1
        self.closed[slot] = self.stamps[slot]
        return self.numbers[slot]

    def is_closed(self, slot: int) -> bool:
        """Whether the place is that of the last closed step."""
        self._check_known(slot)
        return self.closed[slot] == self.stamps[slot]

    def eventful_moved(self) -> list[int]:
        """The eventful reals with a place that changed since their last closed step, by slot."""
        return [
            slot
            for slot, flags in enumerate(self.flags)
            if flags & (REAL | EVENTFUL) == REAL | EVENTFUL and self.closed[slot] != self.stamps[slot]
        ]

    def close_places(self) -> list[tuple[int, bytes]]:
        """Close the step of each real with a changed place, but for eventful ones; for each bit of a mask of receivers,
        the rows by slot."""
        rows: dict[int, list[bytes]] = {}
        for slot, flags in enumerate(self.flags):
            if flags & (REAL | EVENTFUL) != REAL or self.closed[slot] == self.stamps[slot]:
                continue
            self.numbers[slot] += 1
            self.closed[slot] = self.stamps[slot]
            mask = self.receivers[slot]
            if not mask:
                continue
            row = _ROW.pack(
                self.entities[slot], self.epochs[slot], self.numbers[slot], self.xs[slot], self.ys[slot], self.zs[slot],
                self.yaws[slot], self.pitches[slot], self.rolls[slot],
            )  # fmt: skip
            while mask:
                bit = (mask & -mask).bit_length() - 1
                rows.setdefault(bit, []).append(row)
                mask &= mask - 1
        return [(bit, b"".join(rows[bit])) for bit in sorted(rows)]

    def apply_places(self, rows: bytes, app_number: int) -> list[Row]:
        """Put the rows that fit ghosts of that app here; the others come back, in their order."""
        if len(rows) % _ROW.size:
            raise DecodeError("rows of places that are cut short", len(rows))
        unpacked = list(_ROW.iter_unpack(rows))
        if not all(map(isfinite, (value for row in unpacked for value in row[3:]))):
            raise DecodeError("a place that is not of finite numbers")
        others = []
        for entity, epoch, number, *place in unpacked:
            slot = self._slots.get(entity, -1)
            if (
                slot >= 0
                and not self.flags[slot] & REAL
                and self.owners[slot] == app_number
                and self.epochs[slot] == epoch
                and self.numbers[slot] + 1 == number
            ):
                self.numbers[slot] = number
                self._move(slot, tuple(place))
                self.closed[slot] = self.stamps[slot]
            else:
                x, y, z, yaw, pitch, roll = place
                others.append(Row(entity, epoch, number, (x, y, z), (yaw, pitch, roll)))
        return others

    # Borders.

    def outside(self, x0: float, z0: float, x1: float, z1: float, margin: float) -> list[int]:
        """The reals that are outside a rectangle by more than a margin, by slot; see `Rect.outside_by`."""
        found = []
        for slot, flags in enumerate(self.flags):
            if flags & REAL:
                x, z = self.xs[slot], self.zs[slot]
                if x0 <= x < x1 and z0 <= z < z1:
                    by = 0.0
                else:
                    by = max(x0 - x, x - x1, z0 - z, z - z1, _EDGE_M)
                if by > margin:
                    found.append(slot)
        return found

    def reaching(self, x0: float, z0: float, x1: float, z1: float, distance: float) -> list[int]:
        """The reals with a square (the distance and their appeal) not wholly inside a rectangle, by slot."""
        found = []
        for slot, flags in enumerate(self.flags):
            if flags & REAL:
                x, z, by = self.xs[slot], self.zs[slot], distance + self.appeals[slot]
                if x - by < x0 or x + by > x1 or z - by < z0 or z + by > z1:
                    found.append(slot)
        return found

    # Within.

    def _turn_over(self) -> list[int]:
        """A step begins: those that were reported by the last are free now. Those that are reported by this one."""
        for slot in self._resting:
            self.flags[slot] = 0
        self._free += self._resting
        self._resting, self._removed = self._removed, []
        return self._resting

    def _grow(self) -> int:
        for floats in (self.xs, self.ys, self.zs, self.yaws, self.pitches, self.rolls, self.appeals):
            floats.append(0.0)
        for integers in (self.entities, self.numbers, self.epochs, self.newest, self.stamps, self.closed, self.owners):
            integers.append(0)
        self.receivers.append(0)
        self.flags.append(0)
        return len(self.flags) - 1

    def _set_place(self, slot: int, place: Sequence[float]) -> None:
        self.xs[slot], self.ys[slot], self.zs[slot], self.yaws[slot], self.pitches[slot], self.rolls[slot] = place

    def _move(self, slot: int, place: tuple[float, ...]) -> None:
        if place != (
            self.xs[slot], self.ys[slot], self.zs[slot], self.yaws[slot], self.pitches[slot], self.rolls[slot]
        ):  # fmt: skip
            self._set_place(slot, place)
            self.stamps[slot] = self.stamps[slot] + 1 & 0xFFFFFFFF
            self._moved.add(slot)

    def _check(self, slot: int) -> None:
        if not 0 <= slot < len(self.flags) or not self.flags[slot] & USED:
            raise UsageError(f"slot {slot} is not in use")

    def _check_known(self, slot: int) -> None:
        if not 0 <= slot < len(self.flags) or not self.flags[slot] & (USED | REMOVED):
            raise UsageError(f"slot {slot} is not in use")


def _rounded(position: Point, direction: Point) -> tuple[float, ...]:
    """A place as float32."""
    try:
        place: tuple[float, ...] = _PLACE.unpack(_PLACE.pack(*position, *direction))
    except (StructError, OverflowError):
        place = ()
    if not place or not all(map(isfinite, place)):
        raise UsageError(f"place {position}, {direction}: a position and a direction have three finite numbers each")
    return place
