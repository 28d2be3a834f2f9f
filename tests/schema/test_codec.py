"""Codecs: round trips of every type, refusals with their errors, and that decoding is total and bounded."""

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed.codec import RecordCodec
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.schema import types as t
from terrazzo.schema.plaindata import Opaque
from tests.schema.strategies import SCALARS, data_types, round_to_single, values

ITEM = t.RecordType((t.Field("kind", t.UINT32), t.Field("count", t.UINT16, default=1)), alias="ITEM")
BAG = t.SequenceType(ITEM)


@given(st.data())
def test_round_trip(data):
    data_type = data.draw(data_types)
    plain = data.draw(values(data_type))
    codec = data_type.codec
    value = codec.check(plain)
    encoded = codec.encode(value)
    assert value == plain
    assert codec.encode(plain) == encoded
    assert codec.decode(encoded) == value
    assert codec.encode(codec.decode(encoded)) == encoded
    assert codec.fixed in (-1, len(encoded))
    assert codec.least <= len(encoded)
    following, end = codec.decode_from(b"ab" + encoded + b"cd", 2)
    assert (following, end) == (value, 2 + len(encoded))


@pytest.mark.parametrize("data_type", SCALARS, ids=lambda each: each.spell())
def test_default_round_trips(data_type):
    default = data_type.default()
    assert data_type.codec.decode(data_type.codec.encode(default)) == default
    assert data_type.codec.check(default) == default


@given(data_types, st.binary(max_size=64))
def test_decoding_any_bytes_gives_a_value_or_a_decode_error(data_type, data):
    codec = data_type.codec
    try:
        value, end = codec.decode_from(data, 0)
    except DecodeError as problem:
        assert 0 <= problem.offset <= len(data)
        return
    assert codec.decode(codec.encode(value)) == value or "nan" in repr(value)
    assert end <= len(data)


@given(st.data())
def test_decoding_mutated_bytes_gives_a_value_or_a_decode_error(data):
    data_type = data.draw(data_types)
    encoded = bytearray(data_type.codec.encode(data.draw(values(data_type))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(encoded)))
        change = data.draw(st.sampled_from(["flip", "cut", "add"]))
        if change == "flip" and place < len(encoded):
            encoded[place] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]))
        elif change == "cut":
            del encoded[place:]
        else:
            encoded[place:place] = data.draw(st.binary(max_size=4))
    try:
        data_type.codec.decode(bytes(encoded))
    except DecodeError as problem:
        assert 0 <= problem.offset <= len(encoded)


@pytest.mark.parametrize(
    "data_type",
    [t.STRING, t.UNICODE_STRING, t.BLOB, t.PYTHON, t.UserType("a.b"), t.SequenceType(t.UINT8), BAG,
     t.SequenceType(t.SequenceType(t.UINT8)), t.SequenceType(t.UINT8, None, True)],
    ids=lambda each: each.spell(),
)  # fmt: skip
@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\xff\xff\xff\xff" + b"\xff" * 40, b"\xfe"])
def test_a_length_that_the_data_does_not_back_allocates_nothing(data_type, data):
    codec = data_type.codec
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            codec.decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000


def test_python_values_do_not_allocate_by_their_counts():
    for tag in b"ltSmsb":
        with pytest.raises(DecodeError):
            t.PYTHON.codec.decode(bytes([7, 0xC1, tag, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]))


def test_an_array_of_elements_without_bytes_is_refused_when_it_is_built():
    from terrazzo.errors import UsageError

    with pytest.raises(UsageError, match="fixed size"):
        t.SequenceType(t.RecordType(())).codec


REFUSED = [
    (t.INT8, 128, "expected INT8 (-128 … 127), got 128 (int)"),
    (t.INT8, -129, "expected INT8"),
    (t.UINT64, 2**64, "expected UINT64 (0 … 18446744073709551615)"),
    (t.UINT64, -1, "expected UINT64"),
    (t.INT64, 2**63, "expected INT64"),
    (t.INT64, -(2**200), "expected INT64"),
    (t.INT16, 1.0, "expected INT16 (-32768 … 32767), got 1.0 (float)"),
    (t.INT16, "1", "got '1' (str)"),
    (t.INT16, None, "got None (NoneType)"),
    (t.BOOL, 2, "expected BOOL (True or False), got 2 (int)"),
    (t.BOOL, None, "expected BOOL"),
    (t.FLOAT32, 1e39, "expected FLOAT32 (at most 3.4e38)"),
    (t.FLOAT32, "1", "expected FLOAT32 (a number)"),
    (t.FLOAT64, 10**400, "expected FLOAT64 (a number)"),
    (t.VECTOR3, (1, 2), "expected VECTOR3 (3 numbers)"),
    (t.VECTOR3, 5, "expected VECTOR3 (3 numbers)"),
    (t.VECTOR2, "ab", "expected VECTOR2 (2 numbers)"),
    (t.VECTOR2, (1, "x"), "expected VECTOR2 (a number), got 'x'"),
    (t.STRING, "text", "which is bytes (for text declare UNICODE_STRING)"),
    (t.UNICODE_STRING, b"bytes", "which is text (str)"),
    (t.UNICODE_STRING, "\ud800", "without lone surrogates"),
    (t.BLOB, [1], "expected BLOB, which is bytes"),
    (t.PYTHON, object(), "expected plain data"),
    (t.PYTHON, {"a": {"b": object()}}, "expected plain data"),
    (t.MAILBOX, 7, "expected a Ref or None"),
    (t.UDO_REF, b"short", "expected 16 bytes"),
    (t.UserType("a.b"), 5, "expected bytes"),
    (BAG, 5, "which is a list"),
    (BAG, "abc", "which is a list"),
    (BAG, [{"kind": 1, "count": 70000}], "[0].count: expected UINT16 (0 … 65535), got 70000"),
    (BAG, [{"kind": 1, "count": 1}, {"kind": -1, "count": 1}], "[1].kind: expected UINT32"),
    (ITEM, {"kind": 1}, "expected ITEM with the fields kind, count"),
    (ITEM, {"kind": 1, "count": 1, "more": 2}, "expected ITEM with the fields kind, count"),
    (ITEM, {"kind": 1, "cuont": 1}, "expected ITEM with the fields kind, count"),
    (ITEM, None, "expected ITEM with the fields kind, count, got None"),
    (t.SequenceType(t.UINT8, 3), [1, 2], "of 3 elements, got 2"),
    (t.SequenceType(t.UINT8, 2, True), (1, 300), "[1]: expected UINT8"),
]


@pytest.mark.parametrize(("data_type", "value", "words"), REFUSED, ids=range(len(REFUSED)))
def test_check_and_encode_refuse_alike(data_type, value, words):
    with pytest.raises(ValueRejected) as from_check:
        data_type.codec.check(value)
    with pytest.raises(ValueRejected) as from_encode:
        data_type.codec.encode(value)
    assert words in str(from_check.value)
    assert str(from_check.value) == str(from_encode.value)


def test_too_long_values_are_refused():
    with pytest.raises(ValueRejected, match="at most 16777215 bytes"):
        t.BLOB.codec.check(bytes(1 << 24))
    with pytest.raises(ValueRejected, match="at most 16777215 elements"):
        t.SequenceType(t.UINT8).codec.check([0] * (1 << 24))


def test_values_become_canonical():
    assert t.FLOAT32.codec.check(0.1) == round_to_single(0.1) != 0.1
    assert type(t.FLOAT64.codec.check(3)) is float
    assert type(t.INT16.codec.check(True)) is int
    assert t.BOOL.codec.check(1) is True
    assert t.BLOB.codec.check(bytearray(b"ab")) == b"ab"
    vector = t.VECTOR3.codec.check([1, 2, 0.1])
    assert vector.z == round_to_single(0.1)
    assert math.isnan(t.FLOAT32.codec.check(float("nan")))
    assert t.FLOAT32.codec.check(float("inf")) == float("inf")


def test_foreign_python_bytes_stay_as_they_are():
    pickled = bytes.fromhex("80024e2e")
    value = t.PYTHON.codec.decode(bytes([len(pickled)]) + pickled)
    assert isinstance(value, Opaque)
    assert value == pickled
    assert t.PYTHON.codec.encode(value) == bytes([len(pickled)]) + pickled


def test_records_fill_missing_fields_from_defaults_only_when_made():
    codec = ITEM.codec
    assert isinstance(codec, RecordCodec)
    made = codec.make({"kind": 7})
    assert made == {"kind": 7, "count": 1}
    with pytest.raises(ValueRejected, match="'cuont'"):
        codec.make({"cuont": 1})
    with pytest.raises(ValueRejected, match=r"ITEM\.count: expected UINT16"):
        codec.make({"count": -1})


def test_a_user_class_that_raises_on_foreign_bytes_is_a_decode_error():
    from terrazzo._speed.values import UserValue

    class Touchy(UserValue):
        def to_stream(self):
            return b"ok"

        @classmethod
        def from_stream(cls, data):
            raise RuntimeError("no")

    codec = t.UserType("touchy", Touchy).codec
    assert codec.encode(Touchy()) == b"\x02ok"
    with pytest.raises(DecodeError, match="was refused: RuntimeError: no"):
        codec.decode(b"\x02ok")
    with pytest.raises(ValueRejected, match="expected Touchy"):
        codec.check(b"ok")


def test_a_row_names_the_value_that_does_not_fit():
    from terrazzo._speed.codec import RowCodec

    row = RowCodec(("hp", "bag"), (t.INT16.codec, BAG.codec))
    assert row.decode(row.encode([5, []])) == [5, []]
    with pytest.raises(ValueRejected, match=r"bag\[0\]\.count: expected UINT16"):
        row.encode([5, [{"kind": 1, "count": -1}]])
    with pytest.raises(ValueRejected, match="expected 2 values, got 1"):
        row.encode([5])
    with pytest.raises(DecodeError, match="1 bytes too many"):
        row.decode(b"\x05\x00\x00\x00")
