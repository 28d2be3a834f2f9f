"""What the seamless scenario judges of timers, controllers, budgets, rates and clients: each mutation is caught."""

from __future__ import annotations

from terrazzo.sim.scenarios.seamless.scenario import seamless
from terrazzo.sim.world import FaultLevel, World

SEEDS_MAX = 200
HARSH, NONE = FaultLevel.HARSH, FaultLevel.NONE


def test_judged_events_happen():
    """A world in which it does not happen proves nothing."""
    counts: dict[str, int] = {}
    for seed in (1, 2, 3):
        world = World(seed)
        scenario = seamless(world, None)
        judge = scenario.judge
        judge.timers.often, judge.rates.often, judge.rates.forges = 0.4, 0.1, 0.05
        judge.clients.keeps = 1.0
        world.clock.run_until(scenario.duration_s)
        for each in (judge.timers, judge.budgets, judge.rates, judge.clients):
            for what, count in each.counts.items():
                counts[what] = counts.get(what, 0) + count
    assert counts.keys() >= {"set", "set again", "cancelled", "fired", "repeated"}
    assert counts.keys() >= {"told", "passed", "refused", "forged"}
    assert counts.keys() >= {"kept", "taken", "attached", "detached"}
