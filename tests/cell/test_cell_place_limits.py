"""Numbers that no place can have are refused where they come in: nothing further in has to cope with them."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest

from terrazzo._speed.movers import Row, pack_row
from terrazzo.cell.migration.arrival import Arrivals, problem_of
from terrazzo.cell.motion.riding import EDGE_M, inside
from terrazzo.errors import UsageError
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import Moves
from terrazzo.wire.pairs.cell_cell import Jump, Onloaded
from terrazzo.world.place import PLACE_MAX, fits, fitting
from terrazzo.world.rect import Rect
from tests.cell.ghost_script import NO_TURN, A
from tests.cell.ghost_script import offload as arriving
from tests.cell.land import Land

FAR = 1e39
"""More than a 32-bit float can be."""


@pytest.fixture
def land() -> Land:
    land = Land(2, hall=1)
    land.create(1, -50.0, is_seen=True)
    land.create(2, -52.0)
    land.settle()
    return land


def test_numbers_within_the_limit_fit():
    assert fits(0.0, -PLACE_MAX, PLACE_MAX, 10)
    for number in (nan, inf, -inf, FAR, 10**400, -1.1 * PLACE_MAX):
        assert not fits(0.0, number)
    assert [fitting(each) for each in (5.0, FAR, -FAR)] == [5.0, PLACE_MAX, -PLACE_MAX]


ACTS = {
    "a height": lambda part: part.teleport("hall", (0.0, FAR, 0.0)),
    "a height of its own space": lambda part: part.teleport("plain", (-60.0, FAR, 0.0)),
    "an angle": lambda part: part.teleport("hall", (0.0, 0.0, 0.0), (FAR, 0.0, 0.0)),
    "an offset": lambda part: part.teleport(part.entity(2), (0.0, FAR, 0.0)),
    "a yaw": lambda part: part.turn_to(FAR, 100.0),
    "a turning speed": lambda part: part.turn_to(1.0, FAR),
    "a goal": lambda part: part.move_to((50.0, FAR, 0.0), 5.0),
    "a speed": lambda part: part.move_to((50.0, 0.0, 0.0), FAR),
    "a distance": lambda part: part.follow(2, 5.0, distance=FAR),
    "a seat": lambda part: part.board(2, (0.0, FAR, 0.0)),
    "a direction on the seat": lambda part: part.board(2, None, (0.0, 0.0, FAR)),
    "a position": lambda part: setattr(part, "position", (0.0, FAR, 0.0)),
    "an integer that is no float": lambda part: setattr(part, "position", (0.0, 10**400, 0.0)),
    "a roll": lambda part: setattr(part, "roll", FAR),
}


@pytest.mark.parametrize("what", ACTS)
def test_place_beyond_the_limit_raises_and_changes_nothing(land, what):
    with pytest.raises(UsageError):
        land.do(1, ACTS[what])
    assert not land.real(1).controllers.running
    land.walk(1, -50.3)
    land.settle()
    assert land.part(1).position.x == pytest.approx(-50.3), "its client moves it as before"
    land.put(1, 50.0)
    land.settle()
    assert land.home(1) == 1


@pytest.mark.parametrize("height", [FAR, nan, inf])
def test_real_beyond_the_limit_is_refused(land, height):
    land.base.create(land[0].me, 7, (-50.0, height, 0.0))
    land.step(3)
    assert "is not within" in land.base.refused[7]
    for jump in (Jump(1, (-50.0, height, 0.0), NO_TURN), Jump(1, (-50.0, 0.0, 0.0), (0.0, 0.0, height))):
        assert problem_of(land[0].core, msgspec.structs.replace(arriving(1, 4, 9, A, 0), jump=jump)) is not None


def test_client_move_beyond_the_limit_is_refused(land):
    row = Row(1, 99, (-50.0, 0.0, 0.0), (1e10, 0.0, 0.0))
    land.base.send(land[0].me, Moves(pack_row(row)))
    land.step(3)
    assert land.part(1).yaw == 0.0
    assert land[0].counts[LogEvent.MOVE_OUT_OF_BOUNDS] == 1


def test_a_rider_goes_no_higher_than_a_place_can_be(land):
    land.do(1, lambda part: part.board(2, (0.0, PLACE_MAX, 0.0)))
    land.do(2, lambda part: setattr(part, "position", (-52.0, PLACE_MAX, 0.0)))
    land.settle()
    assert land.part(1).position.y == PLACE_MAX
    bounds = Rect(0.0, 0.0, 10.0, 10.0)
    assert inside(bounds, (5.0, -FAR, 5.0)) == (5.0, -PLACE_MAX, 5.0)
    assert inside(bounds, (11.0, FAR, 5.0)) == (10.0 - EDGE_M, PLACE_MAX, 5.0)


def test_teleport_beside_an_entity_beyond_the_limit_fails(land):
    land.do(2, lambda part: setattr(part, "position", (-52.0, PLACE_MAX, 0.0)))
    land.do(1, lambda part: part.teleport(part.entity(2), (0.0, PLACE_MAX, 0.0)))
    land.settle()
    assert land.part(1).events[-1][0] == "teleport failed"
    assert land.part(1).position == (-50.0, 0.0, 0.0)


def test_a_real_that_could_not_begin_is_not_confirmed(land, monkeypatch):
    """The destination breaks down over it: the sender still has it, and brings it back when that one is dead."""

    def fail(*_: object) -> None:
        raise RuntimeError("broken invariant")

    monkeypatch.setattr(Arrivals, "begin", fail)
    with pytest.raises(RuntimeError):
        land[1].on_message(land[0].me, arriving(1, 4, 9, land[0].me, 0))
    assert PartId(EntityId(9), Part.CELL) in land[1].switchboard.boxes
    bundles = [bundle for _, bundles in land[1].outbox.drain() for bundle in bundles]
    assert not any(isinstance(each, Onloaded) for bundle in bundles for each in REGISTRY.decode_bundle(bundle))
