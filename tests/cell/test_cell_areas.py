"""Areas: entities that enter and leave, what the game adds and withholds, and the hooks."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from terrazzo.errors import UsageError
from tests.cell.land import Land, watched_land
from tests.cell.plain import AVATAR, AvatarCell


def test_the_own_body_comes_first_and_then_those_around():
    land = Land()
    land.create(1, -20.0, name="one")
    screen = land.create(2, -30.0, is_seen=True, name="two", gold=5)
    land.settle()
    assert screen.events == [("player",), ("enter", 1)]
    assert screen.space == 1
    assert screen.own is not None
    assert (screen.own["name"], screen.own["gold"]) == ("two", 5)
    assert screen.seen[1]["name"] == "one"


def test_the_area_has_a_margin_and_is_a_circle(hooks):
    land, screen = watched_land(81.0)
    seen = []
    for x in (79.0, 81.0, 84.0, 86.0, 84.0, 81.0, 79.0):
        land.put(2, x)
        land.settle()
        seen.append(2 in screen.seen)
    assert seen == [True, True, True, False, False, False, True]
    assert hooks[1] == [("in", 2), ("out", 2), ("in", 2)]
    land.put(2, 70.0, 70.0)
    land.settle()
    assert 2 not in screen.seen


def test_area_change_in_on_leaving_cell_runs_its_hooks(hooks, monkeypatch):
    """There is no next round of hooks for an entity that leaves in this one."""
    monkeypatch.setattr(AvatarCell, "on_leaving_cell", lambda part: part.add_to_aoi(2))
    land = Land(2, margin_m=0.0)
    land.create(1, -5.0, is_seen=True)
    land.create(2, -95.0)
    land.settle()
    assert 1 not in hooks
    land.put(1, 5.0)
    land.step(3)
    assert land.home(1) == 1
    assert hooks[1] == [("in", 2)]


def test_the_radius_can_change_at_run_time(hooks):
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 50.0)
    land.create(3, 90.0)
    land.settle()
    assert set(screen.seen) == {2}
    land.do(1, lambda part: part.set_aoi_radius(40.0, 20.0))
    land.settle()
    assert set(screen.seen) == {2}, "it stays in the margin"
    land.do(1, lambda part: part.set_aoi_radius(40.0, 5.0))
    land.settle()
    assert set(screen.seen) == set()
    land.do(1, lambda part: part.set_aoi_radius(95.0))
    land.settle()
    assert set(screen.seen) == {2, 3}
    assert hooks[1] == [("in", 2), ("out", 2), ("in", 2), ("in", 3)]


def test_a_new_radius_goes_along_to_the_next_cell():
    land = Land()
    screen = land.create(1, -5.0, is_seen=True)
    land.create(2, -60.0)
    land.settle()
    land.do(1, lambda part: part.set_aoi_radius(20.0, 7.0))
    land.put(1, 5.0)
    land.settle()
    witness = land.witness(1)
    assert witness is not None
    assert (witness.radius, witness.hysteresis) == (20.0, 7.0)
    assert screen.count("leave", 2) == 1


def test_the_game_may_add_someone_far_away(hooks):
    land, screen = watched_land(200.0)
    land.do(1, lambda part: part.add_to_aoi(2))
    land.step(6)
    assert 2 in screen.seen
    land.act(2, "step")
    land.step(6)
    assert screen.count("on_stepped", 2) == 1
    land.put(2, 10.0)
    land.step(3)
    land.put(2, 210.0)
    land.step(3)
    assert 2 in screen.seen, "it is there for two reasons, one of which holds"
    land.do(1, lambda part: part.remove_from_aoi(2))
    land.settle()
    assert 2 not in screen.seen
    assert hooks[1] == [("in", 2), ("out", 2)]
    assert screen.count("enter", 2) == screen.count("leave", 2) == 1


def test_added_entity_leaves_when_it_is_destroyed(hooks):
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 200.0)
    land.create(3, 210.0)
    land.settle()
    land.do(1, lambda part: part.add_to_aoi(2))
    land.step(6)
    land.act(2, "step")
    land.do(2, lambda part: part.destroy())
    land.create(4, 220.0)  # takes a slot in the arrays that may have been the other's
    land.settle()
    assert screen.events[-2:] == [("on_stepped", 2, 1), ("leave", 2)]
    assert hooks[1] == [("in", 2), ("out", 2)]


def test_types_that_the_game_adds_by_itself(hooks):
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    kind = land[0].core.kinds.get(AVATAR.type_id)
    assert kind is not None
    kind.schema = replace(AVATAR, is_manual_aoi=True)
    land.create(2, 10.0)
    land.step(5)
    assert not screen.seen
    land.do(1, lambda part: part.add_to_aoi(2))
    land.step(6)
    assert set(screen.seen) == {2}
    land.put(2, 90.0)
    land.step(3)
    land.put(2, 10.0)
    land.step(3)
    land.do(1, lambda part: part.remove_from_aoi(2))
    land.step(3)
    assert not screen.seen, "that it has come near meanwhile means nothing"
    assert hooks[1] == [("in", 2), ("out", 2)]
    kind.schema = replace(AVATAR, on_client=False)
    with pytest.raises(UsageError, match="cannot be added"):
        land.witness(1).add_manual(2)


def test_detached_client_gets_no_message_and_the_game_no_hook(hooks):
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 200.0)
    land.settle()
    land.do(1, lambda part: part.add_to_aoi(2))
    land.step(3)
    land.base.detach(1)
    land.step(3)
    land.do(2, lambda part: part.destroy())
    land.settle()
    assert hooks[1] == [("in", 2)]


def test_hooks_of_one_that_is_destroyed_are_not_run(hooks):
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 200.0)
    land.settle()
    land.put(2, 10.0)
    land.do(1, lambda part: part.destroy())
    land.step(3)
    assert 1 not in hooks


def test_entity_without_a_view_cannot_be_added():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.settle()
    witness = land.witness(1)
    assert witness is not None
    for entity in (1, 77):
        with pytest.raises(UsageError, match="cannot be added to the area"):
            witness.add_manual(entity)
    with pytest.raises(UsageError, match="is not in the area"):
        witness.withhold(77, True)
    witness.remove_manual(77)


def test_entity_may_be_added_while_it_leaves(hooks, monkeypatch):
    def stay(part, entity):
        hooks[part.id].append(("out", entity))
        part.add_to_aoi(entity)

    monkeypatch.setattr(AvatarCell, "on_left_aoi", stay)
    land, screen = watched_land(10.0)
    land.put(2, 300.0)
    land.step(6)
    assert hooks[1] == [("in", 2), ("out", 2), ("in", 2)]
    assert screen.events == [("player",), ("enter", 2)]


def test_entity_withheld_as_it_enters_is_never_announced(hooks, monkeypatch):
    monkeypatch.setattr(AvatarCell, "on_entered_aoi", lambda part, other: part.withhold_from_client(other))
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.step(6)
    assert not screen.view.others
    assert land.witness(1).entities() == [2]
    land.do(1, lambda part: part.withhold_from_client(2, False))
    land.act(2, "step")
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]


def test_withheld_entity_leaves_the_client_and_comes_back_in_its_present_state(hooks):
    land, screen = watched_land(10.0)
    land.act(2, "step")
    land.do(1, lambda part: part.withhold_from_client(2))
    land.step(3)
    assert screen.events[-2:] == [("on_stepped", 2, 1), ("leave", 2)], "what was before is heard"
    land.act(2, "step")
    land.step(3)
    land.do(1, lambda part: part.withhold_from_client(2, False))
    land.settle()
    assert screen.events[-1] == ("enter", 2)
    assert hooks[1] == [("in", 2)], "for the game it never left"
    land.do(1, lambda part: part.withhold_from_client(2))
    land.step(3)
    land.put(2, 300.0)
    land.settle()
    assert screen.count("leave", 2) == 2
    assert hooks[1] == [("in", 2), ("out", 2)]


def test_withheld_entity_that_leaves_and_comes_again_is_shown(hooks, monkeypatch):
    """It has left the area, and so it is not withheld any more, whether its client could be served or not."""

    def stay(part, entity):
        part.add_to_aoi(entity)
        assert not part.is_withheld_from_client(entity)

    monkeypatch.setattr(AvatarCell, "on_left_aoi", stay)
    land, screen = watched_land(10.0)
    land.do(1, lambda part: part.withhold_from_client(2))
    land.step(3)
    assert screen.events[-1] == ("leave", 2)
    land.put(2, 300.0)
    land.step(6)
    assert screen.events[-1] == ("enter", 2)


def test_withheld_entity_stays_withheld_in_the_next_cell():
    land = Land()
    screen = land.create(1, -5.0, is_seen=True)
    land.create(2, -20.0)
    land.step(6)
    land.do(1, lambda part: part.withhold_from_client(2))
    land.put(1, 5.0)
    land.step(12)
    assert land.home(1) == 1
    assert screen.events[-1] == ("leave", 2)
    land.do(1, lambda part: part.withhold_from_client(2, False))
    land.settle()
    assert screen.events[-1] == ("enter", 2)


def test_hooks_of_the_area_are_not_repeated_by_a_migration(hooks):
    land = Land()
    land.create(1, -5.0, is_seen=True)
    land.create(2, -20.0)
    land.create(3, 20.0)
    land.settle()
    assert sorted(hooks[1]) == [("in", 2), ("in", 3)]
    for x in (5.0, -5.0, 5.0):
        land.put(1, x)
        land.settle()
    assert len(hooks[1]) == 2
    land.put(2, -300.0)
    land.settle()
    assert hooks[1][2:] == [("out", 2)]


@contextmanager
def unserved(land):
    """No client has its turn."""
    feed = land[0].scheduler
    vars(feed)["serve"] = lambda real: None
    yield
    del vars(feed)["serve"]


def live_again(land, x, home=0, **properties):
    """Entity 2 ends, and lives again elsewhere."""
    land.do(2, lambda part: part.destroy())
    land.step(3)
    land.base.create(land[home].me, 2, (x, 0.0, 0.0), life=2, **properties)


def check_two_lives(screen, hooks):
    """Entity 1 and its client have seen both."""
    assert screen.events == [("player",), ("enter", 2), ("leave", 2), ("enter", 2)]
    assert hooks[1] == [("in", 2), ("out", 2), ("in", 2)]


@pytest.mark.parametrize("wait", [nullcontext, unserved])
def test_entity_of_another_life_is_announced_anew(hooks, wait):
    """Also for a client that could not get the end of the first life before the next began."""
    land, screen = watched_land(10.0)
    with wait(land):
        live_again(land, 11.0, name="again")
        land.step(4)
    land.settle()
    check_two_lives(screen, hooks)
    assert screen.seen[2]["name"] == "again"


def test_entity_of_another_life_may_be_added_before_the_client_got_the_end_of_the_first(hooks):
    land, screen = watched_land(10.0)
    with unserved(land):
        live_again(land, 300.0)
        land.step(3)
        land.do(1, lambda part: part.add_to_aoi(2))
        land.step(3)
    land.step(6)
    check_two_lives(screen, hooks)


@pytest.mark.parametrize("ticks", [1, 2, 3])
def test_ghost_of_another_life_replaces_the_first(hooks, ticks):
    land = Land()
    screen = land.create(1, -8.0, is_seen=True)
    land.create(2, 8.0)
    land.settle()
    land.block(1, 0)
    live_again(land, 9.0, home=1)
    land.step(8)
    with unserved(land):
        land.blocked.clear()
        land.step(ticks)
    land.settle()
    check_two_lives(screen, hooks)


def test_entity_that_waits_to_enter_may_be_added_and_removed(hooks):
    """It is near, and behind what the client has seen of it before."""
    land, screen = watched_land(200.0)
    land.witness(1).sent.left[2] = (land[0].bodies[2].number + 5, land.host.now + 10)
    land.put(2, 10.0)
    land.step()
    assert land.witness(1).entities() == []
    land.do(1, lambda part: part.add_to_aoi(2))
    for _ in range(8):
        land.act(2, "step")
        land.step()
    land.do(1, lambda part: part.remove_from_aoi(2))
    land.settle()
    assert screen.events[:2] == [("player",), ("enter", 2)]
    assert hooks[1] == [("in", 2)]


@pytest.mark.parametrize("hall", [0, 1])
def test_area_in_another_space_has_no_entity_of_the_former_one(hooks, hall):
    """An entity that has jumped there before enters again; one that stays leaves, and aliases are not used again."""
    land = Land(2, hall=hall)
    screen = land.create(1, -20.0, is_seen=True)
    land.create(2, -30.0)
    land.create(3, -40.0)
    land.settle()
    land.do(2, lambda part: part.teleport("hall", (5.0, 0.0, 0.0)))
    land.settle()
    assert screen.events[-1] == ("leave", 2)
    land.create(4, -10.0)
    land.settle()
    land.do(1, lambda part: part.teleport("hall", (0.0, 0.0, 0.0)))
    land.settle()
    assert screen.space == 2
    at = screen.events.index(("space", 2))
    assert screen.events[at + 1 :] == [("enter", 2)]
    assert sorted(screen.events[at - 2 : at]) == [("leave", 3), ("leave", 4)]
    assert sorted(hooks[1]) == sorted([("in", 2), ("in", 3), ("out", 2), ("in", 4), ("out", 3), ("out", 4), ("in", 2)])
    land.act(2, "step")
    land.settle()
    assert screen.count("on_stepped", 2) == 1
    assert land.witness(1).pack().resting == ()


def test_a_jump_in_the_same_space_leaves_all_behind(hooks):
    land = Land(2)
    screen = land.create(1, -20.0, is_seen=True)
    land.create(2, -30.0)
    land.create(3, 450.0)
    land.settle()
    land.do(1, lambda part: part.teleport("plain", (440.0, 0.0, 0.0)))
    land.settle()
    assert land.home(1) == 1
    assert screen.count("moved", (440.0, 0.0, 0.0)) == 1
    assert set(screen.seen) == {3}
    assert sorted(hooks[1]) == [("in", 2), ("in", 3), ("out", 2)]


def test_the_next_client_gets_nothing_of_the_one_before():
    """Story 20."""
    land = Land()
    land.create(1, -20.0, is_seen=True)
    land.create(2, -30.0)
    land.settle()
    land.act(2, "step")
    land.act(1, "step")
    first, second = land.base.screens[1], land.base.attach(1)
    before = list(first.events)
    land.settle()
    assert first.events == before
    assert second.events[:2] == [("player",), ("enter", 2)]
    land.base.detach(1)
    land.settle()
    land.act(2, "step")
    land.settle()
    assert land[0].reals[1].witness is None
    assert second.count("on_stepped") == 0


def test_a_late_word_about_a_former_client_does_not_end_the_present_one():
    land = Land()
    land.create(1, -20.0, is_seen=True)
    land.settle()
    real = land[0].reals[1]
    land[0].clients.set_witness(real, 0, False)
    assert real.witness is not None
