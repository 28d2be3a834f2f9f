"""The data of one entity: the values of both its parts, where its cell part is or shall be, and its database id.

The data of a new entity is checked when it is made, so that a mistake raises in the code that makes it; the base itself
may have to wait for an entity id. While there is no cell part, the base holds the cell part's values, in a State of the
cell's layout. A new cell part is created with these values, and its last values come back when it ends.

The location is saved beside the properties: "@space" is the name of the space in UTF-8, "@position" is x, y, z, yaw,
pitch, roll as float64.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from terrazzo.errors import DecodeError, UsageError, shown
from terrazzo.game import NAME_MAX, LoadedGame, is_instance_name
from terrazzo.schema.arguments import entity_id, text, vector
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.record import decode_record, encode_record
from terrazzo.schema.refs import Ref
from terrazzo.schema.state import State
from terrazzo.sync.newborn import assign, new_states, wanted_entity
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.wire.pairs.creation import CreateEntity
from terrazzo.world.place import PLACE_MAX

SPACE = "@space"
POSITION = "@position"

_POSITION = struct.Struct("<6d")


class Location(NamedTuple):
    """Where a cell part is, was, or shall be created."""

    space: str
    position: Position
    direction: Direction = (0.0, 0.0, 0.0)


@dataclass
class EntityData:
    """The data of one entity. A base keeps it for as long as it exists."""

    schema: EntitySchema
    base: State
    cell: State
    place: Location | None = None
    dbid: int = 0


def new_entity_data(schema: EntitySchema, properties: dict[str, Any]) -> EntityData:
    """Defaults, and the values that were given by name. Raises for a name that neither part has and for a value that
    its type does not allow."""
    return EntityData(schema, *new_states(schema, properties))


def set_property(data: EntityData, name: str, value: Any) -> None:
    """Gives a property of either part a value."""
    assign(data.schema, data.base, data.cell, name, value)


def load_entity_data(schema: EntitySchema, dbid: int, record: bytes, report: Callable[[str, str], None]) -> EntityData:
    """The data of a saved record. Raises DecodeError for bytes that are no record; a value that cannot be used is
    reported and gets its default."""
    values, extra = decode_record(schema, record, report)
    data = new_entity_data(schema, {})
    data.dbid = dbid
    for name, value in values.items():
        state = data.base if name in data.base.index else data.cell
        if name in state.index:
            state[name] = value
    data.place = _load_place(extra, report)
    return data


def encode_entity_data(data: EntityData) -> bytes:
    """The record to be saved: both parts and the location."""
    values = {name: state[name] for state in (data.cell, data.base) for name in state}
    extra: dict[str, bytes] = {}
    if data.place is not None:
        extra[SPACE] = data.place.space.encode()
        extra[POSITION] = _POSITION.pack(*data.place.position, *data.place.direction)
    return encode_record(data.schema, values, extra)


def _load_place(extra: dict[str, bytes], report: Callable[[str, str], None]) -> Location | None:
    if SPACE not in extra or POSITION not in extra:
        return None
    try:
        numbers = _POSITION.unpack(extra[POSITION])
        return checked_place("the saved place", extra[SPACE].decode(), numbers[:3], numbers[3:])
    except (struct.error, UnicodeDecodeError, DecodeError, UsageError) as problem:
        report(POSITION, str(problem))
        return None


def checked_place(
    method: str,
    space: object,
    position: Sequence[float],
    direction: Sequence[float],
    game: LoadedGame | None = None,
) -> Location:
    """The location that a method of the API was given, checked; with `game`, within the bounds of one of its spaces."""
    name = text(space, f"{method}: space", longest=NAME_MAX)
    is_instance = is_instance_name(name)  # its bounds are known at the CellAppMgr
    bounds = None if game is None or is_instance else {each.name: each.bounds for each in game.policy.spaces}
    if bounds is not None and name not in bounds:
        raise UsageError(f"{method}: there is no space {shown(name)}; the game has {', '.join(bounds)}")
    point = vector(position, f"{method}: position (x, y, z)", most=PLACE_MAX)
    looks = vector(direction, f"{method}: direction (yaw, pitch, roll)", most=PLACE_MAX)
    if bounds is not None:
        x0, z0, x1, z1 = bounds[name]
        if not (x0 <= point[0] <= x1 and z0 <= point[2] <= z1):
            raise UsageError(f"{method}: {tuple(point)} is not within {bounds[name]}, the bounds of {name}")
    return Location(name, point, looks)


def placed(
    method: str,
    space: str | None,
    position: Sequence[float] | None,
    direction: Sequence[float],
    near: object,
    game: LoadedGame,
) -> Location | None:
    """Where a new entity shall be: in a space, or near another entity (then the position is relative to it, and the
    space is unknown yet: empty); None: it has no place."""
    if near is not None:
        if space is not None:
            raise UsageError(f"{method}: near takes the space of that entity: leave out space={shown(space)}")
        offset = vector((0, 0, 0) if position is None else position, f"{method}: position (x, y, z)", most=PLACE_MAX)
        looks = vector(direction, f"{method}: direction (yaw, pitch, roll)", most=PLACE_MAX)
        return Location("", offset, looks)
    if (space is None) != (position is None):
        raise UsageError(f"{method} takes both a space and a position, or neither; or near, a Ref")
    if space is None or position is None:
        return None
    return checked_place(method, space, position, direction, game)


def near_entity(near: Ref | None, method: str) -> EntityId | None:
    """The entity that a Ref names, near which another one shall be."""
    if near is None:
        return None
    if not isinstance(near, Ref):
        raise UsageError(f"{method}: near is a Ref, not {shown(near)}")
    return EntityId(entity_id(near.id, f"{method}: near, the id of a Ref,"))


def wanted_of(data: EntityData, place: Location | None) -> CreateEntity:
    """The request for an entity with this data."""
    where = place or Location("", (0.0, 0.0, 0.0))
    return wanted_entity(data.schema, data.base, data.cell, where.space, where.position, where.direction)
