"""Converts stored values of one type into values of another, for `migration.py`.

    numbers           where the value is exactly the same number; FLOAT64 → FLOAT32 is rounded
    text ⟷ bytes      as UTF-8
    sequences         element by element
    records           field by field, by name; a new field gets its default, a field that is no more is left out
    numbers, text, bytes → PYTHON

Any other pair, and a value that the new type does not allow, raises ValueRejected. A field may have been renamed:
`renames` has its new name by its path, such as "Avatar.bag.count" (elements of sequences have no step in a path).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from terrazzo.errors import ValueRejected, shown
from terrazzo.schema.saved_layout import saved_form
from terrazzo.schema.types import (
    BoolType,
    BytesType,
    DataType,
    FloatType,
    IntType,
    PythonType,
    RecordType,
    SequenceType,
    TextType,
)

Convert = Callable[[Any], Any]
Renames = Mapping[str, str]

NUMBERS = (IntType, FloatType, BoolType)


def converter(old: DataType, new: DataType, path: str, renames: Renames) -> Convert:
    """What turns a decoded value of the old type into one that the new type's codec can check."""
    if saved_form(old) == saved_form(new):
        return lambda value: new.codec.decode(old.codec.encode(value))
    if isinstance(old, SequenceType) and isinstance(new, SequenceType):
        of = converter(old.of, new.of, path, renames)
        return lambda value: [of(each) for each in value]
    if isinstance(old, RecordType) and isinstance(new, RecordType):
        return _record_converter(old, new, path, renames)
    return lambda value: _simple(value, old, new)


def _record_converter(old: RecordType, new: RecordType, path: str, renames: Renames) -> Convert:
    present = {each.name: each.type for each in new.fields}
    kept = [
        (each.name, target, converter(each.type, present[target], f"{path}.{each.name}", renames))
        for each in old.fields
        if (target := renames.get(f"{path}.{each.name}", each.name)) in present
    ]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        return new.codec.make({target: act(value[name]) for name, target, act in kept})  # type: ignore[attr-defined]

    return convert


def _simple(value: Any, old: DataType, new: DataType) -> Any:
    if isinstance(old, NUMBERS) and isinstance(new, NUMBERS):
        return _number(value, old, new)
    if isinstance(old, TextType) and isinstance(new, BytesType):
        return value.encode()
    if isinstance(old, BytesType) and isinstance(new, BytesType | TextType):
        try:
            return value if isinstance(new, BytesType) else value.decode()
        except UnicodeDecodeError:
            raise ValueRejected("expected UTF-8") from None
    if isinstance(old, TextType) and isinstance(new, TextType):
        return value
    if isinstance(old, (*NUMBERS, TextType, BytesType)) and isinstance(new, PythonType):
        return value
    raise ValueRejected(f"{old.spell()} does not convert to {new.spell()}")


def _number(value: float, old: DataType, new: DataType) -> Any:
    is_whole = value == value and value not in (float("inf"), float("-inf")) and int(value) == value
    if isinstance(new, BoolType):
        if value in (0, 1):
            return bool(value)
    elif isinstance(new, IntType):
        if is_whole:
            return int(value)
    elif isinstance(old, FloatType) or new.codec.check(value) == value:
        return float(value)
    raise ValueRejected(f"expected {new.spell()}, got {shown(value)}")


def lost_fields(old: DataType, new: DataType, path: str, renames: Renames) -> Iterator[str]:
    """The paths of the fields of records that the new type does not have."""
    if isinstance(old, SequenceType) and isinstance(new, SequenceType):
        yield from lost_fields(old.of, new.of, path, renames)
    elif isinstance(old, RecordType) and isinstance(new, RecordType):
        present = {each.name: each.type for each in new.fields}
        for each in old.fields:
            inner = f"{path}.{each.name}"
            target = renames.get(inner, each.name)
            if target in present:
                yield from lost_fields(each.type, present[target], inner, renames)
            else:
                yield inner


def renamed_fields(old: DataType, new: DataType, path: str, renames: Renames) -> Iterator[tuple[str, str]]:
    """The paths of the fields that get another name, and the names."""
    if isinstance(old, SequenceType) and isinstance(new, SequenceType):
        yield from renamed_fields(old.of, new.of, path, renames)
    elif isinstance(old, RecordType) and isinstance(new, RecordType):
        present = {each.name: each.type for each in new.fields}
        for each in old.fields:
            inner = f"{path}.{each.name}"
            target = renames.get(inner, each.name)
            if target in present and target != each.name:
                yield inner, target
            if target in present:
                yield from renamed_fields(each.type, present[target], inner, renames)
