"""Values of one type become values of another, or are refused; none is changed in secret."""

from __future__ import annotations

import pytest

from terrazzo.db.conversion import converter, lost_fields
from terrazzo.errors import ValueRejected
from terrazzo.schema.saved_layout import read_form


def converted(value, old, new, renames=None):
    before, after = read_form(old), read_form(new)
    given = before.codec.decode(before.codec.encode(before.codec.check(value)))
    return after.codec.check(converter(before, after, "A.p", renames or {})(given))


@pytest.mark.parametrize(
    ("value", "old", "new", "result"),
    [
        (300, "INT32", "INT16", 300),
        (7, "UINT8", "INT64", 7),
        (1, "UINT8", "BOOL", True),
        (True, "BOOL", "INT8", 1),
        (3, "INT32", "FLOAT32", 3.0),
        (2.0, "FLOAT64", "INT8", 2),
        (0.1, "FLOAT64", "FLOAT32", pytest.approx(0.1)),
        ("Ä", "UNICODE_STRING", "BLOB", "Ä".encode()),
        ("Ä".encode(), "STRING", "UNICODE_STRING", "Ä"),
        (b"a", "STRING", "BLOB", b"a"),
        (5, "INT32", "PYTHON", 5),
        ([1, 2], "ARRAY(INT8)", "TUPLE[2](INT32)", (1, 2)),
    ],
)
def test_value_is_the_same_in_the_new_type(value, old, new, result):
    assert converted(value, old, new) == result


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (300, "INT32", "INT8"),
        (-1, "INT8", "UINT64"),
        (2, "UINT8", "BOOL"),
        (2**24 + 1, "INT32", "FLOAT32"),
        (2**53 + 1, "INT64", "FLOAT64"),
        (0.5, "FLOAT64", "INT32"),
        (float("nan"), "FLOAT64", "INT32"),
        (float("inf"), "FLOAT32", "INT32"),
        (b"\xff", "STRING", "UNICODE_STRING"),
        ("7", "UNICODE_STRING", "INT32"),
        ([1, 2], "ARRAY(INT8)", "TUPLE[3](INT8)"),
        (5, "INT32", "VECTOR2"),
    ],
)
def test_value_that_would_be_another_is_refused(value, old, new):
    with pytest.raises(ValueRejected):
        converted(value, old, new)


def test_record_keeps_its_fields_by_name_and_a_new_one_has_its_default():
    old, new = (
        "ARRAY(FIXED_DICT(item:INT32,count:UINT8,note:STRING))",
        "ARRAY(FIXED_DICT(amount:INT32,item:INT64,n:BLOB))",
    )
    value = [{"item": 4, "count": 2, "note": b"x"}]
    renames = {"A.p.count": "amount"}
    assert converted(value, old, new, renames) == [{"amount": 2, "item": 4, "n": b""}]
    assert list(lost_fields(read_form(old), read_form(new), "A.p", renames)) == ["A.p.note"]


def test_record_that_is_none_stays_none_where_that_is_allowed():
    old, new = "OPTIONAL_FIXED_DICT(a:INT8)", "OPTIONAL_FIXED_DICT(a:INT16)"
    assert converted(None, old, new) is None
    with pytest.raises(ValueRejected):
        converted(None, old, new.removeprefix("OPTIONAL_"))


def test_part_that_has_not_changed_is_kept_as_it_is():
    old, new = "FIXED_DICT(a:ARRAY(INT8),b:INT8)", "FIXED_DICT(a:ARRAY(INT8),b:INT16)"
    assert converted({"a": [1, 2], "b": 3}, old, new) == {"a": [1, 2], "b": 3}
