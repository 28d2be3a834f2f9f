"""The entity types of the seamless scenario, with a property for every audience, and their client parts.

    Avatar     the entity of a player                     Giant   is seen from farther than others (appeal)
    Creature   walks by its own timers, jumps, is reborn  Trap    has no client part; has a proximity trigger
    Runner     walks with controllers

Every change gives a property a value that it has not had before in that life. So a value shows when it was set: the
judge finds the place of a description in an entity's story by its values alone (`entity_story.py`).
"""

from __future__ import annotations

from functools import cache

from terrazzo import (
    ALL_CLIENTS,
    BASE_AND_CLIENT,
    CELL_PRIVATE,
    CELL_PUBLIC,
    CELL_PUBLIC_AND_OWN,
    OTHER_CLIENTS,
    OWN_CLIENT,
    Array,
    Client,
    EntityType,
    Int32,
    Record,
    Text,
    UInt32,
    Volatile,
    build,
    prop,
    remote,
)
from terrazzo.schema.model import Schema

APPEAL_M = 9.0


class Item(Record):
    """Something in a bag."""

    kind: UInt32
    count: UInt32 = 1


class Pose(Record):
    """A record with fields that are changed one by one."""

    stance: UInt32 = 0
    marks: Array[UInt32]


class Avatar(EntityType):
    """A player."""

    name: Text = prop(ALL_CLIENTS, saved=True, unique=True, database_length=40)
    hp: Int32 = prop(ALL_CLIENTS, default=100)
    mood: Int32 = prop(OTHER_CLIENTS)
    gold: Int32 = prop(OWN_CLIENT, saved=True)
    bag: Array[Item] = prop(ALL_CLIENTS)
    pose: Pose = prop(ALL_CLIENTS)
    rank: UInt32 = prop(CELL_PUBLIC)
    fame: UInt32 = prop(CELL_PUBLIC_AND_OWN)
    secret: UInt32 = prop(CELL_PRIVATE)
    visits: UInt32 = prop(BASE_AND_CLIENT, saved=True)

    volatile = Volatile(position=True, yaw=True)


class Creature(EntityType):
    """Wanders about; it has no client of its own."""

    strides: UInt32 = prop(ALL_CLIENTS)
    trail: Array[UInt32] = prop(OTHER_CLIENTS)
    rank: UInt32 = prop(CELL_PUBLIC)
    secret: UInt32 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True, yaw=True, pitch=True)


class Runner(EntityType):
    """Goes where its controllers take it."""

    goals: UInt32 = prop(ALL_CLIENTS)
    secret: UInt32 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True, yaw=True, pitch=True, roll=True)


class Giant(EntityType):
    """Seen from afar."""

    strides: UInt32 = prop(ALL_CLIENTS)
    secret: UInt32 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True)
    appeal_radius = APPEAL_M
    detailed_volatile_position = True


class Trap(EntityType):
    """It is never sent to clients."""

    caught: UInt32 = prop(CELL_PUBLIC)
    secret: UInt32 = prop(CELL_PRIVATE)

    server_only = True


class Dart(EntityType):
    """Is thrown by creatures; it has no base part."""

    strides: UInt32 = prop(ALL_CLIENTS)
    rank: UInt32 = prop(CELL_PUBLIC)
    secret: UInt32 = prop(CELL_PRIVATE)

    volatile = Volatile(position=True, yaw=True)
    cell_only = True


TYPES: tuple[type[EntityType], ...] = (Avatar, Creature, Runner, Giant, Trap, Dart)


class AvatarClient(Client, of=Avatar):
    """The client methods of a player."""

    @remote
    def on_said(self, number: UInt32) -> None:
        """Called for all clients."""

    @remote
    def on_waved(self, number: UInt32) -> None:
        """Called for other clients, not for the own one."""

    @remote
    def on_whispered(self, number: UInt32) -> None:
        """Called for the own client only."""

    @remote
    def on_noted(self, number: UInt32) -> None:
        """Called by the own base part."""


class CreatureClient(Client, of=Creature):
    """To be seen."""

    @remote
    def on_cried(self, number: UInt32) -> None:
        """Called for all clients."""


class RunnerClient(Client, of=Runner):
    """To be seen."""


class GiantClient(Client, of=Giant):
    """To be seen."""


class DartClient(Client, of=Dart):
    """To be seen."""


@cache
def schema() -> Schema:
    """The schema, the same one for every world."""
    return build(TYPES).checked()
