"""The sync scenario: properties are sent by their flags, levels and manners, in worlds of drawn schemas.

And its judge sees what is broken.
"""

from __future__ import annotations

import pytest

from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Schema
from terrazzo.schema.types import RecordType, SequenceType
from terrazzo.sim.runner import Order, run
from terrazzo.sim.scenario import build_scenario
from terrazzo.sim.scenarios.sync.game import Cast, SyncJudge
from terrazzo.sim.scenarios.sync.scenario import Sync, shape_of
from terrazzo.sim.world import FaultLevel, World

SEEDS = 2
DURATION_S = 6.0


@pytest.mark.parametrize("level", [FaultLevel.NONE, FaultLevel.HARSH], ids=lambda each: each.value)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_promise_holds(seed: int, level: FaultLevel):
    outcome = run(Order("sync", seed, level, DURATION_S))
    assert outcome.failure is None, outcome.failure


def test_a_run_repeats_exactly():
    order = Order("sync", 4, FaultLevel.HARSH, DURATION_S)
    assert run(order) == run(order)


def test_the_worlds_have_what_they_are_to_judge():
    """Changes are made and received, entities migrate, and clients come and go."""
    world = World(1, FaultLevel.HARSH)
    scenario = build_scenario("sync", world, None)
    assert isinstance(scenario, Sync)
    world.clock.run_until(scenario.duration_s)
    assert isinstance(scenario.judge, SyncJudge)
    assert scenario.judge.edits > 100
    assert scenario.truth.offloads > 5
    assert sum(each.heard + each._view.heard for each in scenario.players) > 100


def test_schemas_are_drawn_from_all_there_is():
    properties = [
        prop for seed in range(12) for declared in schema_of(seed).by_id.values() for prop in declared.properties
    ]
    assert {prop.flags for prop in properties} == {*Flags} - {Flags.EDITOR_ONLY}
    assert {prop.detail_level for prop in properties} == {None, "near", "middle"}
    assert any(prop.send_latest_only for prop in properties)
    assert any(not prop.is_reliable for prop in properties)
    arrays = [prop.type for prop in properties if isinstance(prop.type, SequenceType)]
    records = [each.of for each in arrays if isinstance(each.of, RecordType)]
    assert any(isinstance(inner.type, SequenceType) for record in records for inner in record.fields)
    assert any(inner.to is not None for record in records for inner in record.fields)


def schema_of(seed: int) -> Schema:
    world = World(seed)
    return Cast(world, shape_of(world.rng("sync"), world.level)).schema
