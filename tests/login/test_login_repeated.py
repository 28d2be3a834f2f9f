"""A login request that is sent again gets the answer of the first, and is no second login."""

from __future__ import annotations

import json

from terrazzo.login.attempts import Attempts, LoginAttempt, key_of
from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.client import Reason
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import LogOnRefused
from tests.login.test_loginapp import DIGEST, LOGGED_ON, Door


def request(attempt: str = "0a", name: str = "Ada") -> bytes:
    return json.dumps({"name": name, "password": "secret", "digest": DIGEST, "attempt": attempt}).encode()


def test_same_request_while_the_first_is_in_work_takes_its_place():
    door = Door(attempts_burst=1)
    first = door.knock(raw=request())
    [(number, _)] = door.tick()
    again = door.knock(raw=request())
    assert door.tick() == []
    assert first.aborted is Reason.ABORTED
    door.answer(number)
    assert first.sent == []
    assert again.sent[0]["key"] == LOGGED_ON.key.hex()
    assert again.steps == ["vouched", "admitted"]
    assert (door.app.repeated, door.app.let_in) == (1, 1)


def test_same_request_after_the_session_was_lost_gets_the_answer():
    door = Door()
    first = door.knock(raw=request())
    [(number, _)] = door.tick()
    door.close(first)
    door.tick()
    door.answer(number)
    again = door.knock(raw=request())
    assert door.tick() == []
    assert again.sent[0]["key"] == LOGGED_ON.key.hex()
    assert again.closed_at is not None


def test_same_request_gets_the_same_refusal():
    door = Door()
    door.knock(raw=request())
    [(number, _)] = door.tick()
    door.answer(number, LogOnRefused("wrong", LoginRefusal.WRONG.sentence))
    again = door.knock(raw=request())
    assert door.tick() == []
    assert again.code == "wrong"
    assert door.app.refused == {LoginRefusal.WRONG: 1}


def test_answer_is_not_given_to_another_address_another_attempt_or_too_late():
    door = Door(answers_kept_s=15.0)
    door.knock(raw=request())
    [(number, _)] = door.tick()
    door.answer(number)
    door.knock(raw=request(), address="192.0.2.8")
    door.knock(raw=request("0b"))
    assert len(door.tick()) == 2
    door.knock(raw=request())
    assert len(door.tick(15.1)) == 1


def test_requests_without_an_attempt_are_logins_of_their_own():
    door = Door()
    door.knock(raw=request(""))
    door.knock(raw=request(""))
    assert len(door.tick()) == 2


def test_attempts_of_lost_sessions_count_as_in_work():
    door = Door(asked_max=2)
    for each in ("0a", "0b"):
        door.close(door.knock(raw=request(each)))
    assert len(door.tick()) == 2
    late = door.knock()
    door.tick()
    assert late.code == "too_many"


def test_number_of_kept_answers_is_bounded():
    attempts: Attempts[str] = Attempts(kept_s=15.0, ended_max=3)
    keys = [key_of("192.0.2.7", request(str(each))) for each in range(5)]
    for key in keys:
        attempt: LoginAttempt[str] = LoginAttempt(key, LoginRequest("Ada", "x", "d", "0a"), "192.0.2.7", "")
        attempts.begin(attempt)
        attempts.finish(attempt, b"no", 0.0)
    assert [attempts.find(key, 1.0) is not None for key in keys] == [False, False, True, True, True]
    assert [attempts.find(key, 15.0) for key in keys] == [None] * 5
    assert attempts.in_work(False) == 0
