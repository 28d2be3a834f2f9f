"""Lanes of moves: what goes on, under which number, and what does not; both forms alike."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed.movers import ROW
from terrazzo.sync.protocol import MOVE_BYTES, encode_move
from tests.speed.forms import FORMS, form_of

COMING = struct.Struct("<I6f")
PLACE = (1.0, 2.0, 3.0, 0.5, 0.25, 0.125)

over_forms = pytest.mark.parametrize("form", FORMS)


def lanes_of(form):
    module = form_of(form, "lanes")
    return module.MoveLanes(), module.MoveLane


def packed(form, lanes):
    return form_of(form, "lanes").pack_rows(lanes.take_waiting())


@over_forms
def test_move_goes_on_with_its_entity_and_the_next_number(form):
    lanes, MoveLane = lanes_of(form)
    first, second = MoveLane(7), MoveLane(-8)
    tags = [lanes.open(first), lanes.open(second)]
    rows = b"".join(COMING.pack(tag, *PLACE) for tag in (*tags, tags[0]))
    assert lanes.read(rows) == []
    assert packed(form, lanes) == ROW.pack(7, 2, *PLACE) + ROW.pack(-8, 1, *PLACE), "of the first one the latest"
    assert packed(form, lanes) == b""
    assert (first.number, second.number) == (2, 1)


@over_forms
def test_lane_that_is_kept_waits_with_its_latest_move_before_those_that_came_later(form):
    lanes, MoveLane = lanes_of(form)
    first, second = MoveLane(7), MoveLane(8)
    tags = [lanes.open(first), lanes.open(second)]
    lanes.read(COMING.pack(tags[0], *PLACE))
    waiting = lanes.take_waiting()
    assert waiting == [first]
    lanes.read(COMING.pack(tags[1], *PLACE) + COMING.pack(tags[0], *PLACE[::-1]))
    lanes.keep(waiting)
    assert packed(form, lanes) == ROW.pack(7, 2, *PLACE[::-1]) + ROW.pack(8, 1, *PLACE)
    assert not first.waits
    lanes.note(first, encode_move(PLACE[:3], PLACE[3:])[1:])
    assert packed(form, lanes) == ROW.pack(7, 3, *PLACE)
    with pytest.raises(ValueError):
        lanes.note(first, b"short")


@over_forms
def test_lane_has_what_its_owner_keeps_for_it(form):
    _, MoveLane = lanes_of(form)
    owner = object()
    assert MoveLane(7, owner).client is owner
    assert MoveLane(7).client is None


@over_forms
def test_row_of_a_closed_lane_is_passed_over_and_its_tag_is_not_given_again(form):
    lanes, MoveLane = lanes_of(form)
    lane = MoveLane(7)
    tag = lanes.open(lane)
    lanes.close(lane)
    lanes.close(lane)
    assert lane.tag == 0
    assert lanes.open(MoveLane(8)) != tag
    assert lanes.read(COMING.pack(tag, *PLACE)) == []
    assert packed(form, lanes) == b""


@over_forms
def test_number_goes_on_when_a_lane_is_opened_again(form):
    lanes, MoveLane = lanes_of(form)
    lane = MoveLane(7)
    lane.number = 40
    lanes.open(lane)
    tag = lanes.open(lane)
    assert lanes.read(COMING.pack(tag, *PLACE)) == []
    assert packed(form, lanes) == ROW.pack(7, 41, *PLACE)


@over_forms
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("at", range(6))
def test_value_that_is_not_finite_is_no_place(form, bad, at):
    lanes, MoveLane = lanes_of(form)
    lane = MoveLane(7)
    tag = lanes.open(lane)
    place = (*PLACE[:at], bad, *PLACE[at + 1 :])
    assert lanes.read(COMING.pack(tag, *place)) == [7]
    assert lane.number == 0
    assert packed(form, lanes) == b""


def test_lane_row_is_a_move_without_its_first_byte():
    move = encode_move(PLACE[:3], PLACE[3:])
    assert len(move) == MOVE_BYTES
    assert COMING.pack(9, *PLACE) == struct.pack("<I", 9) + move[1:]


@given(st.binary(max_size=200))
def test_both_forms_read_any_bytes_alike(data):
    found = []
    for form in FORMS:
        lanes, MoveLane = lanes_of(form)
        opened = [MoveLane(n) for n in (1, 2, 3)]
        for lane in opened:
            lanes.open(lane)
        bad = lanes.read(data) + lanes.read(b"\1\0\0\0" + data)
        found.append((bad, packed(form, lanes), [lane.number for lane in opened]))
    assert all(each == found[0] for each in found)
