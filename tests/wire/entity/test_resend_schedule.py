"""The order of sending: marks, acknowledgements, timers."""

from __future__ import annotations

from math import inf

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.places import Place
from terrazzo.wire.entity.resend_schedule import ResendSchedule
from tests.wire.entity.entity_harness import X, Y, Z

LIMITS = ChannelLimits(ack_s=0.25, resend_s=1.0, resend_max_s=4.0)


def two() -> tuple[ResendSchedule, Channel, Channel]:
    """Channels of X to Y and to Z, at 100 s."""
    box = Mailbox(X)
    one, other = (Channel(box, peer, pinned=False, now=100.0) for peer in (Y, Z))
    return ResendSchedule(), one, other


def due(schedule: ResendSchedule, now: float) -> list[Channel]:
    """All channels that are due."""
    found = []
    while (channel := schedule.next_due(now)) is not None:
        found.append(channel)
    return found


def test_round_has_each_marked_channel_once_in_order():
    schedule, one, other = two()
    for channel in (other, one, other):
        schedule.mark(channel)
    assert list(schedule.take_marked()) == [other, one]
    assert not schedule.take_marked()
    schedule.mark(one)
    assert schedule.unmark(one)
    assert not schedule.unmark(one)


def test_acknowledgement_is_owed_once_and_not_after_a_frame():
    schedule, one, other = two()
    for now in (100.0, 100.1):
        schedule.owe_ack(one, now, LIMITS)
        schedule.owe_ack(other, now, LIMITS)
    other.ack_due = inf  # it has spoken
    schedule.urge_owed(100.2)
    assert schedule.take_marked() == []
    schedule.urge_owed(100.25)
    assert list(schedule.marked) == [one]
    assert (one.owes_frame, other.owes_frame) == (True, False)


def test_latest_time_of_a_channel_counts_and_equal_times_keep_their_order():
    schedule, one, other = two()
    schedule.set_timer(one, 101.0)
    schedule.set_timer(other, 102.0)
    schedule.set_timer(one, 102.0)
    assert due(schedule, 101.5) == []
    assert due(schedule, 102.0) == [other, one]
    schedule.set_timer(one, 103.0)
    schedule.set_timer(one, inf)
    assert due(schedule, 1000.0) == []


def test_backoff_doubles_up_to_its_limit():
    schedule, one, _ = two()
    waits = []
    for one.attempts in (0, 1, 2, 3, 5000):
        waits.append(schedule.backoff(one, LIMITS))
    assert waits == [1.0, 2.0, 4.0, 4.0, 4.0]
    one.attempts = 0
    assert not schedule.has_waited(one, 100.5, LIMITS)
    assert one.due == 101.0
    assert schedule.has_waited(one, 101.0, LIMITS)


def test_only_a_waiting_channel_is_woken():
    schedule, one, other = two()
    place = Place(0.0)
    place.hook(one)
    one.send(b"1", 100.0)
    other.confirmed = one.confirmed = 0
    place.channels[Z] = other
    for channel in (one, other):
        schedule.set_timer(channel, 104.0)
    schedule.wake(place, 101.0)
    assert due(schedule, 101.0) == [one]
    assert schedule.has_waited(one, 101.0, LIMITS)


def test_removed_channel_is_not_in_the_round():
    schedule, one, _ = two()
    schedule.mark(one)
    schedule.set_timer(one, 101.0)
    schedule.owe_ack(one, 100.0, LIMITS)
    schedule.forget(one)
    schedule.urge_owed(200.0)
    assert due(schedule, 200.0) == []
    assert schedule.take_marked() == []
