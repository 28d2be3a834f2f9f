"""The saved form of an entity: it survives changes of the definitions."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo import ALL_CLIENTS, BASE, OWN_CLIENT, Array, EntityType, Int16, Int32, Record, Text, UInt8, build, prop
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.record import decode_record, encode_record, saved_properties


class Item(Record):
    kind: UInt8
    count: Int16 = 1


class Hero(EntityType):
    name: Text = prop(ALL_CLIENTS, saved=True)
    hp: Int16 = prop(ALL_CLIENTS, default=100)
    bag: Array[Item] = prop(OWN_CLIENT, saved=True)
    gold: Int32 = prop(BASE, saved=True, default=10)


HERO = build([Hero]).checked()["Hero"]


def changed(**types) -> EntitySchema:
    """Another version of the definitions."""
    namespace = {"__annotations__": dict(types)}
    namespace.update({name: prop(BASE, saved=True) for name in types})
    return build([type("Hero", (EntityType,), namespace)]).checked()["Hero"]


def test_saved_properties_are_the_persistent_ones():
    assert [each.name for each in saved_properties(HERO)] == ["name", "bag", "gold"]
    record = encode_record(HERO, {"name": "Ann", "hp": 3, "bag": [], "gold": 4}, {})
    assert msgspec.msgpack.decode(record) == {"name": b"\x03Ann", "bag": b"\0", "gold": b"\x04\0\0\0"}


items = st.tuples(st.integers(0, 255), st.integers(-(2**15), 2**15 - 1)).map(
    lambda each: Item(kind=each[0], count=each[1])
)


@given(st.text(max_size=20), st.lists(items, max_size=4), st.integers(-(2**31), 2**31 - 1), st.binary(max_size=9))
def test_round_trip(name, bag, gold, extra):
    record = encode_record(HERO, {"name": name, "bag": bag, "gold": gold}, {"@place": extra})
    values, beside = decode_record(HERO, record)
    assert values == {"name": name, "bag": bag, "gold": gold}
    assert beside == {"@place": extra}


def test_missing_values_get_defaults_and_unknown_ones_are_passed_over():
    reports: list[tuple[str, str]] = []
    record = encode_record(changed(gold=Int32, old=Int32), {"gold": 3, "old": 4}, {})
    values, extra = decode_record(HERO, record, lambda *report: reports.append(report))
    assert values == {"name": "", "bag": [], "gold": 3}
    assert extra == {}
    assert reports == []
    assert decode_record(HERO, b"") == ({"name": "", "bag": [], "gold": 10}, {})


def test_a_value_of_another_type_gets_the_default_and_is_reported():
    reports: list[tuple[str, str]] = []
    record = encode_record(changed(gold=Text, name=Text), {"gold": "much", "name": "Ann"}, {})
    values, _ = decode_record(HERO, record, lambda *report: reports.append(report))
    assert values == {"name": "Ann", "bag": [], "gold": 10}
    assert [name for name, _ in reports] == ["gold"]
    assert decode_record(HERO, record)[0]["gold"] == 10


@pytest.mark.parametrize("data", [b"\xff", b"\xc0", b"\x81\xa1a\x01", b"\x81\xa1a\xa1b", b"\x80\x80"])
def test_bytes_that_are_no_record(data):
    with pytest.raises(DecodeError, match="a record is a map"):
        decode_record(HERO, data)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_record_or_a_decode_error(data):
    try:
        values, _ = decode_record(HERO, data)
    except DecodeError:
        return
    assert set(values) == {"name", "bag", "gold"}


def test_mistakes_of_the_caller():
    with pytest.raises(UsageError, match=r"Hero\.gold"):
        encode_record(HERO, {"gold": "much"}, {})
    with pytest.raises(UsageError, match="begin its name"):
        encode_record(HERO, {}, {"place": b""})
