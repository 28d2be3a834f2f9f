"""The checks at rest, after the workload has ended: areas and triggers have the right contents (`once.py` records the
hooks that ran for them), and bases have the state of their cell parts.
"""

from __future__ import annotations

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.cell.core.real import Real
from terrazzo.sim.scenarios.seamless.client_view import inside
from terrazzo.sim.scenarios.seamless.game import TRIGGER_M
from terrazzo.sim.scenarios.seamless.judge import Judge
from terrazzo.sim.scenarios.seamless.once import Area
from terrazzo.sim.scenarios.seamless.reals_and_ghosts import NEAR_M, Truth


def unrest_of_bases(judge: Judge, apps: list[BaseApp], truth: Truth) -> tuple[str, int] | None:
    """A base that does not have the place of its cell part, or has one of a cell part that does not exist."""
    for app in apps:
        for entity, base in app.bases.items():
            real, state = truth.real_of(entity), base.cell.state
            if entity in judge.bases_over:
                return f"base {entity} is over, and is still there", entity
            if state not in (CellPartState.NONE, CellPartState.THERE):
                return f"base {entity} waits for its cell part, which is {state.value}", entity
            if (real is not None) != (state is CellPartState.THERE):
                return f"base {entity} thinks that its cell part is {state.value}", entity
            is_elsewhere = real is not None and base.cell.where != real.body.core.me
            if is_elsewhere and judge.shape.is_peaceful:  # with faults, forwarding from its former place is enough
                return f"base {entity} thinks that its cell part is on {base.cell.where}", entity
    return None


def unrest(judge: Judge, reals: list[Real]) -> tuple[str, int] | None:
    """An area or trigger with contents that differ from the hooks that ran."""
    by_id: dict[int, Real] = {real.body.id: real for real in reals}
    misplaced = judge.riding_and_visibility.unrest(reals)
    if misplaced is not None:
        return misplaced
    for entity, number in judge.triggers.items():
        if entity in by_id:
            problem = _trigger(judge, by_id[entity], number, TRIGGER_M, 0.0, reals)
            if problem is not None:
                return problem, entity
    for real in reals:
        if real.witness is not None:
            radius = judge.radii.get(real.body.id, judge.shape.area_radius_m)
            shown = [other for other in reals if other.body.kind.schema.on_client]
            hysteresis = real.body.core.game.policy.area_hysteresis_m
            if (real.witness.radius, real.witness.hysteresis) != (radius, hysteresis):
                return f"entity {real.body.id} sees as far as {real.witness.radius} m, not {radius}", real.body.id
            problem = _trigger(judge, real, 0, radius, hysteresis, shown)
            if problem is not None:
                return problem, real.body.id
    return None


def _trigger(judge: Judge, real: Real, number: int, radius: float, hysteresis: float, reals: list[Real]) -> str | None:
    body = real.body
    others = [other for other in reals if other is not real and other.body.space.id == body.space.id]
    told = judge.once.inside.get(Area(body.id, judge.life("cell", body.id), number), set())
    there = {other.body.id for other in others}
    added = judge.riding_and_visibility.added(body.id).keys() & there if number == 0 else set()
    must = inside(real, others, radius) | added
    may = inside(real, others, radius + hysteresis + 2 * NEAR_M) | added
    if must - told:
        return f"area {number} of entity {body.id} has no report of {sorted(must - told)}"
    if told - may:
        return f"area {number} of entity {body.id} has no report that {sorted(told - may)} left"
    return None
