"""The hooks of ghosts: they run in pairs for beginning and end, and for changes of properties."""

from __future__ import annotations

import pytest

from terrazzo.cell.api import classes
from terrazzo.wire.pairs.cellmgr_cell import CellRemoved
from terrazzo.world.bsp import BspTree, CellId, Leaf
from tests.cell.ghost_script import A, create, update
from tests.cell.land import MANAGER, Land
from tests.cell.plain import AvatarCell, Item

heard: list[tuple] = []


class WatchedCell(AvatarCell):
    """Each step is complete when its hook runs."""

    def on_ghost_changed(self, name, old) -> None:
        heard.append((name, old, self._state[name], self.position.x))


@pytest.fixture
def watched(monkeypatch) -> list[tuple]:
    """All avatars are watched from now on."""
    monkeypatch.setattr(classes, "part_class_of", lambda game, schema: WatchedCell)
    heard.clear()
    return heard


def test_hook_runs_for_each_change_of_a_ghost_in_order(watched):
    land = Land(2)
    land.create(1, -10.0)
    land.settle()
    land.do(1, lambda part: part.bag.append(Item(kind=1, count=2)))
    land.put(1, -11.0)
    land.settle()
    land.do(1, lambda part: setattr(part.bag[0], "count", 5))
    land.do(1, lambda part: setattr(part, "name", "Ann"))
    land.do(1, lambda part: setattr(part, "gold", 7))
    land.settle()
    first, second, third = watched
    assert (first[0], len(first[1]), len(first[2]), first[3]) == ("bag", 0, 1, -11.0)
    assert (second[0], second[1][0].count, second[2][0].count) == ("bag", 2, 5)
    assert third[:3] == ("name", "nobody", "Ann")


def test_state_from_a_snapshot_runs_the_hook_for_what_differs(watched):
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, update(0, 4))
    land[0].on_message(A, create(0, 9, is_snapshot=True))
    assert [each[:3] for each in watched] == [("steps", 3, 4), ("steps", 4, 9)]


def test_exception_in_a_ghost_hook_is_confined(watched, monkeypatch):
    def fail(self, name, old):
        raise RuntimeError("this game has a mistake")

    monkeypatch.setattr(WatchedCell, "on_ghost_changed", fail)
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, update(0, 4))
    assert land[0].bodies[1].number == 4
    assert land[0].bodies[1].state["steps"] == 4


@pytest.fixture
def counted(monkeypatch) -> dict[int, int]:
    """How many ghosts the game counts, by the index of the app."""
    counts: dict[int, int] = {}

    def count(part, by: int) -> None:
        index = part._body.core.me.index
        counts[index] = counts.get(index, 0) + by

    monkeypatch.setattr(AvatarCell, "on_ghost_created", lambda part: count(part, 1))
    monkeypatch.setattr(AvatarCell, "on_ghost_destroyed", lambda part: count(part, -1))
    return counts


def check_counts(land: Land, counts: dict[int, int]) -> None:
    for app in land.cells:
        assert counts.get(app.me.index, 0) == sum(body.real is None for body in app.bodies.values())


def test_a_game_can_count_the_ghosts_of_each_cell(counted):
    land = Land(3, margin_m=0.0, hall=0)
    land.create(1, -5.0)
    land.create(2, 150.0)
    land.settle()
    check_counts(land, counted)
    assert counted[1] == 1
    for x in (5.0, -5.0, 205.0, 300.0):
        land.put(1, x)
        land.settle()
        check_counts(land, counted)
    land.do(2, lambda part: part.teleport("hall", (1.0, 0.0, 1.0)))  # to and fro, and once within one app
    land.settle()
    land.do(2, lambda part: part.teleport("plain", (-5.0, 0.0, 1.0)))
    land.settle()
    check_counts(land, counted)
    land.do(2, lambda part: part.destroy())
    land.settle()
    check_counts(land, counted)


def test_ghosts_of_a_removed_cell_are_reported_as_destroyed(counted):
    land = Land(2)
    land.create(1, -20.0, is_seen=True)
    land.create(2, 20.0, is_seen=True)
    land.settle()
    tree = BspTree(land.tree.bounds, Leaf(CellId(1), land[0].me), CellId(3))
    land.plant("plain", 1, 2, tree, *land.cells, retiring=(land[1].me,))
    land.settle()
    assert counted == {0: 0, 1: 2}
    land[1].on_message(MANAGER, CellRemoved(1, 2))
    land.step(3)
    assert counted == {0: 0, 1: 0}
    assert not land[1].spaces
    assert not land[1].moves._movers
