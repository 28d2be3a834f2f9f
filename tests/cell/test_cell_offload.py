"""Offloads: kept, refused, restored, sent twice; the hooks of migration; jumps."""

from __future__ import annotations

from math import inf

import msgspec
import pytest

from terrazzo.cell.migration import offload
from terrazzo.schema.refs import Component, Ref
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Jump, Offload, OffloadRefused, Onloaded
from tests.cell.land import Land
from tests.cell.plain import AVATAR, AvatarCell

STILL = (0.0, 0.0, 0.0)


def send_off(land: Land, entity: int, to: int, jump: Jump | None = None) -> bool:
    home = land.home(entity)
    assert home is not None
    land[home].steps.close_all()
    return land[home].offloads.offload(land[home].reals[entity], land[to].me, jump)


def version_of(land: Land, entity: int) -> int:
    home = land.home(entity)
    assert home is not None
    return land[home].switchboard.boxes[PartId(EntityId(entity), Part.CELL)].version


def test_hooks_of_leaving_and_entering_run(monkeypatch):
    heard = []
    for name in ("on_leaving_cell", "on_left_cell", "on_entering_cell", "on_entered_cell"):
        monkeypatch.setattr(AvatarCell, name, lambda part, name=name: heard.append((name, part.steps)))
    for name in ("on_ghost_created", "on_ghost_destroyed"):
        monkeypatch.setattr(AvatarCell, name, lambda part, name=name: heard.append((name, part.id)))
    land = Land(margin_m=0.0)
    land.create(1, -1.0, steps=5)
    land.settle()
    assert heard == [("on_ghost_created", 1)]
    heard.clear()
    land.put(1, 1.0)
    land.settle()
    here = [("on_leaving_cell", 5), ("on_left_cell", 5), ("on_ghost_created", 1)]
    there = [("on_ghost_destroyed", 1), ("on_entering_cell", 5), ("on_entered_cell", 5)]
    assert heard == here + there
    heard.clear()
    land.do(1, lambda part: part.destroy())
    land.settle()
    assert heard == [("on_ghost_destroyed", 1)]


@pytest.mark.parametrize("hook", ["on_entering_cell", "on_left_cell", "on_ghost_created"])
def test_ghost_cannot_be_written(monkeypatch, hook):
    monkeypatch.setattr(AvatarCell, hook, lambda part: setattr(part, "steps", 99))
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.put(1, 1.0)
    land.settle()
    assert land.part(1).steps == 0
    assert any("cannot be changed" in str(facts) for _, facts in land.host.logged)


def test_the_epoch_is_the_version_of_the_mailbox():
    land = Land(margin_m=0.0, hall=0)
    land.create(1, -1.0)
    land.settle()
    for _ in range(2):
        for x in (1.0, -1.0):
            land.put(1, x)
            land.settle()
            assert version_of(land, 1) == land.real(1).body.epoch
    send_off(land, 1, 0, Jump(2, (1.0, 0.0, 1.0), STILL))
    assert version_of(land, 1) == land[0].bodies[1].epoch
    send_off(land, 1, 1, Jump(7, (1.0, 0.0, 1.0), STILL))
    land.settle()
    assert version_of(land, 1) == land[0].bodies[1].epoch


@pytest.mark.parametrize("is_lost_before", [True, False])
def test_unconfirmed_offload_is_sent_again_and_counts_once(is_lost_before):
    land = Land(margin_m=0.0)
    screen = land.create(1, -1.0, is_seen=True)
    land.settle()
    land.put(1, 1.0)
    land.act(1, "step")
    land.host.now += 0.1
    land.tick(land[0])
    assert 1 in land[0].offloads.kept
    if not is_lost_before:
        land.deliver(land[0].me, land[1].me)
        assert land.home(1) == 1
    land.break_link(0, 1)
    land.step(3)
    assert 1 in land[0].offloads.kept
    land.mend_link(0, 1)
    land.settle()
    assert land.home(1) == 1
    assert land.part(1).steps == 1
    assert screen.count("player") == 1


def test_a_copy_that_comes_when_it_has_moved_on_is_only_confirmed():
    land = Land(3, margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.put(1, 1.0)
    land.host.now += 0.1
    land.tick(land[0])
    (copy,) = [each for each in land.queues[land[0].me, land[1].me] if isinstance(each, Offload)]
    land.settle()
    land.put(1, 201.0)
    land.settle()
    assert land.home(1) == 2
    land[1].on_message(land[0].me, copy)
    assert land.home(1) == 2
    land.do(1, lambda part: part.destroy())
    land.settle()
    for app in land.cells[1:]:
        app.on_message(land[0].me, copy)
        assert not app.reals


def test_a_copy_of_one_that_has_ended_is_confirmed_whatever_has_become_of_the_ground():
    """It was taken in, so it must not be refused: its former home would bring it back to life."""
    land = Land(margin_m=0.0, hall=1)
    land.create(1, -5.0)
    land.create(2, 20.0)
    land.settle()
    send_off(land, 1, 1, Jump(2, (0.0, 0.0, 0.0), STILL))
    copy = land[0].offloads.kept[1].message
    land.settle()
    assert land.home(1) == 1
    land.do(1, lambda part: part.destroy())
    land.settle()
    land.do(2, lambda part: part.ref(Ref(1, Component.CELL, AVATAR.type_id)).hit(1))
    land.settle()
    del land[1].spaces[2]
    land[1].on_message(land[0].me, copy)
    land.tick(land[1])
    answers = [each for each in land.queues[land[1].me, land[0].me] if isinstance(each, Onloaded | OffloadRefused)]
    assert answers == [Onloaded(1, copy.epoch)]


def test_offload_that_does_not_decode_is_brought_back():
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.put(1, 1.0)
    land.host.now += 0.1
    land.tick(land[0])
    queue = land.queues[land[0].me, land[1].me]
    queue[:] = [
        msgspec.structs.replace(each, properties=b"\x01") if isinstance(each, Offload) else each for each in queue
    ]
    land.step(2)
    assert land[1].counts[LogEvent.OFFLOAD_NOT_TAKEN] == 1
    assert land[0].counts[LogEvent.OFFLOAD_REFUSED] == 1
    land.settle()
    assert land.home(1) == 1, "and tried again"


@pytest.mark.parametrize("jump", [Jump(7, (0.0, 0.0, 0.0), STILL), Jump(2, (999.0, 0.0, 0.0), STILL)])
def test_a_jump_that_is_refused_has_not_happened(jump):
    """Properties, ghosts, client, timers and calls are as before; and the hook has run."""
    land = Land(margin_m=0.0, hall=1)
    screen, watcher = land.create(1, -5.0, is_seen=True, gold=5), land.create(2, 20.0, is_seen=True)
    land.settle()
    land.do(1, lambda part: part.timer(0.5, number=7))
    land.do(1, lambda part: setattr(part, "luck", 3))
    land.act(1, "step")
    send_off(land, 1, 1, jump)
    assert land.home(1) is None
    land.base.call(1, "hit", 1)
    land.settle()
    part = land.part(1)
    assert land.home(1) == 0
    assert (part.position, part.luck, part.gold, list(part.purse)) == ((-5.0, 0.0, 0.0), 3, 12, [1])
    assert part.events[0] == "entered cell"
    assert part.events[1][0] == "teleport failed"
    land.act(1, "step")
    land.settle()
    assert watcher.count("on_stepped", 1) == 2
    assert watcher.count("enter", 1) == 1
    assert watcher.count("leave", 1) == screen.count("space") == 0


def test_a_refusal_with_a_long_reason_fits_its_message(monkeypatch):
    monkeypatch.setattr(offload, "problem_of", lambda app, message: "ü" * 2000)
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    assert send_off(land, 1, 1, Jump(1, (1.0, 0.0, 1.0), STILL))
    land.settle()
    assert land.home(1) == 0
    assert land.part(1).events[-1] == ("teleport failed", "ü" * 450)


def test_a_refusal_is_not_taken_back_by_a_second_copy():
    land = Land(margin_m=0.0)
    land.create(1, -5.0)
    land.settle()
    send_off(land, 1, 1, Jump(2, (0.0, 0.0, 0.0), STILL))
    copy = land[0].offloads.kept[1].message
    land[1].on_message(land[0].me, copy)
    with_hall = Land(margin_m=0.0, hall=1)
    land.plant("hall", 2, 1, with_hall.manager.trees["hall"][1], land[1])
    land[1].on_message(land[0].me, copy)
    assert not land[1].reals
    land.settle()
    assert land.home(1) == 0


@pytest.mark.parametrize("to", [0, 1])
def test_a_jump_into_another_space_leaves_nothing_behind(to):
    """Of this app or of another: its ghosts are deleted, its client gets the new space, calls find it."""
    land = Land(2, margin_m=0.0, hall=to)
    screen, watcher = land.create(1, -5.0, is_seen=True), land.create(2, -20.0, is_seen=True)
    other = land.create(3, 20.0, is_seen=True)
    friend = land.create(4, 3.0, 3.0, space=2, on=to, is_seen=True)
    land.settle()
    assert 1 in land[1].bodies
    land.act(1, "step")
    send_off(land, 1, to, Jump(2, (1.0, 0.0, 1.0), (0.5, 0.0, 0.0)))
    land.base.call(1, "hit", 3)
    land.settle(40)
    assert land.home(1) == to
    part = land.part(1)
    assert (part.space, part.position, list(part.purse)) == ("hall", (1.0, 0.0, 1.0), [3])
    assert "teleported" in part.events
    assert [app.spaces[1].bodies.get(1) for app in land.cells] == [None, None]
    assert watcher.events[-2:] == other.events[-2:] == [("on_stepped", 1, 1), ("leave", 1)]
    assert screen.count("space", 2) == 1
    assert friend.count("enter", 1) == 1
    assert set(screen.seen) == {4}


def test_a_jump_far_away_in_the_same_space():
    land = Land(3, margin_m=0.0)
    screen, watcher = land.create(1, -5.0, is_seen=True), land.create(2, -20.0, is_seen=True)
    far = land.create(3, 350.0, is_seen=True)
    land.settle()
    assert 1 not in land[2].bodies
    land.act(1, "step")
    send_off(land, 1, 2, Jump(1, (340.0, 0.0, 0.0), STILL))
    land.settle(60)
    assert land.home(1) == 2
    assert land.part(1).position == (340.0, 0.0, 0.0)
    assert (watcher.count("leave", 1), far.count("enter", 1), screen.count("leave", 2)) == (1, 1, 1)
    assert screen.count("moved") == 1
    assert 1 not in land[0].bodies


def test_words_about_what_is_not_kept_mean_nothing():
    land = Land()
    land.create(1, -5.0)
    land.settle()
    land[0].on_message(land[1].me, Onloaded(1, 99))
    land[0].on_message(land[1].me, OffloadRefused(1, 99, "no"))
    land.settle()
    assert land.home(1) == 0


def test_an_offload_is_one_message_of_reasonable_size():
    land = Land(margin_m=0.0)
    land.create(1, -5.0, is_seen=True)
    for entity in range(2, 20):
        land.create(entity, -30.0, float(entity))
    land.settle()
    send_off(land, 1, 1)
    assert len(REGISTRY.encode(land[0].offloads.kept[1].message)) < 1500
    land.put(2, -31.0)
    land.step(2)


def test_no_margin_holds_in_a_cell_without_ground():
    """A border is moved onto another: no ghosts are made there any more, so no entity may stay."""
    land = Land(margin_m=3.0)
    land.create(1, 0.5, on=1)
    land.plant("plain", 1, 2, land.tree.move_border((), inf), *land.cells)
    land.settle()
    assert land[1].spaces[1].rect.is_empty
    assert land.home(1) == 0
