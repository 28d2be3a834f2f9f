"""The entity types of the plaza: their properties, the receivers of each, and what is saved."""

from __future__ import annotations

from terrazzo import (
    ALL_CLIENTS,
    CELL_PRIVATE,
    OWN_CLIENT,
    Array,
    Bool,
    EntityType,
    Float32,
    Int16,
    Interface,
    Record,
    Ref,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Vector3,
    Volatile,
    level,
    prop,
)


class Item(Record):
    """Things of one kind in a bag."""

    kind: UInt32
    count: UInt16 = 1


HEALTH = 100
PEOPLE, BEASTS = 0, 1
"""The sides of a fight."""
REACH_M = 5.0
"""How far a blow reaches; the player's page shows it as a circle."""


class Blow(Record):
    """A blow that was begun and is not answered yet (`fight.py`)."""

    number: UInt32
    target: Ref
    timer: UInt64
    """The number of the timer for its next step: the blow lands, or it is given up."""
    has_landed: Bool = False


class Living(Interface):
    """An entity that can strike and be hurt. Its health is sent within sight only."""

    health: Int16 = prop(ALL_CLIENTS, default=HEALTH, detail="sight")
    side: UInt8 = prop(ALL_CLIENTS, default=PEOPLE)
    reach: Float32 = prop(OWN_CLIENT, default=REACH_M)
    blows: Array[Blow] = prop(CELL_PRIVATE)
    blows_begun: UInt32 = prop(CELL_PRIVATE)
    hits: UInt32 = prop(OWN_CLIENT)


class Avatar(Living, EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)
    colour: UInt32 = prop(ALL_CLIENTS, default=0xCC6633, saved=True)
    bag: Array[Item] = prop(OWN_CLIENT, saved=True)

    volatile = Volatile(position=True, yaw=True)
    detail_levels = (level("sight", 60, hysteresis=5),)


class Creature(Living, EntityType):
    """Wanders about; it has no player."""

    species: UInt16 = prop(ALL_CLIENTS)
    home: Vector3 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True, yaw=True)
    detail_levels = (level("sight", 60, hysteresis=5),)


class Thing(EntityType):
    """Lies on the ground until a player picks it up."""

    kind: UInt32 = prop(ALL_CLIENTS)
    count: UInt16 = prop(ALL_CLIENTS, default=1)


class Door(EntityType):
    """Leads to another space."""

    to_space: Text = prop(ALL_CLIENTS)
    to_position: Vector3 = prop(CELL_PRIVATE)
