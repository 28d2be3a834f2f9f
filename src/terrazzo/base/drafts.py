"""An entity before it has a number: the values of both its parts, and where its cell part shall be.

A draft is checked as it is made, so that a mistake is told to whoever made it, at once; the creation itself may have
to wait for an entity id. The values of the cell part lie in a State of the cell's layout: the base keeps them while
there is no cell part, gives them to the one that is made, and gets them back when it goes.

The place is saved beside the properties: "@space" its name in UTF-8, "@position" x, y, z, yaw, pitch, roll as float64.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from terrazzo.errors import DecodeError, UsageError, shown
from terrazzo.game import NAME_MAX, LoadedGame
from terrazzo.schema.arguments import text, vector
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.record import decode_record, encode_record
from terrazzo.schema.state import State
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.world.place import PLACE_MAX

SPACE = "@space"
POSITION = "@position"

_POSITION = struct.Struct("<6d")


class Place(NamedTuple):
    """Where a cell part is, was, or shall be."""

    space: str
    position: Position
    direction: Direction = (0.0, 0.0, 0.0)


@dataclass
class Draft:
    """What an entity begins with."""

    schema: EntitySchema
    base: State
    cell: State
    place: Place | None = None
    dbid: int = 0


def new_draft(schema: EntitySchema, properties: dict[str, Any]) -> Draft:
    """Defaults, and what was given by name; raises for what no part has or no type allows."""
    draft = Draft(schema, State(schema.base_layout), State(schema.cell_layout))
    for name, value in properties.items():
        set_property(draft, name, value)
    return draft


def set_property(draft: Draft, name: str, value: Any) -> None:
    """Give a property of either part a value."""
    for state in (draft.base, draft.cell):
        if name in state.index:
            state[name] = value
            return
    have = ", ".join([*draft.base.index, *draft.cell.index]) or "none"
    raise UsageError(f"{draft.schema.name} has no property {name!r}; it has {have}")


def load_draft(schema: EntitySchema, dbid: int, record: bytes, report: Callable[[str, str], None]) -> Draft:
    """What was saved. Raises DecodeError for bytes that are no record; whatever else is odd is reported."""
    values, extra = decode_record(schema, record, report)
    draft = new_draft(schema, {})
    draft.dbid = dbid
    for name, value in values.items():
        state = draft.base if name in draft.base.index else draft.cell
        if name in state.index:
            state[name] = value
    draft.place = _load_place(extra, report)
    return draft


def save_draft(draft: Draft) -> bytes:
    """The record of both parts and the place."""
    values = {name: state[name] for state in (draft.cell, draft.base) for name in state}
    extra: dict[str, bytes] = {}
    if draft.place is not None:
        extra[SPACE] = draft.place.space.encode()
        extra[POSITION] = _POSITION.pack(*draft.place.position, *draft.place.direction)
    return encode_record(draft.schema, values, extra)


def _load_place(extra: dict[str, bytes], report: Callable[[str, str], None]) -> Place | None:
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
) -> Place:
    """A place that can be asked for by this method of the API; with `game`, within a space that it has."""
    name = text(space, f"{method}: space", longest=NAME_MAX)
    bounds = None if game is None else {each.name: each.bounds for each in game.policy.spaces}
    if bounds is not None and name not in bounds:
        raise UsageError(f"{method}: there is no space {shown(name)}; the game has {', '.join(bounds)}")
    point = vector(position, f"{method}: position (x, y, z)", most=PLACE_MAX)
    looks = vector(direction, f"{method}: direction (yaw, pitch, roll)", most=PLACE_MAX)
    if bounds is not None:
        x0, z0, x1, z1 = bounds[name]
        if not (x0 <= point[0] <= x1 and z0 <= point[2] <= z1):
            raise UsageError(f"{method}: {tuple(point)} is not within {bounds[name]}, the bounds of {name}")
    return Place(name, point, looks)
