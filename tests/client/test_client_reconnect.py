"""A client that lost its connection resumes by itself, with growing pauses, until its time is over."""

from __future__ import annotations

import random

import pytest

from terrazzo.client import Phase, failures
from terrazzo.client.link import ANSWER_S
from terrazzo.client.pauses import FIRST_S, MOST_S, Pauses
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer, encode_resume, encode_session
from terrazzo.sync.view_events import BasePlayer, CellLost, CellPlayer, Left, PlayerLeft, Violation
from terrazzo.wire.client import WEBSOCKET, Reason
from tests.client.fake_cluster import BASE
from tests.client.play import BOB, BOBS, CLIENT, HERE, ME, OWN, RAT, THERE, Play
from tests.client.town import AVATAR, base_row, cell_row, describe

A, B = bytes(range(16)), bytes(range(16, 32))
WITHIN_S = 20.0
READY = bytes([ToServer.READY])


@pytest.fixture
def play():
    """In the world, with a token; over an ordered transport, where a lost connection is noticed at once."""
    made = Play(WEBSOCKET)
    made.until(lambda: made.cluster.session is not None)
    made.cluster.say(encode_session(A, WITHIN_S))
    return made.enter()


def is_playing(play: Play) -> bool:
    return play.app.phase is Phase.PLAYING


def lose(play: Play) -> None:
    play.app.on_path_lost(BASE, play.now)
    play.cluster.endpoints[BASE].on_path_lost(CLIENT)
    play.cluster.session = None


def resume(play: Play) -> None:
    """The BaseApp takes it in again."""
    play.until(lambda: play.cluster.session is not None, seconds=10.0)
    play.cluster.heard.clear()
    play.cluster.say(encode_session(B, WITHIN_S), protocol.encode_base_player(ME, AVATAR, base_row()))
    play.until(lambda: READY in play.cluster.heard)


def test_lost_client_resumes_with_its_token_and_drops_its_view_first(play):
    before = dict(play.app.parts)
    lose(play)
    assert play.app.phase is Phase.RECONNECTING
    assert play.app.parts == before, "the view stays until the server tells a new one"
    assert not play.app.has_body
    assert not play.app.move(THERE)
    assert not play.app.player.cell.say("hello")
    play.events.clear()
    resume(play)
    assert is_playing(play)
    assert play.cluster.keys[1] == encode_resume(A)
    assert [type(each) for each in play.events] == [Left, Left, CellLost, PlayerLeft, BasePlayer]
    assert len(play.cluster.requests) == 1, "without a login"
    play.say(
        protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=70)),
        protocol.encode_announce(BOB, BOBS, AVATAR),
    )
    play.until(lambda: protocol.encode_want([(BOB, 0)]) in play.cluster.heard)
    play.say(describe(AVATAR, BOBS, THERE, health=60, name="Bob"))
    assert set(play.app.parts) == {ME, BOB}
    assert play.app.parts[ME] is not before[ME]
    assert play.app.move(THERE)
    assert not [each for each in play.events if isinstance(each, Violation)]
    assert play.app.view.player.state["health"] == 70


def test_next_loss_is_resumed_with_the_next_token(play):
    lose(play)
    resume(play)
    lose(play)
    resume(play)
    assert play.cluster.keys[1:] == [encode_resume(A), encode_resume(B)]


def test_client_without_a_token_is_over_when_its_connection_is_lost():
    play = Play(WEBSOCKET).enter()
    lose(play)
    assert play.app.is_over
    assert "lost the connection" in play.app.error


def test_session_message_that_does_not_decode_gives_no_token():
    play = Play(WEBSOCKET)
    play.until(lambda: play.cluster.session is not None)
    play.cluster.say(bytes([protocol.ToClient.SESSION]) + b"short")
    play.enter()
    lose(play)
    assert play.app.is_over


def test_attempts_go_on_until_the_time_is_over_and_then_the_client_is(play):
    play.cluster.is_reachable[BASE] = False
    lose(play)
    lost_at, tries = play.now, []
    while not play.app.is_over:
        count = len(play.sent_to)
        play.step(0.05)
        if play.sent_to[count:].count(BASE):
            tries.append(play.now)
            play.app.on_path_lost(BASE, play.now)  # the connection is refused
    assert play.now < lost_at + WITHIN_S + 0.1
    assert play.app.error == failures.not_resumed(BASE, WITHIN_S)
    pauses = [later - earlier for earlier, later in zip([lost_at, *tries], tries, strict=False)]
    assert len(tries) >= 6
    assert pauses[0] <= FIRST_S + 0.11
    assert max(pauses) <= MOST_S + 0.11


def test_attempt_that_the_server_does_not_answer_gives_way_to_the_next(play):
    lose(play)
    play.until(lambda: len(play.cluster.keys) == 2, seconds=10.0)
    assert play.app.phase is Phase.RECONNECTING
    first = play.cluster.session
    play.until(lambda: BASE not in play.app.addresses, seconds=ANSWER_S + 1.0)
    play.cluster.endpoints[BASE].on_path_lost(CLIENT)
    play.until(lambda: len(play.cluster.keys) == 3, seconds=ANSWER_S + MOST_S + 2.0)
    assert play.cluster.session is not first
    resume(play)
    assert is_playing(play)


def test_refused_token_ends_the_client_with_the_servers_sentence(play):
    lose(play)
    before = set(play.app.parts)
    play.until(lambda: play.cluster.session is not None, seconds=10.0)
    play.cluster.say(protocol.encode_logged_off(10, "this session cannot be resumed"))
    play.cluster.session.close(play.now)
    play.until(lambda: play.app.is_over)
    assert play.app.error == "this session cannot be resumed"
    assert set(play.app.parts) == before


def test_farewell_of_the_server_is_not_resumed(play):
    play.cluster.say(protocol.encode_logged_off(9, "your player has logged in again"))
    play.cluster.session.close(play.now)
    play.until(lambda: play.app.is_over)
    assert play.app.error == "your player has logged in again"
    assert len(play.cluster.keys) == 1


def test_session_that_the_server_ends_for_a_fault_is_not_resumed(play):
    play.cluster.session.abort(Reason.PROTOCOL)
    play.until(lambda: play.app.is_over)
    assert len(play.cluster.keys) == 1


def test_player_may_leave_while_the_client_reconnects_and_nothing_is_confirmed(play):
    lose(play)
    play.app.leave(play.now)
    assert play.app.is_over
    assert "did not confirm" in play.app.error
    for _ in range(100):
        play.step()
    assert len(play.cluster.keys) == 1


def test_client_over_udp_resumes_after_a_long_silence_of_the_server():
    play = Play()
    play.until(lambda: play.cluster.session is not None)
    play.cluster.say(encode_session(A, WITHIN_S))
    play.enter()
    play.cluster.is_reachable[BASE] = False
    while is_playing(play):  # no packet passes, in either direction
        play.now += 0.1
        play.tick(play.now)
        play.app.poll(play.now)
        play.cluster.poll(play.now)
    play.cluster.is_reachable[BASE] = True
    play.cluster.session = None
    resume(play)
    assert is_playing(play)


def test_pauses_double_have_a_random_part_and_end():
    pauses = Pauses(random.Random(1).randbytes, 100.0, 30.0)
    now, waits = 100.0, [pauses.at - 100.0]
    while True:
        now = pauses.at
        if not pauses.draw(now):
            break
        waits.append(pauses.at - now)
    for number, wait in enumerate(waits):
        most = min(FIRST_S * 2.0**number, MOST_S)
        assert most / 2 <= wait <= most
    assert len({round(wait, 3) for wait in waits[5:]}) > 1
    assert now < 130.0 <= pauses.at


def test_own_entity_of_the_next_session_may_change_at_once(play):
    lose(play)
    resume(play)
    play.say(protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=70)))
    assert isinstance(play.events[-1], CellPlayer)
    assert play.app.parts[ME].heard == ["on_player", ("on_enter", 70)]
    assert RAT not in play.app.parts
    assert OWN == 0
