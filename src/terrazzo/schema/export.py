"""A schema as plain data, for clients that are not written in Python: the browser's, and kits in other languages.

`export_schema` returns a dict of lists, dicts, texts and numbers, for JSON, msgpack or another format. It has what a
client needs, the same things that the digest is computed over, and nothing that only servers use.

    {"format": 1, "digest": hex, "entities": [ENTITY …]}

    ENTITY    {"name", "type_id",
               "properties": [PROPERTY …]    in the order of the client-server index
               "base_player": [index …]      what the base player message holds, in this order
               "cell_player": [index …]      what the cell player message holds
               "client_methods": [METHOD …], "cell_methods": [METHOD …], "base_methods": [METHOD …]}
    PROPERTY  {"name", "type", "message_id" (or None), "base", "own_client", "other_clients", "default",
               "other_type", "other_default" (both only where the type is not the same)}
    METHOD    {"name", "message_id", "sub_id" (or None), "args": [ARGUMENT …], "reliable", "all_clients"}
    ARGUMENT  {"name" (or None), "type"}

`type` of a property is what the entity's own client gets of it, `other_type` what other clients do. `message_id` of a
property is None where it has none of its own (it then comes as a change with a path). `default` is
the encoded value in hex, in the encoding of the type. `all_clients`: any client that sees the entity may call the
method. A property or a method of a component has the name `component.name`.

A type is a dict with a `kind`, and an `alias` if it was written by one:

    int bits signed · float bits · bool · vector dimensions · text · bytes · python · ref · guid · user implemented_by
    array of size (or None) · tuple of size · record allow_none fields [{"name", "type"} …]
    hidden of default: takes no bytes, as the client may not see it; the value is the default, in hex as `of` encodes it
"""

from __future__ import annotations

from typing import Any

from terrazzo.schema.digest import digest
from terrazzo.schema.flags import Receiver
from terrazzo.schema.indexes import NESTED_PROPERTY, NumberedMethod, NumberedProperty, number_methods, number_properties
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import EntitySchema, Exposed, Schema, Side
from terrazzo.schema.types import (
    BoolType,
    BytesType,
    DataType,
    FloatType,
    GuidType,
    HiddenType,
    IntType,
    PythonType,
    RecordType,
    RefType,
    SequenceType,
    TextType,
    UserType,
    VectorType,
)

FORMAT = 1
"""Increased whenever a reader of the former format would misread the new one."""

_SIMPLE: dict[type[DataType], str] = {
    BoolType: "bool",
    TextType: "text",
    BytesType: "bytes",
    PythonType: "python",
    RefType: "ref",
    GuidType: "guid",
}


def export_schema(schema: Schema) -> dict[str, Any]:
    """The schema as a client needs it."""
    return {
        "format": FORMAT,
        "digest": digest(schema),
        "entities": [_export_entity(schema, each) for each in schema.entities if each.on_client],
    }


def export_type(data_type: DataType) -> dict[str, Any]:
    """A type as a tree."""
    tree = {"kind": _SIMPLE[type(data_type)]} if type(data_type) in _SIMPLE else _export_shape(data_type)
    if data_type.alias:
        tree["alias"] = data_type.alias
    return tree


def _export_shape(data_type: DataType) -> dict[str, Any]:
    if isinstance(data_type, IntType):
        return {"kind": "int", "bits": data_type.bits, "signed": data_type.signed}
    if isinstance(data_type, FloatType):
        return {"kind": "float", "bits": data_type.bits}
    if isinstance(data_type, VectorType):
        return {"kind": "vector", "dimensions": data_type.dimensions}
    if isinstance(data_type, UserType):
        return {"kind": "user", "implemented_by": data_type.implemented_by}
    if isinstance(data_type, SequenceType):
        kind = "tuple" if data_type.is_tuple else "array"
        return {"kind": kind, "of": export_type(data_type.of), "size": data_type.size}
    if isinstance(data_type, HiddenType):
        default = data_type.of.codec.encode(data_type.codec.default()).hex()
        return {"kind": "hidden", "of": export_type(data_type.of), "default": default}
    assert isinstance(data_type, RecordType), f"a type without an export: {data_type!r}"
    fields = [{"name": each.name, "type": export_type(each.type)} for each in data_type.fields]
    return {"kind": "record", "allow_none": data_type.allow_none, "fields": fields}


def _export_entity(schema: Schema, entity: EntitySchema) -> dict[str, Any]:
    index = entity.client_layout.index

    def places(layout: Layout) -> list[int]:
        return [index[name] for name in layout.names]

    return {
        "name": entity.name,
        "type_id": entity.type_id,
        "properties": [_export_property(each) for each in number_properties(entity)],
        "base_player": places(entity.base_player_layout),
        "cell_player": places(entity.cell_player_layout),
        **{
            f"{side.value}_methods": [_export_method(each, side) for each in number_methods(schema, entity, side)]
            for side in Side
        },
    }


def _export_property(numbered: NumberedProperty) -> dict[str, Any]:
    prop = numbered.prop
    audience = prop.flags.value
    own, other = prop.type_for(Receiver.OWN_CLIENT), prop.type_for(Receiver.OTHER_CLIENTS)
    default = prop.new_default()
    more = {}
    if own != other:
        more = {"other_type": export_type(other), "other_default": other.codec.encode(default).hex()}
    return {
        "name": prop.name,
        "type": export_type(own),
        "message_id": None if numbered.message_id == NESTED_PROPERTY else numbered.message_id,
        "base": audience.base,
        "own_client": audience.own_client,
        "other_clients": audience.other_clients,
        "default": own.codec.encode(default).hex(),
        **more,
    }


def _export_method(numbered: NumberedMethod, side: Side) -> dict[str, Any]:
    method = numbered.method
    return {
        "name": method.name if method.component is None else f"{method.component}.{method.name}",
        "message_id": numbered.message_id,
        "sub_id": numbered.sub_id,
        "args": [{"name": each.name, "type": export_type(each.type)} for each in method.args],
        "reliable": method.is_reliable,
        "all_clients": is_open_to_all(method.exposed, side),
    }


def is_open_to_all(exposed: Exposed, side: Side) -> bool:
    """Whether every client that sees the entity may call an exposed method, or only the entity's own. Others see no
    base, so they call none."""
    return side is Side.CELL and exposed in (Exposed.ALL_CLIENTS, Exposed.DEFAULT)
