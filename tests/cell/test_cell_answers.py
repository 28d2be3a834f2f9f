"""Answers to an Offload: every copy gets the first answer, an answer is about one epoch, and a cell that has a real on
its way in either direction is not empty."""

from __future__ import annotations

import msgspec
import pytest

from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import EntityId, Part, PartId, next_move
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Jump, OffloadNoted, OffloadRefused, Onloaded, Past
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty
from terrazzo.world.bsp import BspTree, CellId, Leaf
from tests.cell.land import Land

STILL = (0.0, 0.0, 0.0)
CELL = PartId(EntityId(1), Part.CELL)


def send_off(land: Land, to: int, jump: Jump | None = None) -> None:
    home = land.home(1)
    assert home is not None
    land[home].steps.close_all()
    assert land[home].offloads.offload(land[home].reals[1], land[to].me, jump)


def jump_without_an_answer() -> Land:
    """Entity 1 has jumped from cell 0 into the hall, at cell 1, and from there to cell 2. The link between 0 and 1 is
    broken, and the answer is lost: cell 0 keeps its copy."""
    land = Land(3, margin_m=0.0, hall=1)
    land.create(1, -5.0)
    land.settle()
    send_off(land, 1, Jump(2, STILL, STILL))
    land.host.now += 0.1
    land.tick(land[0])
    land.deliver(land[0].me, land[1].me)
    assert land.home(1) == 1
    land.break_link(0, 1)
    land.step(2)
    send_off(land, 2, Jump(1, (300.0, 0.0, 0.0), STILL))
    land.step(10)
    assert land.home(1) == 2
    assert 1 in land[0].offloads.kept
    return land


def test_copy_is_confirmed_when_the_place_was_lost_and_the_cell_is_retired():
    land = jump_without_an_answer()
    place = land[1].switchboard.places[CELL]
    land[1].on_message(land[2].me, Astray(CELL, place.version))
    assert place.app is None
    del land[1].spaces[2]
    land.mend_link(0, 1)
    land.step(5)
    assert land.home(1) == 2
    assert not land[0].offloads.kept


@pytest.mark.parametrize("is_retired", [False, True])
def test_copy_is_confirmed_when_the_place_was_dropped(is_retired):
    land = jump_without_an_answer()
    land.host.now += 300.0
    land.step(20)
    assert CELL not in land[1].switchboard.places
    if is_retired:
        del land[1].spaces[2]
    land.mend_link(0, 1)
    land.settle()
    assert land.home(1) == 2


def test_copy_of_a_refused_jump_is_refused_however_late_it_comes():
    """The sender brings its real back when it receives the first refusal: the copy behind that must not be taken in."""
    land = Land(margin_m=0.0, hall=1)
    land.create(1, -5.0)
    land.settle()
    send_off(land, 1, Jump(7, STILL, STILL))
    copy = land[0].offloads.kept[1].message
    land[1].on_message(land[0].me, copy)
    land.host.now += 300.0
    land.tick(land[1])
    land[1].on_message(land[0].me, msgspec.structs.replace(copy, jump=Jump(2, STILL, STILL)))
    assert not land[1].reals
    land.step(3)
    assert land.home(1) == 0
    land.settle()


def test_answer_of_an_older_epoch_is_not_about_the_copy_that_is_kept_now():
    land = Land(3, margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    first = next_move(land.real(1).body.epoch)
    land.block(1, 0)
    land.put(1, 1.0)
    land.step(3)
    assert land.home(1) == 1
    send_off(land, 2)
    land.step(3)
    send_off(land, 0)
    land.step(3)
    assert land.home(1) == 0
    land.block(0, 1)
    send_off(land, 1)
    for late in (Onloaded(1, first), OffloadRefused(1, first, "no")):
        land[0].on_message(land[1].me, late)
        assert 1 in land[0].offloads.kept
        assert land.home(1) is None
    land.break_link(0, 1)
    land.mend_link(0, 1)
    land.settle()
    assert land.home(1) is not None, "the copy was the only one"


def test_answer_of_another_app_is_not_about_the_copy():
    land = Land(3, margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    send_off(land, 1)
    epoch = land[0].offloads.kept[1].message.epoch
    land[0].on_message(land[2].me, Onloaded(1, epoch))
    land[0].on_message(land[2].me, OffloadRefused(1, epoch, "no"))
    assert 1 in land[0].offloads.kept
    land.settle()
    assert land.home(1) is not None


def test_answer_is_stored_until_the_sender_has_noted_it():
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    send_off(land, 1)
    epoch = land[0].offloads.kept[1].message.epoch
    land.block(0, 1)
    land[1].on_message(land[0].me, land[0].offloads.kept[1].message)
    answers = land[1].offloads.answers
    land.step(3)
    assert len(answers) == 1
    answers.on_noted(land[0].me, OffloadNoted(1, epoch - 1))
    answers.on_noted(land[1].me, OffloadNoted(1, epoch))
    assert len(answers) == 1
    answers.on_noted(land[0].me, OffloadNoted(1, epoch))
    assert len(answers) == 0
    land.settle()


def test_answer_with_a_lost_note_is_sent_again_and_then_dropped():
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    send_off(land, 1)
    land.tick(land[0])
    land.deliver(land[0].me, land[1].me)
    land.tick(land[1])
    land.deliver(land[1].me, land[0].me)
    assert not land[0].offloads.kept
    land.break_link(0, 1)
    assert len(land[1].offloads.answers) == 1
    land.mend_link(0, 1)
    land.settle()
    assert len(land[1].offloads.answers) == 0


def test_answers_to_a_former_incarnation_are_dropped_when_its_successor_comes():
    land = Land(margin_m=0.0)
    former = land[0].me
    land[1].offloads.answers.give(former, Onloaded(1, 5))
    land[1].offloads.on_link_up(former)
    assert len(land[1].offloads.answers) == 1
    land[1].offloads.on_link_up(former._replace(incarnation=2))
    assert len(land[1].offloads.answers) == 0


def test_copy_is_not_restored_when_a_ghost_has_a_later_home():
    """Cell 1 had taken the real in and sent it on to cell 2 before it died: there it lives."""
    land = jump_without_an_answer()
    kept, dead = land[0].offloads.kept[1], land[1].me
    land[0].switchboard.learn(CELL, kept.message.epoch + 1, land[2].me)
    land[0].offloads.on_app_dead(dead)
    assert land.home(1) == 2
    assert not land[0].offloads.kept
    assert land[0].counts[LogEvent.OFFLOAD_ELSEWHERE] == 1


def retire(land: Land, index: int) -> None:
    """The cell of this CellApp is retired; the other has all of the space."""
    tree = BspTree(land.tree.bounds, Leaf(CellId(1), land[1 - index].me), CellId(3))
    land.plant("plain", 1, 2, tree, land[index], retiring=(land[index].me,))


def has_said_empty(land: Land, index: int) -> bool:
    """Whether this CellApp reports to the manager that it has no real of the space any more."""
    land.host.now += 0.1
    land[index].on_tick()
    bundles = dict(land[index].outbox.drain()).get(land.manager.me, [])
    return any(isinstance(each, CellEmpty) for bundle in bundles for each in REGISTRY.decode_bundle(bundle))


def test_cell_is_not_empty_while_a_real_that_left_is_unconfirmed():
    """It may be refused, and is here again then."""
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    send_off(land, 1)
    assert not land[0].reals
    retire(land, 0)
    assert not has_said_empty(land, 0)
    land[0].on_message(land[1].me, Onloaded(1, land[0].offloads.kept[1].message.epoch))
    assert has_said_empty(land, 0)


def test_cell_is_not_empty_while_a_real_that_has_come_waits():
    """Its ghost is too far behind: it lands when the steps between have come, or were given up."""
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    send_off(land, 1)
    message = land[0].offloads.kept[1].message
    ahead = message.number + 5
    land[1].on_message(land[0].me, msgspec.structs.replace(message, number=ahead, past=Past(ahead, (), ())))
    assert land[1].receiver.holding.has_arrivals(1)
    assert not land[1].reals
    retire(land, 1)
    assert not has_said_empty(land, 1)


def test_unconfirmed_copy_of_an_earlier_life_is_dropped_when_the_next_life_begins():
    land = jump_without_an_answer()
    land.do(1, lambda part: part.destroy())
    land.step(10)
    assert land.home(1) is None
    assert 1 in land[0].offloads.kept
    land.base.create(land[0].me, 1, (-5.0, 0.0, 0.0), life=2)
    land.step(5)
    assert land.home(1) == 0
    assert 1 not in land[0].offloads.kept
    land.mend_link(0, 1)
    land.settle()
    assert land.home(1) == 0
