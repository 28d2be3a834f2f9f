"""Story 21: the witness arrives where the local copy of what its client sees is behind, ahead, late, or gone.

`Screen` holds every word against the protocol: a change before its description, an alias that means nothing, an entity
that enters twice or comes back older than it left fails the test that caused it.
"""

from __future__ import annotations

import pytest

from terrazzo.cell.client.interests import PATIENCE_S
from terrazzo.cell.client.sent import LEFT_S
from terrazzo.cell.core import history
from terrazzo.cell.ghosts.seeking import SEEK_S
from tests.cell.arrivals import arrive, move_ground, watching, with_seen
from tests.cell.land import Land, watched_land

PATIENCE_TICKS = int(PATIENCE_S * 10)


def test_race_21_a_cell_that_is_behind_what_the_client_has_waits():
    land, screen = watching(300.0)
    land.block(0, 2)
    for _ in range(3):
        land.act(2, "step")
        land.step()
    land.step(3)
    assert screen.seen[2]["steps"] == 3
    move_ground(land, 0, 1, 2)
    land.step(3)
    assert land.home(1) == 2
    assert land[2].bodies[2].state["steps"] == 0
    land.step(PATIENCE_TICKS + 5)
    assert screen.count("leave") == 0
    land.act(2, "step")
    land.settle()
    assert screen.count("enter", 2) == 1
    assert screen.count("on_stepped", 2) == 4


def test_race_21_place_of_a_ghost_that_is_behind_is_ignored():
    """The client has it as near; in this cell it is far outside. It is not made to leave and come back."""
    land = Land(3, ghost_distance_m=300.0)
    screen = land.create(1, 70.0, is_seen=True)
    land.create(2, -50.0)
    land.settle()
    assert screen.events == [("player",)]
    land.block(0, 2)
    land.put(2, -1.0)
    land.act(2, "step")
    land.step(5)
    assert screen.events[1:] == [("enter", 2)]
    move_ground(land, 0, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert land[2].bodies[2].position[0] == -50.0
    before = len(land.base.places.get(1, []))
    land.step(25)
    assert len(land.base.places.get(1, [])) == before, "nor is the client told of the old place"
    land.settle()
    assert screen.events[1:] == [("enter", 2)]
    land.put(2, -50.0)
    land.settle()
    assert screen.events[1:] == [("enter", 2), ("leave", 2)]


def test_race_21_place_that_is_behind_is_not_sent():
    land, screen = watching(300.0)
    land.block(0, 2)
    land.put(2, -4.0)
    land.step(5)
    assert screen.view.others[2].position[0] == -4.0
    move_ground(land, 0, 1, 2)
    land.step(25)
    assert land.home(1) == 2
    assert land[2].bodies[2].position[0] == -1.0
    assert screen.view.others[2].position[0] == -4.0
    land.put(2, -5.0)
    land.settle()
    assert screen.view.others[2].position[0] == -5.0


def test_race_21_what_was_announced_elsewhere_is_described_when_the_copy_has_caught_up():
    land, screen = watched_land(200.0)
    land.blocked.add((land.base.me, land[0].me))
    land.put(2, 10.0)
    land.step(4)
    number = land[0].bodies[2].number
    arrive(land, change=with_seen(2, sent=number + 3))
    land.blocked.clear()
    land.step(6)
    assert screen.events == [("player",)]
    for _ in range(3):
        land.act(2, "step")
        land.step()
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]
    assert screen.seen[2]["steps"] == 3


def test_race_21_what_could_not_be_announced_before_is_announced_here():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.step(2)
    story = land.witness(1).sent
    story.budget.deficit = 1e6
    land.create(2, 10.0)
    assert story.entry(2)[1] == 0, "there was no budget"
    arrive(land)
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]


def test_race_21_entity_of_another_life_is_announced_anew_by_an_arriving_witness():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0, life=2)
    land.settle()
    arrive(land, change=with_seen(2, sent=(1 << 32) + 50))
    land.settle()
    assert screen.events == [("player",), ("enter", 2), ("leave", 2), ("enter", 2)]


def test_race_21_a_copy_that_goes_before_it_has_caught_up_is_waited_for():
    """It is behind, and its ghost is deleted: the next one may be on its way. Its place in the arrays gets another."""
    land = Land()
    screen = land.create(1, -10.0, is_seen=True)
    land.create(2, 30.0)
    land.settle()
    app, ghost = land[0], land[1].reals[2].ghost()
    witness = arrive(land, change=with_seen(2, sent=land[0].bodies[2].number + 1))
    app.receiver.remove(app.bodies[2], app.bodies[2].epoch, is_destroyed=False)
    land.step(2)
    assert witness.sent.entry(2)[0] == -1
    app.on_message(land[1].me, ghost)
    land.put(2, 31.0)
    land.step(3)
    land.act(2, "step")
    land.settle()
    assert screen.count("leave", 2) == 0
    assert screen.count("on_stepped", 2) == 1
    assert witness.sent.entry(2)[0] == app.bodies[2].slot


def test_race_21_area_after_a_jump_is_computed_in_the_next_round(hooks):
    """It is not waited for, but it comes before that."""
    land = Land()
    screen = land.create(1, -10.0, is_seen=True)
    land.create(2, 30.0)
    land.settle()
    app, ghost = land[0], land[1].reals[2].ghost()
    app.receiver.remove(app.bodies[2], app.bodies[2].epoch, is_destroyed=False)
    arrive(land, jump_from=1)
    app.on_message(land[1].me, ghost)
    land.settle()
    assert screen.count("leave", 2) == 0
    assert hooks[1] == [("in", 2)], "the game does not hear that it left and came"


def test_race_21_what_the_cell_has_not_got_yet_is_waited_for():
    land, screen = watching(100.0)
    land.block(0, 2)
    move_ground(land, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert 2 not in land[2].bodies
    land.act(2, "step")
    move_ground(land, 0)
    land.settle()
    assert screen.count("leave", 2) == 0
    assert screen.count("on_stepped", 2) == 1


def test_race_21_an_earlier_tombstone_is_no_reason_to_leave():
    """There was a ghost with all that the client has; the next one is on its way."""
    land, screen = watching(300.0)
    land[0].placement.delete(land.real(2), land[2].me)
    land.tick(land[0])
    land.deliver(land[0].me, land[2].me)
    land.block(0, 2)
    move_ground(land, 0, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert 2 not in land[2].bodies
    tombstone = land[2].receiver.tombstones.get(2)
    assert tombstone is not None
    assert tombstone.number == land.real(2).body.number
    land.act(2, "step")
    land.settle()
    assert screen.count("leave", 2) == 0
    assert screen.count("on_stepped", 2) == 1


def test_race_21_what_never_comes_leaves_in_the_end():
    land, screen = watching(100.0)
    land.block(0, 2)
    land.block(1, 2)
    move_ground(land, 1, 2)
    land.deliver(land[1].me, land[2].me)
    while land.home(1) != 2:
        land.step()
        land.deliver(land[1].me, land[2].me)
    land.step(PATIENCE_TICKS + 8)
    assert screen.count("leave", 2) == 0, "it is sought"
    land.step(int(SEEK_S * 10))
    assert screen.count("leave", 2) == 1


@pytest.mark.parametrize("is_destroyed", [True, False])
def test_race_21_what_has_left_does_not_come_back_in_an_older_state(is_destroyed):
    land, screen = watching(300.0)
    land.block(0, 2)
    if is_destroyed:
        land.do(2, lambda part: part.destroy())
    else:
        land.put(2, -100.0)
    land.step(3)
    assert screen.count("leave", 2) == 1
    move_ground(land, 0, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert land[2].bodies[2].position[0] == -1.0, "an old copy, in sight"
    land.settle()
    assert screen.count("enter", 2) == screen.count("leave", 2) == 1


def test_race_21_what_has_left_comes_back_when_the_copy_has_caught_up():
    land, screen = watching(300.0)
    land.block(0, 2)
    land.put(2, -100.0)
    land.step(3)
    land.put(2, -2.0)
    land.act(2, "step")
    land.step(1)
    move_ground(land, 0, 1, 2)
    land.settle()
    assert land.home(1) == 2
    assert screen.events[-1] == ("enter", 2)
    assert screen.count("leave", 2) == 1


def test_race_21_ghost_that_is_behind_for_very_long_is_accepted_in_the_end():
    land, screen = watching(300.0)
    land.block(0, 2)
    land.put(2, -100.0)
    land.step(3)
    move_ground(land, 0, 1, 2)
    land.step(int(LEFT_S * 10) + 10)
    assert screen.count("enter", 2) == 2
    land.settle()
    assert screen.count("leave", 2) == 2


def test_race_21_last_events_are_sent_also_to_a_witness_that_arrives_later():
    land, screen = watching(300.0)
    land.block(0, 1)
    land.act(2, "step")
    land.do(2, lambda part: part.destroy())
    land.step(3)
    assert screen.count("on_stepped", 2) == 0
    assert 2 not in land[2].bodies
    move_ground(land, 0, 1, 2)
    land.step(8)
    assert land.home(1) == 2
    assert screen.events[-3:] == [("steps", 2, 1), ("on_stepped", 2, 1), ("leave", 2)], "at once"
    land.settle()


def test_race_21_properties_are_sent_anew_when_the_history_is_gone(monkeypatch):
    monkeypatch.setattr(history, "STEPS_MAX", 2)
    land, screen = watched_land(10.0)
    real = land[0].reals[2]
    for step in range(1, 6):  # several steps between two looks of the witness
        land.do(2, lambda part, n=step: setattr(part, "pose", n))
        land[0].core.close_step(real)
    land.settle()
    assert screen.seen[2]["pose"] == 5
    assert screen.count("pose", 2) == 1
    assert screen.count("name", 2) == 0, "what has not changed is not told"


def test_race_21_a_migration_repeats_nothing():
    land = Land()
    screen = land.create(1, -5.0, is_seen=True)
    land.create(2, -20.0)
    land.create(3, 20.0)
    land.settle()
    for x in (5.0, -5.0, 5.0, -5.0):
        for entity in (2, 3):
            land.act(entity, "step")
        land.put(1, x)
        for entity in (2, 3):
            land.act(entity, "step")
        land.settle()
    assert land.home(1) == 0
    for entity in (2, 3):
        assert screen.count("enter", entity) == 1
        assert screen.count("leave", entity) == 0
        assert screen.count("on_stepped", entity) == 8


# All of them at once.


@pytest.mark.parametrize("seed", range(12))
def test_walkers_at_a_corner_of_four_cells(seed):
    """Links deliver at their own pace; everyone watches everyone, moves over the borders, changes, and is withheld."""
    land = Land(4, seed=seed, corner=True, area_radius_m=40.0, ghost_distance_m=60.0)
    rng = land.rng
    assert rng is not None
    entities = (1, 2, 3, 4, 5)
    for entity in entities:
        land.create(entity, rng.uniform(-30, 30), rng.uniform(-30, 30), is_seen=entity < 4)
    for _ in range(40):
        for entity in entities:
            if land.home(entity) is None:
                continue
            land.act(entity, "step")
            if rng.random() < 0.4:
                land.put(entity, rng.uniform(-60, 60), rng.uniform(-60, 60))
        land.step()
    land.settle(80)
