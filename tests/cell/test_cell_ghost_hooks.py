"""What a game hears of its ghosts' properties."""

from __future__ import annotations

import pytest

from terrazzo.cell import kind
from tests.cell.ghost_script import A, create, update
from tests.cell.land import Land
from tests.cell.plain import AvatarCell, Item

heard: list[tuple] = []


class WatchedCell(AvatarCell):
    """Each step is complete when it is heard of."""

    def on_ghost_changed(self, name, old) -> None:
        heard.append((name, old, self._state[name], self.position.x))


@pytest.fixture
def watched(monkeypatch) -> list[tuple]:
    """All avatars are watched from now on."""
    monkeypatch.setattr(kind.Kinds, "_part_class", lambda self, schema: WatchedCell)
    heard.clear()
    return heard


def test_each_change_of_a_ghost_is_heard_in_order(watched):
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


def test_a_state_that_is_taken_over_tells_what_differs(watched):
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, update(0, 4))
    land[0].on_message(A, create(0, 9, is_snapshot=True))
    assert [each[:3] for each in watched] == [("steps", 3, 4), ("steps", 4, 9)]


def test_what_the_game_raises_costs_nothing_else(watched, monkeypatch):
    def fail(self, name, old):
        raise RuntimeError("this game has a mistake")

    monkeypatch.setattr(WatchedCell, "on_ghost_changed", fail)
    land = Land(1)
    land[0].on_message(A, create(0, 3))
    land[0].on_message(A, update(0, 4))
    assert land[0].bodies[1].number == 4
    assert land[0].bodies[1].state["steps"] == 4
