"""A client in the queue of a full world: its place, a broken connection, and the ways out of the queue."""

import pytest

from terrazzo.client import Phase
from terrazzo.sync.protocol import LoginReply
from terrazzo.wire.client import UDP, WEBSOCKET, Reason
from tests.client.fake_cluster import LOGIN, welcome
from tests.client.play import CLIENT, Play


def queued(transport=UDP, place=3, waiting=7):
    play = Play(transport, may_wait=True, answer=lambda _: LoginReply(place=place, waiting=waiting))
    play.until(lambda: play.app.phase is Phase.WAITING)
    return play


def told(play, place):
    """The LoginApp sends a place every 5 s, as long as the test steps."""
    play.cluster.say_login(LoginReply(place=place, waiting=7))
    play.until(lambda: play.app.place == place)


def test_client_asks_for_the_queue_only_if_its_program_does():
    assert queued().cluster.requests[0].may_wait
    play = Play()
    play.join()
    assert not play.cluster.requests[0].may_wait


def test_client_gets_its_place_and_then_the_key():
    play = queued()
    heard = []
    play.app.on_place = lambda *place: heard.append(place)
    assert (play.app.place, play.app.waiting) == (3, 7)
    for place in (2, 1):
        for _ in range(80):
            play.step(0.1)
        told(play, place)
    assert heard == [(2, 7), (1, 7)]
    assert play.app.phase is Phase.WAITING, "longer than a server may take for an answer"
    play.cluster.say_login(welcome(play.cluster.requests[0]))
    play.join()
    assert (play.app.phase, play.app.place) == (Phase.PLAYING, 0)
    assert len(play.cluster.requests) == 1


def test_lost_connection_makes_the_client_send_its_request_again_after_pauses():
    play = queued(WEBSOCKET)
    for _ in range(3):
        before = len(play.cluster.requests)
        play.app.on_path_lost(LOGIN, play.now)
        play.cluster.endpoints[LOGIN].on_path_lost(CLIENT)
        play.step()
        assert play.app.addresses == []
        play.until(lambda before=before: len(play.cluster.requests) == before + 1)
        play.until(lambda: play.app.place == 3)
    assert len({each.attempt for each in play.cluster.requests}) == 1


def test_client_without_news_takes_its_connection_as_lost_and_keeps_its_place():
    play = queued()
    play.until(lambda: len(play.cluster.requests) == 2, seconds=14.0, step=0.1)
    assert LOGIN not in play.cluster.closed, "the former session was not ended by the client"


def test_client_that_does_not_reach_the_server_again_gives_up_after_a_while():
    play = queued()
    play.cluster.is_reachable[LOGIN] = False
    play.until(lambda: play.app.is_over, seconds=100.0, step=0.1)
    assert "login server at login.test:7000 does not answer" in play.app.error
    assert play.app.place == 0


@pytest.mark.parametrize("waits_s", [0.0, 12.4], ids=["connected", "between two connections"])
def test_client_that_leaves_the_queue_ends_its_session_at_once(waits_s):
    play = queued()
    if waits_s:
        play.until(lambda: not play.app.addresses, seconds=waits_s, step=0.1)
    play.app.leave(play.now)
    play.step()
    assert play.app.is_over
    assert play.app.error == ""
    if not waits_s:
        assert (play.cluster.closed[LOGIN].reason, play.cluster.closed[LOGIN].by_peer) == (Reason.ABORTED, True)


def test_refusal_ends_the_wait():
    play = queued()
    play.cluster.say_login(LoginReply(error="Wrong name or password.", code="wrong"))
    play.until(lambda: play.app.is_over)
    assert (play.app.error_code, play.app.place) == ("wrong", 0)
