"""The parties scenario: it holds, and it does what it is there to judge."""

from __future__ import annotations

import pytest

from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.parties.scenario import Parties
from terrazzo.sim.world import FaultLevel, World


@pytest.mark.parametrize("level", FaultLevel)
def test_instances_hold_in_a_few_worlds(level):
    for seed in range(3):
        outcome = run(Order("parties", seed, level))
        assert outcome.failure is None, f"seed {seed}: {outcome.failure}"


def test_parties_make_enter_and_end_instances():
    world = World(3)
    parties = build_scenario("parties", world, None)
    assert isinstance(parties, Parties)
    world.clock.run_until(25.0)
    wanted = {"made", "arrived", "refused", "ended", "destroyed with its space", "ground: add"}
    assert wanted <= parties.judge.counts.keys()
