"""Hypothesis strategies: types of any nesting, values of a type, and edits of a value the way a game makes them."""

import struct
from typing import Any

from hypothesis import strategies as st

from terrazzo.schema import types as t
from terrazzo.schema.flags import FIELD_FLAGS, Flags
from terrazzo.schema.plaindata import Opaque
from terrazzo.schema.refs import Component, Ref

SCALARS = [
    t.INT8, t.INT16, t.INT32, t.INT64, t.UINT8, t.UINT16, t.UINT32, t.UINT64, t.FLOAT32, t.FLOAT64, t.BOOL,
    t.VECTOR2, t.VECTOR3, t.VECTOR4, t.STRING, t.BLOB, t.UNICODE_STRING, t.PYTHON, t.MAILBOX, t.UDO_REF,
    t.UserType("Riddles.converter"),
]  # fmt: skip


def can_be_empty(data_type: t.DataType) -> bool:
    return data_type.codec.least == 0


def _extend(
    inner: st.SearchStrategy[t.DataType], flags: st.SearchStrategy[Flags | None]
) -> st.SearchStrategy[t.DataType]:
    sized = st.builds(t.SequenceType, inner, st.integers(0, 4), st.booleans())
    unsized = st.builds(t.SequenceType, inner.filter(lambda each: not can_be_empty(each)), st.none(), st.booleans())
    fields = st.lists(st.tuples(inner, flags), max_size=5).map(
        lambda types: tuple(t.Field(f"field_{index}", each, to=to) for index, (each, to) in enumerate(types))
    )
    return sized | unsized | st.builds(t.RecordType, fields, st.booleans())


data_types = st.recursive(st.sampled_from(SCALARS), lambda inner: _extend(inner, st.none()), max_leaves=8)

_flags = st.none() | st.sampled_from(FIELD_FLAGS)
shared_types = st.recursive(st.sampled_from(SCALARS), lambda inner: _extend(inner, _flags), max_leaves=8)
"""The same with fields for different receivers."""

singles = st.floats(width=32, allow_nan=False)
plain_data = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=6,
)
refs = st.none() | st.builds(
    Ref,
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from(Component),
    st.integers(0, 2**13 - 1),
    st.tuples(*[st.integers(0, 255)] * 4).map(lambda parts: ".".join(map(str, parts))),
    st.integers(0, 65535),
).filter(lambda ref: ref != Ref(0))


def values(data_type: t.DataType) -> st.SearchStrategy[Any]:
    """Plain values that the type accepts."""
    if isinstance(data_type, t.IntType):
        low = -(1 << data_type.bits - 1) if data_type.signed else 0
        return st.integers(low, low + (1 << data_type.bits) - 1)
    if isinstance(data_type, t.FloatType):
        return singles if data_type.bits == 32 else st.floats(allow_nan=False)
    if isinstance(data_type, t.BoolType):
        return st.booleans()
    if isinstance(data_type, t.VectorType):
        return st.tuples(*[singles] * data_type.dimensions)
    if isinstance(data_type, t.BytesType):
        return st.binary(max_size=12) | st.binary(min_size=250, max_size=260)
    if isinstance(data_type, t.TextType):
        return st.text(max_size=12)
    if isinstance(data_type, t.PythonType):
        return plain_data | st.binary(max_size=6).filter(lambda data: data[:1] != b"\xc1").map(Opaque)
    if isinstance(data_type, t.RefType):
        return refs
    if isinstance(data_type, t.GuidType):
        return st.binary(min_size=16, max_size=16)
    if isinstance(data_type, t.UserType):
        return st.binary(max_size=6).map(Opaque)
    if isinstance(data_type, t.SequenceType):
        low, high = (0, 4) if data_type.size is None else (data_type.size, data_type.size)
        items = st.lists(values(data_type.of), min_size=low, max_size=high)
        return items.map(tuple) if data_type.is_tuple else items
    assert isinstance(data_type, t.RecordType)
    record = st.fixed_dictionaries({each.name: values(each.type) for each in data_type.fields})
    return st.none() | record if data_type.allow_none else record


def round_to_single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
