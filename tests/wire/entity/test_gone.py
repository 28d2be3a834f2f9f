"""A part that its directory does not name any more may still be ending: what it repeats is not taken again."""

from __future__ import annotations

import pytest

from tests.wire.entity.entity_harness import X, Y, pair


def ending_pair(**limits):
    """X has sent a call that Y has taken, and ends before the acknowledgement comes."""
    town = pair(**limits)
    town["A"].send(X, Y, b"call")
    town.tick("A")
    town.deliver("A", "B")
    assert town.take(Y) == [b"call"]
    town.blocked |= {("B", "A")}
    town["A"].destroy(X)
    town.settle(0.5)
    return town


def test_an_ending_part_that_is_reported_gone_delivers_nothing_twice():
    town = ending_pair()
    town["B"].gone(X, "no such entity", town.host.now)
    town.settle(3.0)
    assert town.take(Y) == []
    town.blocked.clear()
    town.settle(10.0)
    assert town.take(Y) == []
    assert town.homes["A"].ended == [X]
    assert town.homes["A"].failed == []


def test_messages_for_a_part_that_is_gone_are_reported_at_once_though_it_may_repeat():
    town = ending_pair()
    town.blocked |= {("A", "B")}
    town["B"].send(Y, X, b"answer")
    town["B"].gone(X, "no such entity")
    assert town.homes["B"].failed == [(Y, X, [b"answer"], "no such entity")]


@pytest.mark.parametrize("has_ended", [False, True])
def test_the_channel_of_a_part_that_is_gone_is_kept_until_it_ends_or_for_the_time_of_a_stub(has_ended):
    town = ending_pair(stub_s=20.0)
    if has_ended:
        town.blocked.clear()
    else:
        town.blocked |= {("A", "B")}
    town["B"].gone(X, "no such entity", town.host.now)
    assert X in town["B"].boxes[Y].channels
    town.settle(25.0)
    assert (X in town["B"].boxes[Y].channels) == (not has_ended)
    town["B"].gone(X, "no such entity", town.host.now)
    assert X not in town["B"].boxes[Y].channels
