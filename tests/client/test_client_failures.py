"""Every way in which a client program fails, each with one sentence."""

import pytest

from terrazzo.sync import protocol
from terrazzo.sync.protocol import LoginReply
from terrazzo.wire.client import WEBSOCKET
from tests.client.fake_cluster import BASE, KEY, LOGIN
from tests.client.play import CLIENT, Play


def fails(play, seconds=60.0):
    play.until(lambda: play.app.is_over, seconds=seconds, step=0.1)
    assert play.app.error.endswith(".")
    assert play.app.error.count(".test:") <= 1
    return play.app.error


def test_sentence_of_the_login_server_is_passed_on():
    for sentence in ("The password is wrong.", "This client was made for another version of the game: update it."):
        play = Play(answer=lambda _, sentence=sentence: LoginReply(error=sentence, code="wrong"))
        assert fails(play) == sentence
        assert play.app.error_code == "wrong"
        assert play.logged[-1] == ("client over", {"name": "ann", "error": sentence})


def test_login_server_is_not_there():
    play = Play()
    play.cluster.is_reachable[LOGIN] = False
    assert "login server at login.test:7000 does not answer" in fails(play)
    assert play.app.error_code == "no_answer"


def test_wrong_server_key():
    play = Play(server_key=bytes([9]) + bytes(31))
    assert "does not answer: check the address, its public key" in fails(play)


def test_login_server_does_not_reply():
    assert "took longer than 15 s to answer" in fails(Play(answer=lambda _: None))


@pytest.mark.parametrize("reply", [b"not json", b"[]", b'{"key": "xyz", "udp_port": 1}', b'{"udp_port": "1"}'])
def test_login_reply_that_cannot_be_read(reply):
    assert "cannot be read" in fails(Play(answer=lambda _: reply))


def test_no_door_for_this_transport():
    play = Play(WEBSOCKET, answer=lambda _: LoginReply(host="x", udp_port=1, key="00"))
    assert "takes WebSocket" in fails(play)


def test_host_of_the_login_server_is_used_when_the_answer_has_none():
    play = Play(answer=lambda _: LoginReply(udp_port=7, key=KEY.hex()))
    play.cluster.is_reachable["login.test", 7] = False
    assert "game server at login.test:7 does not answer" in fails(play)


def test_game_server_is_not_there():
    play = Play()
    play.cluster.is_reachable[BASE] = False
    assert "game server at base.test:7001 does not answer" in fails(play)


def test_game_server_does_not_begin():
    assert "game server at base.test:7001 was reached but took longer" in fails(Play())


def test_game_server_ends_the_session_over_a_wrong_key(play):
    play.until(lambda: play.cluster.session is not None)
    play.cluster.say(protocol.encode_logged_off(1, "This login key was used before: log in again."))
    play.cluster.session.close(play.now)
    assert fails(play) == "This login key was used before: log in again."


def test_game_server_aborts(play):
    play.enter()
    play.cluster.session.abort()
    assert fails(play) == "The game server at base.test:7001 ended the session: log in again."


def test_silence():
    play = Play().enter()
    play.cluster.is_reachable[BASE] = False
    assert "has not been heard for too long" in fails(play)


def test_lost_connections_of_an_ordered_transport():
    play = Play(WEBSOCKET)
    play.app.on_path_lost(LOGIN, play.now)
    assert "login server at login.test:7000 cannot be reached" in fails(play)
    play = Play(WEBSOCKET).enter()
    play.app.on_path_lost(BASE, play.now)
    assert "game server at base.test:7001 lost the connection" in fails(play)


def test_login_is_sent_again_once_when_the_connection_is_lost_before_the_answer():
    play = Play(WEBSOCKET, answer=lambda _: None)
    play.until(lambda: len(play.cluster.requests) == 1)
    play.app.on_path_lost(LOGIN, play.now)
    play.cluster.endpoints[LOGIN].on_path_lost(CLIENT)
    play.until(lambda: len(play.cluster.requests) == 2)
    assert play.cluster.requests[0] == play.cluster.requests[1]
    assert len(bytes.fromhex(play.cluster.requests[0].attempt)) == 16
    play.app.on_path_lost(LOGIN, play.now)
    assert "lost the connection" in fails(play)
