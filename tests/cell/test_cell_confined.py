"""What fails for one entity is confined to it: while it is packed it stays, in a phase of the tick the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from terrazzo.cell.core.real import Real
from terrazzo.cell.core.timers import Timers
from terrazzo.cell.migration import offload
from terrazzo.cell.motion.controllers import Walk
from terrazzo.schema.state import State
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.cell_cell import Offload, OffloadUnreadable, Timer
from tests.cell.land import Land


@pytest.fixture
def land() -> Land:
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0)):
        land.create(entity, x, is_seen=True)
    land.settle()
    return land


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("what a game has made fails")


def test_entity_that_cannot_be_packed_stays_and_is_reported(land, monkeypatch):
    monkeypatch.setattr(Timers, "pack", fail)
    land.put(1, 60.0)
    land.step(5)
    assert land.home(1) == 0
    report = land.host.words("cannot be packed to leave")[0]
    assert (report["entity"], report["error"]) == (1, "RuntimeError: what a game has made fails")
    assert "Avatar 1 in plain, tick" in str(report["what"])
    monkeypatch.undo()
    land.settle(80)
    assert land.home(1) == 1


def test_entity_that_cannot_be_packed_for_a_teleport_stays_and_its_hook_runs(land, monkeypatch):
    monkeypatch.setattr(Timers, "pack", fail)
    land.do(1, lambda part: part.teleport("plain", (60.0, 0.0, 0.0)))
    land.step(5)
    assert land.home(1) == 0
    assert land.part(1).events[-1] == ("teleport failed", "RuntimeError: what a game has made fails")


def test_entity_of_which_no_ghost_can_be_packed_goes_on_without(land, monkeypatch):
    land.create(5, -300.0)
    monkeypatch.setattr(Real, "ghost", fail)
    land.put(5, -10.0)
    land.step(10)
    assert land.home(5) == 0
    assert 5 not in land[1].bodies
    assert land[0].counts[LogEvent.UNPACKABLE_FOR_GHOST] >= 1
    monkeypatch.undo()
    land.settle(80)
    assert 5 in land[1].bodies


def test_entity_with_values_that_do_not_encode_sends_its_base_its_place_and_ends(land, monkeypatch):
    monkeypatch.setattr(State, "encode", fail)
    land.base.want_data(1)
    land.step(3)
    assert land.base.data_of(1)[-1].properties == b""
    land.do(1, lambda part: part.destroy())
    land.step(3)
    assert land.home(1) is None
    assert land.base.data_of(1)[-1].is_last
    assert land.home(2) == 0


def test_offload_with_values_of_the_wrong_type_does_not_leave(land, monkeypatch):
    monkeypatch.setattr(Timers, "pack", lambda timers, now: (Timer(True, 1.0, 0.0),))
    land.put(1, 60.0)
    land.step(5)
    assert land.home(1) == 0
    assert land[0].counts[LogEvent.UNPACKABLE_TO_LEAVE] == 1


@pytest.mark.parametrize("timer", [Timer(True, 1.0, 0.0), Timer(-5, 1.0, 0.0)])
def test_malformed_offload_is_refused_and_its_sender_has_the_real_again(land, monkeypatch, timer):
    monkeypatch.setattr(offload, "check_readable", lambda app, message: None)
    monkeypatch.setattr(Timers, "pack", lambda timers, now: (timer,))
    land.put(1, 60.0)
    land.step(3)
    assert land[1].counts[LogEvent.OFFLOAD_MALFORMED] >= 1
    assert land[0].counts[LogEvent.OFFLOAD_REFUSED] >= 1
    monkeypatch.undo()
    land.settle(60)
    assert land.home(1) == 1, "what was refused left later, whole"
    land.base.call(1, "hit", 5)
    land.settle()
    assert list(land.part(1).purse) == [5]


@pytest.mark.parametrize(
    "body",
    [b"", b"\x01", b"\x93\x01\x02\x03", b"\x94\xa1x\x01\x01\x05", b"\x94\x01\x01\x01\xc3", b"\xdd\xff\xff\xff\xff"],
)
def test_malformed_offload_of_which_nothing_can_be_read_is_a_refusal(body):
    assert not isinstance(REGISTRY.decode_item(105, body), Offload | OffloadUnreadable)


def break_for_one(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, entity_of: Any) -> None:
    """A method of the engine fails when it works for entity 1."""
    whole = getattr(owner, name)

    def method(*args: Any, **named: Any) -> Any:
        return fail() if entity_of(*args) == 1 else whole(*args, **named)

    monkeypatch.setattr(owner, name, method)


PHASES = {
    "mail": lambda app: (type(app.clients), "set_witness", lambda clients, real, *_: real.body.id),
    "move of its client": lambda app: (type(app.moves), "_see", lambda moves, real, *_: real.body.id),
    "controller": lambda app: (Walk, "step", lambda walk, real, *_: real.body.id),
    "timers": lambda app: (type(app.clockwork), "_fire", lambda clockwork, real, *_: real.body.id),
    "riding": lambda app: (type(app.riding), "_follow", lambda riding, real, *_: real.body.id),
    "step": lambda app: (Real, "close_step", lambda real, *_: real.body.id),
    "ghosts": lambda app: (type(app.placement), "_missing", lambda placement, real, *_: real.body.id),
    "offload": lambda app: (type(app.offloads), "_take_leave", lambda offloads, real, *_: real.body.id),
    "teleport": lambda app: (type(app.teleports), "_seek", lambda teleports, wish, *_: wish.real.body.id),
    "messages for its client": lambda app: (app.scheduler, "send_reliable", lambda real, *_: real.body.id),
    "end": lambda app: (Real, "data", lambda real, *_: real.body.id),
}


@pytest.mark.parametrize("phase", PHASES)
def test_failure_in_a_phase_of_the_tick_concerns_one_entity(land, monkeypatch, phase):
    land.create(3, -40.0)
    break_for_one(monkeypatch, *PHASES[phase](land[0]))
    for entity in (1, 2):
        land.base.call(entity, "hit", 7)
        if phase == "mail":
            land.base.attach(entity)
        if phase == "riding":
            land.do(entity, lambda part: part.board(3))
        elif phase == "move of its client":
            land.walk(entity, 13.0)
        else:
            land.do(entity, lambda part: part.move_to((-25.0, 0.0, 0.0), 1.0))
        if phase == "teleport":
            land.act(entity, "teleport", "plain", (-50.0, 0.0, 0.0))
        land.do(entity, lambda part: part.timer(0.1, number=9))
        land.do(entity, lambda part: setattr(part, "pose", 2))
    if phase == "offload":
        for entity in (1, 2):
            land.put(entity, 60.0)
    if phase == "end":
        for entity in (1, 2):
            land.do(entity, lambda part: part.destroy())
    land.step(30)
    reports = [facts for facts in land.host.words("entity work failed") if "Avatar 1 in plain" in str(facts["what"])]
    errors = land.host.words("game error")
    assert (reports and "tick" in str(reports[0]["what"])) or (phase == "teleport" and errors)
    assert not [facts for facts in land.host.words("entity work failed") if "Avatar 2" in str(facts["what"])]
    if phase == "end":
        assert land.home(2) is None
        return
    assert (land.home(1), land.home(2)) == (0, 1 if phase == "offload" else 0)
    assert list(land.part(2).purse) == [7]
    assert land.part(2).gold >= 9
