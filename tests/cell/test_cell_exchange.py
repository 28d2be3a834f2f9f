"""The places of parts in a CellApp, and which apps get their ends."""

from __future__ import annotations

import pytest

from terrazzo.cell.core import history
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync import calls
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from tests.cell.cast import BASE
from tests.cell.land import Land
from tests.cell.plain import AVATAR


@pytest.fixture
def land():
    land = Land()
    land.create(1, -20.0)
    land.create(2, 20.0)
    land.create(3, 400.0)
    land.settle()
    return land


def part(entity: int, which: Part = Part.CELL) -> PartId:
    return PartId(EntityId(entity), which)


def test_bodies_here_are_known_and_others_are_asked_for(land):
    app = land[0]
    app.switchboard.places.clear()
    app.exchange.locate(part(2))
    app.exchange.locate(part(2, Part.BASE))
    assert app.switchboard.places[part(2)].app == land[1].me
    assert app.switchboard.places[part(2, Part.BASE)].app == BASE
    assert len(app.requests) == 0
    app.exchange.locate(part(3))
    assert len(app.requests) == 1


def test_part_with_a_newer_place_than_its_ghost_is_located(land):
    app = land[0]
    app.switchboard.learn(part(2), app.bodies[2].epoch + 5, land[1].me)  # newer than the place of the ghost here
    app.exchange.locate(part(2))
    assert len(app.requests) == 1


def test_distant_entity_is_located_and_called(land):
    land.do(1, lambda one: one.ref(Ref(3, Component.CELL, AVATAR.type_id)).hit(4))
    land.settle()
    assert list(land.part(3).purse) == [4]


def test_a_report_names_the_method_though_the_entity_was_never_here(land):
    for component in (Component.CELL, Component.BASE):
        calls = land.do(1, lambda one, c=component: one.ref(Ref(99, c, AVATAR.type_id)))
        land.do(1, lambda one, calls=calls, c=component: calls.hit(4) if c is Component.CELL else calls.note("hello"))
    land.step(60)
    failed = sorted(each for each in land.part(1).events if each[0] == 99)
    assert failed == [(99, name, "there is no such entity (any more)") for name in ("hit", "note")]


def test_a_report_waits_for_a_real_that_has_not_landed_yet(monkeypatch):
    """Its mailbox is here and gets an undelivered call, while the real waits for its ghost to catch up."""
    monkeypatch.setattr(history, "PACKED_STEPS_MAX", 0)
    land = Land(4, corner=True)
    land.create(1, -5.0, -5.0)
    land.settle()
    first, second, third = land.corner(-1, -1), land.corner(1, -1), land.corner(1, 1)
    land.block(first, third)
    land.do(1, lambda one: setattr(one, "name", "Ada"))
    land.put(1, 5.0, -5.0)
    land.step(5)
    assert land.home(1) == second
    land.do(1, lambda one: one.ref(Ref(99, Component.CELL, AVATAR.type_id)).hit(4))
    land.put(1, 5.0, 5.0)
    land.step(8)
    assert land.home(1) is None, "it waits for the steps of its first home"
    waiting = land[third].bodies[1]
    assert (waiting.real_app, waiting.epoch) == (land[second].me, 2**32 + 1), "as it tells others who ask"
    assert land[third].counts[LogEvent.UNDELIVERED] == 1
    land.settle()
    assert land.home(1) == third
    [report] = [each for each in land.part(1).events if each[0] == 99]
    assert report[2] == "there is no such entity (any more)"


def test_record_of_called_entities_is_bounded(land, monkeypatch):
    monkeypatch.setattr(calls, "CALLED_MAX", 2)
    callees = land[0].core.callees
    for entity in (1, 2, 3):
        callees.note(entity, AVATAR)
    assert callees.method_name(part(1), 0) == "cell method 0", "the oldest is forgotten"
    assert callees.method_name(part(3), 0) == AVATAR.cell_methods[0].name
    assert callees.method_name(part(3), 99) == "cell method 99"
