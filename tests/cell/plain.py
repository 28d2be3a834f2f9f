"""A small game for the tests of CellApps."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    CELL_PRIVATE,
    CELL_PUBLIC,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Client,
    EntityType,
    Int16,
    Int32,
    Proxy,
    Record,
    Text,
    UInt8,
    build,
    exposed,
    prop,
    remote,
)
from terrazzo.cell import Cell
from terrazzo.game import Game, LoadedGame, Space
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Side


class Item(Record):
    kind: UInt8
    count: Int32 = 1


class Avatar(EntityType):
    name: Text = prop(ALL_CLIENTS, default="nobody")
    steps: Int32 = prop(ALL_CLIENTS)
    bag: Array[Item] = prop(ALL_CLIENTS)
    pose: UInt8 = prop(OTHER_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT)
    purse: Array[Int32] = prop(OWN_CLIENT)
    guild: Text = prop(CELL_PUBLIC, default="none")
    luck: Int16 = prop(CELL_PRIVATE, default=7)


class AvatarBase(Proxy, of=Avatar):
    @remote
    def note(self, words: Text) -> None: ...


class AvatarCell(Cell, of=Avatar):
    def __init__(self) -> None:
        self.lucky = self.luck
        self.events: list[object] = []

    def on_created(self) -> None:
        self.events.append("created")

    def on_arrived(self) -> None:
        self.events.append("arrived")

    def on_timer(self, number: int) -> None:
        self.gold += number

    def on_move(self, position) -> bool | None:
        return bool(position.x != 13.0)

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        self.events.append((entity, method, reason))

    @exposed
    def say(self, words: Text) -> None:
        self.everyone.on_said(words)

    @exposed(to=Flags.ALL_CLIENTS)
    def poke(self, times: Int32) -> None:
        self.pose = self.caller
        self.events.append(("poked", times))

    @remote
    def hit(self, power: Int32) -> None:
        self.purse.append(power)

    @remote
    def fail(self) -> None:
        self.luck = 1
        raise RuntimeError("this game has a mistake")

    @remote
    def step(self) -> None:
        """One of everything that others see, in an order that a client can check."""
        self.steps += 1
        self.bag.append(Item(kind=1, count=self.steps))
        if len(self.bag) > 4:
            del self.bag[0]
        self.bag[-1].kind = 2
        self.others.on_stepped(self.steps)


class AvatarClient(Client, of=Avatar):
    @remote
    def on_said(self, words: Text) -> None: ...

    @remote
    def on_stepped(self, number: Int32) -> None: ...


def plain_game(**policy) -> LoadedGame:
    policy = {"area_radius_m": 80.0, "ghost_distance_m": 100.0, **policy}
    game = Game(player=Avatar, spaces=[Space("plain", bounds=(-500, -500, 500, 500))], **policy)
    parts = {"Avatar": {Side.BASE: AvatarBase, Side.CELL: AvatarCell, Side.CLIENT: AvatarClient}}
    return LoadedGame(SCHEMA, game, parts)


SCHEMA = build([Avatar]).checked()
AVATAR = SCHEMA["Avatar"]
