"""The logins scenario: every player can log in again at rest, and every mutation is caught."""

from __future__ import annotations

import pytest

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.logins import Logins
from terrazzo.sim.world import FaultLevel, World

SEEDS = range(26, 86)


@pytest.mark.parametrize(("level", "seeds"), [(FaultLevel.NONE, 2), (FaultLevel.HARSH, 8)])
def test_the_promises_hold(level, seeds):
    for seed in range(seeds):
        outcome = run(Order("logins", seed, level))
        assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


def test_players_come_often_vanish_and_take_themselves_over():
    world = World(5, FaultLevel.HARSH)
    logins = build_scenario("logins", world, None)
    assert isinstance(logins, Logins)
    world.clock.run_until(logins.duration_s)
    assert sum(player.visits for player in logins.players) > 20
    assert any(player.confirmed > 0 for player in logins.players)
