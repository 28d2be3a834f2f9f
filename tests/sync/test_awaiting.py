"""Awaited calls by themselves: the numbers of questions, and what is kept of answers."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest

from terrazzo.errors import CallTimeout, UsageError
from terrazzo.sync import awaiting
from terrazzo.sync.awaiting import SERIAL_BITS, Awaiting, CallReply
from terrazzo.wire.ids import EntityId, Part, PartId, first_of_life
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import Answer, CallCell
from tests.fake_host import FakeHost

ME, OTHER = (PartId(EntityId(entity), Part.CELL) for entity in (1, 2))


class Value:
    """What is given back."""


class Asker:
    """One part that asks, with methods that wait."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.real = SimpleNamespace(caller=0)
        self.awaiting = Awaiting(self.host, lambda part, what, function, *args: function(*args), lambda part: self.real)
        self.method: Any = SimpleNamespace(name="tell", returns=True, decode_result=lambda values: Value())
        self.heard: list[Any] = []

    def ask(self, version: int = 1, timeout_s: float = 60.0) -> CallReply:
        """As from a method that runs."""
        self.awaiting.current, before = SimpleNamespace(part=ME), self.awaiting.current  # type: ignore[assignment]
        reply = self.awaiting.ask(ME, version, OTHER, self.method, timeout_s)
        self.awaiting.current = before
        assert reply is not None
        return reply

    def answer(self, reply: CallReply) -> bool:
        return self.awaiting.on_answer(ME, OTHER, Answer(reply.number, b"", None))

    def wait_for(self, *replies: CallReply) -> None:
        """A method that awaits these, one after the other."""

        async def method() -> None:
            for reply in replies:
                try:
                    self.heard.append(await reply)
                except (CallTimeout, UsageError) as problem:
                    self.heard.append(problem)

        self.awaiting.begin(ME, "method", method())


@pytest.fixture
def asker() -> Asker:
    return Asker()


def test_a_number_that_is_waited_for_is_not_given_again(asker, monkeypatch):
    monkeypatch.setattr(awaiting, "SERIAL_BITS", 3)
    first = asker.ask()
    numbers = set()
    for _ in range(20):
        reply = asker.ask()
        numbers.add(reply.number)
        assert asker.answer(reply)
    assert first.number not in numbers
    assert len(numbers) == 6
    asker.wait_for(first)
    asker.host.now += 61.0
    asker.awaiting.run()
    assert [type(each) for each in asker.heard] == [CallTimeout]


@pytest.mark.parametrize("life", [1, 65_536, (1 << 31) - 1])
def test_a_question_of_any_life_can_be_sent(asker, life):
    number = asker.ask(first_of_life(life)).number
    message = REGISTRY.decode_nested(REGISTRY.encode(CallCell(0, b"", 0, number)))
    assert isinstance(message, CallCell)
    assert message.question == number != 0


def test_lives_and_homes_ask_under_numbers_of_their_own(asker):
    life = first_of_life(5)
    numbers = [asker.ask(version).number for version in (life, life + 1, first_of_life(6))]
    assert len({number >> SERIAL_BITS for number in numbers}) == 3


def test_received_answer_is_not_kept(asker):
    """However long they could have been waited for."""
    values = []
    for _ in range(1000):
        reply = asker.ask(timeout_s=3600.0)
        asker.wait_for(reply)
        asker.answer(reply)
        values.append(ref(asker.heard.pop()))
    del reply
    gc.collect()
    assert [value for value in values if value() is not None] == []
    assert len(asker.awaiting._timeouts) < 100
    assert not asker.awaiting._waits


def test_open_questions_are_kept_when_others_are_answered(asker):
    late = asker.ask(timeout_s=30.0)
    asker.wait_for(late)
    for _ in range(500):
        asker.answer(asker.ask(timeout_s=3600.0))
    asker.host.now += 31.0
    asker.awaiting.run()
    assert [type(each) for each in asker.heard] == [CallTimeout]


def test_a_call_that_could_not_be_made_is_not_waited_for(asker):
    for _ in range(awaiting.REPLIES_MAX + 1):
        asker.awaiting.withdraw(asker.ask())
    assert not asker.awaiting._waits
    asker.awaiting.withdraw(None)
    asker.host.now += 61.0
    asker.awaiting.run()


def test_an_answer_can_be_awaited_once(asker):
    reply = asker.ask()
    asker.wait_for(reply, reply)
    asker.answer(reply)
    value, problem = asker.heard
    assert isinstance(value, Value)
    assert isinstance(problem, UsageError)
    assert "awaited once" in str(problem)


def test_failed_call_of_a_method_that_was_closed_meanwhile_resumes_nothing(asker):
    reply = asker.ask()
    asker.wait_for(reply)
    assert asker.awaiting.fail(ME, reply.number, CallTimeout("it is gone"))
    asker.awaiting.drop(ME)
    asker.awaiting.run()
    assert asker.heard == []


def test_part_that_has_come_back_can_wait_again(asker):
    asker.awaiting.drop(ME)
    reply = asker.ask()
    asker.wait_for(reply)
    assert asker.answer(reply)
    assert len(asker.heard) == 1
