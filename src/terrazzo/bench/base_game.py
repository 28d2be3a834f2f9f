"""The game of `terrazzo bench base`: the walker of `terrazzo bench cell`, with a base that asks for a cell part."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    OWN_CLIENT,
    Array,
    Cell,
    EntityType,
    Game,
    Int16,
    Int32,
    Proxy,
    Record,
    Space,
    Text,
    UInt8,
    UInt32,
    Volatile,
    prop,
)

BOUNDS = (-500.0, -500.0, 500.0, 500.0)


class Item(Record):
    """An item that a walker wears."""

    kind: UInt32
    count: UInt8 = 1


class Walker(EntityType):
    """Every entity of this game."""

    name: Text = prop(ALL_CLIENTS)
    level: UInt8 = prop(ALL_CLIENTS)
    colour: UInt32 = prop(ALL_CLIENTS)
    health: Int16 = prop(ALL_CLIENTS, default=100)
    gear: Array[Item] = prop(ALL_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT)
    volatile = Volatile(position=True, yaw=True)


class WalkerBase(Proxy, of=Walker):
    """Gets a cell part as soon as its client is ready."""

    def on_client_ready(self) -> None:
        """The stand-in takes the place as it is."""
        self.create_cell("plain", (0.0, 0.0, 0.0))


class WalkerCell(Cell, of=Walker):
    """Runs in no CellApp: the stand-in (`bench/base_cell.py`) takes the place of one."""


GAME = Game(player=Walker, spaces=[Space("plain", bounds=BOUNDS)])
