"""Controllers by themselves: how a walk and a turn go, step by step, and at rest."""

from __future__ import annotations

from math import isclose, pi
from types import SimpleNamespace
from typing import Any

import pytest

from terrazzo._speed.area import Area
from terrazzo.cell.core.controllers import Category, Controllers, Outcome
from terrazzo.cell.motion.controllers import LOST_S, Turning, Walk, category_named, unpack_controllers
from terrazzo.errors import DecodeError, UsageError
from terrazzo.wire.pairs.cell_cell import PackedController


class Stage(Any):  # type: ignore[misc]
    """A real in an area and the target of its walks, without an app."""

    def __init__(self) -> None:
        self.area = Area()
        self.space = self.core = self.moves = self.body = self
        self.slot = self.area.add(1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0, 0)
        self.bodies: dict[int, SimpleNamespace] = {}
        self.controllers = Controllers()

    @property
    def position(self):
        return self.area.position(self.slot)

    @property
    def direction(self):
        return self.area.direction(self.slot)

    def put(self, real, position, direction) -> None:
        self.area.put(self.slot, position, direction)

    def other(self, entity: int, position) -> SimpleNamespace:
        self.bodies[entity] = SimpleNamespace(position=position, space=self.space, real=None)
        return self.bodies[entity]


def same(found, expected) -> bool:
    """Equal as far as 32-bit floats are."""
    return all(isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in zip(found, expected, strict=True))


def walk(point=(0.0, 0.0, 0.0), speed=2.0, *, entity=0, distance=0.0, faces=True, is_lasting=False) -> Walk:
    return Walk(7, point, speed, entity=entity, distance=distance, faces=faces, is_lasting=is_lasting)


def test_a_walk_goes_at_its_speed_and_ends_exactly_there():
    stage, there = Stage(), walk((3.0, 0.0, 4.0))
    assert there.step(stage, 1.0) is Outcome.GOES_ON
    assert same(stage.position, (1.2, 0.0, 1.6))
    assert isclose(stage.direction[0], 0.6435, abs_tol=1e-4)
    assert there.step(stage, 1.0) is Outcome.GOES_ON
    assert there.step(stage, 1.0) is Outcome.DONE
    assert stage.position == (3.0, 0.0, 4.0)


def test_a_walk_keeps_its_distance():
    stage, near = Stage(), walk((10.0, 0.0, 0.0), speed=100.0, distance=4.0)
    assert near.step(stage, 1.0) is Outcome.DONE
    assert stage.position == (6.0, 0.0, 0.0)
    assert walk((10.0, 0.0, 0.0), distance=5.0).step(stage, 1.0) is Outcome.DONE, "it is near enough already"
    assert stage.position == (6.0, 0.0, 0.0)


def test_climbing_counts_as_way():
    stage, up = Stage(), walk((0.0, 4.0, 0.0))
    assert up.step(stage, 1.0) is Outcome.GOES_ON
    assert stage.position == (0.0, 2.0, 0.0)
    assert stage.direction == (0.0, 0.0, 0.0), "straight up is no direction to look in"


@pytest.mark.parametrize(("faces", "is_turning"), [(False, False), (True, True)])
def test_walker_faces_its_way_unless_switched_off_or_turning(faces, is_turning):
    stage = Stage()
    if is_turning:
        stage.controllers.start(Turning(1, pi, 0.1))
    walk((5.0, 0.0, 0.0), faces=faces).step(stage, 1.0)
    assert stage.direction == (0.0, 0.0, 0.0)


def test_walk_follows_a_target_that_walks_away():
    stage = Stage()
    goal = stage.other(9, (4.0, 0.0, 0.0))
    chase = walk(entity=9, distance=1.0)
    assert chase.step(stage, 1.0) is Outcome.GOES_ON
    goal.position = (2.0, 0.0, 2.0)
    assert chase.step(stage, 1.0) is Outcome.DONE
    assert same(stage.position, (2.0, 0.0, 1.0))


def test_following_reports_each_arrival_and_goes_on():
    stage = Stage()
    goal = stage.other(9, (4.0, 0.0, 0.0))
    follow = walk(entity=9, speed=10.0, distance=1.0, is_lasting=True)
    assert [follow.step(stage, 1.0) for _ in range(3)] == [Outcome.REACHED, Outcome.GOES_ON, Outcome.GOES_ON]
    goal.position = (30.0, 0.0, 0.0)
    outcomes = [follow.step(stage, 1.0) for _ in range(4)]
    assert outcomes == [Outcome.GOES_ON, Outcome.GOES_ON, Outcome.REACHED, Outcome.GOES_ON]
    assert stage.position == (29.0, 0.0, 0.0)


@pytest.mark.parametrize("how", ["removed", "elsewhere", "doomed"])
@pytest.mark.parametrize("is_lasting", [True, False])
def test_a_goal_out_of_sight_is_looked_for_at_its_last_place_and_then_lost(how, is_lasting):
    stage = Stage()
    goal = stage.other(9, (2.0, 0.0, 0.0))
    chase = walk(entity=9, is_lasting=is_lasting)
    assert chase.step(stage, 0.5) is Outcome.GOES_ON
    if how == "removed":
        del stage.bodies[9]
    elif how == "elsewhere":
        goal.space = object()
    else:
        goal.real = SimpleNamespace(is_destroyed=True)
    for _ in range(int(LOST_S / 0.5) - 1):
        assert chase.step(stage, 0.5) is Outcome.GOES_ON
    assert stage.position == (2.0, 0.0, 0.0)
    assert chase.step(stage, 0.5) is Outcome.LOST


def test_a_goal_that_is_back_in_time_is_not_lost():
    stage = Stage()
    goal = stage.other(9, (50.0, 0.0, 0.0))
    chase = walk(entity=9)
    for _ in range(5):
        stage.bodies.clear()
        assert chase.step(stage, LOST_S * 0.9) is Outcome.GOES_ON
        stage.bodies[9] = goal
        assert chase.step(stage, 0.1) is Outcome.GOES_ON


@pytest.mark.parametrize(("to", "half_way"), [(pi / 2, pi / 4), (-pi / 2, -pi / 4)])
def test_a_turn_goes_at_its_speed_and_ends_exactly_there(to, half_way):
    stage, turn = Stage(), Turning(7, to, pi / 4)
    stage.put(stage, (0.0, 0.0, 0.0), (0.0, 0.125, 0.25))
    assert turn.step(stage, 1.0) is Outcome.GOES_ON
    assert same(stage.direction, (half_way, 0.125, 0.25))
    assert turn.step(stage, 1.5) is Outcome.DONE
    assert same(stage.direction, (to, 0.125, 0.25))


def test_a_turn_takes_the_shorter_way():
    stage = Stage()
    stage.put(stage, (0.0, 0.0, 0.0), (3.0, 0.0, 0.0))
    Turning(7, -3.0, 0.1).step(stage, 1.0)
    assert isclose(stage.direction[0], 3.1, rel_tol=1e-6)


def test_controller_replaces_another_of_its_category():
    several = Controllers()
    first, second, turn = walk(), walk(), Turning(8, 1.0, 1.0)
    for each in (first, turn, second):
        several.start(each)
    assert not several.is_running(first)
    assert several.is_running(second)
    assert several.has(Category.TURNING)
    assert several.cancel(Category.TURNING)
    assert not several.cancel(8)
    assert several.cancel(7)
    assert not several.running


def test_controllers_survive_packing():
    several = Controllers()
    follow = walk((1.0, 2.0, 3.0), 4.5, entity=9, distance=0.5, faces=False, is_lasting=True)
    follow.is_near, follow.lost_s = True, 1.5
    several.start(follow)
    several.start(Turning(8, 1.5, 0.25))
    packed = several.pack()
    there = Controllers()
    unpack_controllers(there, packed)
    assert there.pack() == packed
    again = there.running[Category.MOVEMENT]
    assert isinstance(again, Walk)
    assert {name: getattr(again, name) for name in Walk.__slots__} == {
        name: getattr(follow, name) for name in Walk.__slots__
    }


@pytest.mark.parametrize("packed", [PackedController(1, 99, b""), PackedController(1, 2, b"short")])
def test_packed_controllers_that_do_not_decode_are_refused(packed):
    with pytest.raises(DecodeError):
        unpack_controllers(Controllers(), [packed])


def test_categories_have_names():
    assert category_named("movement") is Category.MOVEMENT
    with pytest.raises(UsageError, match="cancel 'movement' or 'turning'"):
        category_named("dancing")
