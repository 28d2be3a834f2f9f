"""The hooks of migration come in pairs: from their order alone, the game has the state of each entity in each cell.

    nothing ──on_ghost_created──▶ a copy ──on_ghost_destroyed──▶ nothing
    nothing ──on_created──▶ the entity
    nothing ──on_entering_cell──▶ coming ──on_entered_cell──▶ the entity
    the entity ──on_leaving_cell──▶ leaving ──on_left_cell──▶ left ──on_ghost_created──▶ a copy

A destroyed entity gets no hook; with a later life the state of the former one is dropped. At rest a cell has exactly
the copies and entities that follow from its hooks (P3).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.body import Body
from terrazzo.sim.oracle import Broken
from terrazzo.wire.ids import AppId, life_of


class HookState(Enum):
    """The state of an entity in a cell, as it follows from the hooks."""

    NOTHING = "nothing"
    COPY = "a copy"
    COMING = "what is about to be the entity"
    REAL = "the entity"
    LEAVING = "the entity, about to leave"
    LEFT = "what the entity has just left"


IS_REAL = (HookState.REAL, HookState.LEAVING)
NEXT: dict[str, dict[HookState, HookState]] = {
    "on_created": {HookState.NOTHING: HookState.REAL},
    "on_entering_cell": {HookState.NOTHING: HookState.COMING},
    "on_entered_cell": {HookState.COMING: HookState.REAL},
    "on_leaving_cell": {HookState.REAL: HookState.LEAVING, HookState.LEAVING: HookState.LEAVING},  # it had stayed
    "on_left_cell": {HookState.LEAVING: HookState.LEFT},
    "on_ghost_created": {HookState.NOTHING: HookState.COPY, HookState.LEFT: HookState.COPY},
    "on_ghost_destroyed": {HookState.COPY: HookState.NOTHING},
}


class MigrationHooks:
    """The states of all entities, as they follow from the hooks so far."""

    def __init__(self) -> None:
        self._states: dict[tuple[AppId, int], tuple[HookState, int]] = {}
        """By cell and entity: the state, and the life."""

    def run(self, hook: str, body: Body) -> Broken | None:
        """A hook runs on a body; returns what is wrong with that."""
        key, life = (body.core.me, body.id), life_of(body.number)
        state, of = self._states.get(key, (HookState.NOTHING, life))
        if state in IS_REAL and of < life:
            state = HookState.NOTHING
        following = NEXT[hook].get(state)
        if following is None:
            return Broken("P3", f"{hook} of entity {body.id} on {body.core.me}, which had {state.value}", body.id)
        self._states[key] = (following, life)
        return None

    def is_leaving(self, body: Body) -> bool:
        """Whether on_leaving_cell has run on an entity in this cell."""
        return self._states.get((body.core.me, body.id), (HookState.NOTHING, 0))[0] is HookState.LEAVING

    def unrest(self, apps: Iterable[CellApp]) -> tuple[str, int] | None:
        """A cell with other contents than follow from its hooks."""
        for app in apps:
            states = {entity: state for (me, entity), (state, _) in self._states.items() if me == app.me}
            for entity in sorted(states.keys() | app.bodies.keys()):
                state, body = states.get(entity, HookState.NOTHING), app.bodies.get(entity)
                if body is None:
                    is_so = state is not HookState.COPY  # a destroyed entity gets no hook
                else:
                    is_so = state in IS_REAL if body.real is not None else state is HookState.COPY
                if not is_so:
                    what = "nothing" if body is None else "a copy" if body.real is None else "the entity"
                    return f"{app.me} has {what} of entity {entity}, and its hooks have left {state.value}", entity
        return None
