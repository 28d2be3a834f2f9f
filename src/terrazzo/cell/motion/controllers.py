"""Controllers: acts that go on for many ticks without code of the game, and travel with the entity.

    Walk     towards a point, or towards an entity wherever that goes; ends there, or follows for ever
    Turning  on the spot

Each belongs to a category, and a real has at most one controller of each: a second one replaces the first, for which no
hook is called any more.

    start ──▶ runs: step() in each tick ──▶ DONE: at its goal ───▶ on_reached(number), on_turned(number)
                │        ▲                  LOST: goal is gone ──▶ on_move_failed(number, reason)
                │        └─ pack ─▶ offload ─▶ unpack
                └─ cancel, or another of its category: no hook

A step is measured by time, not by ticks, so a late tick loses no way. A controller that follows looks for its goal
among the bodies here. After an offload that body may appear a moment later than the follower, so a goal that is out of
sight is looked for at its last place for LOST_S before it counts as gone.

These are plain Python: a step is a few operations on floats, and a body that neither walks nor turns costs nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import atan2, pi, sqrt
from typing import ClassVar

from terrazzo.cell.core.controllers import Category, Controllers, Outcome
from terrazzo.cell.core.real import Real
from terrazzo.errors import DecodeError, UsageError, shown
from terrazzo.wire.pairs.base_cell import Position
from terrazzo.wire.pairs.cell_cell import PackedController

LOST_S = 2.0
"""So long a goal that has gone out of sight is looked for."""
REACHED_M = 1e-3
"""What is left of a way that counts as none: places are kept as 32-bit floats."""
TURN = 2 * pi


class Walk:
    """Straight towards a point or an entity, at an even speed."""

    __slots__ = ("distance", "entity", "faces", "is_lasting", "is_near", "lost_s", "number", "point", "speed")
    kind: ClassVar[int] = 1
    category: ClassVar[Category] = Category.MOVEMENT
    _packed: ClassVar[struct.Struct] = struct.Struct("<i5f???f")

    def __init__(
        self, number: int, point: Position, speed: float, *, entity: int, distance: float, faces: bool, is_lasting: bool
    ) -> None:
        self.number = number
        self.point = point
        """Where it goes: of an entity, where that was last seen."""
        self.speed = speed
        self.entity = entity
        """0: it goes to a point."""
        self.distance = distance
        """How near is near enough."""
        self.faces = faces
        """Whether it looks where it goes."""
        self.is_lasting = is_lasting
        """It follows, and is never done."""
        self.is_near = False
        """It has caught up, and its hook was called."""
        self.lost_s = 0.0
        """How long its goal has been out of sight."""

    def step(self, real: Real, seconds: float) -> Outcome:
        """So many seconds of the way."""
        if self.entity and not self._look(real, seconds):
            return Outcome.LOST
        body = real.body
        area, slot = body.space.area, body.slot
        x, y, z = area.position(slot)
        to_x, to_y, to_z = self.point
        dx, dy, dz = to_x - x, to_y - y, to_z - z
        way = sqrt(dx * dx + dy * dy + dz * dz)
        left = way - self.distance
        if left <= REACHED_M:
            return self._caught_up()
        self.is_near = False
        stride = self.speed * seconds
        is_there = stride + REACHED_M >= left
        share = (left if is_there else stride) / way
        if is_there and not self.distance:
            place = self.point
        else:
            place = (x + dx * share, y + dy * share, z + dz * share)
        direction = area.direction(slot)
        if self.faces and (dx or dz) and not real.controllers.has(Category.TURNING):
            direction = (atan2(dx, dz), direction[1], direction[2])
        body.core.moves.put(real, place, direction)
        return self._caught_up() if is_there else Outcome.GOES_ON

    def _look(self, real: Real, seconds: float) -> bool:
        """Where the goal is now; False when it has been out of sight for too long."""
        goal = real.body.core.bodies.get(self.entity)
        if (
            goal is not None
            and goal.space is real.body.space
            and not (goal.real is not None and goal.real.is_destroyed)
        ):
            self.point, self.lost_s = goal.position, 0.0
            return True
        self.lost_s += seconds
        return self.lost_s < LOST_S

    def _caught_up(self) -> Outcome:
        if self.lost_s or self.is_near:
            return Outcome.GOES_ON
        self.is_near = self.is_lasting
        return Outcome.REACHED if self.is_lasting else Outcome.DONE

    def pack(self) -> bytes:
        """At rest."""
        flags = (self.faces, self.is_lasting, self.is_near)
        return self._packed.pack(self.entity, *self.point, self.speed, self.distance, *flags, self.lost_s)

    @classmethod
    def unpack(cls, number: int, data: bytes) -> Walk:
        """Goes on."""
        entity, x, y, z, speed, distance, faces, is_lasting, is_near, lost_s = cls._packed.unpack(data)
        walk = cls(
            number, (x, y, z), speed, entity=entity, distance=distance, faces=faces, is_lasting=is_lasting
        )  # fmt: skip
        walk.is_near, walk.lost_s = is_near, lost_s
        return walk


class Turning:
    """On the spot, the shorter way round, at an even speed."""

    __slots__ = ("number", "speed", "yaw")
    kind: ClassVar[int] = 2
    category: ClassVar[Category] = Category.TURNING
    _packed: ClassVar[struct.Struct] = struct.Struct("<2f")

    def __init__(self, number: int, yaw: float, speed: float) -> None:
        self.number = number
        self.yaw = yaw
        self.speed = speed

    def step(self, real: Real, seconds: float) -> Outcome:
        """So many seconds of the turn."""
        yaw, pitch, roll = real.body.direction
        left = (self.yaw - yaw + pi) % TURN - pi
        most = self.speed * seconds
        is_done = abs(left) <= most
        turned = self.yaw if is_done else yaw + (most if left > 0 else -most)
        real.body.core.moves.put(real, real.body.position, (turned, pitch, roll))
        return Outcome.DONE if is_done else Outcome.GOES_ON

    def pack(self) -> bytes:
        """At rest."""
        return self._packed.pack(self.yaw, self.speed)

    @classmethod
    def unpack(cls, number: int, data: bytes) -> Turning:
        """Goes on."""
        return cls(number, *cls._packed.unpack(data))


_KINDS: dict[int, type[Walk] | type[Turning]] = {each.kind: each for each in (Walk, Turning)}


def unpack_controllers(controllers: Controllers, packed: Iterable[PackedController]) -> None:
    """The controllers of the former home go on."""
    for number, kind, data in packed:
        if kind not in _KINDS:
            raise DecodeError(f"there is no controller of kind {kind}: all apps must run the same version")
        try:
            controllers.start(_KINDS[kind].unpack(number, data))
        except struct.error as problem:
            raise DecodeError(f"a controller of kind {kind} that does not decode: {problem}") from None


def category_named(name: str) -> Category:
    """The category of this name."""
    try:
        return Category[name.upper()]
    except KeyError:
        have = " or ".join(repr(each.name.lower()) for each in Category)
        problem = f"there is no category {shown(name)} of controllers; cancel {have}, or a number"
        raise UsageError(f"cancel: what: {problem}") from None
