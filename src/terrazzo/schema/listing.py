"""The definitions as plain data, for `terrazzo defs --json`, for tools, and for comparing two trees.

Names and shape are a contract: programs read this. A property has `hidden` only if some of its receivers get less than
the whole value: the names of the fields that they do not get, by receiver (ghosts, own_client, other_clients).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from terrazzo.errors import Problem
from terrazzo.schema.digest import digest
from terrazzo.schema.flags import Receiver
from terrazzo.schema.indexes import NumberedMethod, number_methods, number_properties
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import EntitySchema, Property, Schema, Side
from terrazzo.schema.shares import hidden_fields


def listing(loaded: Loaded) -> dict[str, Any]:
    """The loaded definitions as one object."""
    return {
        "entities": {each.name: entity_listing(loaded.schema, each) for each in loaded.schema.entities},
        "digest": digest(loaded.schema),
        "errors": [_problem(each) for each in loaded.errors],
        "warnings": [_problem(each) for each in loaded.warnings],
    }


def entity_listing(schema: Schema, entity: EntitySchema) -> dict[str, Any]:
    """One entity type."""
    return {
        "type_id": entity.type_id,
        "client_server": entity.on_client,
        "properties": [_property(each) for each in entity.properties],
        "client_properties": [
            {**_property(each.prop), "index": each.index, "message_id": each.message_id}
            for each in number_properties(entity)
        ],
        "client_methods": _methods(schema, entity, Side.CLIENT),
        "exposed_cell_methods": _methods(schema, entity, Side.CELL),
        "exposed_base_methods": _methods(schema, entity, Side.BASE),
        "base_player_properties": [each.name for each in entity.base_player_properties],
        "cell_player_properties": [each.name for each in entity.cell_player_properties],
        "cell_properties_ghosted_first": [each.name for each in entity.cell_properties],
        "ghosted": entity.ghosted_count,
        "internal_client_methods": [each.name for each in entity.client_methods],
        "internal_cell_methods": [each.name for each in entity.cell_methods],
        "internal_base_methods": [each.name for each in entity.base_methods],
        "detail_levels": [asdict(each) for each in entity.detail_levels],
        "volatile": {name: _distance(value) for name, value in asdict(entity.volatile).items()},
        "appeal_radius": entity.appeal_radius,
        "components": dict(entity.components),
    }


def _property(prop: Property) -> dict[str, Any]:
    hidden = {
        each.name.lower(): names
        for each in Receiver
        if each.gets(prop.flags) and (names := hidden_fields(prop.type_for(each)))
    }
    return {
        "name": prop.name,
        "type": prop.type.spell(),
        "size": prop.type.sort_size,
        "flags": prop.flags.name,
        "detail_level": prop.detail_level,
        "persistent": prop.persistent,
        **({"hidden": hidden} if hidden else {}),
    }


def _methods(schema: Schema, entity: EntitySchema, side: Side) -> list[dict[str, Any]]:
    return [_method(each) for each in number_methods(schema, entity, side)]


def _method(numbered: NumberedMethod) -> dict[str, Any]:
    method = numbered.method
    return {
        "name": method.name,
        "args": [each.type.spell() for each in method.args],
        "size": method.sort_size,
        "message_id": numbered.message_id,
        "sub_id": numbered.sub_id,
        "index": numbered.index,
        "header_size": method.header_size,
        "exposed": method.exposed.name,
        "detail_distance": method.detail_distance,
        "returns": [each.type.spell() for each in method.returns],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {key: value for key, value in asdict(problem).items() if key != "tag" or value is not None}


def _distance(value: float | None) -> float | str | None:
    return "always" if value == float("inf") else value
