"""A digest over what a client must agree on with the server, and nothing else.

In it: the entity types that have a client part, by name and type id; their client properties in index order (name,
type, header size, whether the own client, others, or the own client's base part get it, and what of it is hidden from
the one or the other); their client methods and exposed methods in index order (name, types of arguments and return
values, header size, which clients may call). A FIXED_DICT counts by its field names and types, a USER_TYPE by the name
of its class (the schema has nothing else of its stream), an alias by the type that it stands for.

Not in it, because a client neither sends nor reads anything that depends on it: defaults, what is saved and how,
ghosting, levels of detail, volatility, compression (each message has a mark whether it is compressed), rates, names of
arguments, server-only types and methods.

The digest is SHA-256 over one line of text per item; `describe` gives the lines, so that two sides that disagree can
find out where.
"""

from __future__ import annotations

import hashlib

from terrazzo.schema.model import Exposed, Method, Property, Schema, Side
from terrazzo.schema.shares import client_shares
from terrazzo.schema.types import DataType, HiddenType, RecordType, SequenceType


def digest(schema: Schema) -> str:
    """The digest, in hex."""
    return hashlib.sha256("\n".join(describe(schema)).encode()).hexdigest()


def describe(schema: Schema) -> list[str]:
    """The lines over which the digest is computed."""
    lines = []
    for entity in schema.entities:
        if entity.on_client:
            lines.append(f"entity {entity.type_id} {entity.name}")
            lines.extend(_property_line(each) for each in entity.client_properties)
            for side in Side:
                lines.extend(_method_line(side, each) for each in entity.exposed(side))
    return lines


def written_out(data_type: DataType) -> str:
    """The type with all aliases replaced by what they mean."""
    if isinstance(data_type, HiddenType):
        return f"HIDDEN({written_out(data_type.of)})"
    if isinstance(data_type, SequenceType):
        size = "" if data_type.size is None else str(data_type.size)
        return f"{'TUPLE' if data_type.is_tuple else 'ARRAY'}[{size}]({written_out(data_type.of)})"
    if isinstance(data_type, RecordType):
        fields = ",".join(f"{each.name}:{written_out(each.type)}" for each in data_type.fields)
        return f"{'OPTIONAL_' if data_type.allow_none else ''}FIXED_DICT({fields})"
    return data_type.structure()


def _property_line(prop: Property) -> str:
    audience = prop.flags.value
    receivers = [word for word in ("base", "own_client", "other_clients") if getattr(audience, word)]
    forms = "|".join(map(written_out, client_shares(prop.type, prop.flags)))
    return f"property {prop.name} {forms} {'+'.join(receivers)} {prop.header_size}"


def _method_line(side: Side, method: Method) -> str:
    args = ",".join(written_out(each.type) for each in method.args)
    returns = ",".join(written_out(each.type) for each in method.returns)
    callers = "" if side is Side.CLIENT else _callers(side, method.exposed)
    return f"{side.value} method {method.name}({args})->({returns}) {method.header_size} {callers}".rstrip()


def _callers(side: Side, exposed: Exposed) -> str:
    if exposed is Exposed.DEFAULT:
        return "ALL_CLIENTS" if side is Side.CELL else "OWN_CLIENT"
    return exposed.name
