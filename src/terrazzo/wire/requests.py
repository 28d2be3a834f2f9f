"""Questions and answers between two apps: the one implementation for all apps.

    asker                                         answerer
    ask(peer, Locate(...), then, failed) ──Request──▶ receive() → Question(source, number, message)
    then(answer)                         ◀──Reply────  answer(question, message)
    failed(REFUSED, why)                 ◀──Refused──  refuse(question, why)
    failed(LINK_LOST, "")                 on_link_lost: the question or its answer may be lost
    failed(TIMEOUT, "")                   on_tick: there was no answer in time

Of every `ask`, exactly one of `then` and `failed` is called, once. The numbers grow for the life of the app, so an
answer that comes after its time is recognised as late, counted and dropped; and since a number is looked up together
with the peer that was asked, no app can answer for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message, Refusal, Refusals, Registry
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.schedule import Schedule
from terrazzo.wire.sentences import Sentence


class Failure(Sentence):
    """Why there is no answer."""

    TIMEOUT = "timeout", "The peer did not answer in time."
    LINK_LOST = "link lost", "The link with the peer was lost before the answer."
    REFUSED = "refused", "The peer refused the request."


OnAnswer = Callable[[Message], None]
Failed = Callable[[Failure, str], None]


class Question(NamedTuple):
    """A request that came in; it is the handle for answering."""

    source: AppId
    number: int
    message: Message


class _Asked(NamedTuple):
    peer: AppId
    then: OnAnswer
    failed: Failed


class Requests:
    """The requests of one app, asked and received."""

    def __init__(self, host: Environment, outbox: Outbox, registry: Registry = REGISTRY) -> None:
        self.late = 0
        self.refusals = Refusals()
        self._host = host
        self._outbox = outbox
        self._registry = registry
        self._number = 0
        self._asked: dict[int, _Asked] = {}
        self._deadlines: Schedule[int] = Schedule(lambda number: number not in self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def ask(self, peer: AppId, message: Message, *, timeout_s: float, then: OnAnswer, failed: Failed) -> None:
        """Sends a question; one of the two is called later, never from inside this call."""
        self._number += 1
        self._outbox.send(peer, Request(self._number, self._registry.encode(message)))
        self._asked[self._number] = _Asked(peer, then, failed)
        self._deadlines.add(self._host.now + timeout_s, self._number)

    def answer(self, question: Question, message: Message) -> None:
        """Answers a question, now or in a later tick."""
        self._outbox.send(question.source, Reply(question.number, self._registry.encode(message)))

    def refuse(self, question: Question, reason: str) -> None:
        """Sends the asker that there will be no answer."""
        self._outbox.send(question.source, RequestRefused(question.number, reason))

    def receive(self, source: AppId, message: Message) -> Question | Message | None:
        """Handles a received message: returns a question to answer, a message that is not of requests, or None."""
        if isinstance(message, Request):
            inner = self._registry.decode_nested(message.item)
            if isinstance(inner, Refusal):
                self.refusals.count(source, inner)
                self._outbox.send(source, RequestRefused(message.number, inner.value))
                return None
            return Question(source, message.number, inner)
        if isinstance(message, Reply):
            self._on_reply(source, message)
            return None
        if isinstance(message, RequestRefused):
            asked = self._take(source, message.number)
            if asked is not None:
                asked.failed(Failure.REFUSED, message.reason)
            return None
        return message

    def on_link_lost(self, peer: AppId) -> None:
        """Fails all open questions to this peer."""
        for number in [number for number, asked in self._asked.items() if asked.peer == peer]:
            self._asked.pop(number).failed(Failure.LINK_LOST, "")

    def on_tick(self) -> None:
        """Fails the questions that have waited for their time."""
        for number in self._deadlines.take(self._host.now):
            asked = self._asked.pop(number, None)
            if asked is not None:
                asked.failed(Failure.TIMEOUT, "")

    def _on_reply(self, source: AppId, reply: Reply) -> None:
        inner = self._registry.decode_nested(reply.item)
        asked = self._take(source, reply.number)
        if asked is None:
            return
        if isinstance(inner, Refusal):
            self.refusals.count(source, inner)
            asked.failed(Failure.REFUSED, inner.value)
        else:
            asked.then(inner)

    def _take(self, source: AppId, number: int) -> _Asked | None:
        asked = self._asked.get(number)
        if asked is None or asked.peer != source:
            self.late += 1
            return None
        return self._asked.pop(number)
