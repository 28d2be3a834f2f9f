"""Timers of a real: once for each time they are due, in order, wherever that is (race 13)."""

from __future__ import annotations

from math import inf

import pytest

from terrazzo.cell.core.timers import DRAWN, TIMERS_MAX, Timers
from terrazzo.errors import UsageError
from terrazzo.wire.pairs.cell_cell import Timer
from tests.cell.land import Land


def fired(timers: Timers, now: float) -> list[int]:
    """As the clockwork does it."""
    numbers = [number for number in timers.take(now) if timers.fire(number, now)]
    timers.find_next_due()
    return numbers


def test_timers_fire_once_in_the_order_in_which_they_are_due():
    timers = Timers()
    late, early = timers.set(0.0, 2.0, 0.0, None), timers.set(0.0, 1.0, 0.0, None)
    assert timers.next_due == 1.0
    assert fired(timers, 0.9) == []
    assert fired(timers, 2.0) == [early, late]
    assert fired(timers, 99.0) == []
    assert timers.next_due == inf


def test_repeating_timer_keeps_its_beat_and_skips_missed_periods():
    timers = Timers()
    timers.set(0.0, 1.0, 1.0, 5)
    assert fired(timers, 1.25) == [5]
    assert timers.next_due == 2.0, "not 2.25"
    assert fired(timers, 7.5) == [5], "once, though it was due six times"
    assert timers.next_due == 8.5


def test_a_number_that_is_in_use_sets_that_timer_again():
    timers = Timers()
    assert timers.set(0.0, 1.0, 1.0, 5) == timers.set(0.0, 3.0, 0.0, 5) == 5
    assert fired(timers, 2.0) == []
    assert fired(timers, 3.0) == [5]
    assert fired(timers, 9.0) == []


def test_timer_cancelled_or_set_again_in_the_same_round_does_not_fire():
    timers = Timers()
    for number in (1, 2, 3):
        timers.set(0.0, 1.0, 0.0, number)
    due = timers.take(1.0)
    assert timers.fire(due[0], 1.0)
    assert timers.cancel(2)
    assert not timers.cancel(2)
    timers.set(1.0, 1.0, 0.0, 3)
    assert not any(timers.fire(number, 1.0) for number in due[1:])
    timers.find_next_due()
    assert timers.next_due == 2.0


def test_numbers_that_are_drawn_differ_from_home_to_home_and_from_the_game_s_own():
    """However many were drawn in one home."""
    timers, drawn = Timers(), []
    for many in (3, 2 * DRAWN, 1):
        drawn += [timers.draw() for _ in range(many)]
        there = Timers()
        there.unpack(timers.pack(0.0), timers.next_number, 0.0)
        timers = there
    assert len(set(drawn)) == len(drawn)
    assert min(drawn) >= DRAWN


def test_a_timer_that_came_along_is_never_set_again_by_a_drawn_number():
    land = Land(2)
    land.create(1, -50.0)
    land.settle()
    for _ in range(DRAWN):
        land.real(1).timers.draw()
    land.do(1, lambda part: part.timer(1000.0))
    land.put(1, 50.0)
    land.settle()
    assert land.home(1) == 1
    land.do(1, lambda part: part.timer(500.0))
    assert len(land.real(1).timers.pack(0.0)) == 2


def test_packed_timer_has_the_seconds_that_are_left():
    timers = Timers()
    timers.set(10.0, 5.0, 0.0, 1)
    timers.set(10.0, 1.0, 2.0, 2)
    packed = timers.pack(12.0)
    assert packed == (Timer(1, 3.0, 0.0), Timer(2, -1.0, 2.0))
    there = Timers()
    there.unpack(packed, timers.next_number, 500.0)
    assert there.next_due == 499.0, "what was due in the tick of departure, and did not fire there, fires here"
    assert fired(there, 500.0) == [2]
    assert fired(there, 503.0) == [2, 1], "due at 502 and at 503"


@pytest.mark.parametrize(
    ("seconds", "repeat", "number"),
    [
        (-1.0, 0.0, None),
        (float("nan"), 0.0, None),
        (1.0, inf, None),
        (1.0, -1.0, None),
        (1.0, 0.0, DRAWN),
        (1.0, 0.0, -1),
    ],
)
def test_impossible_timer_is_refused(seconds, repeat, number):
    with pytest.raises(UsageError):
        Timers().set(0.0, seconds, repeat, number)


def test_number_of_timers_is_limited():
    timers = Timers()
    for number in range(TIMERS_MAX):
        timers.set(0.0, 1.0, 0.0, number)
    with pytest.raises(UsageError, match="at most 256"):
        timers.set(0.0, 1.0, 0.0, None)
    timers.set(0.0, 2.0, 0.0, 7)  # one that is there may be set again
