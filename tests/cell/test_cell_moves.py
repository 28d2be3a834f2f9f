"""Positions that clients send: accepted, refused, forwarded, and carried over borders."""

from __future__ import annotations

import pytest

from terrazzo._speed.movers import ALLOWANCE_S, Row, pack_row
from terrazzo.cell.core.real import FRESH_MOVER
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Moves
from tests.cell.cast import BASE
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


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


def run(land: Land, metres: float) -> None:
    """So far with each tick, for a while."""
    for tick in range(1, 41):
        land.walk(1, metres * tick)
        land.step()


def test_moves_at_top_speed_are_accepted(field):
    run(field, 2.0)
    field.step()
    assert field.part(1).position.x == 80.0
    assert field.base.screens[1].count("moved") == 0


def test_late_moves_that_come_together_are_accepted(field):
    assert walked_to(field, 20.0 * ALLOWANCE_S - 0.5) == 19.5


def test_moves_that_are_too_fast_are_refused_once_and_ignored(field):
    assert walked_to(field, 100.0) == 0.0
    assert walked_to(field, 102.0) == 0.0
    screen = field.base.screens[1]
    field.step(3)
    assert screen.count("moved", (0.0, 0.0, 0.0)) == 1
    assert walked_to(field, 1.0) == 1.0, "it has understood"
    assert field[0].counts[LogEvent.MOVE_TOO_FAST] == 1


def test_client_with_lost_packets_is_not_stuck(field):
    assert walked_to(field, 100.0) == 0.0
    field.step(10)
    assert walked_to(field, 8.0) == 8.0


def test_twice_the_speed_for_long_is_refused(field):
    run(field, 4.0)
    assert field.part(1).position.x < 60.0
    assert field.base.screens[1].count("moved") >= 1


@pytest.mark.parametrize("place", [(9999.0, 0.0), (float("nan"), 0.0), (0.0, float("inf"))])
def test_moves_out_of_bounds_are_refused(field, place):
    field.walk(1, *place)
    field.step(3)
    assert field.part(1).position == (0.0, 0.0, 0.0)
    assert field.base.screens[1].count("moved") == 1
    assert field[0].counts[LogEvent.MOVE_OUT_OF_BOUNDS] == 1


def test_the_game_may_refuse_a_move(field):
    assert walked_to(field, 13.0) == 0.0
    field.step(2)
    assert field.base.screens[1].count("moved", (0.0, 0.0, 0.0)) == 1
    assert walked_to(field, 1.0) == 1.0


@pytest.mark.parametrize("act", ["put", "destroy", "fail"])
def test_the_game_may_do_anything_when_it_is_asked(monkeypatch, act):
    def on_move(part: AvatarCell, position) -> None:
        if act == "put":
            part.position = (-5.0, 0.0, 0.0)
        elif act == "destroy":
            part.destroy()
        else:
            part.fail()

    monkeypatch.setattr(AvatarCell, "on_move", on_move)
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.step(5)
    land.walk(1, 2.0)
    land.step(5)
    if act == "destroy":
        assert land.home(1) is None
    else:
        assert land.part(1).position.x == (-5.0 if act == "put" else 0.0), "who fails to answer has not allowed it"


@pytest.mark.parametrize(("answer", "x"), [(0, 0.0), ([], 0.0), (None, 1.0), (1, 1.0)])
def test_false_value_of_on_move_refuses(field, monkeypatch, answer, x):
    monkeypatch.setattr(AvatarCell, "on_move", lambda part, position: answer)
    assert walked_to(field, 1.0) == x


def test_a_veto_cannot_be_awaited(field, monkeypatch):
    """Loading a game reports this; a case that loading does not detect is refused here."""

    async def on_move(part: AvatarCell, position) -> bool:
        return True

    monkeypatch.setattr(AvatarCell, "on_move", on_move)
    assert walked_to(field, 1.0) == 0.0
    assert any("cannot be async" in str(facts) for _, facts in field.host.logged)


def test_moves_of_one_without_a_client_or_body_are_dropped(field):
    field.create(2, 5.0)
    field.walk(2, 6.0, to=0)
    field.walk(77, 6.0, to=0)
    field.step(2)
    assert field.part(2).position.x == 5.0


def test_rows_that_are_cut_off_change_nothing(field):
    row = pack_row(Row(1, 99, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    field[0].on_message(BASE, Moves(row + row[:7]))
    field.step(2)
    assert field.part(1).position.x == 0.0
    assert field[0].counts[LogEvent.MOVES_MALFORMED] == 1


def test_moves_for_a_ghost_are_passed_on_and_never_back():
    land = Land()
    land.create(1, 20.0, is_seen=True)
    land.settle()
    land.walk(1, 21.0, to=0)
    land.step(3)
    assert land.part(1).position.x == 21.0
    row = pack_row(Row(1, 99, (22.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    land[0].on_message(land[1].me, Moves(row))
    land.step(3)
    assert land.part(1).position.x == 21.0, "it came from the very app that the ghost takes for the real's"


def test_moves_of_a_client_that_came_back_are_accepted():
    land = Land(1)
    land.create(1, 0.0, is_seen=True)
    land.settle()
    assert walked_to(land, 1.0) == 1.0
    land.base.detach(1)
    land.settle()
    assert walked_to(land, 2.0) == 1.0
    assert land[0].reals[1].mover.number == 1
    land.base.attach(1)
    land.settle()
    assert walked_to(land, 2.0) == 2.0
    assert land.part(1).events == ["created", "attached", "detached", "attached"]


def test_each_space_has_its_own_clients():
    land = Land(1, hall=0)
    land.create(1, 0.0, is_seen=True)
    land.create(2, 0.0, space=2, is_seen=True)
    land.settle()
    land.walk(1, 1.0)
    land.walk(2, 2.0)
    land.walk(2, 99.5)
    land.step(3)
    assert land.part(1).position.x == 1.0
    assert land.part(2).position.x == 2.0
    assert land[0].counts[LogEvent.MOVE_TOO_FAST] == 1


def test_a_border_is_no_place_to_cheat_at():
    """The allowance that was used up here is not there again on the other side; nor is a correction lost."""
    land = Land()
    land.create(1, -2.0, is_seen=True)
    land.step(30)
    land.walk(1, 16.0)
    land.step(6)
    assert land.home(1) == 1
    packed = land[1].moves.pack(land[1].reals[1])
    assert packed.number == 1
    assert packed.allowance_s < 0.8
    land.walk(1, 300.0)
    land.step(2)
    assert land[1].moves.pack(land[1].reals[1]).corrected_s >= 0
    land.put(1, -20.0)
    land.step(5)
    assert land.home(1) == 0
    assert land[0].moves.pack(land[0].reals[1]).corrected_s >= 0
    assert land[1].moves._inside == {}
    assert FRESH_MOVER.corrected_s < 0
