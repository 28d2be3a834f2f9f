"""What the seamless scenario judges of timers, controllers, budgets, rates and clients: each mutation is caught."""

from __future__ import annotations

import os

import pytest

from terrazzo.sim.client_mutations import CLIENT_MUTATIONS
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenarios.seamless import seamless
from terrazzo.sim.timer_mutations import TIMER_MUTATIONS
from terrazzo.sim.world import FaultLevel, World

SEEDS_MAX = 200
HARSH, NONE = FaultLevel.HARSH, FaultLevel.NONE

CAUGHT: dict[str, tuple[str, FaultLevel, int, float | None]] = {
    "repeat-once": ("P1", HARSH, 0, 6.0),
    "repeat-once-moved": ("P1", HARSH, 0, 6.0),
    "restart-period": ("P1", HARSH, 0, 6.0),
    "drift-periods": ("P1", HARSH, 0, 6.0),
    "make-up-periods": ("P1", HARSH, 1, 6.0),
    "keep-former-timer": ("P1", HARSH, 0, 6.0),
    "bring-back-cancelled": ("P1", HARSH, 1, 6.0),
    "lose-chosen-timers": ("P1", HARSH, 0, 6.0),
    "arrive-again": ("P1", HARSH, 12, None),
    "arrive-for-former": ("P1", HARSH, 2, 6.0),
    "forget-deficit": ("P4", NONE, 21, 10.0),
    "forgive-debts": ("P4", NONE, 21, 10.0),
    "count-budget-twice": ("P4", NONE, 21, 10.0),
    "save-without-end": ("P4", NONE, 21, 10.0),
    "ignore-rates": ("P7", HARSH, 1, 6.0),
    "halve-rates": ("P7", HARSH, 1, 6.0),
    "forget-rates": ("P7", HARSH, 1, 6.0),
    "expose-to-all": ("P7", HARSH, 1, 6.0),
    "expose-unlisted": ("P7", HARSH, 1, 6.0),
    "keep-witness": ("P4", NONE, 7, None),
    "go-on-with-story": ("P4", NONE, 2, None),
    "show-no-player": ("P4", NONE, 0, None),
    "tell-no-detaching": ("P4", NONE, 2, None),
    "send-no-detaching": ("P4", NONE, 7, None),
    "tell-of-no-loss": ("liveness", NONE, 0, None),
}
"""The promise that each mutation breaks, the faults, and a seed and a length that find it out. Whole runs of others
are tried when the world has changed since."""

SHAPED = ("reuse-witness-number",)
"""What is too rare in drawn worlds: `test_shaped_clients.py`."""


@pytest.mark.skipif(os.environ.get("TERRAZZO_PURE") == "1", reason="this tests the judges, not the kernels")
@pytest.mark.parametrize("name", CAUGHT)
def test_mutation_breaks_its_promise(name):
    promise, level, hint, hinted_s = CAUGHT[name]
    for seed, duration_s in ((hint, hinted_s), *((seed, None) for seed in range(SEEDS_MAX))):
        failure = run(Order("seamless", seed, level, duration_s, name)).failure
        if failure is not None and failure.promise == promise:
            sound = run(Order("seamless", seed, level, duration_s)).failure
            assert sound is None, f"the world itself is broken: {sound}"
            return
    pytest.fail(f"{name} went through {SEEDS_MAX} seeds")


def test_every_mutation_of_these_modules_is_in_the_table():
    assert {*CAUGHT, *SHAPED} == TIMER_MUTATIONS.keys() | CLIENT_MUTATIONS.keys()


def test_what_is_judged_happens():
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
