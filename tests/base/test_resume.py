"""A client that lost its connection resumes at its proxy with its session token, without a login."""

from __future__ import annotations

import pytest

from terrazzo.base import ClientLoss, LogOnAnswer
from terrazzo.base.farewells import Farewell
from terrazzo.base.limits import ClientRefusal
from terrazzo.base.presence_states import Presence
from terrazzo.base.proxy import ProxyEntity
from terrazzo.errors import ValueRejected
from terrazzo.sync.protocol import ToClient, decode_session, encode_resume
from terrazzo.wire.client import Reason
from terrazzo.wire.common import Request
from terrazzo.wire.ids import EntityId
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, SetWitness
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient
from terrazzo.wire.pairs.base_db import LoggedOff, ProxyTaken, Save, TakenOver, TakeOver
from tests.base.base_harness import BYE, CELL_ID, DB, EVENTS, RAISE, READY, FakeSession, Town

RECONNECT_S = 20.0
BACK, LOST = ("on_client_back",), ("on_client_lost", ClientLoss.CONNECTION)
REFUSED = bytes([ToClient.LOGGED_OFF, Farewell.NOT_RESUMED])


def playing() -> tuple[Town, ProxyEntity, FakeSession]:
    town = Town(reconnect_s=RECONNECT_S)
    return town, *town.playing()


def token_of(session: FakeSession) -> bytes:
    """The newest token that the client has got."""
    return [decode_session(each)[0] for each in session.sent if each[0] == ToClient.SESSION][-1]


def resumed(town: Town, token: bytes, session_id: int = 2) -> FakeSession:
    return town.connect(encode_resume(token), session_id)


def refused(town: Town, token: bytes, session_id: int = 2) -> bool:
    count = town.app.counts.refused[ClientRefusal.WRONG_TOKEN]
    session = resumed(town, token, session_id)
    if session.kinds() != [ToClient.LOGGED_OFF]:
        return False
    assert session.sent[0][:2] == REFUSED
    assert session.is_closed()
    assert not session.is_admitted
    assert town.app.counts.refused[ClientRefusal.WRONG_TOKEN] == count + 1
    return True


def take_over(town: Town, entity: int) -> None:
    town.replies.clear()
    town.app.on_message(DB, Request(9, REGISTRY.encode(TakeOver(entity, "192.0.2.7"))))
    town.step()


def test_each_session_begins_with_a_token_and_its_time():
    town = Town(reconnect_s=RECONNECT_S)
    _, session = town.attached()
    assert session.kinds() == [ToClient.SESSION, ToClient.BASE_PLAYER]
    assert decode_session(session.sent[0])[1] == RECONNECT_S


def test_game_that_gives_no_time_gives_no_token():
    town = Town(reconnect_s=0.0)
    proxy, session = town.playing()
    assert ToClient.SESSION not in session.kinds()
    town.lose(session)
    town.cell.end(proxy.id)
    town.settle()
    assert len(town.told(LoggedOff)) == 1


def test_lost_client_resumes_at_its_body_and_the_game_gets_both_hooks():
    town, proxy, old = playing()
    town.lose(old)
    assert (EVENTS[-1], proxy.presence, proxy.has_cell) == (LOST, Presence.AWAY, True)
    town.step(round(RECONNECT_S / 0.1) - 5)
    new = resumed(town, token_of(old))
    assert new.kinds() == [ToClient.SESSION, ToClient.BASE_PLAYER]
    assert new.is_admitted
    town.hear(new, READY)
    town.step(400)
    assert (EVENTS[-1], proxy.presence, proxy.has_cell) == (BACK, Presence.READY, True)
    assert town.cell.got(SetWitness) == [SetWitness(1, True), SetWitness(1, False), SetWitness(2, True)]
    assert town.app.counts.resumed == 1


def test_client_that_is_not_back_in_time_is_refused_and_its_entity_saved_and_logged_off():
    town, proxy, session = playing()
    town.lose(session)
    town.step(round(RECONNECT_S / 0.1) + 2)
    assert refused(town, token_of(session))
    town.cell.end(proxy.id)
    town.settle()
    assert (len(town.told(Save)), len(town.told(LoggedOff))) == (1, 1)
    assert len(town.app.tokens) == 0


def test_token_is_refused_from_the_end_of_its_time_on_even_between_two_ticks():
    town, proxy, session = playing()
    proxy.part.on_client_lost = lambda reason: None
    town.lose(session)
    lost_at = town.host.now
    find = town.app.tokens.find
    assert find(token_of(session), lost_at + RECONNECT_S - 0.001) == proxy.id
    assert find(token_of(session), lost_at + RECONNECT_S) is None


def test_token_is_used_up_when_the_client_is_ready_with_it():
    town, _, old = playing()
    town.lose(old)
    new = resumed(town, token_of(old))
    town.hear(new, READY)
    assert refused(town, token_of(old), 3)
    assert token_of(new) != token_of(old)
    assert not new.is_closed()


def test_client_that_may_not_have_got_its_next_token_presents_the_same_one_again():
    town, proxy, first = playing()
    town.lose(first)
    second = resumed(town, token_of(first), 2)
    town.lose(second)
    third = resumed(town, token_of(first), 3)
    assert refused(town, token_of(second), 4), "the client did not get it"
    town.hear(third, READY)
    assert proxy.is_ready
    assert refused(town, token_of(first), 5)
    assert len(town.app.tokens) == 1


def test_client_that_has_got_its_next_token_uses_that_and_voids_the_former_one():
    town, _, first = playing()
    town.lose(first)
    second = resumed(town, token_of(first), 2)
    town.lose(second)
    third = resumed(town, token_of(second), 3)
    assert refused(town, token_of(first), 4)
    town.hear(third, READY)
    assert len(town.app.tokens) == 1


def test_session_that_seems_alive_gives_way_to_the_next_one_of_its_client():
    town, proxy, old = playing()
    new = resumed(town, token_of(old))
    assert old.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.RESUMED])
    assert old.is_closed()
    town.hear(new, READY)
    town.hear(old, BYE)
    town.lose(old)
    town.settle()
    assert (EVENTS[-1], proxy.presence, proxy.has_cell) == (BACK, Presence.READY, True)
    assert LOST not in EVENTS
    assert len(town.app.sessions) == 1


def test_messages_for_the_former_session_do_not_reach_the_next_one():
    town, proxy, old = playing()
    new = resumed(town, token_of(old))
    loose = ClientUpdates.of(ClientUpdate(proxy.id, 1, (b"\x15told",)))
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.app.on_message(CELL_ID, loose)
    town.hear(new, READY)
    town.cell.say(proxy.id, CellToClient(1, (b"\x14old",)))
    town.app.on_message(CELL_ID, loose)
    town.settle()
    town.cell.say(proxy.id, CellToClient(2, (b"\x14new",)))
    town.settle()
    assert new.sent[2:] == [b"\x14new"]
    assert new.unreliable == []


@pytest.mark.parametrize("end", ["left", "kicked", "destroyed", "cut"])
def test_client_that_is_let_go_for_good_cannot_resume(end):
    town, proxy, session = playing()
    proxy.part.on_client_lost = lambda reason: EVENTS.append(("reason", reason))
    if end == "left":
        town.hear(session, BYE)
    elif end == "kicked":
        proxy.kick("enough")
    elif end == "destroyed":
        proxy.destroy()
    else:
        town.lose(session, Reason.SLOW_READER)
        assert EVENTS[-1] == ("reason", ClientLoss.LIMITS)
    town.step()
    assert refused(town, token_of(session))
    assert len(town.app.tokens) == 0


def test_protocol_fault_that_the_client_reports_is_a_lost_connection():
    town, _, session = playing()
    town.lose(session, Reason.PROTOCOL, by_peer=True)
    assert EVENTS[-1] == LOST


@pytest.mark.parametrize("token", [bytes(16), b"", b"short", bytes(40)])
def test_invented_token_is_refused_and_the_present_client_stays(token):
    town, proxy, session = playing()
    if len(token) == 16:
        assert refused(town, token)
    else:
        other = resumed(town, token)  # it is read as a login key
        assert other.sent[0][:2] == bytes([ToClient.LOGGED_OFF, Farewell.WRONG_KEY])
    assert proxy.is_ready
    assert not session.is_closed()


def test_token_is_no_login_key_and_a_login_key_no_token():
    town = Town(reconnect_s=RECONNECT_S)
    created = town.log_on()
    assert not isinstance(created, str)
    assert refused(town, created.key, 1)
    session = town.connect(created.key, 2)
    assert town.connect(token_of(session), 3).sent[0][:2] == bytes([ToClient.LOGGED_OFF, Farewell.WRONG_KEY])


def test_login_voids_the_token_of_the_client_before():
    town, proxy, old = playing()
    take_over(town, proxy.id)
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken)
    new = town.connect(answer.key, session_id=2)
    assert refused(town, token_of(old), 3)
    town.hear(new, READY)
    assert proxy.is_ready


def test_client_may_resume_while_a_login_is_under_way_which_then_takes_over():
    town, proxy, old = playing()
    town.lose(old)
    take_over(town, proxy.id)
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken)
    back = resumed(town, token_of(old), 2)
    town.hear(back, READY)
    new = town.connect(answer.key, session_id=3)
    town.hear(new, READY)
    assert back.sent[-1][:2] == bytes([ToClient.LOGGED_OFF, Farewell.TAKEN_OVER])
    assert proxy.is_ready


def test_game_that_refuses_second_logins_lets_one_in_when_the_connection_is_lost():
    town, proxy, session = playing()
    proxy.part.on_log_on_attempt = lambda address: LogOnAnswer.REFUSE
    town.lose(session)
    take_over(town, proxy.id)
    [answer] = town.replies
    assert isinstance(answer, ProxyTaken)


def test_game_that_refuses_second_logins_keeps_an_entity_with_a_client_that_is_too_late():
    town, proxy, session = playing()
    proxy.part.on_log_on_attempt = lambda address: LogOnAnswer.REFUSE
    proxy.part.on_client_lost = lambda reason: None
    town.lose(session)
    town.step(round(RECONNECT_S / 0.1) + 2)
    take_over(town, proxy.id)
    assert town.replies == [TakenOver(is_going=False)]


def test_entity_that_the_game_keeps_longer_cannot_be_resumed_after_the_time():
    town, proxy, session = playing()
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(3 * RECONNECT_S)
    town.lose(session)
    town.step(round(RECONNECT_S / 0.1) + 2)
    assert proxy.presence is Presence.KEPT
    assert refused(town, token_of(session))
    assert proxy.has_cell


def test_entity_that_the_game_keeps_shorter_ends_earlier():
    town, proxy, session = playing()
    proxy.part.on_client_lost = lambda reason: proxy.part.keep_for(RECONNECT_S / 2)
    town.lose(session)
    town.step(round(RECONNECT_S / 0.2) + 2)
    assert refused(town, token_of(session))


def test_failing_hook_for_a_lost_client_ends_the_entity():
    town, _, session = playing()
    RAISE.add("on_client_lost")
    town.lose(session)
    assert refused(town, token_of(session))


def test_proxy_has_a_time_of_its_own_from_the_next_connection_on():
    town, proxy, session = playing()
    proxy.part.reconnect_s = 5
    new = resumed(town, token_of(session))
    assert decode_session(new.sent[0])[1] == 5.0
    with pytest.raises(ValueRejected, match="reconnect_s"):
        proxy.part.reconnect_s = -1


def test_stop_ends_entities_of_lost_clients():
    town, proxy, session = playing()
    town.lose(session)
    town.app.stop()
    town.cell.end(proxy.id)
    town.settle()
    assert town.app.is_stopped
    assert len(town.app.tokens) == 0


def test_bad_messages_count_on_after_resuming():
    town, proxy, session = playing()
    town.hear(session, *[b"\xff"] * 5)
    assert proxy.bad == 5
    resumed(town, token_of(session))
    assert proxy.bad == 5


def test_client_that_is_lost_before_it_was_ever_ready_cannot_resume():
    town = Town(reconnect_s=RECONNECT_S)
    proxy, session = town.attached()
    town.lose(session)
    town.settle()
    assert EntityId(proxy.id) not in town.app.bases
    assert refused(town, token_of(session))
