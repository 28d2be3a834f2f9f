"""Ghosts: held messages are bounded in number and time, impossible ones are refused, old ones are dropped."""

from __future__ import annotations

import struct

import msgspec
import pytest

from terrazzo.cell.core import history
from terrazzo.cell.ghosts import holding
from terrazzo.cell.ghosts.held import HELD_STEPS_MAX, HELD_TRANSITIONS_MAX
from terrazzo.cell.ghosts.holding import HELD_ENTITIES_MAX
from terrazzo.cell.ghosts.mending import ASKED_MAX, GAP_S
from terrazzo.cell.ghosts.tombstones import TOMBSTONE_S, TOMBSTONES_MAX, Tombstones
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.cell_cell import (
    CreateGhost,
    DeleteGhost,
    GhostCreated,
    GhostList,
    GhostPlaces,
    Item,
    NextReal,
    PackedEvent,
    Past,
    SetReal,
    Step,
    UpdateGhost,
    WantSnapshot,
)
from tests.cell.cast import BASE
from tests.cell.ghost_script import NO_TURN, A, B, D, create, delete, place_of, update
from tests.cell.land import Land
from tests.cell.plain import AVATAR

LIFE = 1 << 32
_SAID = next(index for index, method in enumerate(AVATAR.client_methods) if method.name == "on_said")
CALL = (_SAID, AVATAR.client_methods[_SAID].encode_args("bye"))


def places(epoch: int, number: int) -> GhostPlaces:
    return GhostPlaces(1, struct.pack("<iqq6f", 1, epoch, number, *place_of(number), *NO_TURN))


def said(land: Land) -> list[tuple[int, Message]]:
    """The messages of the app for other CellApps, by their index."""
    found: list[tuple[int, Message]] = []
    for peer, bundles in land[0].outbox.drain():
        for bundle in bundles if peer in (A, B) else ():
            found += [(peer.index, each) for each in REGISTRY.decode_bundle(bundle) if isinstance(each, Message)]
    return found


def test_places_go_straight_into_the_arrays_but_not_past_what_is_held():
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    land[0].on_message(A, places(0, 2))
    land[0].on_message(A, places(0, 4))
    assert land[0].bodies[1].number == 2
    land[0].on_message(A, places(0, 3))
    assert land[0].bodies[1].number == 4
    assert not land[0].receiver.held
    land[0].on_message(A, places(0, 5))
    assert (land[0].bodies[1].number, land[0].bodies[1].position) == (5, place_of(5))
    land[0].on_message(B, places(1, 7))
    land[0].on_message(A, places(0, 6))
    assert (land[0].bodies[1].number, land[0].bodies[1].real_app) == (7, B)
    land[0].on_message(A, GhostPlaces(1, b"123"))
    assert land[0].counts[LogEvent.PLACES_MALFORMED] == 1


def test_a_creation_is_confirmed_with_the_highest_epoch():
    land = Land(1)
    land[0].on_message(B, create(1, 4))
    land[0].on_message(A, create(0, 2))
    assert said(land) == [(B.index, GhostCreated(1, 1)), (A.index, GhostCreated(1, 1))]


def test_a_new_life_comes_while_the_old_one_is_ending():
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, create(LIFE, LIFE))
    assert land[0].bodies[1].number == 3, "the old one goes on to its end"
    land[0].on_message(A, delete(0, 3, is_destroyed=True))
    assert land[0].bodies[1].number == LIFE
    land[0].on_message(A, update(0, 4))
    land[0].on_message(A, delete(0, 4, is_destroyed=True))
    assert land[0].bodies[1].number == LIFE


def test_held_message_of_a_former_life_does_not_end_the_next():
    """The ghost is gone with its cell, its deletion is still held; then the entity is born again, here."""
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, delete(0, 5, is_destroyed=True))
    body = land[0].bodies[1]
    land[0].receiver.remove(body, body.epoch, is_destroyed=False)
    land.create(1, 10.0)
    land.step(int(3 * GAP_S * 10))
    assert land.home(1) == 0
    land.act(1, "step")


def test_creation_behind_a_gap_is_taken_in_the_end():
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, create(1, 6))
    land[0].on_message(B, update(1, 7))
    land.step(int(GAP_S * 10) - 2)
    assert land[0].bodies[1].number == 3
    land.step(4)
    assert land[0].bodies[1].number == 7
    assert land[0].counts[LogEvent.GAP_PASSED_OVER] == 1


@pytest.mark.parametrize("is_snapshot", [True, False])
def test_new_life_behind_a_gap_is_another_ghost(is_snapshot):
    """The end of the old one was lost, and the newest epoch received is of the new one. Clients see one leave and the
    other enter; they get no places of the new one for the old."""
    land = Land(1)
    watcher = land.create(2, 30.0, is_seen=True)
    land[0].on_message(A, create(0, 3))
    land.step(5)
    old, before = land[0].bodies[1], len(watcher.events)
    land[0].on_message(B, SetReal(1, LIFE, LIFE + 20))
    land[0].on_message(B, create(LIFE, LIFE + 20, is_snapshot=is_snapshot))
    land.step(int(GAP_S * 10) + 5)
    assert land[0].bodies[1] is not old
    assert land[0].bodies[1].number == LIFE + 20
    assert [each[:2] for each in watcher.events[before:]] == [("leave", 1), ("enter", 1)]


def test_end_of_a_replaced_ghost_has_no_later_epoch_than_its_successor():
    """A message about a later home has come. The next one's end is the later one, and keeps its last events."""
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, NextReal(1, LIFE + 1, D))
    land[0].on_message(B, create(LIFE, LIFE + 20, is_snapshot=True))
    land[0].on_message(B, delete(LIFE, LIFE + 20))
    tombstone = land[0].receiver.tombstones.get(1)
    assert tombstone is not None
    assert (tombstone.epoch, tombstone.number) == (LIFE, LIFE + 20)


@pytest.mark.parametrize("has_words", [True, False])
def test_deletion_behind_a_gap_is_taken_in_the_end(has_words):
    """Its last steps are asked for first."""
    land = Land(1)
    watcher = land.create(2, 30.0, is_seen=True)
    land[0].on_message(A, create(0, 3))
    land.step(5)
    land[0].on_message(A, delete(0, 5, is_destroyed=True))
    land.host.now += GAP_S
    land[0].receiver.on_tick()
    assert (A.index, WantSnapshot(1, 3)) in said(land)
    assert 1 in land[0].bodies
    if has_words:
        call = land[0].bodies[1].kind.event_of_call(*CALL)
        past = Past(3, (Step(5, (PackedEvent(-1, *call.message),)),), ())
        land[0].on_message(A, DeleteGhost(1, 0, 5, True, past))
    else:
        land.host.now += GAP_S
        land[0].receiver.on_tick()
        assert land[0].counts[LogEvent.GAP_PASSED_OVER] == 1
    assert 1 not in land[0].bodies
    assert not land[0].receiver.held
    land.step(5)
    assert watcher.events[-1] == ("leave", 1)
    assert watcher.count("on_said", 1, "bye") == has_words


def test_too_many_steps_are_not_held_but_mended():
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    for number in range(3, HELD_STEPS_MAX + 50):
        land[0].on_message(A, update(0, number))
    assert len(land[0].receiver.held[1].steps) == HELD_STEPS_MAX
    land[0].on_message(A, create(0, 400, is_snapshot=True))
    assert land[0].bodies[1].state["steps"] == 400
    assert not land[0].receiver.held


def test_too_many_turns_are_not_held():
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    for number in range(3, HELD_TRANSITIONS_MAX + 10):
        land[0].on_message(A, create(0, number))
    assert len(land[0].receiver.held[1].transitions) == HELD_TRANSITIONS_MAX
    assert land[0].counts[LogEvent.HELD_TRANSITIONS_GIVEN_UP] > 0


def test_too_many_entities_are_not_held():
    land = Land(1)
    for entity in range(1, HELD_ENTITIES_MAX + 3):
        land[0].on_message(A, update(0, 9, entity))
    assert len(land[0].receiver.held) == HELD_ENTITIES_MAX
    assert 1 not in land[0].receiver.held


def test_a_list_may_cost_others_what_they_hold(monkeypatch):
    """Too much is held already: taking what is held ends ghosts while the list is gone through."""
    monkeypatch.setattr(holding, "HELD_ENTITIES_MAX", 3)
    land = Land(1)
    for entity in range(1, 7):
        land[0].on_message(A, create(0, 3, entity))
    for entity in range(1, 4):
        land[0].on_message(A, delete(0, 5, entity))
    land[0].on_message(A, GhostList(()))
    assert sorted(land[0].bodies) == [4, 5, 6]
    assert len(land[0].receiver.held) == 3


def test_the_last_words_of_one_that_has_gone_on_are_not_its_end():
    """The present home has sent that there is a ghost here: its creation is on its way, and requested."""
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(B, SetReal(1, 1, 4))
    land[0].on_message(A, DeleteGhost(1, 0, 4, False, Past(3, (), ()), 1))
    assert 1 not in land[0].bodies
    assert land[0].receiver.held[1].awaited == 1


def test_only_a_ghost_that_is_there_is_confirmed():
    land = Land(1)
    land[0].on_message(A, msgspec.structs.replace(create(0, 3), type_id=99))
    assert said(land) == []
    land[0].on_message(A, create(0, 3))
    assert said(land) == [(A.index, GhostCreated(1, 0))]


def test_ghost_without_a_real_is_deleted_in_the_end():
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    land[0].on_message(A, update(0, 3))
    asked = 0
    for _ in range(ASKED_MAX + 2):
        land.host.now += GAP_S + 0.1
        land[0].receiver.on_tick()
        asked += sum(isinstance(each, WantSnapshot) for _, each in said(land))
    assert asked == ASKED_MAX
    assert not land[0].bodies
    assert not land[0].receiver.held


def test_home_that_answers_at_last_is_asked_again():
    """The real was on its way for so long that its former home was asked in vain, as often as that is done."""
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    land[0].on_message(A, update(0, 3))
    for _ in range(ASKED_MAX):
        land.host.now += GAP_S + 0.1
        land[0].receiver.on_tick()
    said(land)
    land[0].on_message(B, SetReal(1, 1, 4))
    land.host.now += GAP_S + 0.1
    land[0].receiver.on_tick()
    assert (B.index, WantSnapshot(1, 1)) in said(land)
    assert 1 in land[0].bodies


def test_next_real_counts_only_after_its_own_message():
    """A message of the former home names it; its own messages may have been lost before, a deletion perhaps."""
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    land[0].on_message(A, NextReal(1, 1, B))
    land.host.now += GAP_S
    land[0].receiver.on_tick()
    assert (B.index, WantSnapshot(1, 1)) in said(land)
    land[0].on_message(B, update(1, 2))
    assert not land[0].receiver.held
    land[0].on_message(A, NextReal(1, 1, B))
    assert not land[0].receiver.held, "it has said so"


def test_no_request_is_sent_over_a_broken_link():
    land = Land(1)
    land[0].on_message(A, create(0, 1))
    land[0].on_message(A, update(0, 3))
    land[0].on_link_lost(A)
    for _ in range(ASKED_MAX + 2):
        land.host.now += GAP_S + 0.1
        land[0].receiver.on_tick()
    assert 1 in land[0].bodies
    assert not any(isinstance(each, WantSnapshot) for _, each in said(land))


def test_tombstones_are_dropped_after_a_while():
    land = Land(1)
    land[0].on_message(A, delete(5, 7, is_destroyed=True))
    land[0].on_message(B, create(4, 1))
    assert not land[0].bodies
    land.step(int(TOMBSTONE_S * 10) + 2)
    assert not len(land[0].receiver.tombstones)


def test_number_of_tombstones_is_bounded():
    tombstones = Tombstones()
    for entity in range(TOMBSTONES_MAX + 5):
        tombstones.add(entity, 1, 1, 0.0, is_destroyed=False, body=None)
    assert len(tombstones) == TOMBSTONES_MAX
    assert tombstones.get(0) is None


@pytest.mark.parametrize(
    "change",
    [{"type_id": 99}, {"properties": b"\x01"}, {"position": (float("nan"), 0.0, 0.0)}],
    ids=["type", "properties", "position"],
)
@pytest.mark.parametrize("is_new", [True, False])
def test_a_ghost_that_cannot_be_is_refused(change, is_new):
    land = Land(1)
    if not is_new:
        land[0].on_message(A, create(0, 0))
    row = create(0, 1)
    fields = {name: getattr(row, name) for name in CreateGhost.__struct_fields__} | {"is_snapshot": True} | change
    land[0].on_message(A, CreateGhost(**fields))
    if is_new:
        assert not land[0].bodies
        assert sum(land[0].counts.values()) == 1
    elif "type_id" not in change:
        assert land[0].bodies[1].number == 0
        assert sum(land[0].counts.values()) == 1


def test_steps_that_do_not_decode_change_nothing_else():
    land = Land(1)
    land[0].on_message(A, create(0, 0))
    items = (Item(-1, b"\x63"), Item(-1, b""), Item(9999, b""))
    land[0].on_message(A, UpdateGhost(1, 0, 1, items, (float("inf"), 0.0, 0.0), NO_TURN))
    assert land[0].bodies[1].number == 1
    assert land[0].bodies[1].position == (0.0, 0.0, 0.0)
    assert land[0].counts[LogEvent.STEP_MALFORMED] == 4


def test_a_ghost_may_come_before_the_tree_of_its_space():
    land = Land(1)
    fields = (1, AVATAR.type_id, 77, 0, 0, place_of(0), NO_TURN, create(0, 0).properties, BASE, Past(0, (), ()))
    land[0].on_message(A, CreateGhost(*fields))
    land.step(2)
    assert 1 in land[0].spaces[77].bodies


@pytest.mark.parametrize("message", [create(1, 3), create(1, 2), delete(1, 3)])
def test_message_that_cannot_be_early_is_not_held(monkeypatch, message):
    """A message that is held although it is due would be taken and held again, for ever."""
    land = Land(1)
    ghosts = land[0].receiver
    land[0].on_message(A, create(0, 3))
    ghosts._hold_transition(B, message, land[0].bodies[1])
    assert land[0].counts[LogEvent.TRANSITION_NOT_EARLY] == 1
    assert not ghosts.held


def test_snapshot_that_mends_a_gap_has_the_whole_past(monkeypatch):
    """A ghost that is far behind must not make its watchers miss steps that still exist."""
    monkeypatch.setattr(history, "PACKED_STEPS_MAX", 20)
    land = Land(2)
    land.create(1, -10.0)
    land.create(2, -20.0)
    land.settle()
    for _ in range(50):
        land.act(1, "step")
        land.step()
    past = land.real(1).ghost(is_snapshot=True).past
    assert len(past.steps) == 50
    assert past.floor < past.steps[0].number
    assert len(land.real(1).ghost().past.steps) == 20
    land.tick(land[0])
    land[0].on_message(B, WantSnapshot(1, 0))
    [last_words] = [each for peer, each in said(land) if peer == B.index]
    assert isinstance(last_words, DeleteGhost)
    assert last_words.past == past
