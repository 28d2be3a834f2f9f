"""Calls and lists of properties as streams, the way client and server exchange them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.schema import types as t
from terrazzo.schema.model import Argument, Method
from tests.schema.golden import tree

HIT = Method("hit", (Argument(t.INT32, "target"), Argument(t.INT16, "power")))


def test_arguments_go_by_position_or_by_name():
    data = bytes.fromhex("07000000 0500")
    assert HIT.encode_args(7, 5) == HIT.encode_args(7, power=5) == HIT.encode_args(power=5, target=7) == data
    assert HIT.decode_args(data) == [7, 5]


@pytest.mark.parametrize(
    ("args", "named"), [((7,), {}), ((7, 5, 6), {}), ((7,), {"powr": 5}), ((7, 5), {"power": 5}), ((), {"power": 5})]
)
def test_wrong_arguments_are_refused_with_the_signature(args, named):
    with pytest.raises(ValueRejected, match=r"hit: expected the arguments \(target: INT32, power: INT16\), got \("):
        HIT.encode_args(*args, **named)


def test_a_wrong_value_is_refused_with_method_and_argument():
    with pytest.raises(ValueRejected, match=r"hit: power: expected INT16 .*, got 40000"):
        HIT.encode_args(7, 40000)
    unnamed = Method("nod", (Argument(t.UINT8),))
    with pytest.raises(ValueRejected, match=r"nod: argument 1: expected UINT8"):
        unnamed.encode_args(-1)


def test_a_call_takes_its_whole_stream():
    with pytest.raises(DecodeError):
        HIT.decode_args(b"\x07\0\0\0\x05")
    with pytest.raises(DecodeError):
        HIT.decode_args(b"\x07\0\0\0\x05\0\0")


def test_some_properties_by_index():
    layout = tree()["Traveller"].client_layout
    some = {layout.index["guildRank"]: 3, layout.index["displayName"]: "Ana", layout.index["openOffer"]: None}
    data = layout.encode_some(some)
    assert data == bytes.fromhex("03 0003 0d03416e61 0e00")
    assert layout.decode_some(data) == some


@given(st.binary(max_size=40))
def test_any_bytes_as_properties_are_read_or_refused(data):
    layout = tree()["Traveller"].client_layout
    try:
        values = layout.decode_some(data)
    except DecodeError:
        return
    assert layout.decode_some(layout.encode_some(values)).keys() == values.keys()


def test_the_own_client_gets_its_parts_in_declared_order():
    entity = tree()["Traveller"]
    assert entity.base_player_layout.names == ("debt", "journal", "letters")
    data = entity.base_player_layout.row.encode([-1, [b"a"], b"xyz"])
    assert data == bytes.fromhex("ffffffffffffffff 010161 0378797a")
    assert entity.base_player_layout.row.decode(data) == [-1, [b"a"], b"xyz"]
