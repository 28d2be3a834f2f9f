"""Calls in peaceful, swift worlds come before the resend timer could have healed their loss, in all four directions."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

from terrazzo.sim.latency_mutations import LATENCY_MUTATIONS
from terrazzo.sim.runner import run
from terrazzo.sim.scenarios.seamless.calls import Ledger
from terrazzo.sim.scenarios.seamless.latency import OWN_S, STRANGER_S, Latency
from terrazzo.sim.scenarios.seamless.shape import small
from terrazzo.wire.entity.limits import ChannelLimits
from tests.sim.mutation_table import hints, order_of

STRANGERS = ["called", "heard_of", "greeted"]
OWN = ["note", "noted"]


class Everybody:
    """Parts that live all the time, or were away for a moment."""

    is_away = False

    def life(self, side: str, entity: int) -> int:
        return 0

    def is_over(self, side: str, entity: int, life: int) -> bool:
        return False

    def was_away(self, side: str, entity: int, since: float) -> bool:
        return self.is_away


class Desk:
    """A ledger of a world that is swift, or not."""

    def __init__(self, *, is_swift: bool) -> None:
        self.now = 5.0
        self.lives = Everybody()
        shape = replace(small(Random(1)), is_swift=is_swift)
        self.calls = Ledger(lambda: self.now, self.lives, Latency(lambda: self.now, shape).most_s)

    def is_late(self, method: str, source: int, target: int, waited_s: float) -> bool:
        number = self.calls.make(method, source, target)
        self.now += waited_s
        broken = self.calls.hear(method, source, target, number)
        assert broken is None or "in peace" in broken.what
        return broken is not None


def test_bound_is_the_resend_timer_of_the_channel():
    assert ChannelLimits().resend_s == STRANGER_S
    assert OWN_S < STRANGER_S


@pytest.mark.parametrize("method", STRANGERS)
def test_call_to_a_stranger_is_late_when_it_could_have_been_sent_again(method):
    desk = Desk(is_swift=True)
    assert not desk.is_late(method, 1, 2, STRANGER_S - 0.01)
    assert desk.is_late(method, 1, 2, STRANGER_S + 0.01)


@pytest.mark.parametrize("method", OWN)
def test_call_to_the_own_part_is_late_after_a_few_ticks(method):
    desk = Desk(is_swift=True)
    assert not desk.is_late(method, 1, 1, OWN_S - 0.01)
    assert desk.is_late(method, 1, 1, OWN_S + 0.01)


def test_call_is_not_late_where_ways_are_long_or_its_callee_was_away():
    assert not Desk(is_swift=False).is_late("called", 1, 2, 30.0)
    desk = Desk(is_swift=True)
    desk.lives.is_away = True
    assert not desk.is_late("called", 1, 2, 30.0)


@pytest.mark.judges
@pytest.mark.parametrize("name", LATENCY_MUTATIONS)
def test_mutation_is_caught_by_the_time_of_a_call_and_by_nothing_else(name, monkeypatch):
    order = order_of(name, *hints()[name])
    monkeypatch.setattr(Latency, "most_s", lambda self, way, source, target: inf)
    assert run(order).failure is None
