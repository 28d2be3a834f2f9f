"""The game of the skeleton scenario: small, and busy in every way that apps have to do with each other.

An avatar has a property of each kind of audience and changes it in each way there is: whole, inside, by slices. Each
call carries a number; whoever hears one tells the judge, who knows which number must come next (P2). Creatures walk by
timers and by numbers of their own, so that they do the same in whichever cell they are.

The classes know the judge as `judge`: each world has a judge of its own, and so classes of its own (`game_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import cos, sin
from typing import Any, Protocol

from terrazzo import (
    ALL_CLIENTS,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Cell,
    Client,
    EntityType,
    Game,
    Int32,
    Proxy,
    Record,
    Space,
    Text,
    UInt32,
    Volatile,
    build,
    exposed,
    prop,
    remote,
)
from terrazzo.game import LoadedGame, parts_of
from terrazzo.schema.model import Schema

BAG_MAX = 8
TURN_TICKS = 7


class Judge(Protocol):
    """What the game's code tells, and asks."""

    is_working: bool

    def next(self, way: str, source: int, target: int) -> int:
        """The number of the call that is about to be made."""

    def heard(self, way: str, source: int, target: int, number: int) -> None:
        """A call has come."""

    def entry(self, entity: int) -> tuple[str, tuple[float, float, float]]:
        """Where somebody new begins."""

    def refused(self, entity: int, what: str) -> None:
        """Something that must go well did not."""


class Item(Record):
    """Something in a bag."""

    kind: UInt32
    count: UInt32 = 1


class Avatar(EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)
    hp: Int32 = prop(ALL_CLIENTS, default=100)
    mood: Int32 = prop(OTHER_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT, saved=True)
    bag: Array[Item] = prop(ALL_CLIENTS)
    secret: UInt32 = prop(CELL_PRIVATE)
    visits: UInt32 = prop(BASE_AND_CLIENT, saved=True)

    volatile = Volatile(position=True, yaw=True)


class Creature(EntityType):
    """Wanders about; nobody plays it."""

    strides: UInt32 = prop(ALL_CLIENTS)
    course: UInt32 = prop(CELL_PRIVATE)
    speed: Int32 = prop(CELL_PRIVATE, default=5)

    volatile = Volatile(position=True, yaw=True)


class AvatarBase(Proxy, of=Avatar):
    """The part that stays."""

    judge: Judge

    def on_client_ready(self) -> None:
        """Back to the old place, or into the world for the first time."""
        self.visits += 1
        if self.last_place is None:
            self.create_cell(*self.judge.entry(self.id))
        else:
            self.create_cell()

    def on_cell_failed(self, reason: str) -> None:
        """Must not happen without faults."""
        self.judge.refused(self.id, f"no cell part: {reason}")

    @remote
    def note(self, number: UInt32) -> None:
        """From the own cell part; answered."""
        self.judge.heard("cell to base", self.id, self.id, number)
        if self.has_cell:
            self.cell.noted(self.judge.next("base to cell", self.id, self.id))


class AvatarCell(Cell, of=Avatar):
    """The body."""

    judge: Judge

    def _heed(self, number: int) -> None:
        """A call of a client: in order, once. The own count travels as a private property."""
        self.judge.heard("client to cell", self.caller, self.id, number)
        self.secret += 1
        self.base.note(self.secret)

    @exposed
    def set_hp(self, number: UInt32, value: Int32) -> None:
        """A whole value."""
        self._heed(number)
        self.hp = value

    @exposed
    def set_feelings(self, number: UInt32, mood: Int32, gold: Int32) -> None:
        """Two values in one step, of which no client sees both."""
        self._heed(number)
        self.mood = mood
        self.gold = gold

    @exposed
    def put(self, number: UInt32, kind: UInt32) -> None:
        """A slice: something more at the end, and nothing too much at the beginning."""
        self._heed(number)
        self.bag.append(Item(kind=kind))
        if len(self.bag) > BAG_MAX:
            del self.bag[:3]

    @exposed
    def count(self, number: UInt32, place: UInt32, count: UInt32) -> None:
        """One thing inside."""
        self._heed(number)
        if self.bag:
            self.bag[place % len(self.bag)].count = count

    @exposed
    def swap(self, number: UInt32, start: UInt32, kinds: Array[UInt32]) -> None:
        """A slice in the middle."""
        self._heed(number)
        at = start % (len(self.bag) + 1)
        self.bag[at : at + 2] = [Item(kind=kind) for kind in kinds]

    @exposed
    def say(self, number: UInt32) -> None:
        """Everyone hears it."""
        self._heed(number)
        self.everyone.on_said(self.judge.next("said", self.id, self.id))

    @exposed
    def wave(self, number: UInt32) -> None:
        """Only others see it."""
        self._heed(number)
        self.others.on_waved(self.judge.next("waved", self.id, self.id))

    @exposed(to=ALL_CLIENTS)
    def poke(self, number: UInt32) -> None:
        """Another player's client calls."""
        self._heed(number)
        self.hp -= 1

    @remote
    def noted(self, number: UInt32) -> None:
        """From the own base part."""
        self.judge.heard("base to cell", self.id, self.id, number)

    @remote
    def sniffed(self, creature: Int32, number: UInt32) -> None:
        """From the cell part of a creature, wherever both are."""
        self.judge.heard("cell to cell", creature, self.id, number)


class AvatarClient(Client, of=Avatar):
    """What a player's program hears."""

    @remote
    def on_said(self, number: UInt32) -> None:
        """It said something."""

    @remote
    def on_waved(self, number: UInt32) -> None:
        """It waved."""


class CreatureCell(Cell, of=Creature):
    """Walks a line, turns, walks on."""

    judge: Judge

    def on_created(self) -> None:
        """Begins to walk."""
        self.course = self.id * 7919 % 360
        self.timer(0.2, repeat=0.2 + self.id % 3 * 0.1, number=1)

    def on_timer(self, number: int) -> None:
        """One stride."""
        if not self.judge.is_working:
            return
        self.strides += 1
        if self.strides % TURN_TICKS == 0:
            self.course = (self.course * 31 + 47) % 360
            self._sniff()
        x, y, z = self.position
        x, z = x + self.speed * 0.3 * sin(self.course), z + self.speed * 0.3 * cos(self.course)
        if self._body.space.allows((x, y, z)):
            self.position = (x, y, z)
        else:
            self.course = (self.course + 91) % 360

    def _sniff(self) -> None:
        for other in self.near(15.0)[:2]:
            if isinstance(other, AvatarCell):
                other.sniffed(self.id, self.judge.next("cell to cell", self.id, other.id))


class CreatureClient(Client, of=Creature):
    """To be seen."""


@cache
def schema() -> Schema:
    """The same for every world."""
    return build([Avatar, Creature]).checked()


def game_of(
    judge: Judge, spaces: Sequence[Space], *, on_ready: Callable[[Any], None], area_radius_m: float, ghost_m: float
) -> LoadedGame:
    """The game with this judge."""
    parts = {
        name: {side: type(each.__name__, (each,), {"judge": judge}) for side, each in sides.items()}
        for name, sides in parts_of([Avatar, Creature]).items()
    }
    policy = Game(
        player=Avatar,
        spaces=spaces,
        on_ready=on_ready,
        area_radius_m=area_radius_m,
        ghost_distance_m=ghost_m,
        top_speed=20.0,
    )
    return LoadedGame(schema(), policy, parts)
