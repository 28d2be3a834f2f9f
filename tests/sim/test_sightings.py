"""The judge of how late an entity appears: each mutation that shows entities late is caught by it, by name."""

from __future__ import annotations

import pytest

from terrazzo.sim.scenarios.seamless import seamless
from terrazzo.sim.world import FaultLevel, World


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
