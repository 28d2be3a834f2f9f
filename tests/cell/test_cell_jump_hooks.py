"""The order of the hooks around a teleport: what the jump takes out of sight leaves before the entity does."""

from __future__ import annotations

import pytest

from tests.cell.land import Land
from tests.cell.plain import AvatarCell

LEAVING = [("leaving cell", "plain"), ("out", 2, "plain"), ("far", 5, 2, "plain"), ("left cell", "plain")]


@pytest.fixture
def told(monkeypatch):
    """The hooks of entity 1, in order, each with the space that it is in by then."""
    heard: list[tuple] = []

    def listen(name: str, *words, of=lambda *args: args) -> None:
        def hook(part, *args) -> None:
            if part.id == 1:
                heard.append((*words, *of(*args), part.space))

        monkeypatch.setattr(AvatarCell, name, hook, raising=False)

    listen("on_entered_aoi", "in", of=lambda other: (other.id,))
    listen("on_left_aoi", "out")
    listen("on_proximity_entered", "near", of=lambda number, other: (number, other.id))
    listen("on_proximity_left", "far")
    listen("on_leaving_cell", "leaving cell")
    listen("on_left_cell", "left cell")
    listen("on_entering_cell", "entering cell")
    listen("on_entered_cell", "entered cell")
    listen("on_teleported", "teleported")
    listen("on_teleport_failed", "failed", of=lambda reason: ())
    return heard


def prepared(told, hall: int) -> Land:
    """Entity 1 has a client and a trigger; entity 2 is in its area and in its trigger."""
    land = Land(3, hall=hall)
    land.create(1, -100.0, is_seen=True)
    land.create(2, -110.0)
    land.do(1, lambda part: part.add_proximity(20.0, number=5))
    land.settle()
    assert sorted(told) == [("in", 2, "plain"), ("near", 5, 2, "plain")]
    told.clear()
    return land


def jump(land: Land, space: str, x: float) -> None:
    land.do(1, lambda part: part.teleport(space, (x, 0.0, 0.0)))


@pytest.mark.parametrize("hall", [0, 2])
def test_entities_of_the_old_space_leave_before_the_jump(told, hall):
    """Also where the other space is one of the same CellApp."""
    land = prepared(told, hall)
    jump(land, "hall", 10.0)
    land.settle()
    assert told == [*LEAVING, ("entering cell", "hall"), ("entered cell", "hall"), ("teleported", "hall")]


def test_far_entity_leaves_before_a_jump_to_another_cell(told):
    land = prepared(told, 2)
    jump(land, "plain", 400.0)
    land.settle()
    assert told == [*LEAVING, ("entering cell", "plain"), ("entered cell", "plain"), ("teleported", "plain")]
    assert land.base.screens[1].count("leave", 2) == 1


def test_far_entity_leaves_before_a_jump_within_the_cell(told):
    land = prepared(told, 2)
    jump(land, "plain", -400.0)
    land.settle()
    assert told == [("out", 2, "plain"), ("far", 5, 2, "plain"), ("teleported", "plain")]
    assert land.base.screens[1].count("leave", 2) == 1


def test_entity_near_the_new_place_stays(told):
    land = prepared(told, 2)
    jump(land, "plain", -105.0)
    land.settle()
    assert told == [("teleported", "plain")]
    assert land.base.screens[1].count("leave", 2) == 0


def test_entity_added_by_hand_stays_in_a_jump_within_the_space(told):
    land = prepared(told, 2)
    land.do(1, lambda part: part.add_to_aoi(2))
    land.step(2)
    jump(land, "plain", -400.0)
    land.step(20)
    assert told == [("far", 5, 2, "plain"), ("teleported", "plain")]
    assert land.base.screens[1].count("leave", 2) == 0


def test_leaving_hook_sees_the_old_place(told, monkeypatch):
    land, seen = prepared(told, 2), []
    monkeypatch.setattr(
        AvatarCell, "on_left_aoi", lambda part, entity: seen.append((part.position.x, part.entity(entity) is not None))
    )
    jump(land, "hall", 10.0)
    land.settle()
    assert seen == [(-100.0, True)]


def test_refused_jump_lets_everything_in_again_for_the_game(told):
    """What was withheld has left and entered, so it is withheld no longer."""
    land = prepared(told, 2)
    land.do(1, lambda part: part.withhold_from_client(2))
    land.step(5)
    screen = land.base.screens[1]
    events = list(screen.events)
    del land[2].spaces[2]
    jump(land, "hall", 10.0)
    land.settle(40)
    assert land.home(1) == 0
    assert told[:4] == LEAVING
    back = [("entering cell", "plain"), ("entered cell", "plain"), ("failed", "plain")]
    assert told[4:7] == back
    assert sorted(told[7:]) == [("in", 2, "plain"), ("near", 5, 2, "plain")]
    assert not land.part(1).is_withheld_from_client(2), "it has left and entered: what was said about it is over"
    assert screen.events == [*events, ("enter", 2)]


def test_refused_jump_costs_the_client_nothing(told):
    land = prepared(told, 2)
    screen = land.base.screens[1]
    events = list(screen.events)
    del land[2].spaces[2]
    jump(land, "hall", 10.0)
    land.settle(40)
    assert land.home(1) == 0
    assert screen.events == events


def test_hook_that_destroys_the_entity_ends_a_jump_within_the_cell(told, monkeypatch):
    land = prepared(told, 2)
    monkeypatch.setattr(AvatarCell, "on_left_aoi", lambda part, entity: part.destroy())
    jump(land, "plain", -400.0)
    land.step(5)
    assert ("teleported", "plain") not in told
    assert land.home(1) is None


def test_hook_that_jumps_elsewhere_takes_the_place_of_the_first_jump(told, monkeypatch):
    land = prepared(told, 2)

    def leave(part, entity) -> None:
        if part.position.x == -100.0:
            part.teleport("plain", (-105.0, 0.0, 0.0))

    monkeypatch.setattr(AvatarCell, "on_left_aoi", leave)
    jump(land, "plain", -400.0)
    land.settle()
    assert land.part(1).position.x == -105.0
    assert told.count(("teleported", "plain")) == 1
    assert told.count(("in", 2, "plain")) == 1, "it had left, for the game"
    assert land.base.screens[1].count("leave", 2) == 0


def test_body_too_old_to_enter_before_a_jump_stays_out_after_it(told):
    """A body that is behind what the client has seen waits in doubt; the jump takes it out of the area."""
    land = prepared(told, 2)
    witness, body = land.witness(1), land[0].bodies[2]
    land.do(2, lambda part: setattr(part, "position", (-300.0, 0.0, 0.0)))
    land.settle()
    witness.sent.left[2] = (body.number + 3, land[0].host.now + 60.0)
    land.do(2, lambda part: setattr(part, "position", (-110.0, 0.0, 0.0)))
    land.step(2)
    assert ("in", 2, "plain") not in told, "it has not caught up"
    jump(land, "plain", -400.0)
    for word in range(4):
        land.do(2, lambda part, word=word: setattr(part, "steps", 40 + word))
        land.step(2)
    assert ("in", 2, "plain") not in told
    assert not witness.entities()
