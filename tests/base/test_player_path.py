"""The path of a player, step by step: from the key to the last word."""

from __future__ import annotations

import struct

import msgspec

from terrazzo.base.farewells import ClientLoss, Farewell
from terrazzo.base.presence_states import Presence
from terrazzo.schema.model import Side
from terrazzo.schema.record import decode_record
from terrazzo.schema.state import State
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToClient
from terrazzo.sync.riding import Ride, encode_ride
from terrazzo.wire.messages import Refusal
from terrazzo.wire.pairs.base_cell import (
    CallBase,
    CallCell,
    ClientUpdate,
    ClientUpdates,
    DestroyReal,
    Moves,
    SendAway,
    SetWitness,
)
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.base_cellmgr import FindEntry
from terrazzo.wire.pairs.base_db import LoggedOff, Save
from terrazzo.wire.pairs.basemgr_base import BaseAppLoad, BaseAppReady, ProxyCreated
from tests.base.base_harness import AVATAR, BYE, CELL_ID, DB, EVENTS, METHODS, READY, Stamp, Town, call, drain


def test_base_app_joins_its_peers_and_reports_its_ports():
    town = Town(linked=False)
    town.step()
    assert [(each.kind.name, each.incarnation) for each in town.host.joined] == [
        ("BASE_APP_MGR", 0),
        ("DB_APP", 0),
        ("CELL_APP_MGR", 0),
    ]
    town = Town()
    assert town.told(BaseAppReady) == [BaseAppReady("example", 4000, 4001)]
    assert town.host.joined == []
    town.step(11)
    assert town.told(BaseAppLoad)[-1] == BaseAppLoad(0, 0, 0.5)


def test_the_key_leads_to_the_base_player():
    town = Town()
    created = town.log_on()
    assert isinstance(created, ProxyCreated)
    assert len(created.key) == 16
    assert EVENTS == [("on_loaded",)]
    session = town.connect(created.key)
    [message] = session.sent
    number, body = protocol.split_message(message)
    assert number == ToClient.BASE_PLAYER
    entity, rest = protocol.take_entity(body)
    assert (entity, int.from_bytes(rest[:2], "little")) == (created.entity, AVATAR.type_id)
    assert AVATAR.base_player_layout.row.decode(rest[2:]) == [30, [], []]
    assert town.proxy(created.entity).presence is Presence.ATTACHED
    assert EVENTS == [("on_loaded",)]


def test_ready_leads_to_a_body_and_a_witness():
    town = Town()
    proxy, _ = town.ready()
    assert EVENTS[-1] == ("on_client_ready",)
    assert town.told(FindEntry) == [FindEntry("plaza", 1.0, 2.0)]
    town.settle()
    [request] = town.cell.created
    assert (request.entity, request.type_id, request.space, request.life) == (proxy.id, AVATAR.type_id, 1, 0)
    assert (request.position, request.direction, request.dbid) == ((1.0, 0.0, 2.0), (0.5, 0.25, 0.125), 5)
    row = dict(zip(AVATAR.cell_layout.names, AVATAR.cell_layout.row.decode(request.properties), strict=True))
    assert row == {"name": "Ann", "hp": 100}
    assert EVENTS[-1:] == [("on_cell_created",)]
    assert town.cell.got(SetWitness) == [SetWitness(1, True)]


def test_messages_of_the_cell_part_reach_the_client():
    town = Town()
    proxy, session = town.playing()
    town.cell.say(proxy.id, CellToClient(1, (b"\x14a", b"\x14b")))
    town.settle()
    assert session.sent[-2:] == [b"\x14a", b"\x14b"]
    town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces", b"\x9echange"))))
    town.step()
    assert session.unreliable == [b"\x15\0places", b"\x17\0\x9echange"]


def test_malformed_updates_are_refused_as_a_whole_and_counted():
    town = Town()
    proxy, session = town.playing()
    rows = ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",))).rows
    town.app.on_message(CELL_ID, ClientUpdates(rows + rows[:-1]))
    town.step()
    assert session.unreliable == []
    assert town.app.refusals.by_peer[CELL_ID] == {Refusal.MALFORMED: 1}
    town.app.on_message(CELL_ID, ClientUpdates(rows))
    town.step()
    assert session.unreliable == [b"\x15\0places"]


def test_what_is_unreliable_is_taken_from_where_the_cell_part_is():
    town = Town()
    proxy, session = town.playing()
    elsewhere = CELL_ID._replace(index=7)
    town.app.on_message(elsewhere, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",))))
    town.step()
    assert session.unreliable == []
    assert town.app.view()["old_mail"] == 1
    town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"", b"\x15tplaces"))))
    town.step()
    assert session.unreliable == [b"\x15\0places"]


def test_what_is_unreliable_of_a_former_stay_is_not_taken_for_one_of_the_next():
    """The next message of the cell part arrives in the same tick."""
    town = Town()
    proxy, session = town.playing()
    elsewhere = CELL_ID._replace(index=7)
    town.app.on_message(elsewhere, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",))))
    town.app.switchboard.learn(proxy.cell.part, town.app.switchboard.places[proxy.cell.part].version + 1, elsewhere)
    assert proxy.cell.where == elsewhere
    town.step()
    assert session.unreliable == []


def test_what_is_unreliable_does_not_pass_mail_that_was_sent_before_it():
    """That was lost with a link, and is sent again."""
    town = Town()
    proxy, session = town.playing()
    board = town.cell.board
    town.cell.say(proxy.id, CellToClient(1, (b"\x14a",)))
    after = board.sent_up_to(proxy.cell.part, proxy.part_id)
    update = ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",), after))
    town.app.on_message(CELL_ID, update)
    town.app.on_tick()
    assert session.unreliable == []
    town.settle()
    assert session.sent[-1] == b"\x14a"
    assert session.unreliable == [b"\x15\0places"]


def test_what_is_unreliable_bears_its_turn():
    town = Town()
    proxy, session = town.playing()
    update = ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",)))
    town.tell(proxy, protocol.encode_announce(70, 1, AVATAR), protocol.encode_leave(1))
    town.app.on_message(CELL_ID, update)
    town.tell(proxy, protocol.encode_announce(71, 2, AVATAR))
    town.app.on_message(CELL_ID, update)
    town.cell.end(proxy.id)
    town.settle()
    proxy.part.create_cell("plaza", (0, 0, 0))
    town.settle()
    player = protocol.encode_cell_player(AVATAR, 1, (1.0, 0.0, 2.0), (0.5, 0.0, 0.0), ["Ann", 100])
    town.tell(proxy, player)
    town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 2, (b"\x15tplaces",))))
    town.step()
    assert [each[1] for each in session.unreliable] == [0, 1, 2]


def test_what_is_unreliable_and_what_is_not_stay_in_order():
    """Several ticks of a CellApp may come within one of the BaseApp: alighting begins a turn, and places before and
    after it have different turns."""
    town = Town()
    proxy, session = town.playing()
    town.tell(proxy, protocol.encode_announce(70, 1, AVATAR))

    def update() -> None:
        after = town.cell.board.sent_up_to(proxy.cell.part, proxy.part_id)
        town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15tplaces",), after)))

    for vehicle in (0, 9, 0):
        update()
        ride = Ride(vehicle, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        rides = protocol.with_alias(1, protocol.EntityMessage(ToClient.RIDES, encode_ride(ride)))
        town.cell.say(proxy.id, CellToClient(1, (rides,)))
        town.cell.on_tick()
        for _, message in drain(town.cell.outbox):
            town.app.on_message(CELL_ID, message)
        update()
    town.step()
    assert [each[1] for each in session.unreliable] == [0, 1, 1, 1, 1, 2]
    assert session.kinds()[-3:] == [ToClient.RIDES] * 3


def test_an_unreliable_call_of_the_base_is_loose():
    town = Town()
    proxy, session = town.playing()
    proxy.part.client.on_wind(3)
    assert session.unreliable == [bytes([ToClient.LOOSE, 0]) + protocol.with_alias(0, wind(3))]


def wind(strength):
    [method] = [each for each in AVATAR.client_methods if each.name == "on_wind"]
    return METHODS.encode_call(AVATAR, Side.CLIENT, "on_wind", method.encode_args(strength))


def test_the_latest_move_of_a_tick_goes_to_the_cell_app():
    town = Town()
    proxy, session = town.playing()
    direction = (0.5, 0.25, 0.125)
    town.hear(session, *(protocol.encode_move((x, 0.0, 1.0), direction) for x in (1.0, 2.0)))
    assert town.cell.heard == [Moves(struct.pack("<iI6f", proxy.id, 2, 2.0, 0.0, 1.0, *direction))]
    town.step()
    assert len(town.cell.heard) == 1


def test_calls_of_the_client_and_of_both_parts():
    town = Town()
    proxy, session = town.playing()
    town.hear(session, call(proxy.id, Side.BASE, "buy", 4), call(proxy.id, Side.CELL, "say", "hello"))
    assert EVENTS[-1] == ("buy", 4)
    town.settle()
    [said] = town.cell.got(CallCell)
    assert said.caller == proxy.id
    assert AVATAR.cell_methods[said.method].name == "say"
    assert AVATAR.cell_methods[said.method].decode_args(said.args) == ["hello"]
    index = [each.name for each in AVATAR.base_methods].index("give")
    town.cell.say(proxy.id, CallBase(index, AVATAR.base_methods[index].encode_args(10)))
    town.settle()
    assert EVENTS[-1] == ("give", 10)
    proxy.part.cell.heal(amount=3)
    town.settle()
    assert town.cell.got(CallCell)[-1].caller == 0
    proxy.part.client.on_welcome(8)
    number, body = protocol.split_message(session.sent[-1])
    alias, data = protocol.take_alias(body)
    found = METHODS.find(AVATAR, Side.CLIENT, number, data)
    assert (alias, found.method.name, found.method.decode_args(found.data)) == (protocol.OWN, "on_welcome", [8])


def test_changes_of_the_base_go_to_the_own_client():
    town = Town()
    proxy, session = town.attached()
    count = len(session.sent)
    proxy.part.secret = 1
    proxy.part.gold = 31
    proxy.part.letters.extend([4, 5])
    proxy.part.letters[1] = 6
    assert len(session.sent) == count + 3
    copy = State(AVATAR.client_layout)
    copy["gold"] = 30
    for message in session.sent[count:]:
        number, body = protocol.split_message(message)
        alias, rest = protocol.take_alias(body)
        assert alias == protocol.OWN
        if number in (ToClient.NESTED, ToClient.SLICE):
            copy.apply_external(rest, is_slice=number == ToClient.SLICE)
        else:
            index = number - 158
            copy.set(index, AVATAR.client_layout.codecs[index].decode(rest))
    assert (copy["gold"], copy["letters"]) == (31, [4, 6])


def test_fields_that_are_the_bases_own_stay_there():
    town = Town()
    proxy, session = town.attached()
    count = len(session.sent)
    proxy.part.stamps.append(Stamp(value=7, is_fake=True))
    proxy.part.stamps[0].is_fake = False
    proxy.part.stamps[0].value = 8
    copy = State(AVATAR.own_client_layout)
    slice_, nested = (protocol.split_message(each) for each in session.sent[count:])
    assert (slice_[0], nested[0]) == (ToClient.SLICE, ToClient.NESTED)
    copy.apply_external(protocol.take_alias(slice_[1])[1], is_slice=True)
    assert copy["stamps"] == [{"value": 7, "is_fake": False}]
    copy.apply_external(protocol.take_alias(nested[1])[1], is_slice=False)
    assert copy["stamps"] == [{"value": 8, "is_fake": False}]


def test_leaving_saves_both_parts_and_the_place_before_logging_off():
    town = Town()
    proxy, session = town.playing()
    proxy.part.gold = 99
    town.hear(session, BYE)
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.LEFT)
    town.settle()
    assert town.cell.got(DestroyReal) == [DestroyReal()]
    assert town.cell.got(SetWitness)[-1] == SetWitness(1, False)
    assert not session.is_closed()
    assert town.told(Save) == []
    town.cell.end(proxy.id, name="Anna")
    town.settle()
    words = [message for peer, message in town.said if peer == DB and isinstance(message, Save | LoggedOff)]
    assert [type(each) for each in words] == [Save, LoggedOff]
    [save], [logged_off] = town.told(Save), town.told(LoggedOff)
    assert logged_off == LoggedOff(AVATAR.type_id, 5, proxy.id)
    assert (save.type_id, save.dbid) == (AVATAR.type_id, 5)
    values, extra = decode_record(AVATAR, save.record)
    assert values == {"name": "Anna", "gold": 99, "secret": 9}
    assert extra["@space"] == b"hall"
    assert session.sent[-1] == protocol.encode_logged_off(Farewell.BYE, "goodbye")
    assert session.is_closed()
    assert town.app.bases == {}
    assert town.app.view()["clients"] == 0
    town.step(40, 10.0)  # mailboxes end when every peer has noted it, or has been asked again
    assert not town.app.switchboard.boxes
    # And again: everything is back, at the place it was left.
    proxy, session = town.playing(record=save.record)
    assert (proxy.part.gold, proxy.part.secret) == (99, 9)
    assert town.told(FindEntry)[-1] == FindEntry("hall", 5.0, 7.0)
    request = town.cell.created[-1]
    assert (request.position, request.direction) == ((5.0, 6.0, 7.0), (1.5, 0.0, 0.5))
    assert "Anna" in AVATAR.cell_layout.row.decode(request.properties)


def test_a_lost_session_leaves_the_same_way():
    town = Town()
    proxy, session = town.playing()
    town.lose(session)
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.CONNECTION)
    town.settle()
    town.cell.end(proxy.id)
    town.settle()
    assert len(town.told(LoggedOff)) == 1
    assert town.app.bases == {}


def test_a_client_that_goes_before_it_was_ready_is_not_reported_to_the_game():
    town = Town()
    _, session = town.attached()
    town.lose(session)
    town.settle()
    assert [each for each in EVENTS if each[0] == "on_client_lost"] == []
    assert len(town.told(LoggedOff)) == 1


def test_the_game_may_keep_the_entity_when_its_client_goes(monkeypatch):
    town = Town()
    proxy, session = town.playing()
    monkeypatch.setattr(type(proxy.part), "on_client_lost", lambda self, reason: None)
    town.hear(session, BYE)
    town.settle()
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.BYE])
    assert session.is_closed()
    assert proxy.has_cell
    proxy.part.client.on_welcome(1)  # dropped: there is no client
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.settle()
    assert town.app.view()["old_mail"] == 1


def test_mail_for_the_client_before_is_dropped():
    """Race 20: a witness number that is not the present one."""
    town = Town()
    proxy, session = town.playing()
    proxy.part.destroy_cell()
    town.settle()
    town.cell.end(proxy.id)
    town.settle()
    proxy.part.create_cell()
    town.settle()
    assert town.cell.got(SetWitness)[-1] == SetWitness(2, True)
    count = len(session.sent)
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.cell.say(proxy.id, CellToClient(2, (b"\x14new",)))
    town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15old",))))
    town.settle()
    assert session.sent[count:] == [b"\x14new"]
    assert session.unreliable == []
    assert town.app.view()["old_mail"] == 2


def test_the_game_can_send_a_client_away_and_end_an_entity():
    town = Town()
    proxy, session = town.playing()
    proxy.part.kick("enough for today")
    assert session.sent[-1] == protocol.encode_logged_off(Farewell.SENT_AWAY, "enough for today")
    assert session.is_closed()
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.KICKED)
    town.settle()
    town.cell.end(proxy.id)
    town.settle()
    proxy, session = town.playing()
    proxy.part.destroy()
    town.hear(session, READY, BYE)
    town.cell.end(proxy.id)
    town.settle()
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.DESTROYED])
    assert EVENTS[-1:] == [("on_cell_created",)]


def test_too_large_a_message_ends_the_session_rather_than_the_story():
    town = Town()
    proxy, session = town.playing()
    town.app.on_message(CELL_ID, ClientUpdates.of(ClientUpdate(proxy.id, 1, (bytes(2000),))))
    town.step()
    assert not session.is_closed()
    proxy._send(bytes((1 << 20) + 1))
    assert session.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.SENT_AWAY])
    assert session.is_closed()


def test_the_cell_part_can_send_its_client_away_and_no_later_one():
    town = Town()
    proxy, session = town.playing()
    town.cell.say(proxy.id, SendAway(proxy.witness - 1, "too late"))
    town.settle()
    assert not session.is_closed()
    town.cell.say(proxy.id, SendAway(proxy.witness, "too much"))
    town.settle()
    assert session.sent[-1] == protocol.encode_logged_off(Farewell.SENT_AWAY, "too much")
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.KICKED)
    assert town.cell.got(SetWitness)[-1] == SetWitness(proxy.witness, False)


def test_the_view_is_plain():
    town = Town()
    town.playing()
    view = msgspec.json.decode(msgspec.json.encode(town.app.view()))
    assert view["bases"] == {"Avatar": 1}
    assert view["clients"] == 1
    assert set(view["links"]) == {"base_app_mgr", "db_app", "cell_app_mgr"}
