"""A second login with the right password: the game accepts it, refuses it, or lets it wait."""

from __future__ import annotations

import pytest

from terrazzo.base import ClientLoss, LogOnAnswer
from terrazzo.base.farewells import Farewell
from terrazzo.base.limits import KEY_S
from terrazzo.base.presence_states import Presence
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.takeover import PROBE_S, PROBES, WAIT_S
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToClient
from terrazzo.wire.common import Request
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, SetWitness
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.base_db import LoggedOff, ProxyTaken, Save, TakenOver, TakeOver
from tests.base.base_harness import BYE, CELL_ID, DB, EVENTS, READY, FakeSession, Town

LONG_S = PROBE_S * (PROBES + 2)
STAYS, GOES = TakenOver(is_going=False), TakenOver(is_going=True)


def take_over(town: Town, entity: int) -> None:
    town.app.on_message(DB, Request(9, REGISTRY.encode(TakeOver(entity, "192.0.2.7"))))
    town.step()


def taken(town: Town, entity: int) -> ProxyTaken:
    town.replies.clear()
    take_over(town, entity)
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken)
    return answer


def playing(town: Town, answer: object) -> tuple[ProxyEntity, FakeSession]:
    """A player with a client that has just sent something, and a game that gives this answer."""
    proxy, session = town.playing()
    proxy.part.on_log_on_attempt = lambda address: answer
    session.heard_at = town.host.now
    town.replies.clear()
    return proxy, session


def test_new_client_gets_the_proxy_and_the_old_one_the_reason():
    town = Town()
    proxy, old = playing(town, LogOnAnswer.ACCEPT)
    answer = taken(town, proxy.id)
    assert (answer.host, answer.udp_port, answer.ws_port) == ("example", 4000, 4001)
    assert not old.is_closed()
    new = town.connect(answer.key, session_id=2)
    assert old.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.TAKEN_OVER])
    assert old.is_closed()
    assert new.kinds() == [ToClient.BASE_PLAYER]
    town.hear(new, READY)
    town.settle()
    assert EVENTS[-1] == ("on_client_back",)
    assert "on_client_lost" not in [each[0] for each in EVENTS]
    assert proxy.has_cell
    assert town.cell.got(SetWitness) == [SetWitness(1, True), SetWitness(1, False), SetWitness(2, True)]
    assert town.told(LoggedOff) == []


def test_messages_for_the_old_client_do_not_reach_the_new_one():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.ACCEPT)
    new = town.connect(taken(town, proxy.id).key, session_id=2)
    loose = ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15told",)))
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.app.on_message(CELL_ID, loose)
    town.hear(new, READY)
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.app.on_message(CELL_ID, loose)
    town.settle()
    town.cell.say(proxy.id, CellToClient(2, (b"\x14new",)))
    town.settle()
    assert new.sent[1:] == [b"\x14new"]
    assert new.unreliable == []


def test_old_client_that_is_let_go_can_do_nothing_any_more():
    town = Town()
    proxy, old = playing(town, LogOnAnswer.ACCEPT)
    new = town.connect(taken(town, proxy.id).key, session_id=2)
    town.hear(new, READY)
    town.hear(old, BYE)
    town.lose(old)
    assert proxy.presence is Presence.READY
    assert not new.is_closed()


def test_login_that_is_not_finished_changes_nothing_and_its_key_expires():
    town = Town()
    proxy, old = playing(town, LogOnAnswer.ACCEPT)
    key = taken(town, proxy.id).key
    town.step(round(KEY_S / 0.1) + 1)
    assert proxy.is_ready
    late = town.connect(key, session_id=2)
    assert late.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.WRONG_KEY])
    assert proxy.is_ready
    assert not old.is_closed()


def test_key_of_a_third_login_voids_that_of_the_second():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.ACCEPT)
    second = taken(town, proxy.id).key
    third = taken(town, proxy.id).key
    assert town.connect(second, session_id=2).is_closed()
    assert town.connect(third, session_id=3).kinds() == [ToClient.BASE_PLAYER]
    assert town.connect(third, session_id=4).is_closed()


def test_new_client_that_vanishes_before_it_is_ready_is_reported():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.ACCEPT)
    new = town.connect(taken(town, proxy.id).key, session_id=2)
    town.lose(new)
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.CONNECTION)


def test_old_client_that_is_not_ready_is_replaced():
    town = Town()
    created = town.log_on()
    assert not isinstance(created, str)
    old = town.connect(created.key)
    new = town.connect(taken(town, created.entity).key, session_id=2)
    town.hear(new, READY)
    assert (old.is_closed(), new.is_closed()) == (True, False)
    assert EVENTS[-1] == ("on_client_ready",)


def test_silent_client_of_a_game_that_refuses_is_let_go_its_entity_saved_and_logged_off():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.REFUSE)
    take_over(town, proxy.id)
    assert town.replies == []
    town.step(round(LONG_S / 0.1))
    assert (town.replies, session.probes) == ([GOES], PROBES)
    assert (session.sent[-1][0], session.sent[-1][1]) == (ToClient.LOGGED_OFF, Farewell.SILENT)
    assert EVENTS[-1] == ("on_client_lost", ClientLoss.CONNECTION)
    town.cell.end(proxy.id, name="Anna")
    town.settle()
    assert (len(town.told(Save)), len(town.told(LoggedOff))) == (1, 1)


def test_silent_client_of_a_game_that_refuses_makes_room_at_a_proxy_that_is_kept():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.REFUSE)
    proxy.part.on_client_lost = lambda reason: None
    take_over(town, proxy.id)
    town.step(round(LONG_S / 0.1))
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken)


@pytest.mark.parametrize("answer", [LogOnAnswer.REFUSE, None, "accept"], ids=str)
def test_client_that_answers_a_probe_stays_where_the_game_does_not_accept(answer):
    town = Town()
    proxy, session = playing(town, answer)
    take_over(town, proxy.id)
    session.heard_at = town.host.now + 0.01
    town.step(round(LONG_S / 0.1))
    assert town.replies == [STAYS]
    assert proxy.is_ready
    assert session.probes < PROBES


def test_failing_log_on_hook_counts_as_a_refusal():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_log_on_attempt = lambda: LogOnAnswer.ACCEPT
    take_over(town, proxy.id)
    session.heard_at = town.host.now + 0.01
    town.step(round(LONG_S / 0.1))
    assert town.replies == [STAYS]


def test_entity_that_the_game_keeps_and_does_not_give_stays():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.REFUSE)
    proxy.part.on_client_lost = lambda reason: None
    town.lose(session)
    take_over(town, proxy.id)
    assert town.replies == [STAYS]


@pytest.mark.parametrize("is_kept", [True, False])
def test_second_login_that_waits_gets_in_when_the_old_client_is_gone(is_kept):
    town = Town()
    proxy, session = playing(town, LogOnAnswer.WAIT)
    if is_kept:
        proxy.part.on_client_lost = lambda reason: None
    take_over(town, proxy.id)
    town.step(10)
    assert town.replies == []
    town.hear(session, BYE)
    town.step(5)
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken) if is_kept else answer == GOES


def test_second_login_that_waits_is_refused_in_the_end():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.WAIT)
    take_over(town, proxy.id)
    town.step(round(WAIT_S / 0.1) + 5)
    assert town.replies == [STAYS]
    assert proxy.is_ready


def test_proxy_without_a_first_client_goes_to_the_next_login():
    town = Town()
    created = town.log_on()
    assert not isinstance(created, str)
    town.step(round(KEY_S / 0.1) - 10)
    key = taken(town, created.entity).key
    assert town.connect(created.key, session_id=2).is_closed()
    town.step(20)
    assert town.connect(key, session_id=3).kinds() == [ToClient.BASE_PLAYER]


@pytest.mark.parametrize("entity", [4711, 0])
def test_proxy_that_is_gone_is_going(entity):
    town = Town()
    take_over(town, entity)
    assert town.replies == [GOES]


def test_proxy_that_is_kept_goes_to_the_next_login_with_its_body():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(30)
    town.lose(session)
    assert proxy.presence is Presence.KEPT
    new = town.connect(taken(town, proxy.id).key, session_id=2)
    town.hear(new, READY)
    town.step(400)
    assert (EVENTS[-1], proxy.has_cell, proxy.presence) == (("on_client_back",), True, Presence.READY)


def test_proxy_that_is_kept_for_a_time_ends_after_it():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(30)
    town.lose(session)
    town.step(290)
    assert proxy.has_cell
    town.step(20)
    town.cell.end(proxy.id)
    town.settle()
    assert len(town.told(LoggedOff)) == 1


def test_kept_proxy_does_not_end_while_the_next_client_has_a_valid_key():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(1)
    town.lose(session)
    key = taken(town, proxy.id).key
    town.step(100)
    new = town.connect(key, session_id=2)
    town.hear(new, READY)
    assert (EVENTS[-1], proxy.has_cell, proxy.presence) == (("on_client_back",), True, Presence.READY)


def test_kept_proxy_ends_when_the_key_of_the_next_client_has_expired():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(1)
    town.lose(session)
    taken(town, proxy.id)
    town.step(round(KEY_S / 0.1) + 2)
    town.cell.end(proxy.id)
    town.settle()
    assert len(town.told(LoggedOff)) == 1


def test_next_client_that_vanishes_before_it_is_ready_does_not_lengthen_the_time():
    town = Town()
    proxy, session = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(30)
    town.lose(session)
    town.step(200)
    count = len(EVENTS)
    town.lose(town.connect(taken(town, proxy.id).key, session_id=2))
    assert (proxy.presence, len(EVENTS)) == (Presence.KEPT, count)
    town.step(110)
    town.cell.end(proxy.id)
    town.settle()
    assert len(town.told(LoggedOff)) == 1


def test_base_properties_of_the_time_of_the_old_client_are_in_the_new_ones_first_message():
    town = Town()
    proxy, _ = playing(town, LogOnAnswer.ACCEPT)
    proxy.part.gold = 77
    new = town.connect(taken(town, proxy.id).key, session_id=2)
    _, body = protocol.split_message(new.sent[0])
    assert proxy.schema.base_player_layout.row.decode(body[6:])[0] == 77
