"""Reading PLACES: golden bytes, and that any bytes give places or a DecodeError."""

from math import isfinite, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from terrazzo.sync.places import PackedPlace, PlacesMessage, decode_places, unpack12, unpack16, unpack_angle

HEAD = bytes.fromhex("07 640000 ceffff 00002041")  # tick 7, x 100, z -50, y 10


def test_no_sections():
    assert decode_places(HEAD) == PlacesMessage(7, [])


def test_ground():
    body = HEAD + bytes.fromhex("01 02") + bytes.fromhex("05 000080 40") + bytes.fromhex("ff2c01 ff0780 c0")
    assert decode_places(body).entries == [
        PackedPlace(5, (100.0, 10.0, -50.0), (pi / 2,)),
        PackedPlace(300, (609.0, 10.0, -50.0), (-pi / 2,)),
    ]


def test_air():
    body = HEAD + bytes.fromhex("07 01 09 800000 00c0 00 01 ff")
    assert decode_places(body).entries == [PackedPlace(9, (101.0, 10.0 - 510.0, -50.0), (0.0, pi / 128, -pi / 128))]


def test_full():
    body = HEAD + bytes.fromhex("09 01 01 0000803f 00000040 00004040 0000803e")
    assert decode_places(body).entries == [PackedPlace(1, (1.0, 2.0, 3.0), (0.25,))]


def test_sections_follow_each_other():
    body = HEAD + bytes.fromhex("00 01 01 000000") + bytes.fromhex("00 00") + bytes.fromhex("04 01 02 000000 0000")
    assert [entry.alias for entry in decode_places(body).entries] == [1, 2]


@pytest.mark.parametrize(
    ("code", "metres"),
    [(0x000, 0.0), (0x800, 0.0), (0x001, 1 / 128), (0x100, 2.0), (0x7FF, 509.0), (0xFFF, -509.0), (0x980, -4.0)],
)
def test_12_bits(code, metres):
    assert unpack12(code) == metres


@pytest.mark.parametrize(
    ("code", "metres"), [(0, 0.0), (1, 1 / 1024), (0x0800, 2.0), (0x7FFF, 131_038.0), (0x8800, -2.0)]
)
def test_16_bits(code, metres):
    assert unpack16(code) == metres


def test_angles():
    assert [unpack_angle(code) for code in (0, 64, 127, 128, 255)] == [0.0, pi / 2, pi * 127 / 128, -pi, -pi / 128]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (HEAD[:-1], "reference"),
        (HEAD[:7] + bytes.fromhex("0000807f"), "finite"),
        (HEAD + b"\x00", "form and a count"),
        (HEAD + bytes.fromhex("0c 01 01 000000"), "no form 12"),
        (HEAD + bytes.fromhex("ff 00"), "no form 255"),
        (HEAD + bytes.fromhex("00 01"), "alias"),
        (HEAD + bytes.fromhex("00 01 ff2c"), "alias"),
        (HEAD + bytes.fromhex("00 01 ff0500 000000"), "longer form"),
        (HEAD + bytes.fromhex("00 01 05 0000"), "cut off"),
        (HEAD + bytes.fromhex("08 01 05 0000803f 0000803f 0000c07f"), "not finite"),
    ],
)
def test_malformed_places_raise_with_the_reason(body, problem):
    with pytest.raises(DecodeError, match=problem):
        decode_places(body)


@given(st.binary(max_size=60), st.booleans())
def test_reading_is_total(body, with_head):
    try:
        places = decode_places(HEAD + body if with_head else body)
    except DecodeError:
        return
    assert all(isfinite(value) for entry in places.entries for value in (*entry.position, *entry.angles))
