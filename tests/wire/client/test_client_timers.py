"""Deadlines of many sessions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from terrazzo.wire.client.timers import Timers


def test_an_earlier_deadline_rings_first_and_a_later_one_is_not_needed():
    timers = Timers()
    timers.set(1, 5.0)
    timers.set(1, 9.0)
    timers.set(1, 2.0)
    timers.set(2, 3.0)
    assert timers.next_at == 2.0
    assert timers.take_due(1.9) == []
    assert timers.take_due(3.0) == [1, 2]
    assert timers.take_due(5.0) == [1]
    assert timers.next_at is None


def test_the_forgotten_do_not_ring():
    timers = Timers()
    timers.set(1, 1.0)
    timers.set(2, 1.0)
    timers.forget(1)
    assert timers.take_due(2.0) == [2]


def test_a_session_that_is_busy_all_the_time_does_not_fill_the_heap():
    timers = Timers()
    now = 0.0
    for _ in range(10_000):
        timers.set(1, now + 5.0)
        timers.set(1, now + 0.02)
        now += 0.02
        timers.take_due(now)
    assert len(timers._heap) < 5


@given(deadlines=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=30))
def test_nobody_is_rung_later_than_asked(deadlines):
    timers = Timers()
    wanted: dict[int, int] = {}
    for session_id, due in deadlines:
        timers.set(session_id, float(due))
        wanted[session_id] = min(due, wanted.get(session_id, due))
    for now in range(21):
        rung = timers.take_due(float(now))
        for session_id, due in wanted.items():
            if due == now:
                assert session_id in rung
