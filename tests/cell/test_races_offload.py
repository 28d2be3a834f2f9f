"""Stories 7 to 14 of the races: offloads."""

from __future__ import annotations

from itertools import pairwise

import pytest

from terrazzo.cell.core import destinations
from terrazzo.cell.core.destinations import STAY_S
from terrazzo.cell.ghosts import placement
from terrazzo.cell.migration import offload
from terrazzo.cell.migration.offload import RESTORED
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty
from terrazzo.world.bsp import BspTree, CellId, Leaf, Node
from terrazzo.world.rect import Axis
from tests.cell.land import Land, cornered
from tests.cell.plain import AvatarCell


def border_at(land: Land, x: float) -> BspTree:
    """Two cells that meet at x."""
    leaves = land.tree.leaves()
    return BspTree(land.tree.bounds, Node(Axis.X, x, leaves[0], leaves[1]), CellId(len(leaves) + 1))


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_race_07_there_and_back(seed):
    """A → B → C → A, while A gets nothing from B: it comes home before its first arrival is confirmed."""
    land = Land(4, seed=seed, margin_m=0.0, corner=True)
    a, b = land.corner(-1, -1), land.corner(1, -1)
    watcher = land.create(2, -6.0, -6.0, is_seen=True)
    land.create(1, -5.0, -5.0)
    land.settle()
    land.block(b, a)
    calls = 0
    for x, z in ((5.0, -5.0), (5.0, 5.0), (-5.0, -5.0)):
        before = land.home(1)
        for _ in range(80):
            land.base.call(1, "hit", calls)
            calls += 1
            land.step()
            if land.home(1) is not None:
                land.put(1, x, z)
                land.act(1, "step")
            if land.home(1) not in (None, before):
                break
    assert land.home(1) == a
    assert (land[b].me, land[a].me) in land.blocked
    assert land.queues[land[b].me, land[a].me], "what B says is still in the air"
    steps = land.part(1).steps
    land.settle(60)
    assert list(land.part(1).purse) == list(range(calls)), "each call once, in order"
    assert watcher.count("on_stepped", 1) == steps
    assert watcher.count("enter", 1) == 1


def test_race_08_different_maps():
    """A's tree has it at B, B's newer tree at A: it goes to and fro no faster than the minimum stay."""
    land = Land(2, margin_m=0.0)
    land.create(1, -5.0)
    land.settle()
    newer = border_at(land, 50.0)
    land.plant("plain", 1, 2, newer, land[1])
    land.put(1, 20.0)
    homes = []
    for _ in range(40):
        land.step()
        if land.home(1) is not None:
            homes.append(land.home(1))
    moves = sum(one != other for one, other in pairwise(homes))
    assert 1 <= moves <= 4.0 / STAY_S + 1
    land.plant("plain", 1, 2, newer, land[0])
    land.settle()
    assert land.home(1) == 0


def test_race_08_a_newer_tree_ends_the_stay():
    land = Land(2, margin_m=0.0)
    land.create(1, -5.0)
    land.settle()
    land.put(1, 20.0)
    while land.home(1) != 1:
        land.step()
    land.plant("plain", 1, 2, border_at(land, 50.0), *land.cells)
    land.step(1)
    assert land.home(1) != 1, "on its way at once"
    land.settle()
    assert land.home(1) == 0


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_race_09_into_a_dying_cell(seed):
    """B retires while entities are on their way to it: it accepts and passes on, and is empty in the end."""
    land = Land(3, seed=seed, margin_m=0.0)
    for entity in range(1, 7):
        land.create(entity, -6.0 + entity % 2, float(entity))
    land.settle()
    for entity in range(1, 7):
        land.put(entity, 20.0, float(entity))
    land.step(2)
    left, retiring, right = land.tree.leaves()
    tree = BspTree(land.tree.bounds, Node(Axis.X, 100.0, left, right), CellId(4))
    apps = (retiring.app,)
    for app in land.cells:
        land.plant("plain", 1, 2, tree, app, retiring=apps)
        land.step()
    for _ in range(60):
        land.step()
    land.settle(60)
    assert all(land.home(entity) == 0 for entity in range(1, 7))
    assert not land[1].reals
    assert any(isinstance(message, CellEmpty) for message in land.to_manager)


def test_race_09_no_ghost_is_made_on_a_cell_that_retires_but_those_there_stay():
    land = Land(2)
    land.create(1, -20.0)
    land.settle()
    assert 1 in land[1].bodies
    tree = BspTree(land.tree.bounds, Leaf(CellId(1), land[0].me), CellId(3))
    land.plant("plain", 1, 2, tree, *land.cells, retiring=(land[1].me,))
    land.create(2, -20.0, 5.0, on=0)
    land.step(40)
    assert 1 in land[1].bodies
    assert 2 not in land[1].bodies
    land.plant("plain", 1, 3, tree, *land.cells)
    land.step(60)
    assert not land[1].bodies
    assert not land[0].spaces[1].neighbours.has(land[1].me)


def test_race_10_the_destination_dies_with_the_entity_in_the_air():
    """It comes back exactly as it left, with a higher epoch: properties, timers, calls that wait, its client."""
    land = Land(3, margin_m=0.0)
    screen = land.create(1, -5.0, is_seen=True, gold=5)
    watcher = land.create(2, -20.0, is_seen=True)
    land.settle()
    land.act(1, "step")
    land.do(1, lambda part: part.timer(1.0, number=7))
    land.do(1, lambda part: part.purse.append(3))
    land.do(1, lambda part: setattr(part, "luck", 9))
    land.step(2)
    epoch = land[0].bodies[1].epoch
    land.block(0, 1)
    land.put(1, 5.0)
    land.base.call(1, "hit", 4)
    land.step(3)
    assert land.home(1) is None
    land.base.call(1, "hit", 5)
    land.step(2)
    land.break_link(0, 1)
    dead = land.cells[1]
    del land.apps[dead.me]
    land[0].offloads.on_app_dead(dead.me)
    land[0].switchboard.on_app_dead(dead.me)
    land.base.switchboard.on_app_dead(dead.me)
    assert land.home(1) == 0
    assert land[0].bodies[1].epoch > epoch + 1
    part = land.part(1)
    assert (part.gold, part.luck, part.steps) == (5, 9, 1)
    land.put(1, -5.0)
    land.act(1, "step")
    land.step(60)
    part = land.part(1)
    assert list(part.purse) == [3, 4, 5], "each call once, in order"
    assert part.gold == 12, "the timer fired, once"
    assert watcher.seen[1]["steps"] == 2
    assert screen.own is not None
    assert list(screen.own["purse"]) == [3, 4, 5]
    assert not land[0].offloads.kept


def test_race_10_messages_of_the_dead_destination_are_undone():
    """B had taken it in and sent that to C, but died before A got the answer."""
    land, watcher, (a, b, c) = cornered()
    land.block(b, a)
    land.put(1, 5.0, -5.0)
    land.step(6)
    assert land.home(1) == b
    for _ in range(3):
        land.act(1, "step")
        land.step(3)
    assert land[c].bodies[1].state["steps"] == 3
    assert watcher.seen[1]["steps"] == 3
    dead = land.cells[b]
    del land.apps[dead.me]
    for other in (a, c):
        land.break_link(other, b)
    dead.reals.clear()
    dead.bodies.clear()
    land.truth.clear()
    watcher.has_gaps = True
    land[a].offloads.on_app_dead(dead.me)
    land.put(1, -5.0, -5.0)
    land.step(10)
    real, ghost = land[a].bodies[1], land[c].bodies[1]
    assert real.number > RESTORED
    assert (ghost.number, ghost.epoch, ghost.state["steps"]) == (real.number, real.epoch, 0)
    assert watcher.seen[1]["steps"] == 0


def test_race_11_offload_while_being_called():
    """Calls that wait go along, in order, before those that arrive at the new home."""
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.base.call(1, "hit", 0)
    land.host.now += 0.1
    land.tick(land.base)
    real = land[0].reals[1]
    land.deliver(land.base.me, land[0].me)
    assert land[0].switchboard.boxes[real.body.part].inbox, "it has arrived, and waits"
    land.put(1, 1.0)
    land[0].steps.close_all()
    land[0].offloads.check()
    assert land.home(1) is None
    for number in range(1, 20):
        land.base.call(1, "hit", number)
        land.step()
    land.settle()
    assert land.home(1) == 1
    assert list(land.part(1).purse) == list(range(20))


@pytest.mark.parametrize("what", ["destroy", "put back", "change", "teleport", "raise"])
def test_race_12_offload_inside_a_callback(monkeypatch, what):
    """on_leaving_cell may do anything: its changes move along, and an entity that must not leave stays."""
    acts = {
        "destroy": lambda part: part.destroy(),
        "put back": lambda part: setattr(part, "position", (-5.0, 0.0, 0.0)),
        "change": lambda part: part.step(),
        "teleport": lambda part: part.teleport("hall", (1.0, 0.0, 2.0)),
        "raise": lambda part: 1 / 0,
    }
    monkeypatch.setattr(AvatarCell, "on_leaving_cell", lambda part: acts[what](part))
    land = Land(margin_m=0.0, hall=1)
    watcher = land.create(2, -20.0, is_seen=True)
    land.create(1, -5.0)
    land.settle()
    land.put(1, 5.0)
    land.step(4)
    monkeypatch.setattr(AvatarCell, "on_leaving_cell", lambda part: None)
    land.settle(40)
    if what == "destroy":
        assert land.home(1) is None
        assert watcher.events[-1] == ("leave", 1)
        assert [data.is_last for data in land.base.data_of(1)] == [True]
    elif what == "put back":
        assert land.home(1) == 0
    elif what == "change":
        assert land.home(1) == 1
        assert watcher.count("on_stepped", 1) == land.part(1).steps == 1
    elif what == "teleport":
        assert land.part(1).space == "hall"
        assert land.part(1).position == (1.0, 0.0, 2.0)
    else:
        assert land.home(1) == 1


def test_race_12_in_the_middle_of_a_loop_over_entities():
    """One entity's code sends others away and takes them down while it looks at them."""
    land = Land(margin_m=0.0)
    for entity in range(1, 6):
        land.create(entity, -5.0, float(entity))
    land.settle()

    def sweep(part) -> None:
        for other in part.entities_in_range(50.0):
            real = land[0].reals[other.id]
            if other.id % 2:
                real.part.destroy()
            else:
                real.part.position = (5.0, 0.0, float(other.id))
        part.position = (5.0, 0.0, 0.0)

    land.do(1, sweep)
    land.settle()
    assert [land.home(entity) for entity in range(1, 6)] == [1, 1, None, 1, None]


@pytest.mark.parametrize("delay", range(8))
def test_race_13_a_timer_due_in_the_tick_of_departure(delay):
    """It fires once: here or there."""
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.do(1, lambda part: part.timer(delay * 0.1, number=1))
    land.do(1, lambda part: part.timer(delay * 0.1 + 0.05, number=10))
    land.step(2)
    land.put(1, 1.0)
    land.settle()
    assert land.home(1) == 1
    assert land.part(1).gold == 11


def test_race_14_thousand_at_once(monkeypatch):
    """A border jumps over a crowd: a limited number leaves in a tick, each entity has its turn, and all arrive."""
    most, crowd = 15, 50
    monkeypatch.setattr(offload, "OFFLOADS_MAX", most)
    land = Land(2, margin_m=0.0)
    for entity in range(1, crowd + 1):
        land.base.create(land[0].me, entity, (-30.0 - entity, 0.0, float(entity)))
    land.step(8)
    assert len(land[0].reals) == crowd
    land.plant("plain", 1, 2, border_at(land, -400.0), *land.cells)
    waiting = []
    while land[0].reals:
        waiting.append(len(land[0].reals))
        land.step()
    assert waiting == [50, 35, 20, 5]
    land.settle()
    assert len(land[1].reals) == crowd
    assert not land[1].receiver.held


def test_race_14_waiting_entities_are_not_passed_over(monkeypatch):
    """An entity that comes to the border again and again does not keep the others from their turn."""
    monkeypatch.setattr(offload, "OFFLOADS_MAX", 2)
    monkeypatch.setattr(destinations, "STAY_S", 0.0)
    land = Land(2, margin_m=0.0)
    for entity in range(1, 7):
        land.base.create(land[0].me, entity, (-30.0, 0.0, float(entity)))
    land.step(8)
    for entity in range(1, 7):
        land.put(entity, 5.0)
    arrived = set()
    for _ in range(6):
        land.step()
        for entity in range(1, 7):
            if land.home(entity) == 1:
                arrived.add(entity)
                if entity < 3:
                    land.put(entity, -5.0)
            elif land.home(entity) == 0:
                land.put(entity, 5.0)
    assert arrived == set(range(1, 7))


def test_race_14_ghosts_are_made_and_deleted_so_many_at_a_time(monkeypatch):
    most, crowd = 10, 35
    monkeypatch.setattr(placement, "CREATED_MAX", most)
    monkeypatch.setattr(placement, "DELETED_MAX", most)
    land = Land(2)
    for entity in range(1, crowd + 1):
        land.base.create(land[0].me, entity, (-300.0, 0.0, float(entity)))
    land.step(8)
    assert not land[1].bodies
    for version, border, wanted in ((2, -250.0, crowd), (3, 0.0, 0)):
        land.plant("plain", 1, version, border_at(land, border), *land.cells)
        had, changes = len(land[1].bodies), []
        for _ in range(60):
            land.step()
            changes.append(abs(len(land[1].bodies) - had))
            had = len(land[1].bodies)
        assert had == wanted
        assert max(changes) == most
