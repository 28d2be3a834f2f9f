"""The makers scenario: it holds, and it does what it is there to judge."""

from __future__ import annotations

import pytest

from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.makers import Makers
from terrazzo.sim.world import FaultLevel, World


@pytest.mark.parametrize("level", FaultLevel)
def test_creations_and_names_hold_in_a_few_worlds(level):
    for seed in range(3):
        outcome = run(Order("makers", seed, level))
        assert outcome.failure is None, f"seed {seed}: {outcome.failure}"


def test_makers_make_things_and_race_for_names():
    world = World(3)
    makers = build_scenario("makers", world, None)
    assert isinstance(makers, Makers)
    world.clock.run_until(30.0)
    assert {"made", "name granted", "name taken", "looked up"} <= makers.judge.counts.keys()
