"""The values of an entity that the code of a game creates: defaults, and the properties that were given by name."""

from __future__ import annotations

from typing import Any

from terrazzo.errors import UsageError
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.report import did_you_mean
from terrazzo.schema.state import State
from terrazzo.wire.pairs.base_cell import Direction, Position
from terrazzo.wire.pairs.creation import CreateEntity

WANTED_MAX = 896 * 1024
"""Bytes of the properties of an entity that is created by another one."""


def new_states(schema: EntitySchema, properties: dict[str, Any]) -> tuple[State, State]:
    """The values of the base and of the cell part. Raises for a name that neither part has, and for a value that its
    type does not allow."""
    base, cell = State(schema.base_layout), State(schema.cell_layout)
    for name, value in properties.items():
        assign(schema, base, cell, name, value)
    return base, cell


def assign(schema: EntitySchema, base: State, cell: State, name: str, value: Any) -> None:
    """Gives a property of either part a value."""
    for state in (base, cell):
        if name in state.index:
            state[name] = value
            return
    names = [*base.index, *cell.index]
    have = ", ".join(names) or "none"
    raise UsageError(f"{schema.name} has no property {name!r}{did_you_mean(name, names)}; it has {have}")


def wanted_entity(
    schema: EntitySchema, base: State, cell: State, space: str, position: Position, direction: Direction
) -> CreateEntity:
    """The request for an entity with these values; no space: without a body."""
    if schema.cell_only:
        raise UsageError(f"create: {schema.name} is cell_only: the code of a cell part makes it, with spawn")
    values, body = base.encode(), cell.encode()
    size = len(values) + len(body)
    if size > WANTED_MAX:
        raise UsageError(f"create: the properties have {size} bytes, more than {WANTED_MAX}: set some of them later")
    return CreateEntity(0, schema.type_id, values, body, space, position, direction)
