"""The judge of how late an entity appears: each mutation that shows entities late is caught by it, by name."""

from __future__ import annotations

import pytest

from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenarios.seamless import seamless
from terrazzo.sim.sight_mutations import SIGHT_MUTATIONS
from terrazzo.sim.world import FaultLevel, World

SEEDS_MAX = 60


@pytest.mark.parametrize("name", SIGHT_MUTATIONS)
def test_mutation_that_shows_entities_late_is_caught_by_the_judge_of_sight(name):
    for seed in range(SEEDS_MAX):
        failure = run(Order("seamless", seed, FaultLevel.NONE, mutation=name)).failure
        if failure is not None and "does not see entity" in failure.what:
            return
    pytest.fail(f"{name} was not caught within {SEEDS_MAX} seeds")


def test_bound_is_five_seconds_where_ways_are_short_and_ghosts_are_made_at_once():
    """Of the timers of the protocol, and 40 ms for the turns of some hundred ghosts at most."""
    worlds = (seamless(World(seed, FaultLevel.NONE), None) for seed in range(20))
    scenario = next(each for each in worlds if each.shape.is_swift)
    assert scenario.sightings.late_s() == pytest.approx(5.0)


def test_views_are_judged_in_peaceful_worlds():
    judged = 0
    for seed in range(4):
        world = World(seed, FaultLevel.NONE)
        scenario = seamless(world, None)
        world.clock.run_until(8.0)
        judged += scenario.sightings.judged
    assert judged > 10
