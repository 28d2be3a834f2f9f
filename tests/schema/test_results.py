"""What a method returns, as bytes and back; and methods by their names."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError, ValueRejected
from terrazzo.schema.model import Argument, EntitySchema, Method, Side
from terrazzo.schema.types import IntType, TextType

INT, TEXT = IntType(32, True), TextType()
ONE, TWO = Method("one", returns=(Argument(INT),)), Method("two", returns=(Argument(INT), Argument(TEXT)))


@given(st.integers(-(2**31), 2**31 - 1), st.text())
def test_results_come_back_as_they_were(number, text):
    assert ONE.decode_result(ONE.encode_result(number)) == number
    assert TWO.decode_result(TWO.encode_result((number, text))) == (number, text)


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        (ONE, "much", "one: .*INT32"),
        (ONE, None, "one: .*INT32"),
        (TWO, 5, "two: expected to return"),
        (TWO, (5,), "two: expected to return"),
        (TWO, (5, 6), "two: .*result 2"),
    ],
)
def test_result_that_was_not_declared_is_refused(method, result, words):
    with pytest.raises(ValueRejected, match=words):
        method.encode_result(result)


@given(st.binary(max_size=12))
def test_decoding_is_total(data):
    for method in (ONE, TWO):
        with suppress(DecodeError):
            method.decode_result(data)


def test_methods_by_name():
    schema = EntitySchema("Avatar", 1, cell_methods=(ONE, Method("two", component="health")))
    assert schema.find_method(Side.CELL, "one") == (0, ONE)
    assert schema.find_method(Side.CELL, "two", "health")[0] == 1
    with pytest.raises(UsageError, match="Avatar has no base method 'one'; it has none"):
        schema.find_method(Side.BASE, "one")
    with pytest.raises(UsageError, match="health of Avatar has no cell method 'one'; it has two"):
        schema.find_method(Side.CELL, "one", "health")
