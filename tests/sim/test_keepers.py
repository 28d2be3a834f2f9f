"""The keepers scenario: it holds, and it does what it is there to judge."""

from __future__ import annotations

import pytest

from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.keepers import Keepers
from terrazzo.sim.world import FaultLevel, World


@pytest.mark.parametrize("level", FaultLevel)
def test_loads_and_deletions_hold_in_a_few_worlds(level):
    for seed in range(3):
        outcome = run(Order("keepers", seed, level))
        assert outcome.failure is None, f"seed {seed}: {outcome.failure}"


def test_keepers_load_save_and_delete():
    world = World(3)
    keepers = build_scenario("keepers", world, None)
    assert isinstance(keepers, Keepers)
    world.clock.run_until(40.0)
    assert {"loaded", "saved", "deleted", "missed"} <= keepers.judge.counts.keys()
