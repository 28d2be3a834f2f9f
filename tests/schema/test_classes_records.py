"""Record classes: their fields, their constructor, and what may go wrong with them."""

from __future__ import annotations

from typing import ClassVar

import pytest

from terrazzo import (
    OWN_CLIENT,
    Array,
    EntityType,
    Int8,
    Record,
    Text,
    UInt8,
    UInt16,
    UInt32,
    UserValue,
    build,
    field,
    prop,
)
from terrazzo.errors import DefinitionError, ValueRejected
from terrazzo.schema import types
from terrazzo.schema.classes.records import record_type_of


class Item(Record):
    kind: UInt32
    count: UInt16 = 1
    limit: ClassVar[int] = 99

    def is_full(self) -> bool:
        return self.count >= self.limit


class Chest(Item, type_name="CHEST"):
    inside: Array[Item] = []  # noqa: RUF012
    kind: UInt16 = 7
    note: Text = field(saved=False, database_length=20)


def test_fields_in_order_parents_first_and_redeclared_in_place() -> None:
    made = record_type_of(Chest)
    assert [each.name for each in made.fields] == ["kind", "count", "inside", "note"]
    kind, count, inside, note = made.fields
    assert (kind.type, kind.default) == (types.UINT16, 7)
    assert (count.type, count.default) == (types.UINT16, 1)
    assert inside.default == []
    assert (note.persistent, note.database_length, note.default) == (False, 20, None)
    assert (made.spell(), made.record_class) == ("CHEST", Chest)


def test_a_value_before_any_schema() -> None:
    item = Item(kind=3)
    assert (item.kind, item.count) == (3, 1)
    assert item == {"kind": 3, "count": 1}
    assert isinstance(item, Item)
    assert not item.is_full()
    item.count = 99
    assert item.is_full()
    assert repr(item) == "Item(kind=3, count=99)"
    with pytest.raises(ValueRejected):
        item.count = -1
    with pytest.raises(ValueRejected):
        Item(kind="three")  # type: ignore[arg-type]


def test_values_do_not_share_defaults() -> None:
    first, second = Chest(note="a"), Chest(note="b")
    first.inside.append(Item(kind=1))
    assert second.inside == []
    assert Chest(note="c").inside == []


def test_wrong_construction_is_refused_with_the_fields() -> None:
    with pytest.raises(ValueRejected, match=r"Item needs kind; it is made as Item\(kind=…, count=1\)"):
        Item()  # type: ignore[call-arg]
    with pytest.raises(ValueRejected, match=r"Item has no field weight; .*kind=…, count=1"):
        Item(kind=1, weight=3)  # type: ignore[call-arg]
    with pytest.raises(ValueRejected, match="Chest takes its fields by name"):
        Chest(3, note="b")  # type: ignore[call-arg]
    with pytest.raises(ValueRejected, match="Item needs kind"):
        Item(3)  # type: ignore[call-arg]


class Meta(Record):
    """Names that the class of Records uses itself."""

    names: Array[Text]
    declared: UInt8
    type_name: Text = "t"
    required: UInt8 = 2
    all_fields: UInt8 = 3
    data_type_of: UInt8 = 4


def test_fields_may_have_any_public_name() -> None:
    meta = Meta(names=["a"], declared=1)
    assert dict(meta) == {
        "names": ["a"],
        "declared": 1,
        "type_name": "t",
        "required": 2,
        "all_fields": 3,
        "data_type_of": 4,
    }
    assert [getattr(meta, each) for each in meta] == [["a"], 1, "t", 2, 3, 4]


def test_a_record_and_an_equal_definition_are_equal_types() -> None:
    made = record_type_of(Item)
    assert made == types.RecordType((types.Field("kind", types.UINT32), types.Field("count", types.UINT16, default=1)))


def test_values_are_those_of_the_schema() -> None:
    class Bag(EntityType):
        items: "Array[Item]" = prop(OWN_CLIENT, default=[{"kind": 1, "count": 2}])  # noqa: UP037

    (items,) = build([Bag]).checked()["Bag"].properties
    (first,) = items.new_default()
    assert isinstance(first, Item)
    assert first == Item(kind=1, count=2)


class Reserved(Record):
    copy: UInt8  # type: ignore[assignment]
    _hidden: UInt8


class Narrow(Record):
    small: Int8 = 300


class Ring(Record):
    next: Array[Ring]


class Riddle(UserValue):
    def to_stream(self) -> bytes:
        return b""


class Box(Record):
    riddle: Riddle = Riddle()


@pytest.mark.parametrize(
    ("cls", "kinds"),
    [
        (Reserved, ["reserved name", "reserved name"]),
        (Narrow, ["bad default"]),
        (Ring, ["circular alias"]),
        (Box, ["bad default"]),
    ],
)
def test_mistakes_of_a_record_are_raised_when_a_value_is_made(cls: type[Record], kinds: list[str]) -> None:
    for _ in range(2):
        with pytest.raises(DefinitionError) as caught:
            cls()
        assert [each.kind for each in caught.value.problems] == kinds
