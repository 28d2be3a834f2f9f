"""Requests: of every question exactly one of answer and failure comes, once."""

from __future__ import annotations

from terrazzo.wire.common import Reply, Request
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.requests import Failure, Question, Requests
from tests.wire.entity.entity_harness import FakeHost

A = AppId(AppKind.BASE_APP, 1, 1)
B = AppId(AppKind.CELL_APP, 1, 1)
ASKED = Astray(PartId(EntityId(1), Part.CELL), 0)
ANSWER = Astray(PartId(EntityId(2), Part.CELL), 0)


class Pair:
    """Two sides; `exchange` carries what each has in its outbox."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.boxes = {A: Outbox(), B: Outbox()}
        self.sides = {app: Requests(self.host, self.boxes[app]) for app in (A, B)}
        self.got: list[object] = []

    def ask(self, timeout_s: float = 1.0) -> None:
        self.sides[A].ask(
            B,
            ASKED,
            timeout_s=timeout_s,
            then=self.got.append,
            failed=lambda failure, why: self.got.append((failure, why)),
        )

    def carry(self, source: AppId, target: AppId) -> list[object]:
        received: list[object] = []
        for peer, bundles in self.boxes[source].drain():
            assert peer == target
            for bundle in bundles:
                for item in REGISTRY.decode_bundle(bundle):
                    assert isinstance(item, Message)
                    received.append(self.sides[target].receive(source, item))
        return received

    def question(self) -> Question:
        [question] = self.carry(A, B)
        assert isinstance(question, Question)
        assert question.message == ASKED
        return question


def test_an_answer_comes_once():
    pair = Pair()
    pair.ask()
    question = pair.question()
    pair.sides[B].answer(question, ANSWER)
    pair.sides[B].answer(question, ANSWER)
    assert pair.carry(B, A) == [None, None]
    assert pair.got == [ANSWER]
    assert pair.sides[A].late == 1
    assert len(pair.sides[A]) == 0


def test_refusal_has_its_reason():
    pair = Pair()
    pair.ask()
    pair.sides[B].refuse(pair.question(), "no")
    pair.carry(B, A)
    assert pair.got == [(Failure.REFUSED, "no")]


def test_a_timeout_fails_once_and_a_late_answer_is_dropped():
    pair = Pair()
    pair.ask(timeout_s=1.0)
    question = pair.question()
    pair.host.now += 0.9
    pair.sides[A].on_tick()
    assert pair.got == []
    pair.host.now += 0.2
    pair.sides[A].on_tick()
    pair.sides[B].answer(question, ANSWER)
    pair.carry(B, A)
    pair.sides[A].on_tick()
    assert pair.got == [(Failure.TIMEOUT, "")]


def test_a_lost_link_fails_what_was_asked_there_only():
    pair = Pair()
    pair.ask()
    pair.sides[A].on_link_lost(B._replace(incarnation=2))
    assert pair.got == []
    pair.sides[A].on_link_lost(B)
    pair.host.now += 10.0
    pair.sides[A].on_tick()
    assert pair.got == [(Failure.LINK_LOST, "")]


def test_race_19_answer_of_another_incarnation_is_dropped():
    pair = Pair()
    pair.ask()
    reply = Reply(1, REGISTRY.encode(ANSWER))
    assert pair.sides[A].receive(B._replace(incarnation=2), reply) is None
    assert pair.got == []
    pair.sides[A].receive(B, reply)
    assert pair.got == [ANSWER]


def test_a_question_that_cannot_be_read_is_refused_and_counted():
    pair = Pair()
    assert pair.sides[B].receive(A, Request(1, b"\xc1")) is None
    assert pair.sides[B].refusals.total() == 1
    pair.ask()
    pair.boxes[A].drain()
    pair.carry(B, A)
    assert pair.got == [(Failure.REFUSED, "message malformed")]


def test_other_messages_pass_through():
    pair = Pair()
    assert pair.sides[A].receive(B, ANSWER) == ANSWER


def test_a_failure_may_ask_again():
    pair = Pair()
    asked = []

    def again(failure: Failure, why: str) -> None:
        asked.append(failure)
        if len(asked) < 3:
            pair.sides[A].ask(B, ASKED, timeout_s=1.0, then=pair.got.append, failed=again)

    pair.sides[A].ask(B, ASKED, timeout_s=1.0, then=pair.got.append, failed=again)
    for _ in range(5):
        pair.sides[A].on_link_lost(B)
    assert asked == [Failure.LINK_LOST] * 3
