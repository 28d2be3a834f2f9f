"""The places of entities: the BaseApp of an entity answers for it, and asks for all others."""

from __future__ import annotations

from terrazzo.base.cell_part_states import CellPartState
from terrazzo.wire.common import Request
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CallCell
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from tests.base.base_harness import BASE_ID, BASE_MGR, BYE, CELL_ID, EVENTS, Town, cell_data

FAR = AppId(AppKind.CELL_APP, 9, 1)
UNSETTLED = Located(Home(0, BASE_ID), is_unsettled=True)
"""The base is named, so that what is for the base need not wait for the cell part."""


def where(town: Town, entity: int) -> Message | str:
    """What the app answers when BaseAppMgr asks."""
    town.app.on_message(BASE_MGR, Request(99, REGISTRY.encode(Locate(entity))))
    town.step()
    return town.replies.pop()


def test_the_base_is_here_and_its_cell_part_there():
    town = Town()
    proxy, _ = town.playing()
    assert where(town, proxy.id) == Located(Home(0, BASE_ID), Home(0, CELL_ID))


def test_latest_report_of_the_cell_part_counts():
    town = Town()
    proxy, _ = town.playing()
    town.app.switchboard.learn(proxy.cell.part, 3, FAR)
    assert where(town, proxy.id) == Located(Home(0, BASE_ID), Home(3, FAR))


def test_an_unknown_entity_is_not_here():
    assert where(Town(), 4711) == Located()


def test_a_base_without_a_cell_part():
    town = Town()
    proxy, _ = town.attached()
    assert where(town, proxy.id) == Located(Home(0, BASE_ID))


def test_cell_part_that_is_being_made_is_unsettled():
    town = Town()
    town.cell.answer = lambda request: None
    proxy, _ = town.ready()
    town.step(2)
    assert proxy.cell.state is CellPartState.CREATING
    assert where(town, proxy.id) == UNSETTLED


def test_cell_part_without_a_place_is_unsettled():
    town = Town()
    proxy, _ = town.playing()
    town.app.switchboard.places[proxy.cell.part].app = None
    assert where(town, proxy.id) == UNSETTLED


def test_ended_entity_is_named_until_every_peer_has_its_end():
    town = Town()
    proxy, session = town.playing()
    other = PartId(EntityId(77), Part.CELL)
    town.app.switchboard.learn(other, 0, FAR)
    town.app.switchboard.send(proxy.part_id, other, REGISTRY.encode(CallCell(0, b"")))
    town.hear(session, BYE)
    town.settle()
    town.cell.end(proxy.id)
    town.step(20)
    assert proxy.id not in town.app.bases
    assert where(town, proxy.id) == Located(Home(0, BASE_ID)), "it has last words; its cell part has not"
    town.app.switchboard.gone(other, "no such entity")
    assert where(town, proxy.id) == Located()


def test_a_cell_part_that_has_ended_is_named_until_its_last_word_is_noted():
    town = Town()
    proxy, _ = town.playing()
    town.cell.say(proxy.id, cell_data(is_last=True))
    town.settle()
    answer = where(town, proxy.id)
    assert isinstance(answer, Located)
    assert answer.cell is not None, "its last home tells what was delivered"
    town.cell.board.destroy(proxy.cell.part)
    town.settle()
    assert where(town, proxy.id) == Located(Home(0, BASE_ID))


def test_and_so_it_is_while_the_next_one_waits_for_that():
    """Otherwise entities that end at the same time would wait for each other."""
    town = Town()
    proxy, _ = town.playing()
    town.cell.say(proxy.id, cell_data(is_last=True))
    town.settle()
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.settle()
    assert proxy.cell.state is CellPartState.FINDING
    assert where(town, proxy.id) == Located(Home(0, BASE_ID), Home(0, CELL_ID))
    town.cell.answer = lambda request: None
    town.cell.board.destroy(proxy.cell.part)
    town.step(10)
    assert town.cell.created[-1].life == 1
    assert where(town, proxy.id) == UNSETTLED


def test_of_one_that_has_ended_and_is_nowhere_any_more_there_is_no_cell_part():
    """Its base may be waiting for its note, and has lost its place: a frame of another part went astray."""
    town = Town()
    proxy, _ = town.playing()
    town.cell.say(proxy.id, cell_data(is_last=True))
    town.settle()
    town.app.switchboard.on_message(CELL_ID, Astray(proxy.cell.part, 0))
    assert where(town, proxy.id) == Located(Home(0, BASE_ID))


def test_for_others_the_manager_is_asked_once_and_the_call_arrives():
    town = Town()
    proxy, _ = town.playing()
    other = PartId(EntityId(77), Part.CELL)
    town.cell.board.create(other)
    for number in range(2):
        town.app.switchboard.send(proxy.part_id, other, REGISTRY.encode(CallCell(number, b"")))
    town.step(5)
    assert town.told(Locate) == [Locate(77)]
    assert [(entity, message.method) for entity, message in town.cell.mail if isinstance(message, CallCell)] == [
        (77, 0),
        (77, 1),
    ]


def test_a_call_to_what_no_baseapp_has_fails():
    town = Town()
    proxy, _ = town.playing()
    call = REGISTRY.encode(CallCell(0, b""))
    town.app.switchboard.send(proxy.part_id, PartId(EntityId(78), Part.CELL), call)
    town.step(5)
    [failed] = [event for event in EVENTS if event[0] == "on_call_failed"]
    assert failed[1] == 78
    assert failed[3] == "there is no such entity (any more)"


def test_while_the_manager_is_away_the_call_waits():
    town = Town()
    proxy, _ = town.playing()
    town.app.on_link_lost(BASE_MGR)
    other = PartId(EntityId(77), Part.CELL)
    town.cell.board.create(other)
    town.app.switchboard.send(proxy.part_id, other, REGISTRY.encode(CallCell(0, b"")))
    town.step(30)
    assert town.told(Locate) == []
    assert not [event for event in EVENTS if event[0] == "on_call_failed"]
    town.app.on_link_up(BASE_MGR)
    town.step(40)
    assert town.cell.got(CallCell) != []
