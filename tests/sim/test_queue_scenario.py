"""The queue scenario: turns are fair, and visitors wait, are cut off and get in."""

from __future__ import annotations

import pytest

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.queue import Queue
from terrazzo.sim.world import FaultLevel, World


@pytest.mark.parametrize(("level", "seeds"), [(FaultLevel.NONE, 2), (FaultLevel.HARSH, 4)])
def test_the_promises_hold(level, seeds):
    for seed in range(seeds):
        outcome = run(Order("queue", seed, level))
        assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


def test_visitors_wait_and_get_in():
    world = World(1, FaultLevel.HARSH)
    queue = build_scenario("queue", world, None)
    assert isinstance(queue, Queue)
    world.clock.run_until(queue.duration_s)
    assert sum(visitor.waits for visitor in queue.visitors) > 5
