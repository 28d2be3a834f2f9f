"""Frames come out as they went in, however the bytes were cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import DecodeError
from terrazzo.runtime.framing import FrameCutter, frame_header


def framed(frames):
    return b"".join(frame_header(len(frame)) + frame for frame in frames)


@given(st.lists(st.binary(max_size=100), max_size=20), st.lists(st.integers(1, 50), min_size=1))
def test_round_trip(frames, steps):
    data, cutter, out, at, turn = framed(frames), FrameCutter(100, 100), [], 0, 0
    while at < len(data):
        step = steps[turn % len(steps)]
        out += cutter.cut(data[at : at + step])
        at, turn = at + step, turn + 1
    assert out == frames


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_frame_that_is_too_long_is_refused_before_it_is_stored(step):
    data = framed([bytes(10), bytes(101)])
    cutter = FrameCutter(10, 100)

    def feed():
        for at in range(0, len(data), step):
            cutter.cut(data[at : at + step])

    with pytest.raises(DecodeError, match="101 bytes is over the limit of 100"):
        feed()
    assert cutter.held_bytes <= 4


def test_the_first_has_a_limit_of_its_own():
    with pytest.raises(DecodeError, match="limit of 10"):
        FrameCutter(10, 100).cut(framed([bytes(11)]))
