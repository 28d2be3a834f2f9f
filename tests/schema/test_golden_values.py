"""Every golden value gives its bytes, and its bytes give the value: to the last byte, with other bytes following."""

import math

import pytest

from tests.schema.golden import read, type_of, unhex, value_of

VALUES = read("golden_values.json")


@pytest.mark.parametrize("case", VALUES, ids=lambda case: f"{case['id']}-{case['type'][:30]}")
def test_value(case):
    data_type = type_of(case["type"])
    codec = data_type.codec
    data = unhex(case["hex"])
    assert len(data) == case["bytes"]
    plain = value_of(data_type, case["value"])
    value = codec.check(plain)
    assert codec.encode(value) == data
    assert codec.encode(plain) == data
    decoded = codec.decode(data)
    if isinstance(plain, float) and math.isnan(plain):
        assert math.isnan(decoded)
    else:
        assert decoded == value == plain
    again, end = codec.decode_from(b"\x07" + data + b"\xff\x00\xa5", 1)
    assert end == len(data) + 1
    assert codec.encode(again) == data


@pytest.mark.parametrize("case", VALUES, ids=lambda case: f"{case['id']}-{case['type'][:30]}")
def test_every_cut_is_refused(case):
    """No proper prefix of a value is a value, and the error has the offset at which the bytes ended."""
    from terrazzo.errors import DecodeError

    codec = type_of(case["type"]).codec
    data = unhex(case["hex"])
    cuts = range(len(data)) if len(data) < 300 else [0, 1, 2, 3, 4, len(data) // 2, len(data) - 1]
    for cut in cuts:
        with pytest.raises(DecodeError) as caught:
            codec.decode(data[:cut])
        assert 0 <= caught.value.offset <= cut
