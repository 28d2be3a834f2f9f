"""Witnesses: what a client is told when it comes, stays, moves to another cell, and goes (stories 20 to 24)."""

from __future__ import annotations

import pytest

from terrazzo.cell import history
from terrazzo.cell.history import History, Told
from terrazzo.cell.moves import ALLOWANCE_S
from terrazzo.cell.witness import PATIENCE_S, REFRESH_TICKS
from terrazzo.sync.protocol import decode_places, split_message
from terrazzo.wire.pairs.cellmgr_cell import SpaceTree
from tests.cell.land import MANAGER, Land


def put(land: Land, entity: int, x: float, z: float = 0.0) -> None:
    land.do(entity, lambda part: setattr(part, "position", (x, 0.0, z)))


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


def test_the_area_has_a_margin():
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 81.0)
    land.settle()
    seen = []
    for x in (79.0, 81.0, 84.0, 86.0, 84.0, 81.0, 79.0):
        put(land, 2, x)
        land.settle()
        seen.append(2 in screen.seen)
    assert seen == [True, True, True, False, False, False, True]


def test_a_change_and_the_client_in_one_tick():
    """Story 24: what the client gets with the description it does not get again as a change."""
    land = Land()
    land.create(1, -20.0)
    land.base.call(1, "step")
    screen = land.base.attach(1)
    land.base.call(1, "step")
    land.settle()
    assert screen.own is not None
    assert screen.own["bag"] == [{"kind": 2, "count": 1}, {"kind": 2, "count": 2}]


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
    real.set_witness(0, False)
    assert real.witness is not None


def test_places_are_told_when_they_change_and_now_and_then():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.settle()
    land.base.places.clear()
    land.step(REFRESH_TICKS)
    assert len(land.base.places[1]) == 1, "once in a while, since places may be lost"
    put(land, 2, 11.0)
    land.step(2)
    (place,) = decode_places(split_message(land.base.places[1][-1])[1])
    assert (place.entity, place.position) == (2, (11.0, 0.0, 0.0))


def test_the_border_of_areas_and_ghosts_at_once_gives_one_leave():
    """Story 23: what is watched jumps far away, so that its ghost is deleted while it goes out of sight."""
    land = Land()
    screen = land.create(1, -10.0, is_seen=True)
    land.create(2, 30.0)
    land.settle()
    put(land, 2, 400.0)
    land.settle(60)
    assert 2 not in land[0].bodies
    assert screen.count("leave", 2) == 1
    put(land, 2, 30.0)
    land.settle()
    assert screen.count("enter", 2) == 2


@pytest.mark.parametrize("ghost_first", [True, False])
@pytest.mark.parametrize("jump", [True, False])
def test_leaving_while_the_witness_offloads(ghost_first, jump):
    """Story 23: the watched one leaves in the tick in which the watcher goes over the border."""
    land = Land()
    screen = land.create(1, -1.0, is_seen=True)
    land.create(2, -30.0)
    land.settle()
    land.walk(1, 5.0)
    land.step()
    if jump:
        put(land, 2, -300.0)
    else:
        land.do(2, lambda part: part.destroy())
    if ghost_first:
        land.tick(land[0])
    land.settle(60)
    assert land.home(1) == 1
    assert screen.count("leave", 2) == 1


def test_behind_what_the_client_has_waits():
    """Story 21: the witness arrives at a cell whose ghost of the seen one is behind."""
    land = Land(3)
    screen = land.create(1, 195.0, is_seen=True)
    land.create(2, 160.0)
    land.create(3, -1.0)
    land.settle()
    land.block(1, 2)
    for _ in range(3):
        land.act(2, "step")
        land.step()
    land.step()
    assert screen.seen[2]["steps"] == 3
    assert land[2].bodies[2].state["steps"] == 0
    land.walk(1, 205.0)
    land.step(4)
    assert land.home(1) is None, "the offload itself is on the blocked link"
    land.settle()
    assert land.home(1) == 2
    assert screen.count("on_stepped", 2) == 3
    assert screen.count("leave") == 0


# A watcher at x = 70 on cell 1 sees entity 2, whose real is at x = -1 on cell 0. Then a border jumps over the watcher,
# so that it goes on at cell 2: the ground moves, not the player.


def watching(ghost_distance_m: float):
    land = Land(3, ghost_distance_m=ghost_distance_m)
    screen = land.create(1, 70.0, is_seen=True)
    land.create(2, -1.0)
    land.settle()
    assert screen.events == [("player",), ("enter", 2)]
    return land, screen


def move_ground(land: Land, *cells: int) -> None:
    tree = land.tree.move_border((1,), 50.0)
    for index in cells:
        land[index].on_message(MANAGER, SpaceTree(1, "plain", 2, tree.pack()))


def test_a_cell_that_is_behind_what_the_client_has_waits():
    """Story 21."""
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
    land.step(int(PATIENCE_S * 10) + 5)
    assert screen.count("leave") == 0
    land.act(2, "step")
    land.settle()
    assert screen.count("enter", 2) == 1
    assert screen.count("on_stepped", 2) == 4


def test_what_the_cell_has_not_got_yet_is_waited_for():
    land, screen = watching(100.0)
    move_ground(land, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert 2 not in land[2].bodies
    land.act(2, "step")
    move_ground(land, 0)
    land.settle()
    assert screen.count("leave", 2) == 0
    assert screen.count("on_stepped", 2) == 1


def test_what_never_comes_leaves_in_the_end():
    land, screen = watching(100.0)
    move_ground(land, 1, 2)
    land.step(int(PATIENCE_S * 10) + 5)
    assert screen.count("leave", 2) == 1


@pytest.mark.parametrize("is_destroyed", [True, False])
def test_what_has_left_does_not_come_back_in_an_older_state(is_destroyed):
    land, screen = watching(300.0)
    land.block(0, 2)
    if is_destroyed:
        land.do(2, lambda part: part.destroy())
    else:
        put(land, 2, -100.0)
    land.step(3)
    assert screen.count("leave", 2) == 1
    move_ground(land, 0, 1, 2)
    land.step(6)
    assert land.home(1) == 2
    assert land[2].bodies[2].position[0] == -1.0, "an old copy, in sight"
    land.settle()
    assert screen.count("enter", 2) == screen.count("leave", 2) == 1


def test_last_words_are_heard_also_by_one_who_comes_after():
    land, screen = watching(300.0)
    land.block(0, 1)
    land.act(2, "step")
    land.do(2, lambda part: part.destroy())
    land.step(3)
    assert screen.count("on_stepped", 2) == 0
    assert 2 not in land[2].bodies
    move_ground(land, 0, 1, 2)
    land.settle()
    assert land.home(1) == 2
    assert screen.events[-3:] == [("steps", 2, 1), ("on_stepped", 2, 1), ("leave", 2)]


def test_when_history_is_gone_the_properties_are_told_anew(monkeypatch):
    monkeypatch.setattr(history, "STEPS_MAX", 2)
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land.settle()
    real = land[0].reals[2]
    for step in range(1, 6):  # several steps between two looks of the witness
        land.do(2, lambda part, n=step: setattr(part, "pose", n))
        land[0].haunts.close_step(real)
    land.settle()
    assert screen.seen[2]["pose"] == 5
    assert screen.count("pose", 2) == 1


def test_histories_are_bounded_and_know_what_they_lack():
    record = History(10)
    assert record.since(9) is None
    assert record.since(10) == []
    record.add(11, [Told(0, b"a"), Told(1, b"b")])
    record.add(12, [])
    record.add(13, [Told(1, b"c")])
    assert [record.has_changed(place, 11) for place in (0, 1, 2)] == [False, True, False]
    assert [record.has_changed(place, 9) for place in (0, 1, 2)] == [True, True, True]
    assert record.since(10) == [b"a", b"b", b"c"]
    assert record.since(11) == record.since(12) == [b"c"]
    record.add(14, [Told(-1, b"x" * history.BYTES_MAX)])
    assert record.since(12) is None
    assert record.since(13) == [b"x" * history.BYTES_MAX]
    for number in range(15, 15 + 2 * history.STEPS_MAX):
        record.add(number, [Told(0, b"y")])
    assert len(record.since(record.floor) or ()) == history.STEPS_MAX


# What a client says about where it is.


@pytest.fixture
def field():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.step(30)
    return land


def walked_to(land: Land, x: float, ticks: int = 1) -> float:
    land.walk(1, x)
    land.step(ticks + 1)
    return float(land.part(1).position.x)


def test_moves_are_believed_at_top_speed(field):
    x = 0.0
    for _ in range(40):
        x += 2.0
        field.walk(1, x)
        field.step()
    field.step()
    assert field.part(1).position.x == 80.0
    assert field.base.screens[1].count("moved") == 0


def test_late_moves_that_come_together_are_believed(field):
    assert walked_to(field, 20.0 * ALLOWANCE_S - 0.5) == 19.5


def test_moves_that_are_too_fast_are_refused_once_and_ignored(field):
    assert walked_to(field, 100.0) == 0.0
    assert walked_to(field, 102.0) == 0.0
    screen = field.base.screens[1]
    field.step(3)
    assert screen.count("moved", (0.0, 0.0, 0.0)) == 1
    assert walked_to(field, 1.0) == 1.0, "it has understood"
    assert field[0].counts["move too fast"] == 1


def test_a_client_whose_packets_were_lost_is_not_stuck(field):
    assert walked_to(field, 100.0) == 0.0
    field.step(10)
    assert walked_to(field, 8.0) == 8.0


def test_twice_the_speed_for_long_is_refused(field):
    x = 0.0
    for _ in range(40):
        x += 4.0
        field.walk(1, x)
        field.step()
    assert field.part(1).position.x < 60.0
    assert field.base.screens[1].count("moved") >= 1


@pytest.mark.parametrize("place", [(9999.0, 0.0), (float("nan"), 0.0), (0.0, float("inf"))])
def test_moves_out_of_bounds_are_refused(field, place):
    field.walk(1, *place)
    field.step(3)
    assert field.part(1).position == (0.0, 0.0, 0.0)
    assert field.base.screens[1].count("moved") == 1


def test_the_game_may_refuse_a_move(field):
    assert walked_to(field, 13.0) == 0.0
    field.step(2)
    assert field.base.screens[1].count("moved", (0.0, 0.0, 0.0)) == 1
    assert walked_to(field, 1.0) == 1.0


def test_moves_of_one_without_a_client_or_body_are_dropped(field):
    field.create(2, 5.0)
    field.walk(2, 6.0, to=0)
    field.walk(77, 6.0, to=0)
    field.step(2)
    assert field.part(2).position.x == 5.0
