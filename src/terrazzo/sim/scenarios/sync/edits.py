"""Edits of the sync scenario: one change of one property, anywhere inside it, to a value that it has not had before.

    set      the whole property, an element, a field          slice    elements added, removed, replaced

An edit is drawn and tried on a copy first: so its result is new for every audience that gets any part of the property,
and a value shows when it was set (`sim/scenarios/seamless/entity_story.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from terrazzo.schema.model import Property
from terrazzo.schema.types import (
    BoolType,
    BytesType,
    DataType,
    FloatType,
    IntType,
    RecordType,
    SequenceType,
    TextType,
    VectorType,
)

TRIES = 8
LENGTH_MAX = 6


class Edit(NamedTuple):
    """One change: its path, and `bounds` for a slice."""

    path: tuple[int | str, ...]
    new: Any
    bounds: tuple[int, int] | None = None


class Editor:
    """Draws edits from one stream."""

    def __init__(self, rng: Random, unique: Callable[[], int]) -> None:
        self._rng = rng
        self._unique = unique

    def edit(self, part: Any, prop: Property, is_new: Callable[[Property, Any], bool]) -> bool:
        """Makes one edit of a part's property; False when none was found that leads to a new value."""
        before = prop.codec.encode(getattr(part, prop.name))
        for _ in range(TRIES):
            copy = _Holder(prop.codec.decode(before))
            made = self._draw(prop.type, copy.value)
            _apply(copy, "value", made)
            if is_new(prop, prop.codec.check(copy.value)):
                _apply(part, prop.name, made)
                return True
        return False

    def _draw(self, given: DataType, value: Any) -> Edit:
        path: list[int | str] = []
        rng = self._rng
        while True:
            what = rng.random()
            if isinstance(given, RecordType) and what < 0.8:
                inner = rng.choice(given.fields)
                path.append(inner.name)
                given, value = inner.type, getattr(value, inner.name)
            elif isinstance(given, SequenceType) and what < 0.4 and len(value):
                path.append(rng.randrange(len(value)))
                given, value = given.of, value[path[-1]]
            elif isinstance(given, SequenceType) and what < 0.9:
                return self._slice(given, value, tuple(path))
            else:
                return Edit(tuple(path), self._value(given))

    def _slice(self, given: SequenceType, value: Any, path: tuple[int | str, ...]) -> Edit:
        rng = self._rng
        start = rng.randrange(len(value) + 1)
        end = min(len(value), start + rng.choice([0, 0, 1, 2]))
        most = max(0, LENGTH_MAX - len(value) + end - start)
        return Edit(path, [self._value(given.of) for _ in range(min(most, rng.randrange(3)))], (start, end))

    def _value(self, given: DataType) -> Any:
        """Plain data for a new value."""
        rng, number = self._rng, self._unique()
        if isinstance(given, IntType):
            return number % (1 << given.bits - 1)
        if isinstance(given, FloatType):
            return float(number)
        if isinstance(given, BoolType):
            return rng.random() < 0.5
        if isinstance(given, TextType):
            return f"{number}" + "é" * rng.choice([0, 0, 3, 40])
        if isinstance(given, BytesType):
            return b"%d" % number
        if isinstance(given, VectorType):
            return tuple(float(number + each) for each in range(given.dimensions))
        if isinstance(given, SequenceType):
            return [self._value(given.of) for _ in range(rng.randrange(4))]
        assert isinstance(given, RecordType), f"no values of {given.spell()} are drawn"
        return {each.name: self._value(each.type) for each in given.fields}


class _Holder:
    """An object with one value, as a part has a property."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _apply(holder: Any, name: str, edit: Edit) -> None:
    steps: tuple[int | str, ...] = (name, *edit.path)
    inner = holder
    for step in steps if edit.bounds is not None else steps[:-1]:
        inner = getattr(inner, step) if isinstance(step, str) else inner[step]
    if edit.bounds is not None:
        inner[edit.bounds[0] : edit.bounds[1]] = edit.new
    elif isinstance(steps[-1], str):
        setattr(inner, steps[-1], edit.new)
    else:
        inner[steps[-1]] = edit.new
