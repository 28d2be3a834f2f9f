"""An arriving real locates the entities of its area of which its new cell has no body (`cell/ghosts/seeking.py`)."""

from __future__ import annotations

import pytest

from terrazzo.cell.client.interests import PATIENCE_S
from terrazzo.cell.ghosts import placement
from terrazzo.cell.ghosts.seeking import ASK_S, SEEK_S
from terrazzo.cell.motion.riding import LOST_S
from terrazzo.wire.pairs.cell_cell import WANTED_MAX, CreateGhost, DeleteGhost, NextReal, WantGhosts
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from terrazzo.world.bsp import BspTree, CellId, Leaf, Node
from terrazzo.world.rect import Axis, Rect
from tests.cell.arrivals import move_ground, watching
from tests.cell.land import MANAGER, Land, stripes
from tests.cell.plain import HALL_BOUNDS
from tests.cell.rides import check_aboard
from tests.cell.screen import Screen

PATIENCE_TICKS = int(PATIENCE_S * 10)
HERE = (70.0, 0.0, 0.0)


def arrived(ghost_distance_m: float = 100.0) -> tuple[Land, Screen]:
    """The watcher (entity 1) has come to cell 2; CellApp 0 has the real of entity 2, and a tree by which cell 2 is too
    far away to need a ghost of it."""
    land, screen = watching(ghost_distance_m)
    move_ground(land, 1, 2)
    while land.home(1) != 2:
        land.step()
    assert 2 not in land[2].bodies
    return land, screen


def grounded() -> Land:
    """CellApp 0 has the real of entity 2, CellApp 1 a ghost of it, CellApp 2 nothing."""
    land = Land(3, ghost_distance_m=100.0)
    land.create(2, -1.0)
    land.settle()
    return land


def slow_crossing(land: Land, entity: int) -> list:
    """An entity leaves cell 1 for cell 2; what carries it is taken from the link, and given back by the test."""
    land.block(1, 2)
    land.put(entity, 201.0)
    while land.home(entity) is not None:
        land.step()
    queue = land.queues[land[1].me, land[2].me]
    slow = [each for each in queue if getattr(each, "entity", 0) == entity]
    queue[:] = [each for each in queue if each not in slow]
    return slow


def pass_on(land: Land, ticks: int = 1) -> None:
    """Everything goes on, also what CellApp 1 sends to CellApp 2."""
    land.queues.setdefault((land[1].me, land[2].me), [])
    for _ in range(ticks):
        land.step()
        land.deliver(land[1].me, land[2].me)


def sent(land: Land, source: int, target: int, *kinds: type) -> list:
    """What is on its way from one cell to another."""
    return [each for each in land.queues.get((land[source].me, land[target].me), []) if isinstance(each, kinds)]


def asked(land: Land, *entities: int, position=HERE, space: int = 1, of: int = 0) -> list:
    """What a CellApp answers when cell 2 asks it for these."""
    land.block(of, 2)
    land.step()
    land.queues.pop((land[of].me, land[2].me), None)
    land[of].on_message(land[2].me, WantGhosts(space, position, entities))
    land.step(2)
    return sent(land, of, 2, CreateGhost, DeleteGhost, NextReal)


def test_arriving_witness_gets_the_ghost_that_no_tree_asks_for():
    """CellApp 0 never gets the new tree. Without the request the client loses entity 2 after PATIENCE_S."""
    land, screen = arrived()
    land.act(2, "step")
    land.step(PATIENCE_TICKS - 5)
    assert 2 in land[2].bodies
    assert screen.count("leave", 2) == 0
    assert screen.count("on_stepped", 2) == 1


def test_arriving_trigger_gets_the_ghost_that_no_tree_asks_for(hooks):
    land = Land(3, ghost_distance_m=100.0)
    land.create(1, 70.0)
    land.create(2, -1.0)
    land.do(1, lambda part: part.add_proximity(90.0, number=5))
    land.settle()
    move_ground(land, 1, 2)
    land.step(PATIENCE_TICKS + 8)
    assert land.home(1) == 2
    assert hooks[1] == [("near", 5, 2)]


def test_jump_takes_an_absent_entity_out_of_a_trigger_once(hooks):
    """The trigger has come to cell 2, which has no body of entity 2, and jumps away from there."""
    land = Land(3, ghost_distance_m=100.0)
    land.create(1, 70.0)
    land.create(2, -1.0)
    land.do(1, lambda part: part.add_proximity(90.0, number=5))
    land.settle()
    land.block(2, 0)
    land.block(0, 2)
    move_ground(land, 1, 2)
    while land.home(1) != 2:
        land.step()
    assert land.real(1).proximities[5].absent() == [2]
    land.do(1, lambda part: part.teleport("plain", (400.0, 0.0, 0.0)))
    land.step(3)
    assert land.part(1).position[0] == 400.0
    assert hooks[1] == [("near", 5, 2), ("far", 5, 2)]
    land.step(int(SEEK_S * 10) + 5)
    assert hooks[1] == [("near", 5, 2), ("far", 5, 2)]


def test_rider_keeps_a_vehicle_that_is_long_between_two_cells():
    """Both go from cell 1 to cell 2, and the vehicle is on its way for longer than LOST_S."""
    land = Land(3, margin_m=0.0, ghost_distance_m=60.0)
    land.create(1, 130.0)
    land.create(2, 130.0)
    land.settle()
    land.do(1, lambda part: part.board(2, (4.0, 0.0, 0.0)))
    slow = slow_crossing(land, 2)
    pass_on(land, 5)
    assert land.home(1) == 2
    assert 2 not in land[2].bodies
    pass_on(land, int(LOST_S * 10) + 20)
    assert land.part(1).vehicle == 2
    land.queues[land[1].me, land[2].me][:0] = slow
    land.settle()
    check_aboard(land, rider=1)


def test_entity_in_the_air_is_waited_for_longer_than_patience():
    """The real of entity 2 is on its way to the very cell where its watcher has arrived: a ghost of it names that cell,
    and its creation and the real come over a slow link."""
    land = Land(3, margin_m=0.0, ghost_distance_m=60.0)
    screen = land.create(1, 150.0, is_seen=True)
    land.create(2, 130.0)
    land.settle()
    assert screen.count("enter", 2) == 1
    slow = slow_crossing(land, 2)
    land.put(1, 202.0)
    pass_on(land, 5)
    assert land.home(1) == 2
    assert 2 not in land[2].bodies
    pass_on(land, PATIENCE_TICKS + 20)
    assert screen.count("leave", 2) == 0
    land.queues[land[1].me, land[2].me][:0] = slow
    land.settle()
    assert land.home(2) == 2
    assert screen.count("leave", 2) == 0


def test_entity_that_never_comes_is_given_up_after_seek_s():
    land, screen = watching(100.0)
    land.block(0, 2)
    move_ground(land, 1, 2)
    while land.home(1) != 2:
        land.step()
    land.step(int(SEEK_S * 10) - 2)
    assert screen.count("leave", 2) == 0
    land.step(4)
    assert screen.count("leave", 2) == 1
    assert not land[2].seeking._quests


def test_real_that_is_near_makes_a_ghost_where_it_is_asked_for():
    land = grounded()
    answers = asked(land, 2)
    assert [type(each) for each in answers] == [CreateGhost]
    assert land[2].me in land.real(2).ghosts


@pytest.mark.parametrize(("position", "space"), [((400.0, 0.0, 0.0), 1), (HERE, 2)])
def test_distant_real_answers_a_seeking_app(position, space):
    land = grounded()
    land.block(2, 0)
    land.block(0, 2)
    assert [type(each) for each in asked(land, 2, position=position, space=space)] == [DeleteGhost]


def test_no_ghost_is_made_at_an_app_that_has_left_the_space():
    """CellApp 0 has reported, or will report, that it sends nothing to cell 2 any more."""
    land = grounded()
    land[0].on_message(MANAGER, SpaceTree(1, "plain", 2, stripes([land[0].me, land[1].me]).pack()))
    assert land[0].former.has_left(1, land[2].me)
    assert [type(each) for each in asked(land, 2)] == [DeleteGhost]
    assert land[2].me not in land.real(2).ghosts


def test_denied_entity_leaves_when_patience_is_over():
    """The real has gone away since its watcher left for another cell."""
    land, screen = watching(100.0)
    move_ground(land, 1, 2)
    while land.home(1) != 2:
        land.step()
        land.put(2, -300.0)
    land.step(4)
    assert not land[2].seeking._quests, "its real has answered"
    land.step(PATIENCE_TICKS + 3)
    assert screen.count("leave", 2) == 1


def test_ghost_answers_where_the_real_is_and_since_when():
    land = grounded()
    answers = asked(land, 2, of=1)
    assert answers == [NextReal(2, land.real(2).body.epoch, land[0].me)]


def test_stub_answers_where_the_real_went():
    """CellApp 1 has no ghost any more, but its switchboard has seen the entity leave."""
    land = Land(3, margin_m=0.0, ghost_distance_m=60.0)
    land.create(2, 100.0)
    land.settle()
    land.put(2, -100.0)
    land.settle(80)
    assert land.home(2) == 0
    assert 2 not in land[1].bodies
    assert asked(land, 2, of=1) == [NextReal(2, land.real(2).body.epoch, land[0].me)]


def test_end_of_an_entity_is_sent_to_the_app_that_seeks_it():
    land = grounded()
    land.do(2, lambda part: part.destroy())
    land.block(0, 2)
    land.step(3)
    answers = asked(land, 2)
    assert [each.is_destroyed for each in answers] == [True]


def test_app_that_has_never_had_an_entity_is_silent():
    assert asked(grounded(), 77) == []


def test_answer_of_an_older_epoch_is_not_followed():
    land = arrived()[0]
    land.block(2, 0)
    land.block(0, 2)
    seeking, body = land[2].seeking, land.real(1).body
    seeking.seek(body, 9)
    seeking.on_next_real(land[1].me, NextReal(9, 5, land[0].me))
    seeking.on_next_real(land[1].me, NextReal(9, 4, land[1].me))
    sought = seeking._quests[1][9]
    assert (sought.ask, sought.epoch) == (land[0].me, 5)
    seeking.on_delete(land[1].me, DeleteGhost(9, 4, 3, is_destroyed=False))
    assert seeking.is_sought(1, 9)
    seeking.on_delete(land[0].me, DeleteGhost(9, 4, 3, is_destroyed=False))
    assert seeking.is_sought(1, 9), "the real has come back there since"
    seeking.on_delete(land[0].me, DeleteGhost(9, 5, 3, is_destroyed=False))
    assert not seeking.is_sought(1, 9)


def test_question_is_repeated_until_it_is_answered():
    land = arrived()[0]
    land.block(2, 0)
    land.queues.pop((land[2].me, land[0].me), None)
    land[2].seeking.seek(land.real(1).body, 9)
    land.step(int(ASK_S * 10) * 3)
    questions = [each for each in sent(land, 2, 0, WantGhosts) if 9 in each.entities]
    assert len(questions) == 3


def test_ghosts_asked_for_are_made_first_and_counted_with_the_others(monkeypatch):
    """One ghost a check: first those that were asked for, in that order."""
    land = grounded()
    land.block(0, 1)
    land.block(0, 2)
    for entity in range(10, 14):
        land.create(entity, -150.0, float(entity))
    monkeypatch.setattr(placement, "CREATED_MAX", 1)
    for entity in range(10, 14):
        land.put(entity, -5.0, float(entity))
    land[0].on_message(land[2].me, WantGhosts(1, HERE, (13, 12)))
    land.step(4)
    assert [each.entity for each in sent(land, 0, 2, CreateGhost)] == [13, 12]
    assert not [each.entity for each in sent(land, 0, 1, CreateGhost)]
    land.step(8)
    assert sorted(each.entity for each in sent(land, 0, 1, CreateGhost)) == [10, 11, 12, 13]


def test_questions_are_cut_to_what_a_message_may_hold():
    land = arrived()[0]
    land.block(2, 0)
    for entity in range(100, 100 + WANTED_MAX + 5):
        land[2].seeking.seek(land.real(1).body, entity)
    land.step()
    sizes = [len(each.entities) for each in sent(land, 2, 0, WantGhosts)]
    assert max(sizes) == WANTED_MAX
    assert len(sizes) >= 2


def test_entity_with_its_real_here_in_another_space_is_not_sought():
    land = Land(3, hall=2)
    land.create(1, 300.0)
    land.create(2, 10.0, space=2)
    land.settle()
    land[2].seeking.seek(land.real(1).body, 2)
    land.step()
    assert not land[2].seeking.is_sought(1, 2)


def test_entity_that_has_a_ghost_here_in_another_space_is_given_up():
    """Its real is asked, since the ghost may be behind, and has no ghost to make or to delete."""
    land = Land(3, hall=0)
    hall = BspTree(
        Rect(*HALL_BOUNDS), Node(Axis.X, 0.0, Leaf(CellId(1), land[0].me), Leaf(CellId(2), land[2].me)), CellId(3)
    )
    land.plant("hall", 2, 2, hall, land[0], land[2])
    land.create(1, 450.0)
    land.create(2, -1.0, space=2, on=0)
    land.settle()
    ghost = land[2].bodies[2]
    assert (land.home(1), land.home(2), ghost.space.id, ghost.real) == (2, 0, 2, None)
    land[2].seeking.seek(land.real(1).body, 2)
    land[2].seeking._quests[1][2].ask = land[0].me
    land.step(3)
    assert not land[2].seeking.is_sought(1, 2)
    assert land[2].bodies[2] is ghost


def test_wanted_ghosts_are_bounded():
    land = arrived()[0]
    real = land.real(2)
    land[0].placement._wanted = {(entity, land[1].me): None for entity in range(placement.WANTED_MAX)}
    land[0].placement.want(real, land[2].me)
    assert len(land[0].placement._wanted) == placement.WANTED_MAX


def test_lost_s_is_shorter_than_the_search():
    """Else a rider would never wait for the answer to its question."""
    assert LOST_S < SEEK_S
