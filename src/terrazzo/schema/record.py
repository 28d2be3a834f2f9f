"""The saved form of an entity: its persistent properties of both parts, each by name, so that definitions may change.

    record = msgpack map { name: bytes }          bytes is the property's own encoding (`Property.codec`)

A name that begins with "@" is not a property: the engine stores something of its own there, such as the last place of
an entity. No property can have such a name.

A record may be older than the definitions: a name that is no persistent property any more is ignored; a property that
is missing gets its default; so does one with bytes that no longer decode, which is reported. Only bytes that are no
record at all raise a DecodeError. An empty record is that of a new entity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from terrazzo.errors import DecodeError, UsageError, ValueRejected
from terrazzo.schema.model import EntitySchema, Property

OnDropped = Callable[[str, str], None]
"""Called with the name of a property and what was wrong with its saved value."""

EXTRA_MARK = "@"

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(dict[str, bytes])


def saved_properties(entity: EntitySchema) -> tuple[Property, ...]:
    """What is saved of an entity type, in declared order."""
    return tuple(each for each in entity.properties if each.persistent)


def encode_record(entity: EntitySchema, values: dict[str, Any], extra: dict[str, bytes]) -> bytes:
    """The record of these values by name; those that are not persistent are left out, as are those not given."""
    fields: dict[str, bytes] = {}
    for each in saved_properties(entity):
        if each.name in values:
            try:
                fields[each.name] = each.codec.encode(values[each.name])
            except ValueRejected as problem:
                raise problem.inside(f"{entity.name}.{each.name}") from None
    for name, data in extra.items():
        if not name.startswith(EXTRA_MARK):
            raise UsageError(f"{name!r} stands beside the properties of a record: begin its name with {EXTRA_MARK!r}")
        fields[name] = data
    return record_of(fields)


def decode_record(
    entity: EntitySchema, data: bytes, report: OnDropped | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A value for every persistent property, by name, and what the engine stored beside them."""
    fields = record_fields(data)
    values = {each.name: _value(each, fields.get(each.name), report) for each in saved_properties(entity)}
    return values, {name: field for name, field in fields.items() if name.startswith(EXTRA_MARK)}


def record_fields(data: bytes) -> dict[str, bytes]:
    """All that is in a record, by name. Raises DecodeError for bytes that are no record."""
    if not data:
        return {}
    try:
        return _DECODER.decode(data)
    except (ValueError, RecursionError) as problem:
        raise DecodeError(f"a record is a map of names to bytes: {problem}", 0) from None


def record_of(fields: dict[str, bytes]) -> bytes:
    """The record with these encoded values."""
    return _ENCODER.encode(fields)


def _value(prop: Property, data: bytes | None, report: OnDropped | None) -> Any:
    if data is not None:
        try:
            return prop.codec.decode(data)
        except DecodeError as problem:
            if report is not None:
                report(prop.name, str(problem))
    return prop.new_default()
