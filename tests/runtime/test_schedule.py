"""When ticks are due: no drift, and an end to catching up."""

from itertools import pairwise

from terrazzo.runtime.schedule import TickSchedule


def times(schedule, hold_ups, count):
    """The moments of ticks; tick n takes hold_ups.get(n, 0) seconds."""
    now, made = 0.0, []
    for n in range(count):
        now = max(now, schedule.due_at)
        made.append(round(now, 6))
        now += hold_ups.get(n, 0.0)
        schedule.advance(now)
    return made


def test_ticks_keep_to_the_grid():
    assert times(TickSchedule(0.0, 0.1, 3), dict.fromkeys(range(1000), 0.07), 1000) == [
        round(n * 0.1, 6) for n in range(1000)
    ]


def test_few_missed_ticks_are_made_up_for():
    schedule = TickSchedule(0.0, 0.1, 3)
    assert times(schedule, {1: 0.35}, 7) == [0.0, 0.1, 0.45, 0.45, 0.45, 0.5, 0.6]
    assert schedule.given_up == 0


def test_many_are_given_up_after_so_many_in_a_row():
    schedule = TickSchedule(0.0, 0.1, 3)
    assert times(schedule, {1: 10.05}, 7) == [0.0, 0.1, 10.15, 10.15, 10.15, 10.2, 10.3]
    assert schedule.given_up == 97


def test_without_catching_up():
    assert times(TickSchedule(0.0, 0.1, 0), {1: 0.35}, 4) == [0.0, 0.1, 0.5, 0.6]


def test_an_app_that_is_always_too_slow_does_not_fall_behind():
    made = times(TickSchedule(0.0, 0.1, 2), dict.fromkeys(range(300), 0.15), 300)
    assert all(later - earlier >= 0.149 for earlier, later in pairwise(made))
    assert made[-1] < 300 * 0.2
