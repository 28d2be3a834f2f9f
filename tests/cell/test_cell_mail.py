"""The mail of a real: in order, from allowed senders only, and given back when there is no real to read it."""

from __future__ import annotations

import pytest

from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import ClientWants, IAmHere, RealCreated, SetWitness, WantCellData, WhereAreYou
from tests.cell.land import Land
from tests.cell.plain import AvatarCell


@pytest.fixture
def land():
    land = Land()
    for entity, x in ((1, -20.0), (2, -30.0), (3, 30.0)):
        land.create(entity, x)
    land.settle()
    return land


def test_calls_after_the_end_are_given_back_to_each_caller(land, monkeypatch):
    """The calls after the one that destroyed the entity were not made, and are reported to their callers."""

    def hit(part: AvatarCell, power: int) -> None:
        part.taken.append(power)
        if power == 5:
            part.destroy()

    monkeypatch.setattr(AvatarCell, "hit", hit)
    victim = land.part(1)
    victim.taken = []
    for power in (4, 5, 6):
        land.do(2, lambda part, p=power: part.ref(1).hit(p))
    land.do(3, lambda part: part.ref(1).hit(7))
    land.settle()
    assert land.home(1) is None
    assert victim.taken == [4, 5]
    assert [each for each in land.part(2).events if each[0] == 1] == [(1, "hit", "destroyed")]
    assert [each for each in land.part(3).events if each[0] == 1] == [(1, "hit", "it has no cell part")]


def test_the_data_of_a_real(land):
    land.base.want_data(1)
    land.settle()
    (data,) = land.base.data_of(1)
    assert (data.space, data.position, data.direction, data.is_last) == (
        "plain",
        (-20.0, 0.0, 0.0),
        (0.0, 0.0, 0.0),
        False,
    )


def test_anyone_may_ask_where_it_is(land):
    land.base.tell(2, WhereAreYou(77), to=3)
    land.settle()
    assert [each for each in land.base.mail[2] if isinstance(each, IAmHere)] == [IAmHere(77, "plain", (30.0, 0.0, 0.0))]


def test_part_that_asks_too_often_misses_answers(land, monkeypatch):
    def full(*args: object) -> None:
        raise ChannelFull("full")

    land.base.tell(2, WhereAreYou(77), to=3)
    monkeypatch.setattr(land[1].switchboard, "send", full)
    land.step(5)
    assert land[1].counts[LogEvent.ANSWER_DROPPED] == 1


def test_unrequested_answer_is_ignored(land):
    land.base.tell(2, IAmHere(77, "plain", (30.0, 0.0, 0.0)), to=1)
    land.settle()
    assert land.part(1).position == (-20.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "message",
    [
        SetWitness(1, True),
        WantCellData(),
        ClientWants(1, (), ()),
    ],
)
def test_message_of_the_base_is_refused_from_other_parts(land, message):
    land.base.tell(2, message, to=1)
    land.settle()
    assert land[0].counts[LogEvent.MAIL_REFUSED] == 1
    assert land[0].reals[1].witness is None


def test_client_message_without_a_client_is_ignored(land):
    land.base.tell(1, ClientWants(1, ((2, 0),), (1,)))
    land.settle()
    assert LogEvent.MAIL_REFUSED not in land[0].counts


def test_malformed_message_is_refused_even_from_the_base(land):
    land.base.tell(1, RealCreated())
    land.base.switchboard.send(land[0].bodies[1].base_part, land[0].bodies[1].part, b"nonsense")
    land.settle()
    assert land[0].counts[LogEvent.MAIL_REFUSED] == 2


def test_clients_come_and_go(land):
    land.base.attach(1)
    land.settle()
    land.base.attach(1)
    land.settle()
    land.base.detach(1)
    land.settle()
    assert land.part(1).events == ["created", "attached", "detached", "attached", "detached"]
