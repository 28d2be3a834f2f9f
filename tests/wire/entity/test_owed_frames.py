"""What a channel owes its peer when its part moves: it is sent from the old home, since it does not move along."""

from __future__ import annotations

from terrazzo.wire.entity.messages import Frame
from terrazzo.wire.log_events import Count
from tests.wire.entity.entity_harness import Town, X, Y, pair


def frames(town: Town, source: str, target: str) -> list[Frame]:
    return [each for each in town.queues.get((source, target), []) if isinstance(each, Frame)]


def test_renewal_is_sent_before_the_part_leaves():
    """Y has dropped a stream of a later generation, so it asks X to renew; Y moves before its turn comes."""
    town = pair()
    town["B"].boxes[Y].horizon = 1 << 40
    town["A"].send(X, Y, b"m")
    town.tick("A")
    town.deliver("A", "B")
    town.move(Y, "B", "C")
    town.tick("B")
    [frame] = frames(town, "B", "A")
    assert frame.renew is not None
    town.settle(0.5)
    assert town.take(Y) == [b"m"], "before it could have been sent again"


def test_answer_that_is_owed_is_sent_before_the_part_leaves():
    town = pair()
    town["A"].send(X, Y, b"m")
    town.tick("A")
    town.deliver("A", "B")
    assert town["B"].boxes[Y].channels[X].owes_frame, "X asks whether its version was heard"
    town.move(Y, "B", "C")
    town.tick("B")
    assert [frame.source for frame in frames(town, "B", "A")] == [Y]


def test_part_that_owes_nothing_leaves_in_silence():
    town = pair()
    town["A"].send(X, Y, b"m")
    town.settle(1.0)
    town.take(Y)
    town.settle(1.0)
    town.move(Y, "B", "C")
    town.tick("B")
    assert frames(town, "B", "A") == []


def test_first_frame_of_an_arrival_is_not_counted_as_resent():
    """The app where it arrives learns of its peer's place from the arrival itself."""
    town = Town("ABD")
    town["A"].create(X)
    town["B"].create(Y)
    town["A"].learn(Y, 0, town.id("B"))
    town["A"].pin(X, Y)
    town.settle(1.0)
    town["A"].send(X, Y, b"m")
    town.move(X, "A", "D")
    town.tick("D")
    assert len(frames(town, "D", "B")) == 1
    assert town["D"].counts[Count.RESENT] == 0
    assert town["D"].boxes[X].channels[Y].attempts == 0, "the next attempt comes after the first backoff"
    town.settle(1.0)
    assert town.take(Y) == [b"m"]
