"""Deadlines of many sessions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from terrazzo.wire.client.timers import Deadlines


def test_deadlines_ring_in_their_order_and_once():
    timers = Deadlines()
    timers.set(1, 5.0)
    timers.set(2, 3.0)
    timers.set(3, 3.0)
    assert timers.next_at == 3.0
    assert timers.take_due(2.9) == []
    assert timers.take_due(5.0) == [2, 3, 1]
    assert timers.take_due(9.0) == []
    assert timers.next_at is None


def test_a_later_deadline_takes_the_place_of_an_earlier_one():
    timers = Deadlines()
    timers.set(1, 2.0)
    timers.set(1, 9.0)
    assert timers.next_at == 2.0, "it may be early"
    assert timers.take_due(2.0) == []
    assert timers.next_at == 9.0, "but not for long"


def test_removed_timer_is_not_due():
    timers = Deadlines()
    timers.set(1, 1.0)
    timers.set(2, 1.0)
    timers.forget(1)
    assert timers.take_due(2.0) == [2]


@given(deadlines=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20)), max_size=30))
def test_every_session_rings_at_its_last_deadline(deadlines):
    timers = Deadlines()
    wanted: dict[int, int] = {}
    for session_id, due in deadlines:
        timers.set(session_id, float(due))
        wanted[session_id] = due
    for now in range(21):
        next_at = timers.next_at
        if wanted:
            assert next_at is not None
            assert next_at <= min(wanted.values())
        assert timers.take_due(float(now)) == sorted(id for id, due in wanted.items() if due == now)
        wanted = {id: due for id, due in wanted.items() if due != now}
