"""The cell part as its base sees it: every way it can fail to come, to go, and to be lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.proxy import ProxyEntity
from terrazzo.errors import UsageError
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.log_events import Count
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CallBase, CallCell, DestroyReal, RealCreated, SetWitness
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.base_db import LoggedOff, Save
from tests.base.base_harness import AVATAR, CELL_ID, CELL_MGR, EVENTS, Town, cell_data


def state(proxy: ProxyEntity) -> CellPartState:
    return proxy.cell.state


def failed():
    return [each[1] for each in EVENTS if each[0] == "on_cell_failed"]


def test_the_manager_refuses():
    town = Town()
    town.answers[FindEntry] = lambda request: "there is no ground there"
    proxy, _ = town.ready()
    assert failed() == ["there is no ground there"]
    assert state(proxy) is CellPartState.NONE
    town.answers[FindEntry] = lambda request: Entry(1, CELL_ID)
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.settle()
    assert proxy.has_cell


def test_the_manager_is_away_and_comes_back_in_time():
    town = Town()
    town.app.on_link_lost(CELL_MGR)
    proxy, _ = town.ready()
    town.step(20)
    assert state(proxy) is CellPartState.FINDING
    town.app.on_link_up(CELL_MGR)
    town.step(5)
    assert proxy.has_cell


def test_the_manager_stays_away():
    town = Town()
    town.app.on_link_lost(CELL_MGR)
    town.ready()
    town.step(12, 1.0)
    [reason] = failed()
    assert "CellAppMgr is out of reach" in reason
    assert AppId(AppKind.CELL_APP_MGR, 0, 0) in town.host.joined


def test_the_manager_does_not_answer():
    town = Town()
    town.answers[FindEntry] = lambda request: None
    town.ready()
    town.step(30, 1.0)
    assert failed() == ["the CellAppMgr did not answer (timeout)"]
    assert len(town.told(FindEntry)) > 1


def test_the_cell_app_refuses():
    town = Town()
    town.cell.answer = lambda request: "I have no such space"
    proxy, _ = town.ready()
    town.settle()
    assert state(proxy) is CellPartState.FINDING
    town.step(12, 1.0)
    assert failed() == ["I have no such space"]
    assert state(proxy) is CellPartState.NONE


def test_the_ground_has_changed_hands_meanwhile():
    town = Town()
    answers: Iterator[Message | str] = iter(["I have no cell of that space (any more)", RealCreated()])
    town.cell.answer = lambda request: next(answers)
    proxy, _ = town.ready()
    town.step(5)
    assert len(town.told(FindEntry)) == 2
    assert [each.life for each in town.cell.created] == [0, 1]
    assert proxy.has_cell
    assert failed() == []


def test_it_is_taken_down_and_has_ended_without_a_word():
    town = Town()
    proxy, session = town.playing()
    town.cell.board.destroy(proxy.cell.part)
    proxy.part.destroy_cell()
    town.step(10)
    assert EVENTS[-1] == ("on_cell_lost",)
    assert EVENTS.count(("on_cell_lost",)) == 1
    assert state(proxy) is CellPartState.NONE
    assert session.kinds()[-1] == ToClient.CELL_LOST
    assert town.logs("cell part ended without last data") == [{"entity": f"Avatar {proxy.id}"}]


def test_it_is_taken_down_while_its_last_word_is_on_its_way():
    town = Town()
    proxy, _ = town.playing()
    town.cell.end(proxy.id, hp=3)
    proxy.part.destroy_cell()
    town.step(10)
    assert EVENTS.count(("on_cell_lost",)) == 1
    assert proxy.data.cell["hp"] == 3
    assert town.logs("cell part ended without last data") == []


def test_a_cell_part_that_takes_nothing_now_is_taken_down_later(monkeypatch):
    town = Town()
    proxy, _ = town.playing()

    def full(*args):
        raise ChannelFull("thousands wait")

    with monkeypatch.context() as patched:
        patched.setattr(town.app.switchboard, "send", full)
        proxy.part.destroy_cell()
        town.step(5)
    assert town.cell.got(DestroyReal) == []
    town.step(5)
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    assert state(proxy) is CellPartState.LEAVING


def test_each_cell_part_has_a_higher_life_and_waits_for_the_last_word_of_the_former():
    town = Town()
    proxy, _ = town.playing()
    for life in (1, 2):
        proxy.part.destroy_cell()
        town.settle()
        town.cell.end(proxy.id)
        town.settle()
        assert EVENTS[-1] == ("on_cell_lost",)
        proxy.part.create_cell("plaza", (0, 0, 0), name="Ben")
        town.settle()
        assert proxy.has_cell
        assert town.cell.created[-1].life == life
        assert town.cell.got(SetWitness)[-1] == SetWitness(life + 1, True)
    assert AVATAR.cell_layout.row.decode(town.cell.created[-1].properties) == ["Ben", 42]


def test_the_next_one_waits_for_the_last_word_however_long_that_takes():
    town = Town()
    proxy, _ = town.playing()
    callee = PartId(EntityId(77), Part.CELL)
    town.cell.board.send(proxy.cell.part, callee, b"it is not found")
    town.cell.end(proxy.id)
    town.settle()
    assert EVENTS[-1] == ("on_cell_lost",)
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.step(30, 1.0)
    assert state(proxy) is CellPartState.FINDING
    assert town.told(FindEntry)[1:] == []
    assert len(town.logs("next cell part waits")) == 3, "who runs the server hears of it"
    town.cell.board.gone(callee, "no such entity")
    town.app.on_link_lost(CELL_MGR)
    town.step(9, 1.0)
    assert failed() == [], "the time for finding a place has just begun"
    town.app.on_link_up(CELL_MGR)
    town.step(5)
    assert proxy.has_cell
    assert town.cell.created[-1].life == 1
    town.step(30, 1.0)
    assert len(town.logs("next cell part waits")) == 3


def test_early_call_to_the_next_cell_part_does_not_delay_its_creation():
    town = Town()
    proxy, _ = town.playing()
    town.cell.end(proxy.id)
    town.settle()
    town.app.on_link_lost(CELL_MGR)
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.app.switchboard.on_message(CELL_ID, Astray(proxy.cell.part, 0))
    town.app.switchboard.send(proxy.part_id, proxy.cell.part, REGISTRY.encode(CallCell(0, b"")))
    town.settle()
    town.app.on_link_up(CELL_MGR)
    town.step(5)
    assert proxy.has_cell
    assert town.cell.got(CallCell) == [CallCell(0, b"")]


def test_the_cell_part_ends_by_itself():
    town = Town()
    proxy, session = town.playing()
    town.cell.end(proxy.id, hp=1)
    town.settle()
    assert EVENTS[-1] == ("on_cell_lost",)
    assert session.kinds()[-1] == ToClient.CELL_LOST
    assert proxy.part.last_place == ("hall", (5.0, 6.0, 7.0), (1.5, 0.0, 0.5))
    assert proxy.data.cell["hp"] == 1


def test_client_gets_cell_lost_once():
    town = Town()
    proxy, session = town.playing()
    town.cell.say(proxy.id, CellToClient(1, (bytes([ToClient.CELL_LOST]),)))
    town.cell.end(proxy.id)
    town.settle()
    assert session.kinds().count(ToClient.CELL_LOST) == 1


def test_taken_down_while_it_is_being_made():
    town = Town()
    proxy, _ = town.attached()
    part = proxy.part
    part.create_cell("plaza", (0, 0, 0))
    part.destroy_cell()
    assert failed() == ["it was taken down before it was there"]
    town.cell.answer = lambda request: None
    part.create_cell("plaza", (0, 0, 0))
    town.step(2)
    assert state(proxy) is CellPartState.CREATING
    part.destroy_cell()
    assert len(failed()) == 1
    town.cell.answer_late()
    town.settle()
    assert ("on_cell_created",) not in EVENTS
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    town.cell.end(proxy.id)
    town.settle()
    assert len(failed()) == 2
    assert ("on_cell_lost",) not in EVENTS


def test_cell_part_taken_down_while_being_made_is_unsettled_for_a_caller_here():
    """The cell part has no place yet, since it is being made; that does not mean that it does not exist."""
    town = Town()
    proxy, _ = town.attached()
    town.cell.answer = lambda request: None
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.step(2)
    caller = PartId(EntityId(77), Part.BASE)
    town.app.switchboard.create(caller)
    proxy.part.destroy_cell()
    town.app.switchboard.send(caller, proxy.cell.part, REGISTRY.encode(CallCell(0, b"")))
    town.step(2)
    assert town.app.switchboard.counts[Count.LOCATED] == 1
    assert state(proxy) is CellPartState.CANCELLED
    assert failed() == []
    town.cell.answer_late()
    town.settle()
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    town.app.switchboard.places[proxy.cell.part].app = None
    proxy.cell.locate()
    assert state(proxy) is CellPartState.LEAVING, "it was made, that is certain: its last word is waited for"
    town.cell.end(proxy.id)
    town.settle()
    assert failed() == ["it was taken down before it was there"]


def test_a_broken_link_is_no_death():
    """Races 10 and 26: it is unknown whether the CellApp lives, so nothing changes until it is back."""
    town = Town()
    proxy, session = town.playing()
    count = len(session.sent)
    town.cell.is_reachable = False
    proxy.part.cell.heal(1)
    town.step()
    town.app.on_link_lost(CELL_ID)
    assert town.host.joined == [CELL_ID]
    proxy.part.cell.heal(2)
    town.step(20, 0.5)
    assert state(proxy) is CellPartState.THERE
    assert town.cell.got(CallCell) == []
    town.cell.is_reachable = True
    town.app.on_link_up(CELL_ID)
    town.step(20)
    assert [AVATAR.cell_methods[each.method].decode_args(each.args) for each in town.cell.got(CallCell)] == [[1], [2]]
    assert session.sent[count:] == []
    assert EVENTS[-1] == ("on_cell_created",)
    assert len(town.cell.got(SetWitness)) == 1


def test_a_cell_part_is_taken_down_although_the_link_is_broken():
    town = Town()
    proxy, _ = town.playing()
    town.cell.is_reachable = False
    town.app.on_link_lost(CELL_ID)
    proxy.part.destroy_cell()
    town.step(20, 0.5)
    assert state(proxy) is CellPartState.LEAVING
    town.cell.is_reachable = True
    town.step(20, 0.5)
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    town.cell.end(proxy.id)
    town.settle()
    assert EVENTS[-1] == ("on_cell_lost",)


def test_a_dead_cell_app_is_lost_with_its_reals():
    town = Town()
    proxy, session = town.playing()
    town.cell.is_reachable = False
    town.app.on_app_dead(CELL_ID)
    assert EVENTS[-1] == ("on_cell_lost",)
    assert session.kinds()[-1] == ToClient.CELL_LOST
    assert not session.is_closed()
    assert town.logs("CellApp dead") == [
        {"app": str(CELL_ID), "cell_parts": 1, "note": "their bases go on without them"}
    ]
    with pytest.raises(UsageError, match="not there \\(lost\\)"):
        proxy.part.cell.heal(1)
    # It leaves with what was known last.
    town.lose(session)
    town.settle()
    assert len(town.told(Save)) == 1
    assert len(town.told(LoggedOff)) == 1


def test_a_later_life_of_a_cell_app_means_that_the_former_is_dead():
    town = Town()
    proxy, _ = town.playing()
    town.app.on_link_up(AppId(AppKind.CELL_APP, 2, 9))
    town.app.on_link_up(CELL_ID)
    assert state(proxy) is CellPartState.THERE
    town.app.on_link_up(CELL_ID._replace(incarnation=2))
    assert state(proxy) is CellPartState.LOST


def test_death_while_it_is_taken_down():
    town = Town()
    proxy, _ = town.playing()
    proxy.part.destroy_cell()
    town.app.on_app_dead(CELL_ID)
    assert state(proxy) is CellPartState.NONE
    assert EVENTS[-1] == ("on_cell_lost",)


def test_lost_cell_part_that_sends_again_exists_again():
    town = Town()
    proxy, session = town.playing()
    town.app.on_app_dead(CELL_ID)
    count = len(session.sent)
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.settle()
    assert proxy.has_cell
    assert EVENTS[-1] == ("on_cell_created",)
    assert session.sent[count:] == []
    assert town.cell.got(SetWitness)[-1] == SetWitness(2, True)


def test_a_new_cell_part_instead_of_a_lost_one():
    town = Town()
    proxy, _ = town.playing()
    town.app.on_app_dead(CELL_ID)
    town.cell.board.boxes.clear()
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.settle()
    assert proxy.has_cell
    assert town.cell.created[-1].life == 1


def test_error_of_a_wrong_call_has_what_to_do():
    town = Town()
    proxy, _ = town.attached()
    part = proxy.part
    with pytest.raises(UsageError, match="wait for on_cell_created"):
        part.cell.heal(1)
    with pytest.raises(UsageError, match=r"no cell method .hael.; it has"):
        part.cell.hael(1)
    with pytest.raises(UsageError, match="heal"):
        part.cell.heal("much")
    with pytest.raises(UsageError, match="no space 'moon'; the game has plaza, hall"):
        part.create_cell("moon", (0, 0, 0))
    with pytest.raises(UsageError, match="three finite numbers"):
        part.create_cell("plaza", (0, 0))
    with pytest.raises(UsageError, match="finite"):
        part.create_cell("plaza", (0, float("inf"), 0))
    with pytest.raises(UsageError, match="never been anywhere"):
        part.create_cell()
    with pytest.raises(UsageError, match="or neither"):
        part.create_cell("plaza")
    with pytest.raises(UsageError, match="no property 'mana'"):
        part.create_cell("plaza", (0, 0, 0), mana=3)
    part.create_cell("plaza", (0, 0, 0))
    with pytest.raises(UsageError, match="already"):
        part.create_cell("plaza", (0, 0, 0))


def test_a_call_that_cannot_arrive_is_reported_to_the_game():
    town = Town()
    proxy, _ = town.playing()
    town.cell.end(proxy.id)
    proxy.part.cell.heal(1)
    town.settle()
    assert ("on_call_failed", proxy.id, "heal", "destroyed") in EVENTS


def test_wrong_messages_of_a_cell_part_are_refused():
    town = Town()
    proxy, session = town.playing()
    count, bad_data = len(session.sent), cell_data()
    town.cell.say(proxy.id, CallBase(99, b""))
    town.cell.say(proxy.id, CallBase(0, b"odd"))
    town.cell.say(proxy.id, DestroyReal())
    town.cell.say(proxy.id, bad_data.__class__("hall", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), b"short", False))
    other = town.cell.created[0].__class__(555, 1, 1, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), b"", 0, 0)
    town.cell.make(other)
    town.cell.say(555, CellToClient(1, (b"\x14spoof",)), to=proxy.part_id)
    town.cell.say(555, cell_data(is_last=True), to=proxy.part_id)
    town.settle()
    assert len(town.logs("call refused")) == 2
    assert len(town.logs("mail refused")) == 3
    assert len(town.logs("cell data that does not decode")) == 1
    assert session.sent[count:] == []
    assert proxy.has_cell


def test_a_new_cell_part_is_not_asked_for_before_the_former_has_ended():
    town = Town()
    proxy, _ = town.playing()
    town.cell.say(proxy.id, cell_data(is_last=True))
    town.settle()
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.step(20)
    assert state(proxy) is CellPartState.FINDING
    assert len(town.cell.created) == 1
    town.cell.board.destroy(proxy.cell.part)
    town.step(10)
    assert proxy.has_cell
    assert len(town.cell.created) == 2
    assert town.cell.got(SetWitness)[-1] == SetWitness(2, True)


def test_dead_cell_app_is_sent_nothing():
    town = Town()
    proxy, _ = town.playing()
    town.cell.is_reachable = False
    proxy.part.cell.heal(1)
    town.step()
    town.app.on_app_dead(CELL_ID)
    town.app.outbox.drain()
    for _ in range(50):
        town.host.now += 0.5
        town.app.on_tick()
        assert CELL_ID not in [peer for peer, _ in town.app.outbox.drain()]
