"""Positions that clients send: which are accepted, which are refused, which are skipped."""

from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed import COMPILED
from terrazzo._speed.movers import AGAIN_S, ASK, OUT_OF_BOUNDS, ROW, TOO_FAST, Row, pack_row
from terrazzo.errors import DecodeError
from tests.speed.forms import FORMS, form_of

NORTH = (0.0, 0.0, 0.0)
TURNED = (1.5, 0.25, -0.5)
TOP_SPEED = 10.0
BOUNDS = (-100.0, -100.0, 100.0, 100.0)


class Field:
    """An area with one client's avatar, entity 7, in the middle."""

    def __init__(self, form, *, has_veto=False):
        self.area = form_of(form, "area").Area()
        self.movers = form_of(form, "movers").Movers(self.area)
        self.slot = self.area.add(7, NORTH, NORTH, 0.0, 0, 0)
        self.movers.enter(self.slot, 0, 1.0, -1.0, 50.0, has_veto)
        self.number = 0

    def move(self, position, now, *, direction=TURNED, number=None):
        self.number = self.number + 1 if number is None else number
        seen, rest = self.movers.take(pack_row(Row(7, self.number, position, direction)), now, TOP_SPEED, BOUNDS)
        assert rest == b""
        return [kind for kind, _ in seen]

    @property
    def x(self):
        return self.area.position(self.slot)[0]


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


@pytest.fixture
def field(form):
    return Field(form)


def test_move_within_the_allowance_is_accepted(field):
    assert field.move((1.0, 2.0, 3.0), 50.1) == []
    assert field.area.position(field.slot) == (1.0, 2.0, 3.0)
    assert field.area.direction(field.slot) == TURNED


def test_the_allowance_is_used_up_and_grows_again(field):
    assert field.move((9.0, 0.0, 0.0), 50.0) == []
    assert field.move((11.0, 0.0, 0.0), 50.0) == [TOO_FAST]
    assert field.x == 9.0
    assert field.move((11.0, 0.0, 0.0), 50.2) == []
    assert field.x == 11.0


def test_the_allowance_is_at_most_a_second(field):
    assert field.move((10.1, 0.0, 0.0), 90.0) == [TOO_FAST]
    assert field.move((9.9, 0.0, 0.0), 90.0) == []


def test_height_counts_as_way(field):
    assert field.move((0.0, 10.1, 0.0), 50.0) == [TOO_FAST]


@pytest.mark.parametrize("position", [(101.0, 0.0, 0.0), (0.0, 0.0, -101.0), (nan, 0.0, 0.0), (0.0, inf, 0.0)])
def test_out_of_bounds(field, position):
    assert field.move(position, 50.0) == [OUT_OF_BOUNDS]
    assert field.x == 0.0


def test_the_far_edge_is_in_bounds(field):
    field.area.put(field.slot, (99.0, 0.0, 0.0), NORTH)
    assert field.move((100.0, 0.0, 0.0), 50.0) == []


def test_a_direction_must_be_finite(field):
    assert field.move((1.0, 0.0, 0.0), 50.0, direction=(nan, 0.0, 0.0)) == [OUT_OF_BOUNDS]


def test_after_a_correction_what_is_far_is_passed_over(field):
    field.movers.correct(field.slot, 50.0)
    assert field.movers.is_corrected(field.slot)
    assert field.move((9.0, 0.0, 0.0), 50.0) == []
    assert field.move((500.0, 0.0, 0.0), 50.0) == []
    assert field.x == 0.0
    assert field.move((1.9, 0.0, 0.0), 50.0) == []
    assert not field.movers.is_corrected(field.slot)
    assert field.x == pytest.approx(1.9)


def test_near_grows_with_time(field):
    field.movers.correct(field.slot, 50.0)
    assert field.move((6.0, 0.0, 0.0), 50.5) == []
    assert field.x == 0.0
    assert field.move((6.0, 0.0, 0.0), 50.9) == []
    assert field.x == 6.0


@pytest.mark.parametrize(("position", "kind"), [((90.0, 0.0, 0.0), TOO_FAST), ((500.0, 0.0, 0.0), OUT_OF_BOUNDS)])
def test_client_that_ignores_a_correction_is_corrected_again(field, position, kind):
    field.movers.correct(field.slot, 50.0)
    assert field.move(position, 50.0 + AGAIN_S - 0.1) == []
    assert field.move(position, 50.0 + AGAIN_S) == [kind]
    assert field.movers.is_corrected(field.slot)
    field.movers.correct(field.slot, 50.0 + AGAIN_S)
    assert field.move(position, 50.1 + AGAIN_S) == []
    assert field.x == 0.0


def test_what_was_overtaken_is_passed_over(field):
    field.move((1.0, 0.0, 0.0), 50.0, number=5)
    assert field.move((2.0, 0.0, 0.0), 50.0, number=4) == []
    assert field.x == 1.0
    field.move((2.0, 0.0, 0.0), 50.0, number=6)
    assert field.x == 2.0


def test_where_the_game_has_a_veto_it_is_asked(form):
    field = Field(form, has_veto=True)
    assert field.move((1.0, 0.0, 0.0), 50.0) == [ASK]
    assert field.x == 0.0
    assert field.move((20.0, 0.0, 0.0), 50.0) == [TOO_FAST]


def test_the_rows_of_others_come_back_as_they_are(field):
    mine, ghost, nobody = (ROW.pack(entity, 1, 1, 0, 0, 0, 0, 0) for entity in (7, 8, 9))
    field.area.add(8, NORTH, NORTH, 0.0, 0, 0)
    assert field.movers.take(nobody + mine + ghost, 50.0, TOP_SPEED, BOUNDS) == ([], nobody + ghost)
    assert field.x == 1.0


def test_what_comes_to_the_caller_is_whole(field):
    row = Row(7, 3, (50.0, 2.0, 1.0), TURNED)
    assert field.movers.take(pack_row(row), 50.0, TOP_SPEED, BOUNDS) == ([(TOO_FAST, row)], b"")


def test_slot_without_a_mover_is_refused(field):
    assert field.movers.has(field.slot)
    field.movers.leave(field.slot)
    field.movers.leave(field.slot)
    assert not field.movers.has(field.slot)
    assert not field.movers.has(1000)
    row = pack_row(Row(7, 1, NORTH, NORTH))
    assert field.movers.take(row, 50.0, TOP_SPEED, BOUNDS) == ([], row)
    for act in (
        field.movers.is_corrected,
        lambda slot: field.movers.pack(slot, 1.0),
        lambda slot: field.movers.correct(slot, 1.0),
    ):
        with pytest.raises(KeyError):
            act(field.slot)


def test_packed_and_entered_again(form, field):
    field.move((4.0, 0.0, 0.0), 50.0)
    field.movers.correct(field.slot, 50.0)
    number, allowance_s, corrected_s = packed = field.movers.pack(field.slot, 50.25)
    assert packed == (1, pytest.approx(0.85), 0.25)
    other = Field(form)
    other.movers.enter(other.slot, number, allowance_s, corrected_s, 1000.0, False)
    assert other.movers.pack(other.slot, 1000.0) == packed
    field.movers.leave(field.slot)
    field.movers.enter(field.slot, 0, 1.0, -1.0, 0.0, False)
    assert field.movers.pack(field.slot, 7.0) == (0, 1.0, -1.0)


def test_rows_that_are_cut_short(field):
    with pytest.raises(DecodeError):
        field.movers.take(bytes(33), 50.0, TOP_SPEED, BOUNDS)


metres = st.one_of(st.floats(-5, 5, width=32), st.floats(width=32), st.sampled_from([0.0, 100.0, -100.0, 101.0]))
rows = st.builds(
    lambda entity, number, *place: ROW.pack(entity, number, *place),
    st.integers(5, 9),
    st.integers(0, 20),
    *[metres] * 6,
)
acts = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "correct", "leave", "enter"]),
        st.lists(rows, max_size=4),
        st.floats(0, 2),
    )
)


def play(form, script):
    area = form_of(form, "area").Area()
    movers = form_of(form, "movers").Movers(area)
    slots = [area.add(entity, NORTH, NORTH, 0.0, 0, 0) for entity in range(5, 9)]
    for slot in slots[:3]:
        movers.enter(slot, 0, 1.0, -1.0, 0.0, slot == slots[0])
    now, told = 0.0, []
    for what, several, later in script:
        now += later
        slot = slots[1]
        if what == "take":
            # NaN is not itself: as text it is.
            told.append(repr(movers.take(b"".join(several), now, TOP_SPEED, BOUNDS)))
        elif what == "enter":
            movers.enter(slot, 3, 0.5, later, now, False)
        elif what == "leave":
            movers.leave(slot)
        elif movers.has(slot):
            movers.correct(slot, now)
            told.append(repr(movers.pack(slot, now + later)))
        told.append(repr([area.position(slot) for slot in slots]))
    return told


@pytest.mark.skipif(not COMPILED, reason="no compiled form is in use")
@settings(max_examples=200, deadline=None)
@given(acts)
def test_both_forms_do_the_same(script):
    assert play("plain", script) == play("compiled", script)
