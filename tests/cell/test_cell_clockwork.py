"""Timers and controllers of reals in their cells, over borders, and when the game interferes."""

from __future__ import annotations

from math import isclose, pi

import pytest

from terrazzo.cell.motion.controllers import LOST_S
from terrazzo.errors import UsageError
from tests.cell.land import TICK_S, Land
from tests.cell.plain import AvatarCell


@pytest.fixture
def land():
    land = Land()
    land.create(1, -20.0)
    land.create(2, -30.0)
    land.create(3, 30.0)
    land.settle()
    return land


def events(land: Land, entity: int) -> list:
    return [each for each in land.part(entity).events if each not in ("created", "entered cell")]


def test_timers(land):
    first, second = land.do(1, lambda part: (part.timer(0.5), part.timer(0.5)))
    assert first != second
    land.do(1, lambda part: part.cancel(second))
    land.do(1, lambda part: part.timer(0.2, repeat=0.2, number=1))
    land.step(3)
    land.do(1, lambda part: part.timer(50.0, number=1))  # set again, and no longer repeating
    land.step(20)
    assert land.part(1).gold == first + 1


def test_timer_in_init_raises(land):
    part = land.part(1)
    part._is_starting = True
    with pytest.raises(UsageError, match="on_created"):
        part.timer(1.0)


@pytest.mark.parametrize("ticks", range(6))
def test_race_13_a_timer_due_in_the_tick_of_departure_fires_once(ticks):
    """However the tick of departure lies."""
    land = Land()
    land.create(1, -20.0)
    land.settle()
    land.do(1, lambda part: part.timer(0.35, number=5))
    land.step(ticks)
    land.put(1, 20.0)
    land.settle()
    assert land.home(1) == 1
    assert land.part(1).gold == 5


def test_timers_repeat_across_borders(land):
    land.do(1, lambda part: part.timer(0.5, repeat=0.5, number=1))
    for x in (20.0, -20.0, 20.0):
        land.put(1, x)
        land.step(10)
    land.settle(30)
    assert 10 <= land.part(1).gold <= 12, "six seconds, less what it was on its way"


def test_walk_to_a_point_runs_the_hook_on_arrival(land):
    number = land.do(1, lambda part: part.move_to((-14.0, 0.0, 8.0), speed=5.0))
    land.step()
    position = land.part(1).position
    assert isclose(position.distance_to((-20.0, 0.0, 0.0)), 5.0 * TICK_S, rel_tol=1e-4)
    assert isclose(land.part(1).yaw, 0.6435, abs_tol=1e-3), "it looks where it goes"
    land.step(19)
    assert events(land, 1) == [("reached", number)]
    assert land.part(1).position == (-14.0, 0.0, 8.0)
    land.step(5)
    assert events(land, 1) == [("reached", number)], "once"


def test_walking_over_a_border_and_back(land):
    land.do(1, lambda part: part.move_to((60.0, 0.0, 0.0), speed=20.0, number=3))
    land.settle(60)
    assert land.home(1) == 1
    assert land.part(1).position == (60.0, 0.0, 0.0)
    assert events(land, 1) == [("reached", 3)]


def test_one_movement_at_a_time_and_turns_beside_it(land):
    def act(part: AvatarCell) -> None:
        part.move_to((-10.0, 0.0, 0.0), speed=1.0, number=1)
        part.turn_to(1.0, speed=0.1, number=2)
        part.move_to((-20.0, 0.0, 1.0), speed=5.0, number=3)
        part.turn_to(-pi / 2, speed=4.0, number=4)

    land.do(1, act)
    land.step(8)
    assert events(land, 1) == [("reached", 3), ("turned", 4)]
    assert isclose(land.part(1).yaw, -pi / 2, rel_tol=1e-6)


@pytest.mark.parametrize("what", ["movement", 3])
def test_cancelled_controller_runs_no_hook(land, what):
    land.do(1, lambda part: part.move_to((-10.0, 0.0, 0.0), speed=5.0, number=3))
    land.do(1, lambda part: part.turn_to(1.0, speed=5.0, number=4))
    land.step(2)
    place = land.part(1).position
    land.do(1, lambda part: part.cancel(what))
    land.step(30)
    assert land.part(1).position == place
    assert events(land, 1) == [("turned", 4)]
    land.do(1, lambda part: part.cancel(what))  # once too often does no harm


def test_following_over_a_border(land):
    land.do(1, lambda part: part.follow(part.entity(3), speed=20.0, distance=2.0, number=6))
    land.settle(40)
    assert land.home(1) == 1
    assert events(land, 1) == [("reached", 6)]
    assert isclose(land.part(1).position.x, 28.0, abs_tol=1e-3)
    land.put(3, -50.0)
    land.settle(60)
    assert land.home(1) == land.home(3) == 0
    assert isclose(land.part(1).position.distance_to(land.part(3).position), 2.0, abs_tol=1e-3)


def test_following_ends_with_the_followed_entity(land):
    land.do(1, lambda part: part.follow(2, speed=1.0, number=6))
    land.step(3)
    land.do(2, lambda part: part.destroy())
    land.step(int(LOST_S / TICK_S) + 3)
    assert events(land, 1) == [("move failed", 6, "entity 2 is out of sight")]
    assert not land[0].reals[1].controllers.running


def test_walk_to_an_entity_ends_beside_it(land):
    land.do(1, lambda part: part.move_to(part.entity(2), speed=20.0, distance=3.0, face=False, number=6))
    land.step(8)
    assert events(land, 1) == [("reached", 6)]
    assert isclose(land.part(1).position.x, -27.0, abs_tol=1e-4)
    assert land.part(1).yaw == 0.0


def test_hook_at_the_end_of_a_controller_may_do_anything(land, monkeypatch):
    def on_reached(part: AvatarCell, number: int) -> None:
        part.events.append(("reached", number))
        for other in part.entities_in_range(100.0):
            other.hit(number)
        if number == 1:
            part.move_to((-20.0, 0.0, 2.0), speed=20.0, number=2)
        else:
            part.destroy()

    monkeypatch.setattr(AvatarCell, "on_reached", on_reached)
    land.do(1, lambda part: part.timer(0.35, number=9))
    land.do(1, lambda part: part.move_to((-20.0, 0.0, 1.0), speed=20.0, number=1))
    land.settle()
    assert land.home(1) is None
    assert list(land.part(3).purse) == [1, 2]
    assert not land.host.words("game error")


def test_client_of_a_walking_entity_gets_its_place(land):
    screen = land.base.attach(1)
    land.settle()
    land.do(1, lambda part: part.move_to((-18.0, 0.0, 0.0), speed=10.0))
    land.walk(1, -25.0)
    land.settle()
    assert land.part(1).position == (-18.0, 0.0, 0.0)
    assert screen.count("moved") == 2
    assert screen.view.player is not None
    assert screen.view.player.position == (-18.0, 0.0, 0.0)


def test_walker_does_not_leap_after_a_long_pause(land):
    land.do(1, lambda part: part.move_to((-20.0, 0.0, 400.0), speed=10.0))
    land.host.now += 20.0
    land.step()
    assert land.part(1).position.z <= 10.0 + 1e-3


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda part: part.move_to((9999.0, 0.0, 0.0), 1.0), "bounds of plain"),
        (lambda part: part.move_to((0.0, 0.0, 0.0), 0.0), "speed, in .* a second, is a finite number above 0"),
        (
            lambda part: part.move_to((0.0, 0.0, 0.0), 1.0, distance=-1.0),
            "move_to: distance, in metres, is a finite number, 0 …",
        ),
        (lambda part: part.move_to("home", 1.0), "move_to: target is three finite numbers"),
        (lambda part: part.move_to(1, 1.0), "move_to: target is another entity, not this one itself"),
        (lambda part: part.follow(77, 1.0), "not known in this cell"),
        (lambda part: part.follow((0.0, 0.0, 0.0), 1.0), "follow: target is an entity"),
        (lambda part: part.turn_to(float("nan"), 1.0), "turn_to: yaw, in radians, is a finite number"),
        (lambda part: part.turn_to(1.0, 0.0), "speed, in .* a second, is a finite number above 0"),
        (lambda part: part.turn_to(1.0, 1.0, number=1 << 16), "0 … 65535"),
        (lambda part: part.cancel("dancing"), "no category 'dancing'"),
        (lambda part: part.entity(2).move_to((0.0, 0.0, 0.0), 1.0), "only in its own code: call one of its methods"),
    ],
)
def test_wrong_arguments_of_controllers_raise(land, act, words):
    with pytest.raises(UsageError, match=words):
        land.do(1, act)
    assert not land[0].reals[1].controllers.running


@pytest.mark.parametrize("seed", range(8))
def test_walkers_around_a_corner_on_a_hostile_network(seed):
    """They walk over four cells that meet in a point, and follow each other; each walk ends once, where it should."""
    land = Land(4, corner=True, seed=seed)
    for entity in range(1, 5):
        land.create(entity, 10.0 * entity, 5.0, is_seen=entity == 1)
    land.settle()
    start = land.host.now
    for entity in range(1, 5):
        land.do(entity, lambda part: part.timer(0.5, repeat=0.5, number=1))
    for entity, goal in ((1, (-30.0, 0.0, -30.0)), (2, (-30.0, 0.0, 30.0)), (3, (30.0, 0.0, -30.0))):
        land.act(entity, "move_to", goal, 15.0)
    land.act(4, "follow", 1, 20.0)
    land.step(60)
    land.rng = None
    land.step(40)
    seconds = land.host.now - start
    for entity in range(1, 5):
        land.act(entity, "cancel", 1)
    land.settle()
    for entity, goal in ((1, (-30.0, 0.0, -30.0)), (2, (-30.0, 0.0, 30.0)), (3, (30.0, 0.0, -30.0))):
        assert land.part(entity).position == goal
        assert not land.real(entity).controllers.running
    assert isclose(land.part(4).position.distance_to(land.part(1).position), 2.0, abs_tol=0.01)
    for entity in range(1, 5):
        assert land.part(entity).gold >= seconds * 1.2, "timers go on, but for what it was on its way"
