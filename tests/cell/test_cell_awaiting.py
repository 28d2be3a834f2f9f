"""Awaited calls between cell parts: what they bring, what they raise, and what becomes of them in a move."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from terrazzo.errors import CallRaised, CallTimeout, CallUndelivered, EntityGone, EntityMoved, UsageError
from terrazzo.schema.model import Method
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync import awaiting
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Answer
from tests.cell.land import Land
from tests.cell.plain import AVATAR, AvatarCell


def ref(entity: int) -> Ref:
    return Ref(entity, Component.CELL, AVATAR.type_id)


@pytest.fixture
def land():
    """Two neighbours, one across the border, one too far away to be known here."""
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0), (3, 30.0), (4, 400.0)):
        land.create(entity, x)
    land.settle()
    for entity in (1, 2, 3, 4):
        land.part(entity).events.clear()
    return land


def failed(land, entity, kind):
    [problem] = land.part(entity).events
    assert type(problem) is kind
    return str(problem)


@pytest.mark.parametrize("other", [2, 3, 4])
def test_a_call_brings_what_the_method_returns(land, other):
    land.act(1, "ask", ref(other), "tell_luck", 5)
    land.settle()
    assert land.part(1).events == [12]
    assert land.part(other).events == ["asked"]
    assert len(land[0].core.awaiting) == 0


def test_several_values_come_as_a_tuple(land):
    land.act(1, "ask", 3, "tell_two")
    land.settle()
    assert land.part(1).events == [(7, "nobody")]


def test_a_view_can_be_awaited_as_well(land, monkeypatch):
    async def look(part: AvatarCell) -> None:
        [near, far] = part.entities_in_range(60.0)
        first, second = near.tell_luck(1), far.tell_luck(2, timeout=1.0)  # both are under way
        part.events.append((await second, await first))

    monkeypatch.setattr(AvatarCell, "look", look, raising=False)
    land.act(1, "look")
    land.settle()
    assert land.part(1).events == [(9, 8)]


def test_an_async_method_may_ask_others_before_it_answers(land):
    land.act(1, "ask", 3, "relay", ref(4), 5)
    land.settle()
    assert land.part(1).events == [1012]


def test_an_answer_comes_in_order_with_the_calls_of_the_same_entity(land, monkeypatch):
    def tell_luck(part: AvatarCell, plus: int) -> int:
        part.ref(ref(1)).hit(plus)
        return 0

    monkeypatch.setattr(AvatarCell, "tell_luck", tell_luck)

    async def ask(part: AvatarCell) -> None:
        await part.ref(3).tell_luck(5)
        part.events.append(list(part.purse))

    monkeypatch.setattr(AvatarCell, "ask", ask)
    land.act(1, "ask")
    land.settle()
    assert land.part(1).events == [[5]]


def test_plain_code_asks_for_nothing(land):
    assert land.do(1, lambda part: part.ref(3).tell_luck(5)) is None
    land.settle()
    assert land.part(3).events == ["asked"]
    assert LogEvent.LATE_ANSWER not in land[0].counts


# What goes wrong.


def test_exception_of_the_callee_is_sent_to_the_caller(land):
    land.act(1, "ask", 3, "refuse")
    land.settle()
    assert failed(land, 1, CallRaised) == "refuse of 3.cell: RuntimeError: it is a secret"
    assert [each["error"] for each in land.host.words("game error")] == ["RuntimeError: it is a secret"]


def test_undeclared_result_is_reported_at_both_ends(land):
    land.act(1, "ask", 3, "tell_wrong")
    land.settle()
    assert "tell_wrong of 3.cell: ValueRejected" in failed(land, 1, CallRaised)
    assert len(land.host.words("game error")) == 1


def test_await_without_an_answer_in_time_raises_call_timeout(land):
    land.block(0, 1)
    land.act(1, "ask", 3, "tell_luck", 5, timeout=0.5)
    land.step(4)
    assert land.part(1).events == []
    land.step(2)
    assert failed(land, 1, CallTimeout) == "tell_luck of 3.cell: no answer in time"
    land.settle()
    assert land.part(3).events == ["asked"], "the call came all the same"
    assert land[0].counts[LogEvent.LATE_ANSWER] == 1


def test_await_of_an_unknown_entity_raises_call_undelivered(land):
    land.act(1, "ask", ref(99), "tell_luck", 5, timeout=30.0)
    land.step(60)
    assert failed(land, 1, CallUndelivered) == "tell_luck of 99.cell: there is no such entity (any more)"


def test_the_callee_is_destroyed_before_it_is_asked(land):
    land.do(3, lambda part: part.destroy())
    land.act(1, "ask", 3, "tell_luck", 5, timeout=30.0)
    land.settle()
    assert failed(land, 1, CallUndelivered) == "tell_luck of 3.cell: it has no cell part"


def test_malformed_or_unrequested_answer_is_dropped(land):
    land.block(1, 0)
    land.act(1, "ask", 3, "tell_luck", 5)
    land.step(2)
    [question] = land[0].core.awaiting._waits[land.real(1).body.part]
    for source, values in ((2, b"\0\0\0\0"), (3, b"odd")):
        part = PartId(EntityId(source), Part.CELL)
        land[0].core.awaiting.on_answer(land.real(1).body.part, part, Answer(question, values))
    assert "its answer does not decode" in failed(land, 1, CallRaised)


def test_only_such_calls_can_be_awaited_and_each_once(land, monkeypatch):
    class Odd:
        def __await__(self):
            yield 5

    async def ask(part: AvatarCell) -> None:
        await Odd()

    monkeypatch.setattr(AvatarCell, "ask", ask)
    land.act(1, "ask")
    assert "await takes the call of another entity" in str(land.host.words("game error")[-1]["error"])
    with pytest.raises(UsageError, match="tell_luck: timeout=, in seconds, is a finite number above 0"):
        land.do(1, lambda part: part.ref(3).tell_luck(5, timeout=0))


def test_result_that_is_too_long_is_reported_at_both_ends(land, monkeypatch):
    monkeypatch.setattr(AvatarCell, "tell_two", lambda part: (1, "x" * 950_000))
    land.act(1, "ask", 3, "tell_two")
    land.settle()
    assert "tell_two of 3.cell: UsageError: a payload of" in failed(land, 1, CallRaised)
    assert len(land.host.words("game error")) == 1


def test_awaited_call_that_is_refused_raises(land, monkeypatch):
    monkeypatch.setattr(Method, "encode_args", lambda method, *args: b"odd")
    land.act(1, "ask", 3, "tell_luck", 5)
    land.settle()
    assert "tell_luck of 3.cell: tell_luck: " in failed(land, 1, CallRaised)
    assert land[1].counts[LogEvent.CALL_REFUSED] == 1


def test_a_call_that_cannot_be_sent_is_not_waited_for(land, monkeypatch):
    def full(*_: object) -> None:
        raise ChannelFull("too much waits")

    monkeypatch.setattr(land[0].core, "switchboard", SimpleNamespace(send=full))
    land.act(1, "ask", 3, "tell_luck", 5)
    assert "too much waits" in str(land.host.words("game error")[-1]["error"])
    assert not land[0].core.awaiting._waits


def test_number_of_open_questions_is_limited(land, monkeypatch):
    monkeypatch.setattr(awaiting, "REPLIES_MAX", 2)
    land.block(0, 1)
    for _ in range(3):
        land.act(1, "ask", 3, "tell_luck", 5)
    assert "waits for 2 answers already" in str(land.host.words("game error")[-1]["error"])
    land.settle()
    assert land.part(1).events == [12, 12]


# The callers of the method.


def test_the_caller_is_the_same_after_an_await(land, monkeypatch):
    """Code that takes 0 for a server must not be deceived by a client that makes it wait."""

    async def poke(part: AvatarCell, times: int) -> None:
        before = part.caller
        await part.ref(3).tell_luck(times)
        part.events.append((before, part.caller))

    async def say(part: AvatarCell, words: str) -> None:
        await part.ref(3).tell_luck(0)
        part.events.append((words, part.caller))

    monkeypatch.setattr(AvatarCell, "poke", poke)
    monkeypatch.setattr(AvatarCell, "say", say)
    land.base.call(1, "poke", 1, caller=2)
    land.base.call(1, "say", "a server", caller=0)
    land.base.call(1, "poke", 1, caller=4)
    land.settle()
    assert land.part(1).events == [(2, 2), ("a server", 0), (4, 4)]
    assert land.part(1).caller == 0


# Moves and ends.


def test_the_waiting_method_ends_when_its_entity_moves(land):
    land.block(0, 1)
    land.act(1, "ask", 3, "tell_luck", 5)
    before = land.part(1)
    land.step(1)
    land.put(1, 60.0)
    land.settle()
    assert land.home(1) == 1
    assert type(before.events[-1]) is EntityMoved
    assert land.part(1).gold == 13, "what it changed on its way out went along"
    assert land.part(3).events == ["asked"], "the call went on"
    assert land[1].counts[LogEvent.LATE_ANSWER] == 1
    assert len(land[0].core.awaiting) == len(land[1].core.awaiting) == 0
    land.act(1, "ask", 3, "tell_luck", 5)
    land.settle()
    assert land.part(1).events[-1] == 12


def test_the_callee_may_move_before_it_is_asked(land):
    land.act(1, "ask", 3, "tell_luck", 5)
    land.put(3, -60.0)
    land.settle()
    assert land.home(3) == 0
    assert land.part(1).events == [12]


def test_caller_of_a_method_gets_call_raised_when_the_callee_moves(land):
    land.block(1, 0)
    land.act(1, "ask", 3, "relay", ref(2), 5, timeout=20.0)
    land.step(4)
    land.put(3, -60.0)
    land.settle()
    assert "relay of 3.cell: EntityMoved: the entity leaves" in failed(land, 1, CallRaised)
    assert land.host.words("game error") == [], "that is how it is to end"


def test_the_waiting_method_ends_when_its_entity_is_destroyed(land):
    land.block(0, 1)
    land.act(1, "ask", 3, "tell_luck", 5)
    before = land.part(1)
    land.step(1)
    land.do(1, lambda part: part.destroy())
    land.step(2)
    assert type(before.events[-1]) is EntityGone
    assert len(land[0].core.awaiting) == 0


def test_method_that_waits_again_after_a_move_is_closed(land, monkeypatch):
    async def ask(part: AvatarCell) -> None:
        while True:
            try:
                await part.ref(2).tell_luck(5)
            except EntityMoved:
                continue

    monkeypatch.setattr(AvatarCell, "ask", ask)
    monkeypatch.setattr(AvatarCell, "tell_luck", lambda part, plus: 1)
    land.act(1, "ask")
    land.step(3)
    land.put(1, 60.0)
    land.settle()
    assert land.home(1) == 1
    assert "waits again after EntityMoved" in str(land.host.words("game error")[-1]["error"])


def test_method_of_an_entity_that_stays_goes_on_waiting(monkeypatch):
    """on_leaving_cell puts it back: nothing has happened to the method that waits."""
    monkeypatch.setattr(AvatarCell, "on_leaving_cell", lambda part: setattr(part, "position", (-20.0, 0.0, 0.0)))
    kept = Land()
    for entity, x in ((1, -20.0), (3, 30.0)):
        kept.create(entity, x)
    kept.settle()
    kept.block(0, 1)
    kept.act(1, "ask", 3, "tell_luck", 5, timeout=20.0)
    kept.step(1)
    kept.put(1, 60.0)
    kept.settle()
    assert kept.home(1) == 0
    assert kept.part(1).events[-1] == 12


def test_a_hook_may_wait(land, monkeypatch):
    async def on_timer(part: AvatarCell, number: int) -> None:
        part.gold = await part.ref(3).tell_luck(number)

    monkeypatch.setattr(AvatarCell, "on_timer", on_timer)
    land.do(1, lambda part: part.timer(0.3, number=5))
    land.settle()
    assert land.part(1).gold == 12


def test_method_on_a_view_cannot_await(monkeypatch):
    async def on_left_cell(part: AvatarCell) -> None:
        await part.ref(2).tell_luck(5)

    monkeypatch.setattr(AvatarCell, "on_left_cell", on_left_cell)
    fresh = Land()
    fresh.create(1, -20.0)
    fresh.settle()
    fresh.put(1, 60.0)
    fresh.settle()
    assert fresh.home(1) == 1
    assert "it cannot be async" in str(fresh.host.words("game error")[-1]["error"])
