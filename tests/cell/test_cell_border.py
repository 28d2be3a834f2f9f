"""Walking across a border: the clients that see it, the state that moves, and links with different delays."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from terrazzo.cell.cellapp import OFFLOAD_MARGIN_M
from terrazzo.cell.core import history
from terrazzo.wire.log_events import LogEvent
from tests.cell.forms import IS_PLAIN
from tests.cell.land import Land, cornered


def stroll(land: Land, entity: int, start: float, end: float, speed: float = 1.0):
    """Walks along x, a tick at a time, stepping all the way."""
    x, way = start, speed if end > start else -speed
    while (end - x) * way > 0:
        x += way
        land.walk(entity, x)
        land.act(entity, "step")
        land.step()


def test_an_avatar_that_walks_across_is_seen_all_the_way():
    land = Land()
    walker = land.create(1, -20.0, is_seen=True)
    near, far = land.create(2, -40.0, is_seen=True), land.create(3, 40.0, is_seen=True)
    land.step(3)
    assert land.home(1) == 0
    stroll(land, 1, -20.0, 20.0)
    land.settle()
    assert land.home(1) == 1
    assert near.count("enter", 1) == far.count("enter", 1) == 1
    assert near.count("leave") == far.count("leave") == walker.count("leave") == 0
    assert walker.count("player") == 1
    assert near.count("on_stepped", 1) == far.count("on_stepped", 1) == 40
    assert land.part(1).position == (20.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(4 if IS_PLAIN else 12))
def test_links_at_their_own_pace(seed):
    """Three cells, five avatars that wander over both borders and act all the while."""
    land = Land(3, seed=seed)
    rng = random.Random(seed)
    for entity, x in enumerate((-40.0, -10.0, 20.0, 170.0, 210.0), 1):
        land.create(entity, x, is_seen=entity != 3)
    goals = dict.fromkeys(range(1, 6), 0.0)
    places = {1: -40.0, 2: -10.0, 3: 20.0, 4: 170.0, 5: 210.0}
    for _ in range(150):
        for entity in places:
            if abs(goals[entity] - places[entity]) < 2:
                goals[entity] = rng.choice([-30.0, -5.0, 0.0, 5.0, 30.0, 180.0, 205.0, 230.0])
            places[entity] += max(-2.0, min(2.0, goals[entity] - places[entity]))
            if entity == 3:
                home = land.home(3)
                if home is not None:
                    land.do(3, lambda part, x=places[3]: setattr(part, "position", (x, 0.0, 0.0)))
            else:
                land.walk(entity, places[entity])
            if rng.random() < 0.5:
                land.act(entity, "step")
        land.step()
    land.settle(60)
    assert all(land.home(entity) is not None for entity in places)
    assert sum(app.counts.get(LogEvent.GAP_PASSED_OVER, 0) for app in land.cells) == 0


@pytest.mark.parametrize("seed", range(3 if IS_PLAIN else 8))
def test_walk_around_a_corner_of_four_cells(seed):
    """All entities change cells all the time, in all directions, and some links fall far behind."""
    land = Land(4, seed=seed, margin_m=0.0, corner=True)
    rng = random.Random(seed)
    for entity in range(1, 6):
        land.create(entity, rng.uniform(-5, 5), rng.uniform(-5, 5), is_seen=entity != 3)
    for _ in range(120):
        if rng.random() < 0.2:
            source, target = rng.sample(range(4), 2)
            land.block(source, target)
            if len(land.blocked) > 5:
                land.blocked.clear()
        for entity in range(1, 6):
            place = (rng.uniform(-5, 5), 0.0, rng.uniform(-5, 5))
            if land.home(entity) is not None:
                land.do(entity, lambda part, place=place: setattr(part, "position", place))
            if rng.random() < 0.5:
                land.act(entity, "step")
        land.step()
    land.settle(120)
    for screen in land.base.screens.values():
        assert screen.count("leave") == 0
        assert screen.count("enter") == 4
    assert not land.host.words("gap passed over")


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("steps", [2, 100])
def test_the_real_overtakes_the_steps_of_the_home_before_the_last(is_lost, steps, monkeypatch):
    """0 → 1 → 3, while the messages of 0 for 3 are on their way: the steps in the past are applied; for the others 3
    waits."""
    monkeypatch.setattr(history, "PACKED_STEPS_MAX", 64)
    land, watcher, (start, first, last) = cornered()
    land.block(start, last)
    for _ in range(steps):
        land.act(1, "step")
        land.step()
    land.put(1, 5.0, -5.0)
    land.step(8)
    assert land.home(1) == first
    land.act(1, "step")
    land.put(1, 5.0, 5.0)
    land.step(5)
    assert (land.home(1) == last) == (steps == 2)
    if is_lost:
        land.break_link(start, last)
        watcher.has_gaps = steps > 2
        land.step(2)
        assert land.home(1) == last, "what it waits for will not come"
        land.mend_link(start, last)
    land.settle()
    assert land.home(1) == last
    assert watcher.seen[1]["steps"] == steps + 1
    assert watcher.count("enter", 1) == 1
    if not (is_lost and steps > 2):
        assert watcher.count("on_stepped", 1) == steps + 1


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_walker_that_oscillates_two_metres_across_a_border(seed):
    """With a margin of 0 it migrates each time, with the default never; no client sees a difference."""
    counts = {}
    for margin_m in (0.0, OFFLOAD_MARGIN_M):
        land = Land(seed=seed, margin_m=margin_m)
        land.create(1, -2.0, is_seen=True)
        watcher = land.create(2, 30.0, is_seen=True)
        land.settle()
        homes = [land.home(1)]
        for turn in range(12):
            land.walk(1, -2.0 if turn % 2 else 2.0)
            for _ in range(12):
                land.act(1, "step")
                land.step()
            if land.home(1) is not None:
                homes.append(land.home(1))
        land.settle()
        counts[margin_m] = sum(a != b for a, b in pairwise(homes))
        assert watcher.count("enter", 1) == 1
        assert watcher.count("leave", 1) == 0
        assert watcher.count("on_stepped", 1) == land.part(1).steps
    assert counts[OFFLOAD_MARGIN_M] == 0
    assert counts[0.0] == 12 if seed is None else 8 <= counts[0.0] <= 12


def test_entity_on_the_far_edge_belongs_to_the_neighbour():
    land = Land(margin_m=0.0)
    land.create(1, -5.0)
    land.do(1, lambda part: setattr(part, "position", (0.0, 0.0, 0.0)))
    land.settle()
    assert land.home(1) == 1


def test_a_real_created_in_the_wrong_cell_moves_at_once():
    land = Land()
    land.create(1, 50.0, on=0)
    land.settle()
    assert land.home(1) == 1


def test_state_of_an_entity_moves_with_it():
    land = Land()
    screen = land.create(1, -1.0, is_seen=True, gold=5)
    land.settle()
    land.do(1, lambda part: part.purse.extend([1, 2]))
    land.do(1, lambda part: setattr(part, "luck", 3))
    before = land.part(1)
    land.walk(1, 5.0)
    land.settle()
    after = land.part(1)
    assert after is not before
    assert (after.gold, list(after.purse), after.luck, after.lucky) == (5, [1, 2], 3, 3)
    assert after.events == ["entered cell"]
    assert screen.own is not None
    assert list(screen.own["purse"]) == [1, 2]
    assert before.steps == after.steps, "the object that stayed behind can still be read"
    with pytest.raises(Exception, match="no longer in this cell"):
        before.steps = 9


def test_changes_in_the_tick_of_the_offload_reach_all_receivers():
    land = Land()
    walker, watcher = land.create(1, -1.0, is_seen=True), land.create(2, -30.0, is_seen=True)
    land.settle()
    land.walk(1, 6.0)
    land.step()
    land.act(1, "step")  # in the very tick in which the move takes effect
    land.do(1, lambda part: setattr(part, "gold", 77))
    land.step()
    land.settle()
    assert land.home(1) == 1
    assert watcher.seen[1]["steps"] == 1
    assert walker.own is not None
    assert walker.own["gold"] == 77


def test_calls_arrive_once_and_in_order_while_both_migrate():
    land = Land(seed=5)
    land.create(1, -10.0, is_seen=True)
    land.create(2, 10.0, is_seen=True)
    land.settle()
    sent = 0
    for turn in range(80):
        land.walk(1, -10.0 + turn * 0.25)
        land.walk(2, 10.0 - turn * 0.25)
        if land.home(1) is not None:
            land.do(1, lambda part, n=sent: part.ref(part.entity(2).me).hit(n))
            sent += 1
        land.step()
    land.settle()
    assert (land.home(1), land.home(2)) == (1, 0)
    assert list(land.part(2).purse) == list(range(sent))


@pytest.mark.parametrize("seed", [None, *range(2 if IS_PLAIN else 6)])
def test_timers_that_migrate_fire_once(seed):
    land = Land(seed=seed, margin_m=0.0)
    land.create(1, -1.0, is_seen=True)
    land.settle()
    land.do(1, lambda part: part.timer(1.0, number=1))
    land.do(1, lambda part: part.timer(0.5, repeat=0.5, number=100))
    start = land.host.now
    for turn in range(24):
        land.walk(1, 1.0 if turn % 2 else -1.0)
        land.step()
    land.settle()
    land.do(1, lambda part: part.cancel(100))
    due = (land.host.now - start) / 0.5
    land.settle()
    assert land.part(1).gold % 100 == 1
    assert due - 5 <= land.part(1).gold // 100 <= due + 1e-6, "late while it is on its way, never twice"


def test_moves_to_the_former_home_are_forwarded():
    land = Land()
    land.create(1, -1.0, is_seen=True)
    land.settle()
    land.walk(1, 5.0)
    land.settle()
    land.walk(1, 6.0, to=0)
    land.settle()
    assert land.part(1).position.x == 6.0
