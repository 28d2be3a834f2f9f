"""Every type hint and the type that it means."""

from __future__ import annotations

import typing
from typing import Annotated, Any

import pytest

from terrazzo import (
    Alias,
    Array,
    Blob,
    Bool,
    Float32,
    Float64,
    Guid,
    Int8,
    Int16,
    Int32,
    Int64,
    PlainData,
    Record,
    Ref,
    SavedAsBlob,
    Size,
    String,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    UserValue,
    Vector2,
    Vector3,
    Vector4,
    alias,
)
from terrazzo.schema import types
from terrazzo.schema.classes.annotations import Translator
from terrazzo.schema.classes.sources import Mistake, Sources


class Point(Record):
    x: Int16


class Riddle(UserValue, implemented_by="Riddles.converter"):
    pass


class Song(UserValue):
    pass


class NoFields(Record):
    pass


POINT = types.RecordType((types.Field("x", types.INT16),))
MAYBE_POINT = types.RecordType((types.Field("x", types.INT16),), allow_none=True)

HINTS: list[tuple[Any, types.DataType]] = [
    (Int8, types.INT8),
    (Int16, types.INT16),
    (Int32, types.INT32),
    (Int64, types.INT64),
    (UInt8, types.UINT8),
    (UInt16, types.UINT16),
    (UInt32, types.UINT32),
    (UInt64, types.UINT64),
    (Float32, types.FLOAT32),
    (Float64, types.FLOAT64),
    (Bool, types.BOOL),
    (Text, types.UNICODE_STRING),
    (String, types.STRING),
    (Blob, types.BLOB),
    (Vector2, types.VECTOR2),
    (Vector3, types.VECTOR3),
    (Vector4, types.VECTOR4),
    (PlainData, types.PYTHON),
    (Ref, types.MAILBOX),
    (Guid, types.UDO_REF),
    (int, types.INT64),
    (float, types.FLOAT64),
    (bool, types.BOOL),
    (str, types.UNICODE_STRING),
    (bytes, types.BLOB),
    (list[int], types.SequenceType(types.INT64)),
    (Array[UInt8], types.SequenceType(types.UINT8)),
    (list[UInt8], types.SequenceType(types.UINT8)),
    (typing.List[UInt8], types.SequenceType(types.UINT8)),  # noqa: UP006
    (Array[Array[Point]], types.SequenceType(types.SequenceType(POINT))),
    (Annotated[Array[UInt8], Size(4)], types.SequenceType(types.UINT8, 4)),
    (Annotated[Array[UInt8], SavedAsBlob()], types.SequenceType(types.UINT8, persist_as_blob=True)),
    (tuple[UInt8, ...], types.SequenceType(types.UINT8, is_tuple=True)),
    (tuple[UInt8, UInt8], types.SequenceType(types.UINT8, 2, is_tuple=True)),
    (Annotated[tuple[UInt8, ...], Size(3)], types.SequenceType(types.UINT8, 3, is_tuple=True)),
    (Annotated[Array[NoFields], Size(2)], types.SequenceType(types.RecordType(()), 2)),
    (Point, POINT),
    (Point | None, MAYBE_POINT),
    (typing.Optional[Point], MAYBE_POINT),  # noqa: UP045
    (Ref | None, types.MAILBOX),
    (PlainData | None, types.PYTHON),
    (Riddle, types.UserType("Riddles.converter")),
    (Song, types.UserType(f"{__name__}.Song")),
    ("UInt8", types.UINT8),
    ("Array[Point]", types.SequenceType(POINT)),
    (Array["Point"], types.SequenceType(POINT)),
    (typing.List["Point"], types.SequenceType(POINT)),  # noqa: UP006
]


def translate(hint: Any) -> types.DataType:
    return Translator(Sources(), globals()).translate(hint)


@pytest.mark.parametrize(("hint", "expected"), HINTS, ids=lambda each: str(each)[:60])
def test_hint(hint: Any, expected: types.DataType) -> None:
    assert translate(hint) == expected


def test_classes_of_values_are_kept() -> None:
    assert translate(Riddle).value_class is Riddle  # type: ignore[attr-defined]
    assert translate(Point).record_class is Point  # type: ignore[attr-defined]
    assert translate(Point).spell() == "Point"


def test_aliases_carry_their_name_and_default() -> None:
    gold = Annotated[UInt32, Alias("GOLD", default=5)]
    for hint in (gold, alias("GOLD", UInt32, 5)):
        found = translate(hint)
        assert found == types.UINT32
        assert (found.alias, found.preset, found.default()) == ("GOLD", 5, 5)
    coin = translate(Annotated[gold, Alias("COIN")])
    assert (coin.alias, coin.preset) == ("COIN", 5)
    assert translate(Annotated[Point | None, Alias("SPOT")]).alias == "SPOT"


def test_an_alias_of_the_type_statement_is_followed() -> None:
    class TypeStatement:
        __value__ = UInt8
        __type_params__ = ()

    assert translate(TypeStatement()) == types.UINT8


BAD: list[tuple[Any, str]] = [
    (object, "unknown type"),
    (dict, "unknown type"),
    (3, "unknown type"),
    (UserValue, "unknown type"),
    (Text | None, "unknown type"),
    (Point | Text, "unknown type"),
    (tuple[UInt8, Text], "unknown type"),
    ("NoSuchThing", "unknown type"),
    ("1 +", "unknown type"),
    ("1 / 0", "unknown type"),
    (Array["NoSuchThing"], "unknown type"),  # type: ignore[name-defined]
    (Annotated[UInt8, SavedAsBlob()], "unknown type"),
    (list, "array without of"),
    (tuple, "array without of"),
    (Annotated[Array[UInt8], Size(-1)], "bad size"),
    (Annotated[UInt8, Size(4)], "bad size"),
    (Annotated[UInt8, Alias("TINY", default=300)], "bad default"),
    (Annotated[Array[UInt8], Size(1 << 24)], "bad size"),
    (Annotated[Array[UInt8], Size(1 << 23)], "type too large"),
    (Array[NoFields], "empty element type"),
]


@pytest.mark.parametrize(("hint", "kind"), BAD, ids=lambda each: str(each)[:60])
def test_bad_hint(hint: Any, kind: str) -> None:
    with pytest.raises(Mistake) as caught:
        translate(hint)
    assert caught.value.kind == kind
