"""The queue by itself: order, places, limits, clients that are away."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from terrazzo.login.attempts import LoginAttempt, key_of
from terrazzo.login.queue import LoginQueue, QueueLimits
from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.login_refusals import LoginRefusal


def attempt(number: int, name: str = "", host: str = "", session: str | None = "") -> LoginAttempt[str]:
    name = name or f"player-{number}"
    request = LoginRequest(name, "secret", "d", "0a", may_wait=True)
    own = f"session {number}" if session == "" else session
    host = host or f"192.0.2.{number}"
    return LoginAttempt(key_of(host, name.encode()), request, host, own, number)


def queue_of(*numbers: int, **limits: float) -> LoginQueue[str]:
    queue: LoginQueue[str] = LoginQueue(QueueLimits(**limits))  # type: ignore[arg-type]
    for number in numbers:
        queue.join(attempt(number), 0.0, is_former=False)
    return queue


LATER = count(1_000_000, 1_000)


def places(queue: LoginQueue[str], now: float | None = None) -> dict[str, int]:
    """Those that are due; by default that is every client."""
    now = next(LATER) if now is None else now
    return {each.attempt.request.name: place for place, each in queue.due(now)}


def test_places_follow_the_order_of_arrival_and_not_that_of_joining():
    assert places(queue_of(3, 1, 2)) == {"player-1": 1, "player-2": 2, "player-3": 3}


def test_client_that_leaves_frees_its_place_at_once():
    queue = queue_of(1, 2, 3)
    queue.leave("session 1")
    assert places(queue) == {"player-2": 1, "player-3": 2}


def test_client_that_is_away_keeps_its_place_and_is_passed_over():
    queue = queue_of(1, 2, return_s=30.0)
    queue.lose("session 1", 10.0)
    first = queue.first(lambda session: True)
    assert first is not None
    assert first.attempt.request.name == "player-2"
    queue.drop_away(39.9)
    assert places(queue) == {"player-2": 2}
    queue.drop_away(40.0)
    assert places(queue) == {"player-2": 1}


def test_client_that_comes_back_has_its_place_and_the_session_before_is_given():
    queue = queue_of(1, 2)
    again = attempt(9, "player-1", "192.0.2.1")
    found = queue.find(again.request, "192.0.2.1")
    assert found is not None
    assert queue.come_back(found, again) == "session 1"
    assert places(queue) == {"player-1": 1, "player-2": 2}
    queue.lose("session 9", 5.0)
    third = attempt(10, "player-1", "192.0.2.1")
    assert queue.come_back(found, third) is None
    assert places(queue) == {"player-1": 1, "player-2": 2}


def test_place_belongs_to_a_name_a_password_and_an_address():
    queue = queue_of(1)
    own = attempt(1).request
    assert queue.find(own, "192.0.2.1") is not None
    assert queue.find(own, "192.0.2.2") is None
    assert queue.find(LoginRequest("player-1", "guessed", "d"), "192.0.2.1") is None


def test_only_so_many_of_one_address_may_wait():
    queue = queue_of(address_max=2)
    for number in (1, 2):
        assert queue.why_not("2001:db8::1", is_former=False) is None
        queue.join(attempt(number, host=f"2001:db8::{number}"), 0.0, is_former=False)
    assert queue.why_not("2001:db8::3", is_former=False) is LoginRefusal.QUEUE_CROWDED
    assert queue.why_not("2001:db8:0:1::3", is_former=False) is None
    queue.leave("session 1")
    assert queue.why_not("2001:db8::3", is_former=False) is None


def test_strangers_cannot_take_the_places_of_former_players():
    queue = queue_of(1, 2, waiting_max=2)
    assert queue.why_not("192.0.2.9", is_former=False) is LoginRefusal.QUEUE_FULL
    assert queue.why_not("192.0.2.9", is_former=True) is None
    for number in (8, 9):
        queue.join(attempt(number), 0.0, is_former=True)
    assert queue.why_not("192.0.2.10", is_former=True) is LoginRefusal.QUEUE_FULL


def test_each_client_has_intervals_of_its_own():
    queue = queue_of(1, place_every_s=5.0)
    assert list(places(queue, 10.0)) == ["player-1"]
    queue.join(attempt(2), 12.0, is_former=False)
    assert places(queue, 12.0) == {"player-2": 2}
    assert places(queue, 14.9) == {}
    assert places(queue, 15.0) == {"player-1": 1}


@pytest.mark.parametrize("waiting_max", [0, 1])
def test_queue_without_places_takes_no_client(waiting_max):
    assert (queue_of(waiting_max=waiting_max).why_not("192.0.2.1", is_former=False) is None) is bool(waiting_max)


class QueueMachine(RuleBasedStateMachine):
    """The queue against a plain list of [number, is present]."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue_of(return_s=10.0)
        self.model: list[list] = []
        self.now = 0.0
        self.last = 0

    @rule()
    def join(self) -> None:
        self.last += 1
        self.queue.join(attempt(self.last, host="h"), self.now, is_former=self.last % 2 == 0)
        self.model.append([self.last, True, 0.0])

    @precondition(lambda self: any(each[1] for each in self.model))
    @rule(at=st.integers(0, 50), stays=st.booleans())
    def end_of_a_session(self, at: int, stays: bool) -> None:
        present = [each for each in self.model if each[1]]
        each = present[at % len(present)]
        session = f"session {each[0]}"
        if stays:
            self.queue.lose(session, self.now)
            each[1:] = [False, self.now + 10.0]
        else:
            self.queue.leave(session)
            self.model.remove(each)

    @precondition(lambda self: bool(self.model))
    @rule(at=st.integers(0, 50))
    def come_back(self, at: int) -> None:
        each = self.model[at % len(self.model)]
        again = attempt(each[0], host="h")
        found = self.queue.find(again.request, "h")
        assert found is not None
        assert (self.queue.come_back(found, again) is not None) is each[1]
        each[1] = True

    @rule()
    def take_the_first(self) -> None:
        first = self.queue.first(lambda session: True)
        expected = next((each for each in self.model if each[1]), None)
        assert (first and first.number) == (expected and expected[0])
        if first is not None and expected is not None:
            self.queue.remove(first)
            self.model.remove(expected)

    @rule(seconds=st.floats(0.0, 12.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.queue.drop_away(self.now)
        self.model = [each for each in self.model if each[1] or each[2] > self.now]

    @invariant()
    def same_places(self) -> None:
        assert len(self.queue) == len(self.model)
        assert self.queue.has_present == any(each[1] for each in self.model)
        told = {each.number: place for place, each in self.queue.due(1e9)}
        assert told == {each[0]: place for place, each in enumerate(self.model, start=1) if each[1]}
        for each in [each for each in self.model if each[1]]:
            found = self.queue.find(attempt(each[0]).request, "h")
            assert found is not None
            found.place_due_at = 0.0


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
