"""The arrays of an area: places, steps that go to ghosts as rows, what is near a point or beyond a border."""

import struct
from array import array
from math import hypot, inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.errors import DecodeError, UsageError
from terrazzo.world.rect import PLANE, Rect
from tests.speed.area_forms import FORMS, name_of

AHEAD = (0.0, 0.0, 0.0)
ROW = struct.Struct("<iqq6f")


@pytest.fixture(params=FORMS, ids=name_of)
def area(request):
    return request.param.Area()


def add(area, entity, x=0.0, z=0.0, *, appeal=0.0, number=0, epoch=1, is_real=False, owner=0, receivers=0):
    slot = area.add(entity, (x, 0.0, z), AHEAD, appeal, number, epoch)
    area.set_real(slot, is_real)
    area.set_owner(slot, owner)
    area.set_receivers(slot, receivers)
    return slot


def test_what_is_put_reads_back_as_float32(area):
    slot = area.add(7, (0.1, -2.5, 1e7 + 1), (3.14159, 0.5, -0.5), 0.0, 41, 3)
    x, y, z = area.position(slot)
    assert (x, y, z) == struct.unpack("<3f", struct.pack("<3f", 0.1, -2.5, 1e7 + 1))
    assert x != 0.1
    assert area.direction(slot) == struct.unpack("<3f", struct.pack("<3f", 3.14159, 0.5, -0.5))
    assert (area.entity(slot), area.find(7), area.find(8)) == (7, slot, -1)
    assert (area.number(slot), area.epoch(slot), area.news(slot)) == (41, 3, 0)
    area.set_number(slot, 2**40)
    area.set_epoch(slot, 2**41)
    area.set_news(slot, 2**42)
    assert (area.number(slot), area.epoch(slot), area.news(slot)) == (2**40, 2**41, 2**42)


def test_the_stamp_grows_with_each_change_of_the_place(area):
    slot = add(area, 1, 5)
    stamps = [area.stamp(slot)]
    for place in [((5, 0, 0), AHEAD), ((5, 1, 0), AHEAD), ((5, 1, 0), (0.5, 0, 0)), ((5, 1, 0), (0.5, 0, 0))]:
        area.put(slot, *place)
        stamps.append(area.stamp(slot))
    assert [stamp - stamps[0] for stamp in stamps] == [0, 0, 1, 2, 2]
    area.step()
    area.remove(slot)
    area.step()
    area.step()
    assert add(area, 2, 5) == slot
    assert area.stamp(slot) > stamps[-1]


def test_many_are_found_after_many_came_and_went(area):
    slots = {entity: add(area, entity, entity) for entity in range(-3000, 3000, 7)}
    for entity in list(slots)[::3]:
        area.remove(slots.pop(entity))
    area.step()
    area.step()
    for entity in range(10_000, 10_400):
        slots[entity] = add(area, entity, entity)
    assert {entity: area.find(entity) for entity in slots} == slots
    assert area.find(-3000) == -1
    assert len(area) == len(slots)
    assert all(area.entity(slot) == entity for entity, slot in slots.items())


def test_many_are_put_at_once(area):
    slots = [add(area, entity) for entity in range(3)]
    area.put_many(array("i", [slots[2], slots[0]]), array("f", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]))
    assert area.position(slots[2]) == (1, 2, 3)
    assert area.direction(slots[0]) == (10, 11, 12)
    assert area.position(slots[1]) == (0, 0, 0)
    for wrong_slots, wrong_places in [
        (array("i", [0]), array("f", [1, 2])),
        (array("i", [9]), array("f", [1] * 6)),
        (array("i", [0]), array("f", [1, 2, 3, 4, 5, nan])),
        (array("b", [0]), array("f", [1] * 6)),
        (array("i", [0]), array("d", [1] * 6)),
    ]:
        with pytest.raises(UsageError):
            area.put_many(wrong_slots, wrong_places)


def test_a_step_is_closed_for_each_real_that_moved(area):
    real = add(area, 1, 1, number=10, epoch=4, is_real=True, receivers=0b101)
    other = add(area, 2, 2, number=20, is_real=True, receivers=1 << 63 | 1)
    alone = add(area, 3, 3, number=30, is_real=True)
    ghost = add(area, 4, 4, number=40, receivers=1)
    assert area.close_places() == []
    for slot in (real, other, alone, ghost):
        area.put(slot, (9, 8, 7), (1, 2, 3))
    assert not area.is_closed(real)
    one, two = ROW.pack(1, 4, 11, 9, 8, 7, 1, 2, 3), ROW.pack(2, 1, 21, 9, 8, 7, 1, 2, 3)
    assert area.close_places() == [(0, one + two), (2, one), (63, two)]
    assert [area.number(slot) for slot in (real, other, alone, ghost)] == [11, 21, 31, 40]
    assert area.is_closed(real)
    assert area.close_places() == []


def test_a_step_closed_with_its_items_is_not_closed_again(area):
    real = add(area, 1, 1, number=10, is_real=True, receivers=1)
    area.put(real, (9, 8, 7), AHEAD)
    assert area.close(real) == 11
    assert area.is_closed(real)
    assert area.close_places() == []
    assert area.number(real) == 11


def test_place_of_an_arriving_real_counts_as_sent(area):
    slot = add(area, 1, 1, number=10, receivers=1)
    area.put(slot, (9, 8, 7), AHEAD)
    area.set_real(slot, True)
    assert area.is_closed(slot)
    assert area.close_places() == []


def test_rows_that_fit_are_applied_and_the_others_come_back(area):
    fits = add(area, 1, number=10, epoch=4, owner=3)
    add(area, 2, number=10, epoch=4, owner=2)
    add(area, 3, number=10, epoch=5, owner=3)
    add(area, 4, number=11, epoch=4, owner=3)
    add(area, 5, number=9, epoch=4, owner=3)
    add(area, 6, number=10, epoch=4, owner=3, is_real=True)
    rows = [ROW.pack(entity, 4, 11, 1, 2, 3, 4, 5, 6) for entity in range(1, 8)]
    stamp = area.stamp(fits)
    others = area.apply_places(b"".join(rows), 3)
    assert [row.entity for row in others] == [2, 3, 4, 5, 6, 7]
    assert others[0] == (2, 4, 11, (1, 2, 3), (4, 5, 6))
    assert others[0].position == (1, 2, 3)
    assert area.position(fits) == (1, 2, 3)
    assert area.direction(fits) == (4, 5, 6)
    assert area.number(fits) == 11
    assert area.stamp(fits) == stamp + 1
    assert area.is_closed(fits)
    more = b"".join(ROW.pack(1, 4, number, number, 0, 0, 0, 0, 0) for number in (12, 13, 15))
    assert [row.number for row in area.apply_places(more, 3)] == [15]
    assert area.position(fits) == (13, 0, 0)


def test_row_with_an_extreme_number_is_given_back(area):
    slot = add(area, 1, number=2**63 - 1, owner=3)
    assert len(area.apply_places(ROW.pack(1, 1, -(2**63), 1, 2, 3, 4, 5, 6), 3)) == 1
    assert area.position(slot) == (0, 0, 0)


def test_rows_that_are_none(area):
    slot = add(area, 1, owner=3)
    good = ROW.pack(1, 1, 1, 1, 2, 3, 4, 5, 6)
    for wrong in (
        good[:-1],
        good + b"x",
        good + ROW.pack(2, 1, 1, 1, 2, 3, 4, 5, inf),
        good + ROW.pack(2, 1, 1, nan, *[0] * 5),
    ):
        with pytest.raises(DecodeError):
            area.apply_places(wrong, 3)
    assert area.position(slot) == (0, 0, 0)
    assert area.apply_places(b"", 3) == []


def test_rows_make_events(area):
    me, ghost = add(area, 1, is_real=True), add(area, 2, 50, owner=3)
    interest = area.watch(me, 10, 0)
    area.step()
    area.apply_places(ROW.pack(2, 1, 1, 5, 0, 0, 0, 0, 0), 3)
    assert [list(each) for each in area.step()] == [[interest], [ghost], [1]]


POINTS = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([0, 0, 5])), max_size=30)


@settings(max_examples=100, deadline=None)
@given(POINTS, st.floats(0, 30), st.booleans())
def test_within_is_nearest_first(points, radius, with_appeal):
    for form in FORMS:
        area = form.Area()
        slots = {}
        for n, (x, z, appeal) in enumerate(points):
            slots[add(area, 1000 - n, x, z, appeal=appeal)] = (x, z, appeal)
        expected = sorted(
            (hypot(x, z), area.entity(slot), slot)
            for slot, (x, z, appeal) in slots.items()
            if x * x + z * z <= (radius + appeal * with_appeal) ** 2
        )
        assert area.within(0, 0, radius, with_appeal) == [slot for _, _, slot in expected]


def test_within_leaves_out_the_removed(area):
    one, two = add(area, 1, 1), add(area, 2, 2)
    area.remove(one)
    assert area.within(0, 0, 10) == [two]
    assert area.within(0, 0, -1) == []


EDGES = st.sampled_from([-inf, -20.0, -5.0, 0.0, 5.0, 20.0, inf])


@settings(max_examples=200, deadline=None)
@given(POINTS, EDGES, EDGES, EDGES, EDGES, st.sampled_from([0.0, 1e-10, 1e-9, 2.0, 3.0]))
def test_borders_are_those_of_the_rectangles(points, x0, z0, x1, z1, margin):
    rect = Rect(x0, z0, x1, z1)
    for form in FORMS:
        area = form.Area()
        out, reaching = [], []
        for n, (x, z, appeal) in enumerate(points):
            slot = add(area, n, x, z, appeal=appeal, is_real=n % 3 > 0)
            by = 0.0 if rect.contains(x, z) else max(rect.outside_by(x, z), 1e-9)
            square = Rect.around(x, z, 4 + appeal)
            if n % 3 > 0 and by > margin:
                out.append(slot)
            if n % 3 > 0 and square.clip(rect) != square:
                reaching.append(slot)
        assert area.outside(*rect, margin) == out
        if not rect.is_empty:
            assert area.reaching(*rect, 4.0) == reaching


def test_no_real_is_outside_the_plane(area):
    add(area, 1, 3e38, -3e38, is_real=True)
    assert area.outside(*PLANE, 0.0) == []
    assert area.reaching(*PLANE, 500.0) == []
