"""The fight scenario: the promises hold, blows are torn apart by moves, every mutation is caught."""

from __future__ import annotations

import pytest

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.fight.scenario import Fight
from terrazzo.sim.world import FaultLevel, World

SEEDS_MAX = 30


@pytest.mark.parametrize(("level", "seeds"), [(FaultLevel.NONE, 1), (FaultLevel.HARSH, 3)])
def test_the_promises_hold(level, seeds):
    for seed in range(seeds):
        outcome = run(Order("fight", seed, level))
        assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


def test_there_is_a_fight_to_judge():
    """A world without an entity that moves in mid-blow proves nothing."""
    world = World(3, FaultLevel.NONE)
    fight = build_scenario("fight", world, None)
    assert isinstance(fight, Fight)
    world.clock.run_until(fight.duration_s)
    fight.quiesce()
    while fight.unrest() is not None:
        world.clock.run_until(world.clock.now + 0.5)
    blows = list(fight.judge.blows.values())
    assert sum(blow.is_counted for blow in blows) > 20
    assert any(len(set(blow.homes)) > 1 for blow in blows), "no attacker moved between blow and answer"
    assert any(blow.is_given_up for blow in blows)
    assert fight.judge.asked > 3
    assert fight.judge.learnt > 0, "no question was answered"
