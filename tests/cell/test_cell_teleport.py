"""Teleports: far away, into another space, beside an entity; one that fails changes nothing."""

from __future__ import annotations

import msgspec
import pytest

from terrazzo.cell.core.history import PLACE
from terrazzo.cell.migration import teleport
from terrazzo.errors import UsageError
from terrazzo.schema.refs import Component, Ref
from terrazzo.wire.pairs.cell_cell import DeleteGhost, PackedEvent, Past, Step
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.world.bsp import BspTree, CellId, Leaf
from terrazzo.world.rect import Rect
from tests.cell.cast import MANAGER
from tests.cell.land import Land, eventful_land
from tests.cell.plain import AVATAR, HALL_BOUNDS, AvatarCell
from tests.cell.screen import Screen


def ref(entity: int) -> Ref:
    return Ref(entity, Component.CELL, AVATAR.type_id)


@pytest.fixture
def land():
    """Cells 0, 1, 2 of the plain; the hall is on 2. One with a client on 0, one beside it, one in the hall."""
    land = Land(3, hall=2)
    land.create(1, -100.0, is_seen=True, gold=7)
    land.create(2, -110.0)
    land.create(3, 10.0, space=2)
    land.settle()
    return land


def whereabouts(land: Land, entity: int) -> tuple:
    part = land.part(entity)
    return land.home(entity), part.space, part.position


def test_within_the_cell_it_is_put(land):
    land.do(1, lambda part: part.teleport("plain", (-200.0, 1.0, 5.0), (0.5, 0.0, 0.0)))
    assert land.part(1).position.x == -100.0, "nothing happens inside the call"
    land.settle()
    assert whereabouts(land, 1) == (0, "plain", (-200.0, 1.0, 5.0))
    assert land.part(1).direction == (0.5, 0.0, 0.0)
    assert land.part(1).events[-1] == "teleported"
    assert land.base.screens[1].events[-2:] == [("moved", (-200.0, 1.0, 5.0)), ("leave", 2)]


def test_far_away_in_the_same_space(land):
    """No ghost of it was there; its client, timers and properties are."""
    land.create(4, 410.0)
    land.do(1, lambda part: part.timer(1.0, number=5))
    land.do(1, lambda part: part.teleport("plain", (400.0, 0.0, 0.0)))
    land.settle(40)
    assert whereabouts(land, 1) == (2, "plain", (400.0, 0.0, 0.0))
    assert land.part(1).gold == 7 + 5
    assert land.part(1).events == ["entered cell", "teleported"]
    screen = land.base.screens[1]
    assert screen.count("moved", (400.0, 0.0, 0.0)) == 1
    assert screen.count("leave", 2) == screen.count("enter", 4) == 1
    assert all(1 not in app.bodies for app in land.cells[:2])


@pytest.mark.parametrize("is_near", [True, False])
def test_entity_near_both_places_is_waited_for(is_near):
    """Its ghost is on the way to the new cell, which does not make it leave. An entity far from there leaves at
    once."""
    land = Land(4, corner=True)
    there, here, to = land.corner(-1, -1), land.corner(1, -1), land.corner(1, 1)
    screen = land.create(1, 5.0, -5.0, is_seen=True)
    land.block(there, to)
    land.create(2, -5.0, -5.0 if is_near else -70.0)
    land.step(5)
    assert (land.home(1), land.home(2), screen.events[-1]) == (here, there, ("enter", 2))
    land.do(1, lambda part: part.teleport("plain", (5.0, 0.0, 30.0)))
    land.step(10)
    assert (land.home(1), 2 in land[to].bodies) == (to, False)
    assert screen.count("leave", 2) == (not is_near)
    land.settle()
    assert screen.count("leave", 2) == (not is_near)
    assert screen.count("enter", 2) == 1


def test_teleport_into_another_space(land):
    land.do(1, lambda part: part.teleport("hall", (0.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 1) == (2, "hall", (0.0, 0.0, 0.0))
    assert land.part(1).events == ["entered cell", "teleported"]
    screen = land.base.screens[1]
    assert screen.events[-3:] == [("leave", 2), ("space", 2), ("enter", 3)]
    assert all(1 not in app.bodies for app in land.cells[:2])
    land.act(3, "step")
    land.act(1, "step")
    land.settle()
    assert screen.count("on_stepped", 3) == 1


def test_teleport_into_another_space_of_the_same_app(land):
    land.create(5, 300.0, is_seen=True)
    land.create(6, 310.0)
    land.settle()
    assert land.home(5) == 2
    land.do(5, lambda part: part.teleport("hall", (20.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 5) == (2, "hall", (20.0, 0.0, 0.0))
    assert land.part(5).events == ["entered cell", "teleported"]
    assert land.base.screens[5].events[-3:] == [("leave", 6), ("space", 2), ("enter", 3)]
    land.do(5, lambda part: part.teleport("plain", (300.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 5) == (2, "plain", (300.0, 0.0, 0.0))
    assert land.base.screens[5].events[-3:] == [("leave", 3), ("space", 1), ("enter", 6)]


def test_teleport_beside_an_entity_in_another_space(land):
    land.do(1, lambda part: part.teleport(ref(3), (2.0, 0.0, -1.0)))
    land.settle()
    assert whereabouts(land, 1) == (2, "hall", (12.0, 0.0, -1.0))


def test_teleport_beside_an_entity_of_the_same_cell(land):
    land.do(1, lambda part: part.teleport(part.entity(2)))
    land.settle()
    assert whereabouts(land, 1) == (0, "plain", (-110.0, 0.0, 0.0))
    assert land.part(1).events[-1] == "teleported"


@pytest.mark.parametrize("seed", range(10))
def test_teleport_beside_an_entity_that_moves_meanwhile(seed):
    """The question follows its callee; the answer follows the asking entity, which walks over a border."""
    land = Land(3, hall=2, seed=seed)
    land.create(1, -1.0, is_seen=True)
    land.create(3, 10.0, space=2)
    land.settle()
    land.do(3, lambda part: part.teleport("plain", (-300.0, 0.0, 0.0)))
    land.do(1, lambda part: part.teleport(ref(3)))
    land.put(1, 20.0)
    land.step(10)
    land.settle(60)
    assert whereabouts(land, 3) == (0, "plain", (-300.0, 0.0, 0.0))
    assert whereabouts(land, 1) in [(0, "plain", (-300.0, 0.0, 0.0)), (2, "hall", (10.0, 0.0, 0.0))]
    assert land.part(1).events[-1] == "teleported"


def test_pending_teleport_travels_with_an_offload(land):
    """It is offloaded while the manager has not answered; the next home asks anew."""
    land.blocked.add((MANAGER, land[0].me))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.put(1, 20.0)
    land.step(12)
    assert whereabouts(land, 1) == (2, "hall", (5.0, 0.0, 0.0))
    land.settle()
    assert land.part(1).events == ["entered cell", "teleported"]


def test_on_leaving_a_cell_one_may_teleport_elsewhere(land, monkeypatch):
    """Story 12."""

    def on_leaving_cell(part: AvatarCell) -> None:
        if part.space == "plain":
            part.teleport("hall", (5.0, 0.0, 0.0))

    monkeypatch.setattr(AvatarCell, "on_leaving_cell", on_leaving_cell)
    land = Land(3, hall=2)
    land.create(1, -100.0, is_seen=True)
    land.put(1, 20.0)
    land.settle()
    assert whereabouts(land, 1) == (2, "hall", (5.0, 0.0, 0.0))
    assert land.base.screens[1].count("space") == 1


def test_second_teleport_replaces_the_first(land):
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.do(1, lambda part: part.teleport(ref(3)))
    land.do(1, lambda part: part.teleport("plain", (-300.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 1) == (0, "plain", (-300.0, 0.0, 0.0))
    assert land.part(1).events[-2:] == ["attached", "teleported"]


def test_teleport_in_on_leaving_cell_replaces_the_former(land, monkeypatch):
    """In `on_leaving_cell`; the same goal again does not replace the teleport, or it would never leave."""
    goal = ["plain", (-310.0, 0.0, 0.0)]
    monkeypatch.setattr(AvatarCell, "on_leaving_cell", lambda part: part.teleport(*goal), raising=False)
    land = Land(3, hall=2)
    land.create(1, -100.0, is_seen=True)
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 1) == (0, "plain", (-310.0, 0.0, 0.0))
    assert land.part(1).events[-2:] == ["attached", "teleported"]
    goal[:] = ["hall", (7.0, 0.0, 0.0)]
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.settle()
    assert whereabouts(land, 1) == (2, "hall", (7.0, 0.0, 0.0))
    assert land.part(1).events == ["entered cell", "teleported"]


def test_pending_teleport_ends_with_its_entity(land):
    land.do(1, lambda part: (part.teleport("hall", (5.0, 0.0, 0.0)), part.destroy()))
    land.settle()
    assert land.home(1) is None
    assert all(not app.teleports._pending for app in land.cells)


def test_arrival_by_teleport_ends_movements(land):
    land.do(1, lambda part: part.move_to((-100.0, 0.0, 300.0), speed=5.0))
    land.do(1, lambda part: part.turn_to(1.0, speed=0.1, number=4))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.settle(120)
    assert land.part(1).position == (5.0, 0.0, 0.0)
    assert land.part(1).events == ["entered cell", "teleported", ("turned", 4)]


def test_client_position_from_the_old_place_is_ignored(land):
    land.do(1, lambda part: part.teleport("plain", (400.0, 0.0, 0.0)))
    for ticks in range(8):
        land.walk(1, -100.0 + 0.1 * ticks)
        land.step()
    land.settle()
    assert land.part(1).position == (400.0, 0.0, 0.0)
    assert land.base.screens[1].count("moved") == 1, "it is told once"
    land.walk(1, 401.0)
    land.step(3)
    assert land.part(1).position.x == 401.0


def as_it_was(land: Land) -> None:
    """Whole: where it was, with everything."""
    assert whereabouts(land, 1) == (0, "plain", (-100.0, 0.0, 0.0))
    land.act(1, "step")
    land.act(2, "step")
    land.base.call(1, "hit", 3)
    land.step(15)
    land.settle()
    assert list(land.part(1).purse) == [3]
    assert land.part(1).gold == 7 + 5, "its timer"
    screen = land.base.screens[1]
    assert screen.count("on_stepped", 2) == 1
    assert screen.count("leave") == screen.count("space") == 0


def failed(land: Land) -> str:
    (reason,) = [each[1] for each in land.part(1).events if each[0] == "teleport failed"]
    return str(reason)


def test_a_space_that_is_not_there(land):
    del land.manager.trees["hall"]
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.step(5)
    assert failed(land) == "there is no space hall"
    as_it_was(land)


def test_a_destination_that_refuses(land):
    """The manager names an app that has no cell of that space any more."""
    land.manager.trees["hall"] = (2, BspTree(Rect(*HALL_BOUNDS), Leaf(CellId(1), land[1].me), CellId(2)))
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.follow(2, speed=1.0, distance=10.0, number=6))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.step(8)
    assert "has no cell of space 2" in failed(land)
    assert land[0].reals[1].controllers.running
    as_it_was(land)


def test_an_app_that_is_out_of_reach(land, monkeypatch):
    monkeypatch.setattr(teleport, "TELEPORT_S", 1.0)
    land[0].on_link_lost(land[2].me)
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.step(15)
    assert "out of reach" in failed(land)
    land[0].on_link_up(land[2].me)
    as_it_was(land)


@pytest.mark.parametrize("is_known", [True, False])
def test_teleport_goal_out_of_reach_is_located_again(is_known):
    """The cells change: another app covers the point now, and can be reached."""
    land = Land(3, hall=1)
    land.create(1, -300.0)
    land.settle()
    land.break_link(0, 1)
    land.do(1, lambda part: part.teleport("plain" if is_known else "hall", (50.0, 0.0, 0.0)))
    land.step(5)
    assert land.home(1) == 0
    if is_known:
        land.plant("plain", 1, 2, land.tree.move_border((1,), 20.0), *land.cells)
    else:
        tree = BspTree(Rect(*HALL_BOUNDS), Leaf(CellId(1), land[2].me), CellId(2))
        land.plant("hall", 2, 2, tree, land[2])
    land.step(30)
    assert land.home(1) == 2
    assert land.part(1).events == ["entered cell", "teleported"]


def test_a_manager_that_is_away_for_a_while(land):
    land[0].on_link_lost(MANAGER)
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.step(10)
    assert land.home(1) == 0
    land[0].on_link_up(MANAGER)
    land.settle()
    assert whereabouts(land, 1) == (2, "hall", (5.0, 0.0, 0.0))


def test_a_manager_that_does_not_answer(land, monkeypatch):
    monkeypatch.setattr(teleport, "TELEPORT_S", 1.0)
    land.blocked.add((land[0].me, MANAGER))
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.step(15)
    assert failed(land) == "the CellAppMgr has not answered"
    as_it_was(land)


def test_teleport_to_an_unknown_entity_fails(land):
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.teleport(ref(99)))
    land.step(40)
    assert failed(land).startswith("entity 99 cannot be found: there is no such entity")
    as_it_was(land)


def test_teleport_to_an_entity_that_is_destroyed_fails(land):
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(3, lambda part: part.destroy())
    land.do(1, lambda part: part.teleport(ref(3)))
    land.step(40)
    assert failed(land).startswith("entity 3 cannot be found: ")
    as_it_was(land)


def test_teleport_beside_an_entity_is_kept_within_bounds(land):
    land.do(1, lambda part: part.timer(2.0, number=5))
    land.do(1, lambda part: part.teleport(ref(3), (95.0, 0.0, 0.0)))
    land.step(10)
    assert "bounds of hall" in failed(land)
    as_it_was(land)


def test_the_ground_moves_under_a_teleport(land):
    """The tree here is older than that of the destination, which sends the entity on."""
    tree = land.tree.move_border((1,), 450.0)
    for app in land.cells[1:]:
        app.on_message(MANAGER, SpaceTree(1, "plain", 2, tree.pack()))
    land.do(1, lambda part: part.teleport("plain", (400.0, 0.0, 0.0)))
    land.step(3)
    land[0].on_message(MANAGER, SpaceTree(1, "plain", 2, tree.pack()))
    land.settle()
    assert whereabouts(land, 1) == (1, "plain", (400.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda part: part.teleport("cellar", (0.0, 0.0, 0.0)), "no space 'cellar'; the game has plain, hall"),
        (lambda part: part.teleport("hall", (101.0, 0.0, 0.0)), "bounds of hall"),
        (lambda part: part.teleport("hall"), "takes a position"),
        (lambda part: part.teleport("hall", (0.0, float("nan"), 0.0)), "finite"),
        (lambda part: part.teleport("hall", (0.0, 0.0, 0.0), 3.0), "teleport: direction is three finite numbers"),
        (lambda part: part.teleport(part.me), "beside itself"),
        (lambda part: part.teleport(None), "a view, a Ref or an id"),
        (lambda part: part.entity(2).teleport("hall", (0.0, 0.0, 0.0)), "only in its own code"),
    ],
)
def test_wrong_arguments_of_teleport_raise(land, act, words):
    with pytest.raises(UsageError, match=words):
        land.do(1, act)


@pytest.mark.parametrize("seed", range(15))
def test_teleports_on_a_hostile_network_lose_nothing(seed):
    """All entities jump all the time, with different delays of all links: nothing is lost, no step is missed."""
    land = Land(3, hall=2, seed=seed)
    for entity, x in ((1, -50.0), (2, 20.0), (3, 300.0)):
        land.create(entity, x, is_seen=True)
    for turn in range(30):
        for entity in (1, 2, 3):
            land.act(entity, "step")
            if (turn + entity) % 5 == 0:
                place = ("hall", (10.0 * entity, 0.0, 0.0)) if turn % 2 else ("plain", (-400.0 + 27.0 * turn, 0.0, 0.0))
                land.act(entity, "teleport", *place)
            land.base.call(entity, "hit", turn)
        land.step(2)
    land.step(20)
    land.settle(80)
    for entity in (1, 2, 3):
        assert list(land.part(entity).purse) == list(range(30)), "each call once, in order"
    assert not land.host.words("game error")


def left_behind(land: Land) -> Screen:
    """Entity 1 is on cell 0; its ghost on cell 1, which a client sees, does not get its latest step."""
    land.create(1, -20.0)
    watcher: Screen = land.create(2, 20.0, is_seen=True)
    land.settle()
    land.block(0, 1)
    land.act(1, "step")
    land.step()
    assert land[1].bodies[1].number < land[0].bodies[1].number
    return watcher


def test_last_events_are_not_those_of_another_space():
    """Its ghost misses a step, requests it, and gets the later steps: they are elsewhere, out of this client's area."""
    land = eventful_land(3, margin_m=0.0, hall=2)
    watcher = left_behind(land)
    land.act(1, "teleport", "hall", (5.0, 0.0, 5.0))
    land.step(4)
    land.put(1, 7.0, 5.0)
    land.act(1, "step")
    land.step(40)
    assert 1 not in watcher.view.others
    assert watcher.steps[1] == 2, "the rest is sent"
    assert watcher.count("moved") == 0


def test_events_of_a_tombstone_in_another_space_are_not_sent():
    """It comes to another space and is gone from there, too, before the client is served: the tombstone is of
    that space."""
    land = eventful_land(2, margin_m=0.0, hall=1)
    land.create(1, -20.0)
    watcher = land.create(2, 20.0, is_seen=True)
    land.settle()
    app, ghost = land[1], land[1].bodies[1]
    app.receiver.end(ghost, ghost.epoch, is_destroyed=False)
    past = Past(
        ghost.number, (step_of(ghost.number + 2, ghost.kind.event_of_place((5.0, 0.0, 5.0), ghost.direction)),), ()
    )
    there = land.real(1).ghost()
    there = msgspec.structs.replace(there, space=2, epoch=there.epoch + 1, number=ghost.number + 2, past=past)
    app.on_message(land[0].me, there)
    app.on_message(land[0].me, DeleteGhost(1, there.epoch, there.number, is_destroyed=False))
    land.block(0, 1)
    land.step(5)
    assert watcher.events[-1] == ("leave", 1)
    assert watcher.count("moved") == 0


def step_of(number, event):
    return Step(number, (PackedEvent(event.subject, *event.message),))


def test_client_gets_the_place_of_an_entity_back_from_another_space():
    """The last place that was sent is one of the other space."""
    land = eventful_land(3, margin_m=0.0, hall=2)
    land.create(1, -20.0)
    land.settle()
    land.act(1, "teleport", "hall", (5.0, 0.0, 5.0))
    land.step(4)
    land.put(1, 7.0, 5.0)
    land.step(2)
    land.act(1, "teleport", "plain", (30.0, 0.0, 5.0))
    land.step(4)
    body = land.real(1).body
    told = body.history.since(body.history.floor)
    assert told is not None
    [place] = [each for each in told if each.subject == PLACE]
    assert place == body.kind.event_of_place((30.0, 0.0, 5.0), body.direction)


def test_back_where_an_old_ghost_still_waits_for_its_end():
    """It left the space and comes back to it, where its ghost of before has not had its last step yet."""
    land = Land(3, margin_m=0.0, hall=2)
    watcher = left_behind(land)
    land.act(1, "teleport", "hall", (5.0, 0.0, 5.0))
    land.step(4)
    assert land.home(1) == 2
    assert land[1].bodies[1].space.id == 1
    land.act(1, "teleport", "plain", (30.0, 0.0, 5.0))
    land.step(4)
    assert land.home(1) == 1
    assert land.part(1).position == (30.0, 0.0, 5.0)
    land.settle()
    assert watcher.seen[1]["steps"] == 1
    assert watcher.view.others[1].position == (30.0, 0.0, 5.0)
