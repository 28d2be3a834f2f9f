"""Plain frames in bulk: rows stand for frames, one message has all of them, and what is not plain goes as a Frame."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.messages import Frame, Frames, frames_of
from terrazzo.wire.entity.router import Router
from terrazzo.wire.ids import EntityId, Part, PartId, first_of_life
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from tests.wire.entity.entity_harness import Town, X, Y, pair


def settled(count: int = 1) -> Town:
    """Pairs of parts, some at A and their peers at B, with channels in the steady state."""
    town = Town("ABC")
    for number in range(count):
        here, there = peers(number)
        town["A"].create(here)
        town["B"].create(there)
        town.introduce(here, "A")
        town.introduce(there, "B")
        town["A"].send(here, there, b"first")
        town["B"].send(there, here, b"first")
    town.settle(1.0)
    for number in range(count):
        for part in peers(number):
            assert town.take(part) == [b"first"]
    town.settle(1.0)
    return town


def peers(number: int) -> tuple[PartId, PartId]:
    return tuple(PartId(EntityId(10 + number), part) for part in Part)  # type: ignore[return-value]


def sent(town: Town, source: str, target: str) -> list[Message]:
    town.tick(source)
    return town.queues.get((source, target), [])


def test_plain_frames_of_a_tick_to_an_app_are_one_message():
    town = settled(3)
    for number in range(3):
        town["A"].send(*peers(number), b"m%d" % number)
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    frames = frames_of(message, town.id("A"))
    assert [(each.source, each.to) for each in frames] == [peers(number) for number in range(3)]
    assert [each.stream.payloads for each in frames if each.stream] == [(b"m0",), (b"m1",), (b"m2",)]
    town.deliver("A", "B")
    assert [town.take(peers(number)[1]) for number in range(3)] == [[b"m0"], [b"m1"], [b"m2"]]


def test_acknowledgements_of_a_tick_are_one_message():
    town = settled(3)
    for number in range(3):
        town["A"].send(*peers(number), b"m")
    town.tick("A")
    town.deliver("A", "B")
    for number in range(3):
        town.take(peers(number)[1])
    assert sent(town, "B", "A") == [], "they wait for company"
    town.host.now += 0.3
    [message] = sent(town, "B", "A")
    assert isinstance(message, Frames)
    assert [each.ack and each.ack[1] for each in frames_of(message, town.id("B"))] == [2, 2, 2]
    town.deliver("B", "A")
    for number in range(3):
        here, there = peers(number)
        stream = town["A"].boxes[here].channels[there].outgoing
        assert stream is not None
        assert stream.buffer == []


def test_frame_of_a_part_that_has_moved_is_no_row_until_the_move_is_confirmed():
    town = settled()
    here, there = peers(0)
    town.move(here, "A", "C")
    town["C"].send(here, there, b"one")
    [message] = sent(town, "C", "B")
    assert isinstance(message, Frame)
    assert message.asks
    town.settle(1.0)
    assert town.take(there) == [b"one"]
    town.settle(1.0)
    town["C"].send(here, there, b"two")
    [message] = sent(town, "C", "B")
    assert isinstance(message, Frames)
    town.settle(1.0)
    assert town.take(there) == [b"two"]


def test_frame_of_a_part_that_ends_is_no_row():
    town = settled()
    here, there = peers(0)
    town["A"].send(here, there, b"last")
    town["A"].destroy(here)
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frame)
    assert message.is_over


def test_row_for_a_part_that_has_left_is_forwarded():
    town = settled()
    here, there = peers(0)
    town["A"].send(here, there, b"m")
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    town.move(there, "B", "C")
    town.deliver("A", "B")
    town.queues.pop(("C", "A"), None)
    [forwarded] = [each for each in sent(town, "B", "C") if isinstance(each, Frame) and each.stream]
    assert (forwarded.hops, forwarded.home) == (1, town.id("A"))
    town.deliver("B", "C")
    assert town.take(there) == [b"m"]


def test_row_for_a_part_that_was_never_here_goes_astray():
    town = settled()
    town["A"].send(*peers(0), b"m")
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    town["C"].places.clear()
    town["C"].on_message(town.id("A"), message)
    assert town["C"].counts[LogEvent.ASTRAY] == 1


def test_rows_and_frames_leave_in_the_order_in_which_they_were_made():
    town = settled(3)
    town["A"].send(*peers(0), b"m")
    town["A"].boxes[peers(1)[0]].channels[peers(1)[1]].renew = (1, 1)
    town["A"].schedule.urge(town["A"].boxes[peers(1)[0]].channels[peers(1)[1]])
    town["A"].send(*peers(2), b"m")
    assert [type(each) for each in sent(town, "A", "B")] == [Frames, Frame, Frames]


def test_many_rows_are_several_messages():
    town = settled(3)
    for number in range(3):
        town["A"].send(*peers(number), b"m" * 30_000)
    assert [len(frames_of(each, town.id("A"))) for each in sent(town, "A", "B") if isinstance(each, Frames)] == [2, 1]


def test_largest_payload_fits_beside_other_rows():
    town = settled(2)
    town["A"].send(*peers(0), b"m" * 30_000)
    town["A"].send(*peers(1), b"s" * 59_000)
    town["A"].send(*peers(1), b"l" * town["A"].limits.payload_bytes_max)
    town.settle(0.5)
    assert [len(each) for each in town.take(peers(1)[1])] == [59_000, town["A"].limits.payload_bytes_max]


def test_malformed_rows_are_refused_and_those_before_them_count():
    town = settled(2)
    town["A"].send(*peers(0), b"good")
    town["A"].send(*peers(1), b"bad")
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    assert not town["B"].on_frames(town.id("A"), Frames(message.rows[:-1]))
    assert town.take(peers(0)[1]) == [b"good"]
    assert town.take(peers(1)[1]) == []
    town.settle(2.0)
    assert town.take(peers(1)[1]) == [b"bad"], "it was sent again"


@given(st.binary(max_size=200))
def test_garbage_in_rows_does_not_raise(garbage: bytes):
    town = pair()
    town["B"].on_frames(town.id("A"), Frames(garbage))
    town.settle(0.5)


class Careful(Router):
    """A router that takes each row as the Frame that it stands for."""

    def on_rows(self, via, data, otherwise):
        for frame in frames_of(Frames(data), via):
            otherwise(via, frame)
        return True


def state(channel: Channel) -> tuple[object, ...]:
    """All that a frame can change."""
    fields = (
        "heard",
        "confirmed",
        "owes_frame",
        "acked",
        "is_noted",
        "closed",
        "renew",
        "refused",
        "attempts",
        "touched_at",
    )
    halves = [None if half is None else half.pack() for half in (channel.outgoing, channel.incoming)]
    box = channel.box
    return (*(getattr(channel, name) for name in fields), *halves, tuple(box.inbox), box.inbox_bytes, box.horizon)


def world(form: type[Router]) -> Town:
    town = settled()
    for letter in "AB":
        board = town[letter]
        old = board.router
        board.router = form(board.me, town.host, town.homes[letter].outbox, town.homes[letter], board._registry)
        board.router._ended_parts = old._ended_parts
    return town


@given(
    st.lists(
        st.tuples(st.sampled_from(["send", "tick", "late", "take", "lose", "repeat", "full"]), st.sampled_from("AB"))
    )
)
def test_row_does_what_its_frame_does(steps: list[tuple[str, str]]):
    """Two towns go the same way; in the one rows are taken at once, in the other as the frames that they stand for."""
    towns = [world(Router), world(Careful)]
    for number, (step, letter) in enumerate(steps):
        for town in towns:
            act(town, step, letter, b"m%d" % number)
        there, here = peers(0)
        views = [
            (state(town["A"].boxes[there].channels[here]), state(town["B"].boxes[here].channels[there]), town.queues)
            for town in towns
        ]
        assert views[0] == views[1]


def act(town: Town, step: str, letter: str, payload: bytes) -> None:
    other = "B" if letter == "A" else "A"
    part, peer = peers(0) if letter == "A" else peers(0)[::-1]
    if step == "send":
        town[letter].send(part, peer, payload)
    elif step == "take":
        town[letter].take(part)
    elif step == "lose":
        town.tick(letter)
        town.queues.pop((letter, other), None)
    elif step == "full":
        town[letter].boxes[part].inbox_bytes += 1 << 21
    else:
        town.host.now += 1.5 if step == "late" else 0.05
        town.tick(letter)
        copies = list(town.queues.get((letter, other), [])) if step == "repeat" else []
        town.deliver(letter, other)
        for copy in copies:
            town[other].on_message(town.id(letter), copy)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["version", "heard", "home"])
def test_row_that_has_other_news_is_taken_as_its_frame(change: str):
    """Of a place that is not known, or a version that is not confirmed."""
    town = settled()
    here, there = peers(0)
    town["A"].send(here, there, b"m")
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    channel = town["B"].boxes[there].channels[here]
    via = town.id("A")
    if change == "version":
        channel.heard = -1
    elif change == "heard":
        channel.confirmed = -1
    else:
        via = town.id("C")
    taken: list[Frame] = []

    def otherwise(source, frame):
        taken.append(frame)
        town["B"].on_message(source, frame)

    assert town["B"].on_frames(via, message, otherwise)
    assert [frame.home for frame in taken] == [via]
    assert town.take(there) == [b"m"]
    assert (channel.heard, channel.confirmed, channel.place.app) == (0, 0, via)


def test_row_for_a_former_life_is_not_admitted():
    town = settled()
    here, there = peers(0)
    town["A"].send(here, there, b"m")
    assert [type(each) for each in sent(town, "A", "B")] == [Frames]
    box = town["B"].boxes[there]
    box.version = first_of_life(1)
    town.deliver("A", "B")
    assert town.take(there) == []
    assert box.channels[here].owes_frame


def test_strangers_are_not_mixed_up():
    """The same entity and the other part, and another entity and the same part."""
    town = pair()
    town["A"].send(X, Y, b"m")
    town["B"].send(Y, X, b"n")
    town.settle(1.0)
    assert (town.take(X), town.take(Y)) == ([b"n"], [b"m"])
    town.settle(1.0)
    town["A"].send(X, Y, b"again")
    [message] = sent(town, "A", "B")
    assert isinstance(message, Frames)
    town.deliver("A", "B")
    assert town.take(Y) == [b"again"]
