"""Rectangles: near edges belong to them, far ones do not."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.errors import UsageError
from terrazzo.world.rect import PLANE, Axis, Rect, checked_bounds

PLACES = st.integers(-4, 4).map(float)
RECTS = st.builds(
    lambda xs, zs: Rect(min(xs), min(zs), max(xs), max(zs)), st.tuples(PLACES, PLACES), st.tuples(PLACES, PLACES)
)
GRID = [(x / 2, z / 2) for x in range(-10, 11) for z in range(-10, 11)]


def points(rect: Rect) -> set[tuple[float, float]]:
    return {point for point in GRID if rect.contains(*point)}


def test_near_edges_belong_to_it_and_far_ones_do_not():
    rect = Rect(0, 0, 10, 5)
    assert rect.contains(0, 0)
    assert rect.contains(9.999, 4.999)
    assert not rect.contains(10, 2)
    assert not rect.contains(2, 5)
    assert not rect.contains(-0.001, 2)


def test_the_plane_has_every_point_and_cannot_be_left():
    assert PLANE.contains(1e300, -1e300)
    assert PLANE.outside_by(1e300, -1e300) == 0


@pytest.mark.parametrize(
    ("point", "distance"), [((5, 2), 0), ((10, 5), 0), ((13, 2), 3), ((-1, 7), 2), ((13, 9), 4), ((5, -6), 6)]
)
def test_outside_by_is_the_longer_axis(point, distance):
    assert Rect(0, 0, 10, 5).outside_by(*point) == distance


@given(RECTS, PLACES, PLACES)
def test_outside_by_is_how_far_it_must_grow(rect, x, z):
    by = rect.outside_by(x, z)
    grown = rect.inflate(by)
    assert grown.x0 <= x <= grown.x1
    assert grown.z0 <= z <= grown.z1
    if by > 0:
        less = rect.inflate(by * 0.99)
        assert not (less.x0 <= x <= less.x1 and less.z0 <= z <= less.z1)


@given(RECTS, RECTS)
def test_intersection_has_the_points_of_both(one, other):
    common = points(one) & points(other)
    assert one.intersects(other) == other.intersects(one) == bool(common)
    assert points(one.clip(other)) == common


@given(RECTS, RECTS)
def test_clipped_rectangle_lies_within_the_other(one, to):
    clipped = one.clip(to)
    assert to.x0 <= clipped.x0 <= clipped.x1 <= to.x1
    assert to.z0 <= clipped.z0 <= clipped.z1 <= to.z1


def test_the_plane_clipped_is_what_it_is_clipped_to():
    assert PLANE.clip(Rect(-3, -2, 1, 2)) == Rect(-3, -2, 1, 2)


@given(RECTS, st.sampled_from(Axis), PLACES)
def test_two_sides_of_a_border_share_nothing_and_leave_nothing_out(rect, axis, position):
    low, high = rect.range_of(axis)
    near, far = rect.cut(axis, min(max(position, low), high))
    assert points(near) | points(far) == points(rect)
    assert not points(near) & points(far)


def test_a_square_around_a_point():
    assert Rect.around(1, 2, 10) == Rect(-9, -8, 11, 12)
    assert Rect.around(1, 2, 10).inflate(-20).is_empty


@pytest.mark.parametrize("bounds", [(0, 0, 0, 1), (0, 1, 1, 0), (nan, 0, 1, 1), (0, 0, inf, 1), (-1e308, 0, 1e308, 1)])
def test_bounds_without_area_are_refused(bounds):
    with pytest.raises(UsageError, match="hold no area"):
        checked_bounds(bounds)
