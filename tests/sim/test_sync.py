"""The sync scenario: properties travel as their flags, levels and manners say, in worlds of drawn schemas; and its judge
sees what is broken."""

from __future__ import annotations

import pytest

from terrazzo.schema.flags import Flags
from terrazzo.schema.types import RecordType, SequenceType
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.sync import Sync
from terrazzo.sim.scenarios.sync_game import Cast
from terrazzo.sim.scenarios.sync_types import TypeMaker
from terrazzo.sim.sync_mutations import SYNC_MUTATIONS
from terrazzo.sim.world import FaultLevel, World

SEEDS = 3


@pytest.mark.parametrize("level", [FaultLevel.NONE, FaultLevel.HARSH], ids=lambda each: each.value)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_promise_holds(seed: int, level: FaultLevel):
    outcome = run(Order("sync", seed, level))
    assert outcome.failure is None, outcome.failure


def test_a_run_repeats_exactly():
    order = Order("sync", 4, FaultLevel.HARSH, duration_s=6.0)
    assert run(order) == run(order)


def test_the_worlds_have_what_they_are_to_judge():
    """Changes are made and heard, entities migrate, and clients come and go."""
    world = World(1, FaultLevel.HARSH)
    scenario = build_scenario("sync", world, None)
    assert isinstance(scenario, Sync)
    world.clock.run_until(scenario.duration_s)
    assert scenario.judge.edits > 100
    assert scenario.truth.offloads > 5
    assert sum(each.heard + each._view.heard for each in scenario.players) > 100


def test_schemas_are_drawn_from_all_there_is():
    properties = [
        prop
        for seed in range(30)
        for declared in Cast(World(seed), build_sync(seed).shape).schema.by_id.values()
        for prop in declared.properties
    ]
    assert {prop.flags for prop in properties} == {*Flags} - {Flags.EDITOR_ONLY}
    assert {prop.detail_level for prop in properties} == {None, "near", "middle"}
    assert any(prop.send_latest_only for prop in properties)
    assert any(not prop.is_reliable for prop in properties)
    arrays = [prop.type for prop in properties if isinstance(prop.type, SequenceType)]
    records = [each.of for each in arrays if isinstance(each.of, RecordType)]
    assert any(isinstance(inner.type, SequenceType) for record in records for inner in record.fields)
    assert any(inner.to is not None for record in records for inner in record.fields)


def build_sync(seed: int) -> Sync:
    scenario = build_scenario("sync", World(seed), None)
    assert isinstance(scenario, Sync)
    return scenario


CAUGHT_WITHIN = 12


@pytest.mark.parametrize("mutation", SYNC_MUTATIONS)
def test_the_judge_sees_what_is_broken(mutation: str):
    """Each of them within a few seeds; in peace as well as under faults."""
    for seed in range(CAUGHT_WITHIN):
        level = (FaultLevel.NONE, FaultLevel.HARSH)[seed % 2]
        if run(Order("sync", seed, level, mutation=mutation)).failure is not None:
            return
    pytest.fail(f"nobody noticed {mutation}")
