"""How large the schedule of an app's channels may get: by the number of channels, not by how often they speak."""

from __future__ import annotations

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.resend_schedule import OLD_MAX, ResendSchedule
from tests.wire.entity.entity_harness import X, Y, Z
from tests.wire.entity.test_resend_schedule import due

LIMITS = ChannelLimits()


def test_channel_that_is_put_off_again_and_again_has_one_entry():
    schedule, one = ResendSchedule(), Channel(Mailbox(X), Y, pinned=False, now=0.0)
    for tick in range(3000):
        schedule.set_timer(one, tick / 10 + LIMITS.probe_s)
    assert len(schedule.timers) == 1
    assert due(schedule, 599.8) == []
    assert due(schedule, 599.9) == [one]
    assert not schedule.timers


def test_timer_set_earlier_and_later_in_turn_leaves_few_old_entries():
    schedule, one = ResendSchedule(), Channel(Mailbox(X), Y, pinned=False, now=0.0)
    for tick in range(3000):
        schedule.set_timer(one, 10_000.0 - tick)
    assert len(schedule.timers) <= 2 * (1 + OLD_MAX)
    assert due(schedule, 10_000.0) == [one]


def test_removed_channels_do_not_stay_in_the_schedule():
    schedule, box = ResendSchedule(), Mailbox(X)
    for _ in range(3000):
        channel = Channel(box, Z, pinned=False, now=0.0)
        schedule.set_timer(channel, LIMITS.probe_s)
        schedule.forget(channel)
    assert len(schedule.timers) <= 2 * (1 + OLD_MAX)
    assert due(schedule, 1000.0) == []


def test_channels_of_one_time_come_in_the_order_in_which_it_was_set_though_one_was_put_off():
    schedule, box = ResendSchedule(), Mailbox(X)
    one, other, third = (Channel(box, peer, pinned=False, now=0.0) for peer in (Y, Z, X))
    schedule.set_timer(one, 5.0)
    schedule.set_timer(third, 20.0)
    schedule.set_timer(one, 10.0)  # its entry stays at 5
    schedule.set_timer(other, 10.0)
    schedule.set_timer(third, 10.0)
    assert due(schedule, 10.0) == [one, other, third]
