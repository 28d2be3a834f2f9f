"""Whose turn it is: marks, acknowledgements, timers."""

from __future__ import annotations

from math import inf

from terrazzo.wire.channel import Channel, ChannelLimits
from terrazzo.wire.mailbox import Mailbox
from terrazzo.wire.places import Place
from terrazzo.wire.rounds import Rounds
from tests.wire.entity_harness import X, Y, Z

LIMITS = ChannelLimits(ack_s=0.25, resend_s=1.0, resend_max_s=4.0)


def two() -> tuple[Rounds, Channel, Channel]:
    """Channels of X to Y and to Z, at 100 s."""
    box = Mailbox(X)
    one, other = (Channel(box, peer, pinned=False, now=100.0) for peer in (Y, Z))
    return Rounds(), one, other


def due(rounds: Rounds, now: float) -> list[Channel]:
    """All whose time has come."""
    found = []
    while (channel := rounds.next_due(now)) is not None:
        found.append(channel)
    return found


def test_a_round_has_everybody_once_in_the_order_in_which_they_were_marked():
    rounds, one, other = two()
    for channel in (other, one, other):
        rounds.mark(channel)
    assert list(rounds.take_marked()) == [other, one]
    assert not rounds.take_marked()
    rounds.mark(one)
    assert rounds.unmark(one)
    assert not rounds.unmark(one)


def test_an_acknowledgement_is_owed_once_and_not_if_something_was_said_before():
    rounds, one, other = two()
    for now in (100.0, 100.1):
        rounds.owe_ack(one, now, LIMITS)
        rounds.owe_ack(other, now, LIMITS)
    other.ack_due = inf  # it has spoken
    rounds.urge_owed(100.2)
    assert not rounds.marked
    rounds.urge_owed(100.25)
    assert list(rounds.marked) == [one]
    assert (one.owes_frame, other.owes_frame) == (True, False)


def test_the_last_time_that_was_set_counts_and_of_one_time_who_was_first():
    rounds, one, other = two()
    rounds.set_timer(one, 101.0)
    rounds.set_timer(other, 102.0)
    rounds.set_timer(one, 102.0)
    assert due(rounds, 101.5) == []
    assert due(rounds, 102.0) == [other, one]
    rounds.set_timer(one, 103.0)
    rounds.set_timer(one, inf)
    assert due(rounds, 1000.0) == []


def test_who_waits_in_vain_waits_longer_each_time_but_not_for_ever():
    rounds, one, _ = two()
    waits = []
    for one.attempts in (0, 1, 2, 3, 5000):
        waits.append(rounds.backoff(one, LIMITS))
    assert waits == [1.0, 2.0, 4.0, 4.0, 4.0]
    one.attempts = 0
    assert not rounds.has_waited(one, 100.5, LIMITS)
    assert one.due == 101.0
    assert rounds.has_waited(one, 101.0, LIMITS)


def test_only_who_waits_is_woken():
    rounds, one, other = two()
    place = Place(0.0)
    place.hook(one)
    one.send(b"1", 100.0)
    other.confirmed = one.confirmed = 0
    place.channels[Z] = other
    for channel in (one, other):
        rounds.set_timer(channel, 104.0)
    rounds.wake(place, 101.0)
    assert due(rounds, 101.0) == [one]
    assert rounds.has_waited(one, 101.0, LIMITS)


def test_who_is_forgotten_has_no_turn():
    rounds, one, _ = two()
    rounds.mark(one)
    rounds.set_timer(one, 101.0)
    rounds.owe_ack(one, 100.0, LIMITS)
    rounds.forget(one)
    rounds.urge_owed(200.0)
    assert due(rounds, 200.0) == []
    assert not rounds.marked
