"""The turns of a BaseApp: what clients and cell parts send goes on between two ticks; timers and retries do not."""

from __future__ import annotations

import struct

import msgspec

from terrazzo.base.limits import BAD_MAX, MOVE_S
from terrazzo.schema.model import Side
from terrazzo.schema.record import encode_record
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.client import Received
from terrazzo.wire.common import Reply, Request
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import CallCell, ClientUpdate, ClientUpdates, ClientWants, Moves
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.basemgr_base import BaseAppLoad
from terrazzo.wire.pairs.console_any import WantView
from tests.base.base_harness import AVATAR, BASE_ID, BASE_MGR, CELL_ID, Town, call, drain, event

DIRECTION = (0.5, 0.25, 0.125)


def move(x: float) -> bytes:
    return protocol.encode_move((x, 0.0, 1.0), DIRECTION)


def turn(town: Town, session=None, *messages: bytes) -> list:
    """A turn of the BaseApp after these messages of a client; gives what it sends to the CellApp."""
    if messages:
        town.endpoint.queue.append(event(Received, session, list(messages)))
    town.app.on_turn()
    return [message for peer, message in drain(town.app.outbox) if peer == CELL_ID]


def xs(sent: list) -> list[float]:
    return [struct.unpack_from("<iI6f", each.rows)[2] for each in sent if isinstance(each, Moves)]


def test_move_of_a_client_leaves_with_the_turn():
    town = Town()
    proxy, session = town.playing()
    assert turn(town, session, move(1.0), move(2.0)) == [
        Moves(struct.pack("<iI6f", proxy.id, 2, 2.0, 0.0, 1.0, *DIRECTION))
    ]
    assert turn(town) == []


def test_moves_that_follow_too_soon_wait_and_the_latest_counts():
    town = Town()
    _, session = town.playing()
    assert xs(turn(town, session, move(1.0))) == [1.0]
    town.host.now += MOVE_S / 2
    assert xs(turn(town, session, move(2.0))) == []
    assert xs(turn(town, session, move(3.0))) == []
    town.host.now += MOVE_S
    assert xs(turn(town)) == [3.0]


def test_move_that_waits_leaves_with_the_tick():
    town = Town()
    _, session = town.playing()
    turn(town, session, move(1.0))
    turn(town, session, move(2.0))
    town.step()
    assert xs(town.cell.heard) == [2.0]


def test_moves_of_one_client_do_not_hold_up_those_of_another():
    town = Town()
    _, first = town.playing()
    _, second = town.playing(dbid=6, record=encode_record(AVATAR, {"name": "Ben"}, {}))
    turn(town, first, move(1.0))
    town.endpoint.queue.append(event(Received, first, [move(2.0)]))
    assert xs(turn(town, second, move(9.0))) == [9.0]


def test_call_of_a_client_leaves_with_the_turn():
    town = Town()
    proxy, session = town.playing()
    [frame] = turn(town, session, call(proxy.id, Side.CELL, "say", "hello"))
    town.cell.on_message(BASE_ID, frame)
    town.cell.on_tick()
    assert [each.caller for each in town.cell.got(CallCell)] == [proxy.id]


def test_mail_for_a_client_and_the_update_after_it_leave_in_that_order_with_the_turn():
    town = Town()
    proxy, session = town.playing()
    sent, loose = len(session.sent), len(session.unreliable)
    board, cell, base = town.cell.board, proxy.cell.part, proxy.part_id
    leave = protocol.encode_leave(9)
    town.cell.say(proxy.id, CellToClient(proxy.witness, (leave,)))
    update = ClientUpdate(proxy.id, proxy.witness, (bytes([ToClient.PLACES, 0]),), board.sent_up_to(cell, base))
    town.app.on_message(CELL_ID, ClientUpdates.of(update))
    turn(town)
    assert len(session.unreliable) == loose, "it has overtaken mail that was sent before it"
    town.cell.on_tick()
    for _, message in drain(town.cell.outbox):
        town.app.on_message(CELL_ID, message)
    assert len(session.sent) == sent, "before the turn"
    turn(town)
    assert session.sent[sent:] == [leave]
    assert len(session.unreliable) == loose + 1


def test_wants_that_cannot_be_sent_are_tried_again_after_the_tick_and_not_in_each_turn():
    town = Town()
    proxy, session = town.playing()
    announce = protocol.encode_announce(2000, 5, AVATAR)
    town.cell.say(proxy.id, CellToClient(proxy.witness, (announce,)))
    town.settle()
    board = town.app.switchboard
    board.limits = ChannelLimits(backlog_max=1)
    before = turn(town, session, call(proxy.id, Side.CELL, "say", "x"), protocol.encode_want([(2000, 0)]))
    assert len(town.logs("cell part channel full")) == 1
    for _ in range(5):
        turn(town)
    assert len(town.logs("cell part channel full")) == 1
    board.limits = ChannelLimits()
    for each in before:
        town.cell.on_message(BASE_ID, each)
    town.settle()
    assert [each.wants for each in town.cell.got(ClientWants)] == [((2000, 0),)]


# Lanes: the moves of a client that may move come past its messages.


def lane_of(session):
    assert session.lane is not None
    return session.lane


def lane_row(tag: int, x: float) -> bytes:
    return struct.pack("<I", tag) + move(x)[1:]


def test_move_in_a_lane_leaves_with_the_turn_and_goes_on_with_the_numbers_of_its_client():
    town = Town()
    proxy, session = town.playing()
    first, size, tag = lane_of(session)
    assert (first, size) == (move(1.0)[0], len(move(1.0)))
    turn(town, session, move(1.0))
    town.host.now += MOVE_S
    town.endpoint.rows = lane_row(tag, 2.0)
    assert turn(town) == [Moves(struct.pack("<iI6f", proxy.id, 2, 2.0, 0.0, 1.0, *DIRECTION))]


def test_lane_is_open_while_the_client_is_ready_and_has_a_cell_part():
    town = Town()
    proxy, session = town.attached()
    assert not session.has_lane()
    town.hear(session, bytes([protocol.ToServer.READY]))
    assert not session.has_lane()
    town.settle()
    assert session.has_lane()
    tag = lane_of(session)[2]
    town.cell.end(proxy.id)
    town.settle()
    assert not session.has_lane()
    town.endpoint.rows = lane_row(tag, 2.0)
    assert xs(turn(town)) == []
    proxy.part.create_cell("plaza", (1.0, 0.0, 2.0))
    town.step(15)
    assert session.has_lane()
    assert lane_of(session)[2] != tag


def test_lane_is_closed_when_the_client_leaves_or_is_lost():
    for leave in (lambda town, session: town.hear(session, bytes([protocol.ToServer.BYE])), Town.lose):
        town = Town()
        _, session = town.playing()
        tag = lane_of(session)[2]
        leave(town, session)
        town.endpoint.rows = lane_row(tag, 2.0)
        assert xs(turn(town)) == []


def test_moves_in_a_lane_that_are_no_places_end_the_session():
    town = Town()
    proxy, session = town.playing()
    for _ in range(BAD_MAX - 1):
        town.endpoint.rows = lane_row(lane_of(session)[2], float("nan"))
        assert xs(turn(town)) == []
    assert not session.is_closed()
    town.endpoint.rows = lane_row(lane_of(session)[2], float("nan"))
    turn(town)
    assert session.is_closed()
    assert proxy.bad == BAD_MAX


def test_view_has_measured_load_lateness_and_queues():
    town = Town()
    proxy, _ = town.playing()
    board, cell, base = town.cell.board, proxy.cell.part, proxy.part_id
    town.cell.say(proxy.id, CellToClient(proxy.witness, (protocol.encode_leave(9),)))
    update = ClientUpdate(proxy.id, proxy.witness, (bytes([ToClient.PLACES, 0]),), board.sent_up_to(cell, base))
    town.app.on_message(CELL_ID, ClientUpdates.of(update))
    assert town.app.queues()["updates"] == 1
    town.cell.on_tick()
    for _, message in drain(town.cell.outbox):
        town.app.on_message(CELL_ID, message)
    assert town.app.queues()["mail"] == 1
    town.host.load, town.host.late_ticks = 0.25, 0.5
    town.app.on_message(BASE_MGR, Request(9, REGISTRY.encode(WantView())))
    [reply] = [message for peer, message in drain(town.app.outbox) if peer == BASE_MGR and isinstance(message, Reply)]
    view = msgspec.json.decode(REGISTRY.decode_nested(reply.item).json)  # type: ignore[union-attr]
    assert (view["load"], view["late_ticks"], view["unsent_bytes"]) == (0.25, 0.5, 0)
    assert view["queues"]["mail"] == 1


def test_manager_gets_the_lateness_of_a_process_that_has_no_core():
    town = Town()
    town.host.load, town.host.late_ticks = 0.2, 0.8
    town.step(12)
    assert town.told(BaseAppLoad)[-1].load == 0.8
