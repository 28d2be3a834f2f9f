"""The seamless scenario: the promises hold in whole clusters, runs repeat, and every mutation is caught by name."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from terrazzo.db.memory import MemoryDatabase
from terrazzo.errors import UsageError
from terrazzo.sim.mutations import mutation_of
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.seamless.scenario import seamless
from terrazzo.sim.trace import Keep
from terrazzo.sim.world import FaultLevel, World

SEEDS_MAX = 60
SHORT_S = 8.0


@pytest.mark.parametrize("seed", range(4))
def test_the_promises_hold_under_harsh_faults(seed):
    outcome = run(Order("seamless", seed, FaultLevel.HARSH))
    assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


@pytest.mark.parametrize("name", ["seamless", "skeleton"])
def test_the_promises_hold_in_peace(name):
    for seed in range(3):
        outcome = run(Order(name, seed, FaultLevel.NONE))
        assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


def test_the_world_is_as_busy_as_it_should_be():
    """What the promises are judged by must have happened: a quiet world keeps them all."""
    heard: set[str] = set()
    happened: set[str] = set()
    ground: set[str] = set()
    refused: set[str] = set()
    offloads = reported = lives = 0
    for seed in range(4):
        world = World(seed)
        scenario = seamless(world, None)
        world.clock.run_until(SHORT_S)
        heard |= scenario.judge.calls.heard.keys()
        happened |= scenario.judge.once.counts.keys()
        ground |= scenario.ground.changes.keys()
        refused |= {each for app in scenario.cluster.cell_apps for each in app.counts}
        offloads += scenario.truth.offloads
        reported += scenario.judge.calls.reported
        lives = max(lives, *(len(stories) for stories in scenario.judge.stories.values()))
    assert heard == {"client to cell", "client to base", "cell to base", "base to cell", "cell to cell", "base to base"}
    assert happened >= {"timers", "reached", "turned", "cancelled", "arrived", "areas entered", "areas left"}
    assert happened >= {"triggers entered", "triggers left"}
    assert ground == {"add", "retire", "move"}
    assert refused >= {"move too fast", "move out of bounds"}
    assert offloads > 50
    assert reported > 0
    assert lives >= 2


def test_entities_ride_and_are_hidden_and_shown():
    """Where they may, they ride and lose what they ride on, hide others and show them."""
    world = World(2)
    scenario = seamless(world, None)
    choices = scenario.judge.riding_and_visibility
    choices.hide, choices.show, choices.ride = 0.3, 0.3, 0.1
    world.clock.run_until(scenario.duration_s)
    assert choices.counts.keys() >= {"withheld", "shown", "added", "removed", "left"}
    assert choices.counts.keys() >= {"boarded", "alighted", "vehicles lost", "carried off"}


def test_the_same_seed_gives_the_same_trace_in_another_process():
    script = (
        "import terrazzo.sim.scenarios\n"
        "from terrazzo.sim.runner import Order, run\n"
        "from terrazzo.sim.trace import Keep\n"
        f"print(run(Order('seamless', 2, duration_s={SHORT_S}), Keep.HASH).digest)\n"
    )
    others = [
        subprocess.Popen(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE, text=True,
        )
        for hash_seed in ("1", "2")
    ]  # fmt: skip
    digests = {run(Order("seamless", 2, duration_s=SHORT_S), Keep.ALL).digest}
    for other in others:
        told, _ = other.communicate()
        assert other.returncode == 0
        digests.add(told.strip())
    assert len(digests) == 1
    assert run(Order("seamless", 3, duration_s=SHORT_S), Keep.HASH).digest not in digests


@pytest.mark.judges
def test_saved_records_are_compared_at_the_next_login(monkeypatch):
    monkeypatch.setattr(MemoryDatabase, "_save_entity", lambda self, save: save.dbid)
    failures = (run(Order("skeleton", seed, FaultLevel.NONE)).failure for seed in range(SEEDS_MAX))
    assert next(failure.promise for failure in failures if failure is not None) == "P5"


def test_each_scenario_has_its_own_mutations():
    with pytest.raises(UsageError, match="for the seamless scenario"):
        mutation_of("deliver-twice", "seamless")
    with pytest.raises(UsageError, match="for the channel scenario"):
        mutation_of("forget-timers", "channel")
    with pytest.raises(UsageError, match="--faults none"):
        build_scenario("skeleton", World(1, FaultLevel.MILD), None)
