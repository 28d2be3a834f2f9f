"""The entities of the plaza: what they hold, who sees it, what is saved, and what a client may ask of them."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    CELL_PRIVATE,
    OWN_CLIENT,
    Array,
    Cell,
    Client,
    EntityType,
    Int16,
    Int32,
    Interface,
    Proxy,
    Record,
    Text,
    UInt16,
    UInt32,
    Vector3,
    Volatile,
    exposed,
    level,
    prop,
    remote,
)


class Item(Record):
    """Something in a bag."""

    kind: UInt32
    count: UInt16 = 1


class Living(Interface):
    """What can be hurt."""

    health: Int16 = prop(ALL_CLIENTS, default=100, detail="sight")


class Avatar(Living, EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)
    colour: UInt32 = prop(ALL_CLIENTS, default=0xCC6633, saved=True)
    bag: Array[Item] = prop(OWN_CLIENT, saved=True)

    volatile = Volatile(position=True, yaw=True)
    detail_levels = (level("sight", 60, hysteresis=5),)


class Creature(Living, EntityType):
    """Wanders about; nobody plays it."""

    species: UInt16 = prop(ALL_CLIENTS)
    home: Vector3 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True, yaw=True)
    detail_levels = (level("sight", 60, hysteresis=5),)


class Thing(EntityType):
    """Lies on the ground until somebody picks it up."""

    kind: UInt32 = prop(ALL_CLIENTS)
    count: UInt16 = prop(ALL_CLIENTS, default=1)


class AvatarBase(Proxy, of=Avatar):
    """The part that stays: it holds the connection."""


class AvatarCell(Cell, of=Avatar):
    """The body in the plaza."""

    @exposed(rate=2)
    def say(self, words: Text) -> None:
        """Tell everybody near."""

    @exposed(rate=5)
    def pick_up(self, thing: Int32) -> None:
        """Put a thing that lies near into the bag."""

    def take(self, kind: int, count: int = 1) -> None:
        """Put something into the bag, onto a pile of its kind if there is one."""
        for item in self.bag:
            if item.kind == kind:
                item.count += count
                return
        self.bag.append(Item(kind=kind, count=count))


class AvatarClient(Client, of=Avatar):
    """What a player's program must be able to hear."""

    @remote
    def on_said(self, words: Text) -> None:
        """This avatar said something."""
