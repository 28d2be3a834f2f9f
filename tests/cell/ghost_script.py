"""The messages of all homes of one real for one app that has a ghost of it, by link, to be delivered in any order.

A script is a word of these letters, done one after the other by the app with the real:

    c  a ghost is created       d  it is deleted       x  the entity is destroyed, and its ghost
    u  a step                   m  the real moves on to the next home; both send that to the ghost, if there is one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from terrazzo.cell.core.real import FRESH_MOVER
from terrazzo.cell.core.timers import DRAWN
from terrazzo.schema.changes import encode_internal
from terrazzo.schema.state import State
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.cell_cell import (
    CreateGhost,
    DeleteGhost,
    GhostList,
    Item,
    NextReal,
    Offload,
    Past,
    SetReal,
    UpdateGhost,
)
from tests.cell.cast import BASE
from tests.cell.plain import AVATAR

HOMES = A, B, D = tuple(AppId(AppKind.CELL_APP, index, 1) for index in (10, 11, 12))
NO_TURN = (0.0, 0.0, 0.0)


def place_of(number: int) -> tuple[float, float, float]:
    return (float(number & 0xFFFF), 0.0, 0.0)


@cache
def _row(number: int) -> bytes:
    state = State(AVATAR.ghost_layout)
    state["steps"] = number & 0xFFFF
    return state.encode()


@cache
def _items(number: int) -> tuple[Item, ...]:
    """Step `number` sets `steps` to it, so that the state always shows which steps are in it."""
    items: list[Item] = []
    state = State(AVATAR.cell_layout, lambda change: items.append(Item(-1, encode_internal(change, change.prop))))
    state["steps"] = number & 0xFFFF
    return tuple(items)


def create(epoch: int, number: int, entity: int = 1, *, is_snapshot: bool = False, space: int = 1) -> CreateGhost:
    past = Past(number, (), ())
    return CreateGhost(
        entity, AVATAR.type_id, space, epoch, number, place_of(number), NO_TURN, _row(number), BASE, past, is_snapshot
    )


def update(epoch: int, number: int, entity: int = 1) -> UpdateGhost:
    return UpdateGhost(entity, epoch, number, _items(number), place_of(number), NO_TURN)


def delete(epoch: int, number: int, entity: int = 1, *, is_destroyed: bool = False) -> DeleteGhost:
    return DeleteGhost(entity, epoch, number, is_destroyed)


def offload(epoch: int, number: int, entity: int, home: AppId, floor: int) -> Offload:
    """The real itself, with a past that reaches down to `floor`."""
    part = PartId(EntityId(entity), Part.CELL)
    state = State(AVATAR.cell_layout)
    state["steps"] = number & 0xFFFF
    return Offload(
        entity=entity,
        type_id=AVATAR.type_id,
        space=1,
        epoch=epoch,
        number=number,
        position=place_of(number),
        direction=NO_TURN,
        properties=state.encode(),
        mailbox=msgspec.msgpack.encode(PackedPart(part, epoch, 0, 0, (), ())),
        ghost_apps=(home,),
        base=BASE,
        witness=None,
        timers=(),
        next_number=DRAWN,
        controllers=(),
        proximities=(),
        dbid=0,
        mover=FRESH_MOVER,
        past=Past(floor, (), ()),
    )


class Script:
    """The links of a script, and what must come of them."""

    def __init__(self, letters: str, entity: int) -> None:
        self.entity = entity
        self.links: list[list[Message]] = [[], [], []]
        self.number, self.epoch = 1, 0
        self.is_ghost = self.is_destroyed = False
        for letter in letters:
            getattr(self, f"_{letter}")()

    @property
    def home(self) -> AppId:
        return HOMES[self.epoch]

    @property
    def expected(self) -> tuple[int, int, AppId] | None:
        """Number, epoch and real of the ghost in the end."""
        return (self.number, self.epoch, self.home) if self.is_ghost else None

    def _say(self, message: Message) -> None:
        self.links[self.epoch].append(message)

    def _c(self) -> None:
        self._say(create(self.epoch, self.number, self.entity))
        self.is_ghost = True

    def _d(self) -> None:
        self._say(delete(self.epoch, self.number, self.entity))
        self.is_ghost = False

    def _x(self) -> None:
        self._say(delete(self.epoch, self.number, self.entity, is_destroyed=True))
        self.is_ghost, self.is_destroyed = False, True

    def _u(self) -> None:
        self.number += 1
        if self.is_ghost:
            self._say(update(self.epoch, self.number, self.entity))

    def _m(self) -> None:
        if self.is_ghost:
            self._say(NextReal(self.entity, self.epoch + 1, HOMES[self.epoch + 1]))
        self.epoch += 1
        if self.is_ghost:
            self._say(SetReal(self.entity, self.epoch, self.number))

    def come_over(self, floor: int) -> None:
        """The real moves to the app that has the ghost."""
        home = self.home
        self._say(offload(self.epoch + 1, self.number, self.entity, home, floor))

    # After links were broken.

    def said_again(self) -> list[tuple[AppId, Message]]:
        """The messages of each app when its link is up again."""
        words: list[tuple[AppId, Message]] = []
        for app in HOMES:
            if app == self.home and self.is_ghost:
                words.append((app, SetReal(self.entity, self.epoch, self.number)))
            elif app == self.home and self.is_destroyed:
                words.append((app, delete(self.epoch, self.number, self.entity, is_destroyed=True)))
            words.append((app, GhostList((self.entity,) if app == self.home and self.is_ghost else ())))
        return words

    def snapshot(self, asked: AppId) -> Message:
        """What an app answers to WantSnapshot."""
        if asked != self.home:
            return NextReal(self.entity, self.epoch, self.home)
        if self.is_ghost:
            return create(self.epoch, self.number, self.entity, is_snapshot=True)
        return delete(self.epoch, self.number, self.entity, is_destroyed=self.is_destroyed)


def scripts(length: int, moves: int = 2) -> Iterator[str]:
    """Every script up to a length that begins with a ghost and makes sense."""

    def grow(word: str, is_ghost: bool) -> Iterator[str]:
        yield word
        if len(word) == length or word.endswith("x"):
            return
        for letter in "udx" if is_ghost else "uc":
            if letter != "u" or is_ghost or not word.endswith("u"):
                yield from grow(word + letter, (letter == "u" and is_ghost) or letter == "c")
        if word.count("m") < moves:
            yield from grow(word + "m", is_ghost)

    yield from grow("c", True)


def interleavings(links: Sequence[Sequence[Message]]) -> Iterator[list[tuple[AppId, Message]]]:
    """Every order in which the links can deliver, each being in order by itself."""
    if not any(links):
        yield []
    for index, link in enumerate(links):
        if link:
            rest = [*links[:index], link[1:], *links[index + 1 :]]
            for tail in interleavings(rest):
                yield [(HOMES[index], link[0]), *tail]
