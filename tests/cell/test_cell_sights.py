"""How a game's code controls what an entity sees: the client's area, triggers; and wrong uses."""

from __future__ import annotations

import pytest

from terrazzo.cell.api.sights import TRIGGERS_MAX
from terrazzo.errors import UsageError
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


@pytest.fixture
def land():
    """One with a client, one 60 m off in the same cell, one 90 m off beyond the border."""
    land = Land()
    land.create(1, -40.0, is_seen=True)
    land.create(2, -100.0)
    land.create(3, 50.0)
    land.settle()
    return land


def test_how_far_a_client_sees_can_be_changed(land):
    screen = land.base.screens[1]
    assert land.part(1).aoi_radius == 80.0
    assert [each.id for each in land.do(1, AvatarCell.entities_in_aoi)] == [2]
    land.do(1, lambda part: part.set_aoi_radius(95.0))
    land.settle()
    assert sorted(screen.seen) == [2, 3]
    land.do(1, lambda part: part.set_aoi_radius(40.0, 10.0))
    land.settle()
    assert not screen.seen
    land.put(2, -85.0)
    land.settle()
    assert not screen.seen, "45 m off: within the hysteresis, but it never was inside"
    land.put(2, -80.0)
    land.settle()
    land.put(2, -89.0)
    land.settle()
    assert sorted(screen.seen) == [2]


def test_the_radius_goes_along_to_another_cell(land):
    land.do(1, lambda part: part.set_aoi_radius(30.0, 1.0))
    land.put(1, 40.0)
    land.settle()
    assert land.home(1) == 1
    assert land.part(1).aoi_radius == 30.0
    assert sorted(land.base.screens[1].seen) == [3]


@pytest.mark.parametrize(
    ("radius", "hysteresis", "words"),
    [
        (101.0, None, "set_aoi_radius: radius, up to ghost_distance_m, is a finite number, 0 … 100"),
        (-1.0, None, "0 … 100"),
        (float("nan"), None, "0 … 100"),
        (90.0, 16.0, "hysteresis, with a radius of 90, is a finite number, 0 … 15"),
        (90.0, -1.0, "hysteresis"),
    ],
)
def test_radii_that_cannot_be(land, radius, hysteresis, words):
    with pytest.raises(UsageError, match=words):
        land.do(1, lambda part: part.set_aoi_radius(radius, hysteresis))
    assert land.part(1).aoi_radius == 80.0


def test_the_most_that_is_allowed_is_allowed():
    """Whatever sums of floats come to: 27.3 + 5 - 27.3 is a little less than 5."""
    land = Land(1, area_radius_m=20.0, ghost_distance_m=27.3)
    land.create(1, 0.0, is_seen=True)
    land.settle()
    land.do(1, lambda part: part.set_aoi_radius(27.3, 5.0))
    assert land.part(1).aoi_radius == 27.3


def test_without_a_client_there_is_no_area(land):
    for act in (lambda part: part.aoi_radius, lambda part: part.set_aoi_radius(3), lambda part: part.add_to_aoi(1)):
        with pytest.raises(UsageError, match="has no client that could see: do it in on_client_attached"):
            land.do(2, act)
    assert not land.part(2).has_client
    assert land.part(1).has_client


def test_distant_entity_is_added_by_hand(land):
    screen = land.base.screens[1]
    land.do(1, lambda part: part.add_to_aoi(3))
    land.step(10)
    assert sorted(screen.seen) == [2, 3]
    land.do(1, lambda part: part.remove_from_aoi(part.entity(3)))
    land.settle()
    assert sorted(screen.seen) == [2]
    for wrong, words in ((1, "another entity"), (77, "not known in this cell"), ("three", "a view, a Ref or an id")):
        with pytest.raises(UsageError, match=words):
            land.do(1, lambda part, who=wrong: part.add_to_aoi(who))


def test_withheld_entity_is_not_sent_to_the_client(land):
    screen = land.base.screens[1]
    land.do(1, lambda part: part.withhold_from_client(part.entity(2).me))
    assert land.part(1).is_withheld_from_client(2)
    land.step(3)
    assert not screen.seen
    land.act(2, "step")
    land.step(10)
    assert screen.count("on_stepped", 2) == 0
    land.do(1, lambda part: part.withhold_from_client(2, False))
    land.settle()
    assert screen.seen[2]["steps"] == 1


def test_triggers_run_hooks_for_entities_that_enter_and_leave(land):
    land.do(1, lambda part: part.add_proximity(20.0, number=4))
    land.step(2)
    assert land.part(1).events[-1] == "attached"
    for x in (-55.0, -50.0, -61.0, -45.0):
        land.put(2, x)
        land.step()
    assert land.part(1).events[-3:] == [("near", 4, 2), ("far", 4, 2), ("near", 4, 2)]
    land.do(1, lambda part: part.cancel(4))
    land.put(2, -100.0)
    land.step(2)
    assert land.part(1).events[-1] == ("near", 4, 2)


def test_new_trigger_reports_entities_inside_and_begins_anew_when_set_again(land):
    number = land.do(2, lambda part: part.add_proximity(70.0))
    land.step()
    assert land.part(2).events[-1] == ("near", number, 1)
    for radius in (65.0, 66.0):
        land.do(2, lambda part, r=radius: part.add_proximity(r, number=9))
        land.step()
    assert land.part(2).events[-2:] == [("near", 9, 1)] * 2
    assert len(land[0].reals[2].proximities) == 2


def test_triggers_go_along_and_repeat_nothing(land):
    land.do(1, lambda part: part.add_proximity(95.0, number=4))
    land.step(2)
    assert sorted(land.part(1).events[-2:]) == [("near", 4, 2), ("near", 4, 3)]
    before = land.part(1)
    land.put(1, 4.0)
    land.settle()
    assert land.home(1) == 1
    assert before.events[-1] == ("far", 4, 2)
    assert land.part(1).events == ["entered cell"], "3 was inside and is; that 2 is not was told"
    land.put(3, 120.0)
    land.step(2)
    assert land.part(1).events[-1] == ("far", 4, 3)


def test_triggers_that_cannot_be(land):
    for radius in (0.0, 101.0, float("nan")):
        with pytest.raises(UsageError, match="ghost_distance_m, is a finite number above 0 and at most"):
            land.do(1, lambda part, r=radius: part.add_proximity(r))
    with pytest.raises(UsageError, match="at most 64 triggers"):
        land.do(1, lambda part: [part.add_proximity(1.0) for _ in range(TRIGGERS_MAX + 1)])
