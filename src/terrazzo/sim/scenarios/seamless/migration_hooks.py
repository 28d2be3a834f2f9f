"""The hooks of migration come in pairs: by their order alone, the game has the state of each entity in each cell.

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


class Told(Enum):
    """What a cell has of an entity."""

    NOTHING = "nothing"
    COPY = "a copy"
    COMING = "what is about to be the entity"
    REAL = "the entity"
    LEAVING = "the entity, about to leave"
    LEFT = "what the entity has just left"


IS_REAL = (Told.REAL, Told.LEAVING)
NEXT: dict[str, dict[Told, Told]] = {
    "on_created": {Told.NOTHING: Told.REAL},
    "on_entering_cell": {Told.NOTHING: Told.COMING},
    "on_entered_cell": {Told.COMING: Told.REAL},
    "on_leaving_cell": {Told.REAL: Told.LEAVING, Told.LEAVING: Told.LEAVING},  # again: it stayed, after all
    "on_left_cell": {Told.LEAVING: Told.LEFT},
    "on_ghost_created": {Told.NOTHING: Told.COPY, Told.LEFT: Told.COPY},
    "on_ghost_destroyed": {Told.COPY: Told.NOTHING},
}


class MigrationHooks:
    """What the hooks have told so far."""

    def __init__(self) -> None:
        self._told: dict[tuple[AppId, int], tuple[Told, int]] = {}
        """By cell and entity: what, and of which life."""

    def hear(self, hook: str, body: Body) -> Broken | None:
        """A hook runs on a body; what is wrong with that."""
        key, life = (body.core.me, body.id), life_of(body.number)
        told, of = self._told.get(key, (Told.NOTHING, life))
        if told in IS_REAL and of < life:
            told = Told.NOTHING
        following = NEXT[hook].get(told)
        if following is None:
            return Broken("P3", f"{hook} of entity {body.id} on {body.core.me}, which had {told.value}", body.id)
        self._told[key] = (following, life)
        return None

    def is_leaving(self, body: Body) -> bool:
        """Whether an entity has been told that it is about to leave this cell."""
        return self._told.get((body.core.me, body.id), (Told.NOTHING, 0))[0] is Told.LEAVING

    def unrest(self, apps: Iterable[CellApp]) -> tuple[str, int] | None:
        """A cell that has something else than its hooks told of."""
        for app in apps:
            heard = {entity: told for (me, entity), (told, _) in self._told.items() if me == app.me}
            for entity in sorted(heard.keys() | app.bodies.keys()):
                told, body = heard.get(entity, Told.NOTHING), app.bodies.get(entity)
                if body is None:
                    is_so = told is not Told.COPY  # of an end of the entity itself the game is told nothing
                else:
                    is_so = told in IS_REAL if body.real is not None else told is Told.COPY
                if not is_so:
                    what = "nothing" if body is None else "a copy" if body.real is None else "the entity"
                    return f"{app.me} has {what} of entity {entity}, and its hooks have told of {told.value}", entity
        return None
