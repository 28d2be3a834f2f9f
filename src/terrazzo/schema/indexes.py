"""The numbers by which client and server name properties and methods: message ids, with sub-slots where they run out.

An interface has ids 0 … 254. Each range below belongs to one kind of message; what is exposed most often takes one
byte. Where the entity type with the most exposed methods has more than the range has slots, the last slots of the range
become sub-slots: each stands for 256 methods and is followed by one more byte. Every entity type uses the same split.

    client ← server     methods 59 … 157, properties 158 … 254; a property of index 97 or more, and every nested change,
                        goes as message 56 (nested) or 57 (slice) with a bit-packed path
    client → server     cell methods 12 … 133, base methods 134 … 254
"""

from __future__ import annotations

from dataclasses import dataclass

from terrazzo.schema.model import EntitySchema, Method, Property, Schema, Side

NESTED_PROPERTY = 56
SLICE_PROPERTY = 57
PROPERTIES_MAX = 256
"""Client properties that one entity type may have."""


@dataclass(frozen=True)
class IdRange:
    """A run of message ids."""

    first: int
    slots: int

    def direct(self, exposed_most: int) -> int:
        """How many slots stand for one method each, when the largest type has so many; the others are sub-slots."""
        excess = exposed_most - self.slots
        return self.slots - (excess // 255 + 1 if excess > 0 else 0)


PROPERTY_IDS = IdRange(158, 97)
METHOD_IDS = {Side.CLIENT: IdRange(59, 99), Side.CELL: IdRange(12, 122), Side.BASE: IdRange(134, 121)}


@dataclass(frozen=True)
class NumberedMethod:
    """A method as it is named between client and server."""

    method: Method
    index: int
    message_id: int
    sub_id: int | None


@dataclass(frozen=True)
class NumberedProperty:
    """A property as it is named between client and server; `message_id` is NESTED_PROPERTY where it has none of its
    own."""

    prop: Property
    index: int
    message_id: int


def exposed_max(schema: Schema, side: Side) -> int:
    """The largest number of exposed methods that an entity type has."""
    return max((len(each.exposed(side)) for each in schema.entities), default=0)


def message_id(ids: IdRange, exposed_most: int, index: int) -> tuple[int, int | None]:
    """The message id, and the extra byte if there is one, of the exposed method of this index."""
    direct = ids.direct(exposed_most)
    if index < direct:
        return ids.first + index, None
    overflow = index - direct
    return ids.first + direct + overflow // 256, overflow % 256


def number_methods(schema: Schema, entity: EntitySchema, side: Side) -> list[NumberedMethod]:
    """The exposed methods of a side with their numbers, in the order of their indexes."""
    most = exposed_max(schema, side)
    return [
        NumberedMethod(method, index, *message_id(METHOD_IDS[side], most, index))
        for index, method in enumerate(entity.exposed(side))
    ]


def number_properties(entity: EntitySchema) -> list[NumberedProperty]:
    """The client properties with their numbers, in the order of their indexes."""
    return [
        NumberedProperty(prop, index, PROPERTY_IDS.first + index if index < PROPERTY_IDS.slots else NESTED_PROPERTY)
        for index, prop in enumerate(entity.client_properties)
    ]
