"""The judge of how late an entity appears: each mutation that shows entities late is caught by it, by name."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from terrazzo.sim.oracle import Broken
from terrazzo.sim.scenarios.seamless.client_view import is_within, timed
from terrazzo.sim.scenarios.seamless.entity_story import Stay
from terrazzo.sim.scenarios.seamless.scenario import Seamless, seamless
from terrazzo.sim.scenarios.seamless.shape import small
from terrazzo.sim.sight_mutations import SHAPED
from terrazzo.sim.world import FaultLevel, World


def still(seed: int, mutation: str | None) -> Seamless:
    """A world in which nothing moves, and everything is near everything else, with borders between: four cells in 18 m
    of ground, and areas of 26 m. The game does nothing, so that there is no excuse."""
    world = World(seed, FaultLevel.NONE)
    shape = replace(
        small(world.rng("still")),
        reaches={"space-1": 9.0},
        area_radius_m=26.0,
        ghost_m=26.0,
        pulse_s=30.0,
        is_swift=True,
    )
    scenario = Seamless(world, shape, mutation)
    scenario.judge.is_working = False
    world.clock.run_until(9.0)
    return scenario


@pytest.mark.judges
@pytest.mark.parametrize("name", SHAPED)
def test_mutation_that_hides_entities_of_other_cells_is_caught_where_nothing_moves(name):
    assert still(0, None).sightings.judged > 10
    with pytest.raises(Broken, match="does not see entity"):
        still(0, name)


def test_two_that_walk_together_are_near_each_other_all_the_time():
    """One after the other at the same places: never more than 2 m from each other, though both have gone 40 m."""
    walk = [Stay(0.1 * number, 1, (2.0 * number, 0.0, 0.0)) for number in range(21)]
    for lag_s, most in ((0.0, 2.0), (0.1, 4.0), (inf, 40.0)):
        pairs = [
            abs(a.position[0] - b.position[0])
            for a, a_until in timed(walk)
            for b, b_until in timed(walk)
            if is_within(a, a_until, b, b_until, lag_s)
        ]
        assert max(pairs) == pytest.approx(most)


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
