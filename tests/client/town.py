"""A small game for the tests of the clients: its client parts record their callbacks."""

from __future__ import annotations

import struct
from typing import Any

from terrazzo import (
    ALL_CLIENTS,
    BASE_AND_CLIENT,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Cell,
    Client,
    EntityType,
    Int16,
    Int64,
    PlainData,
    Proxy,
    Record,
    Text,
    UInt8,
    UInt16,
    UInt32,
    Vector3,
    build,
    exposed,
    prop,
    remote,
)
from terrazzo.client import ClientGame
from terrazzo.sync import protocol


class Item(Record):
    """Something in a bag."""

    kind: UInt32
    count: UInt16 = 1


class Avatar(EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, database_length=10)
    health: Int16 = prop(ALL_CLIENTS, default=100)
    bag: Array[Item] = prop(OWN_CLIENT)
    gold: Int64 = prop(OWN_CLIENT, default=7)
    mood: UInt8 = prop(OTHER_CLIENTS)
    badges: Array[UInt16] = prop(ALL_CLIENTS)
    account: Text = prop(BASE_AND_CLIENT)


class Creature(EntityType):
    """Not a player, and without a class for its client part."""

    species: UInt16 = prop(ALL_CLIENTS, default=3)
    home: Vector3 = prop(ALL_CLIENTS)


class Hidden(EntityType):
    """No client ever sees one."""

    server_only = True
    count: UInt8 = prop(ALL_CLIENTS)


class AvatarBase(Proxy, of=Avatar):
    @exposed
    def rename(self, name: Text) -> None: ...


class AvatarCell(Cell, of=Avatar):
    @exposed(rate=2)
    def say(self, words: Text) -> None: ...

    @exposed(to=ALL_CLIENTS)
    def poke(self, power: Int16) -> None: ...

    @exposed(reliable=False)
    def wave(self) -> None: ...

    @remote
    def heal(self) -> None: ...


class CreatureCell(Cell, of=Creature):
    @exposed(to=ALL_CLIENTS)
    def feed(self, what: PlainData) -> None: ...


class AvatarClient(Client, of=Avatar):
    """Writes down what happens to it."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    @remote
    def on_said(self, words: Text, loud: UInt8) -> None:
        self.heard.append(("on_said", words, loud))

    def on_player(self) -> None:
        self.heard.append("on_player")

    def on_enter(self) -> None:
        self.heard.append(("on_enter", self.health))

    def on_leave(self) -> None:
        self.heard.append("on_leave")

    def on_space(self) -> None:
        self.heard.append("on_space")

    def on_moved(self) -> None:
        self.heard.append("on_moved")

    def set_health(self, old: int) -> None:
        self.heard.append(("set_health", old, self.health))
        if self.health < 0:
            raise ValueError("the game's own mistake")

    def set_nested_bag(self, path: list[Any], old: Any) -> None:
        self.heard.append(("set_nested_bag", path, old))

    def set_slice_bag(self, path: list[Any], old: Any) -> None:
        self.heard.append(("set_slice_bag", path, old))


SCHEMA = build([Avatar, Creature, Hidden]).checked()
AVATAR = SCHEMA["Avatar"]
CREATURE = SCHEMA["Creature"]
GAME = ClientGame(SCHEMA, {"Avatar": AvatarClient})


def base_row(account: str = "ann@example.org") -> list[Any]:
    return [account]


def cell_row(**given: Any) -> list[Any]:
    """The cell player's values, with what is given in place of defaults."""
    assert given.keys() <= set(AVATAR.cell_player_layout.names)
    return [given.get(each.name, each.new_default()) for each in AVATAR.cell_player_properties]


def places(schema: Any, **given: Any) -> dict[int, Any]:
    """Some properties by their client-server index."""
    return {schema.client_layout.index[name]: value for name, value in given.items()}


def describe(schema: Any, alias: int, position: Any, yaw: float = 1.0, *, number: int = 5, **given: Any) -> bytes:
    """What the entity of this alias is like."""
    some = schema.client_layout.encode_some(places(schema, **given))
    return protocol.encode_describe(alias, number, position, (yaw, 0.0, 0.0), some)


def places_message(*entries: tuple[int, tuple[float, float, float], tuple[float, ...]], tick: int = 0) -> bytes:
    """Places of entities by alias, with as many angles as are given; each in full (form 8 and up)."""
    packed = bytes([protocol.ToClient.PLACES, tick]) + bytes(10)
    for alias, position, angles in entries:
        packed += bytes([8 + len(angles), 1]) + protocol.encode_alias(alias)
        packed += struct.pack(f"<{3 + len(angles)}f", *position, *angles)
    return packed
