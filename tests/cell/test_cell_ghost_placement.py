"""Where reals have ghosts: made, kept, confirmed, deleted; after a broken link."""

from __future__ import annotations

import pytest

from terrazzo.cell.core.neighbours import NEIGHBOURS_MAX, CellAppBits
from terrazzo.cell.ghosts.placement import CONFIRM_S, KEEP_M, LINGER_S
from terrazzo.wire.ids import AppId, AppKind, life_of
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import CreateGhost, DeleteGhost, GhostCreated, NextReal, WantSnapshot
from tests.cell.land import Land

LINGER_TICKS = int(LINGER_S * 10)


def on_the_way(land: Land, source: int, target: int, kind: type) -> list:
    return [each for each in land.queues.get((land[source].me, land[target].me), []) if isinstance(each, kind)]


def test_a_ghost_is_where_the_square_reaches_and_stays_a_little_longer():
    land = Land()
    reach = land[0].placement.distance_m
    assert reach == 100.0 + 5.0 + 6.0
    land.create(1, -reach - 2.0)
    land.step(20)
    assert 1 not in land[1].bodies
    land.put(1, -reach + 2.0)
    land.step(4)
    assert 1 in land[1].bodies
    land.put(1, -reach - KEEP_M + 2.0)
    land.step(LINGER_TICKS + 20)
    assert 1 in land[1].bodies
    land.put(1, -reach - KEEP_M - 2.0)
    land.step(LINGER_TICKS - 15)
    assert 1 in land[1].bodies
    land.step(30)
    assert 1 not in land[1].bodies
    land.settle()


def test_a_ghost_lingers_where_the_ground_has_moved_away():
    """A witness that is still far outside its cell goes on seeing it; its app gets the tree later than the other."""
    land = Land(3)
    screen = land.create(1, 20.0, is_seen=True)
    land.create(2, -10.0)
    land.settle()
    land.step(LINGER_TICKS)
    tree = land.tree.move_border((), 180.0)
    land.plant("plain", 1, 2, tree, land[0], land[2])
    land.step(LINGER_TICKS - 15)
    assert 1 in land[1].reals
    assert 2 in land[1].bodies
    land.plant("plain", 1, 2, tree, land[1])
    land.settle(LINGER_TICKS + 20)
    assert 1 in land[0].reals
    assert 2 not in land[1].bodies
    assert screen.events == [("player",), ("enter", 2)]


def test_new_ghost_gets_no_step_before_its_creation():
    land = Land()
    land.create(1, -300.0)
    land.put(1, -50.0)
    land[0].placement.create(land.real(1), land[1].me)
    bundles = [bundle for peer, bundles in land[0].outbox.drain() if peer == land[1].me for bundle in bundles]
    assert [type(each) for bundle in bundles for each in REGISTRY.decode_bundle(bundle)] == [CreateGhost]


def test_a_ghost_is_not_deleted_in_its_first_moments():
    land = Land()
    land.create(1, -300.0)
    land.put(1, -50.0)
    land.step(3)
    assert 1 in land[1].bodies
    land.put(1, -300.0)
    land.step(LINGER_TICKS - 5)
    assert 1 in land[1].bodies
    land.step(20)
    assert 1 not in land[1].bodies


def test_a_ghost_is_not_deleted_just_after_the_real_has_come():
    land = Land(3, margin_m=0.0)
    land.create(1, 5.0)
    land.settle()
    assert 1 in land[0].bodies
    land.put(1, 205.0)
    while land.home(1) != 2:
        land.step()
    since = land.host.now
    while 1 in land[0].bodies:
        land.step()
    assert land.host.now - since >= LINGER_S


def test_while_it_is_about_to_leave_only_its_destination_gets_a_ghost():
    land = Land(4, margin_m=0.0, corner=True)
    start, to, other = land.corner(-1, -1), land.corner(1, -1), land.corner(-1, 1)
    land.create(1, -300.0, -300.0)
    real = land[start].reals[1]
    real.body.space.place(real.body, (10.0, 0.0, -10.0), (0.0, 0.0, 0.0))
    land[start].core.tick = 0
    land[start].steps.close_all()
    land[start].placement.tend()
    assert set(real.ghosts) == {land[to].me}
    real.body.space.place(real.body, (-10.0, 0.0, -10.0), (0.0, 0.0, 0.0))
    land[start].steps.close_all()
    land[start].placement.tend()
    assert land[other].me in real.ghosts


def test_a_creation_that_is_not_confirmed_is_tried_again():
    land = Land()
    land.block(0, 1)
    land.create(1, -20.0)
    land.step(5)
    assert len(on_the_way(land, 0, 1, CreateGhost)) == 1
    land.queues[land[0].me, land[1].me].clear()
    assert not land[0].reals[1].ghosts[land[1].me].is_confirmed
    land.step(int(CONFIRM_S * 10) + 12)
    assert len(on_the_way(land, 0, 1, CreateGhost)) == 1
    assert land[0].counts[LogEvent.GHOST_AGAIN] == 1
    land.settle()
    assert 1 in land[1].bodies
    assert land[0].reals[1].ghosts[land[1].me].is_confirmed
    land.step(int(CONFIRM_S * 10) + 12)
    assert land[0].counts[LogEvent.GHOST_AGAIN] == 1


def test_a_confirmation_that_is_late_does_no_harm():
    land = Land()
    watcher = land.create(2, 20.0, is_seen=True)
    land.create(1, -20.0)
    land.settle()
    land[0].reals[1].ghosts[land[1].me].is_confirmed = False
    land.act(1, "step")
    land.step(int(CONFIRM_S * 10) + 12)
    land[0].on_message(land[1].me, GhostCreated(77, 3))
    land.settle()
    assert watcher.count("enter", 1) == 1
    assert watcher.count("leave", 1) == 0


def test_no_ghost_is_made_over_a_link_that_is_broken():
    land = Land()
    land.break_link(0, 1)
    land.create(1, -20.0)
    land.step(20)
    assert not land[0].reals[1].ghosts
    land.mend_link(0, 1)
    land.settle()
    assert 1 in land[1].bodies


@pytest.mark.parametrize("what", ["steps", "deletion", "creation", "destruction", "offload"])
def test_after_a_broken_link_everything_is_made_good(what):
    """Whatever was lost with the link: in the end the ghosts equal their reals, and clients have that state."""
    land = Land(3)
    watcher = land.create(2, 30.0, is_seen=True)
    land.create(1, -300.0 if what == "creation" else -20.0)
    land.settle()
    land.block(0, 1)
    if what == "deletion":
        land.put(1, -300.0)
    elif what == "creation":
        land.put(1, -20.0)
    elif what == "destruction":
        land.act(1, "step")
        land.do(1, lambda part: part.destroy())
    elif what == "offload":
        land.act(1, "step")
        land.put(1, 250.0)
    else:
        for _ in range(5):
            land.act(1, "step")
            land.step()
    land.step(40)
    land.break_link(0, 1)
    land.step(5)
    land.mend_link(0, 1)
    land.settle(80)
    ghosts = {"steps": True, "deletion": False, "creation": True, "destruction": False, "offload": True}
    assert (1 in land[1].bodies) == ghosts[what]
    if what in ("steps", "destruction"):
        assert watcher.count("on_stepped", 1) == (5 if what == "steps" else 1)
    assert land.home(1) == {"destruction": None, "offload": 2}.get(what, 0)


def test_end_of_a_life_is_sent_again_when_the_next_has_ended():
    """While the link was broken it lived once more, without a ghost there: the tombstone is of that life."""
    land = Land()
    watcher = land.create(2, 20.0, is_seen=True)
    land.create(1, -20.0)
    land.settle()
    land.break_link(0, 1)
    land.act(1, "step")
    land.do(1, lambda part: part.destroy())
    land.step(3)
    land.base.create(land[0].me, 1, (-20.0, 0.0, 0.0), life=2)
    land.step(4)
    land.do(1, lambda part: part.destroy())
    land.step(3)
    tombstone = land[0].receiver.tombstones.get(1)
    assert tombstone is not None
    assert life_of(tombstone.epoch) == 2
    land.mend_link(0, 1)
    land.step(5)
    assert 1 not in land[1].bodies
    assert watcher.events[-2:] == [("on_stepped", 1, 1), ("leave", 1)], "its last words, then its leaving"


def test_request_at_a_former_home_is_answered_with_the_present_home():
    land = Land(3, margin_m=0.0)
    land.create(1, -5.0)
    land.settle()
    land.put(1, 5.0)
    land.settle()
    stranger = AppId(AppKind.CELL_APP, 9, 1)
    land.apps[stranger] = land.base
    land[0].on_message(stranger, WantSnapshot(1, 3))
    land[1].on_message(stranger, WantSnapshot(1, 3))
    land[2].on_message(stranger, WantSnapshot(77, 3))
    for app in land.cells:
        land.tick(app)
    body = land[1].bodies[1]
    assert land.queues[land[0].me, stranger] == [NextReal(1, body.epoch, land[1].me)]
    past = body.history.pack()
    assert land.queues[land[1].me, stranger] == [DeleteGhost(1, body.epoch, body.number, False, past, 1)]
    assert (land[2].me, stranger) not in land.queues


def test_each_neighbour_has_a_bit_up_to_the_limit():
    neighbours = CellAppBits()
    apps = [AppId(AppKind.CELL_APP, index, 1) for index in range(NEIGHBOURS_MAX + 1)]
    assert [neighbours.take(app) for app in apps] == [*range(NEIGHBOURS_MAX), None]
    assert neighbours.take(apps[3]) == 3
    neighbours.give_back(apps[3])
    assert neighbours.has(apps[3])
    neighbours.give_back(apps[3])
    assert not neighbours.has(apps[3])
    assert neighbours.take(apps[-1]) == 3
    assert neighbours.app_of(3) == apps[-1]


def test_neighbour_beyond_the_limit_is_counted_and_reported():
    land = Land(1)
    land.create(1, -50.0)
    real, placement = land.real(1), land[0].placement
    apps = [AppId(AppKind.CELL_APP, 100 + number, 1) for number in range(NEIGHBOURS_MAX + 1)]
    for app in apps:
        placement.create(real, app)
    assert real.ghosts.keys() == set(apps[:-1])
    assert land[0].counts[LogEvent.TOO_MANY_NEIGHBOURS] == 1
    [facts] = [facts for event, facts in land.host.logged if event == LogEvent.TOO_MANY_NEIGHBOURS]
    assert facts["app"] == str(apps[-1])
    assert "ghost_distance_m" in str(facts["advice"])
