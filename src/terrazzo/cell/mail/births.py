"""Births: entities without a base part, which the code of other entities here makes (`spawn`).

    spawn ──▶ an id of this CellApp's stock, at once ──▶ born in the same tick, before the areas are looked at

They are born between the phases of the tick that run code of the game, never in the middle of one: after the mail, the
clockwork, and the areas. One that is spawned later in a tick, by an entity that leaves, is born in the next tick. So a
client gets a newborn as it gets every other entity, and its first step is closed with those of all reals.

The newborn is a real of this cell, at any place of the space: where that is another cell's ground, it is offloaded by
the next check. No base knows of it: it ends when its code destroys it, or with its CellApp.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.cluster.idstock import IdStock
from terrazzo.errors import UsageError
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.state import State
from terrazzo.wire.ids import NO_BASE, EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Direction, Position

WAITING_MAX = 10_000
"""Births that may wait for the end of a phase."""
ROUNDS_MAX = 8
"""How often newborns may spawn others before the tick goes on; those beyond are born in the next phase."""


class _Birth(NamedTuple):
    entity: EntityId
    space: int
    schema: EntitySchema
    state: State
    position: Position
    direction: Direction


class Births:
    """The births of one CellApp."""

    def __init__(self, core: Core, ids: IdStock) -> None:
        self._core = core
        self._ids = ids
        self._waiting: list[_Birth] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def spawn(self, real: Real, schema: EntitySchema, state: State, position: Position, direction: Direction) -> int:
        """An entity here makes another one; returns its id."""
        if len(self._waiting) >= WAITING_MAX:
            raise UsageError(f"spawn: {WAITING_MAX} entities wait to be born in this tick: make fewer at a time")
        entity = self._ids.take()
        self._waiting.append(_Birth(entity, real.body.space.id, schema, state, position, direction))
        return entity

    def run(self) -> None:
        """Between two phases."""
        for _ in range(ROUNDS_MAX):
            if not self._waiting:
                return
            waiting, self._waiting = self._waiting, []
            for birth in waiting:
                self._bear(birth)

    def _bear(self, birth: _Birth) -> None:
        core, space = self._core, self._core.spaces.get(birth.space)
        kind = core.kinds.get(birth.schema.type_id)
        if space is None or kind is None:
            core.count(LogEvent.CREATION_REFUSED, entity=birth.entity, problem="its space is gone")
            return
        part = PartId(birth.entity, Part.CELL)
        core.switchboard.create(part)
        body = Body(
            core,
            space,
            kind,
            birth.entity,
            base=NO_BASE,
            real_app=core.me,
            epoch=0,
            number=0,
            position=birth.position,
            direction=birth.direction,
            state=birth.state,
        )
        core.add_body(body)
        real = Real(body, 0)
        core.register_real(real)
        core.run(body, "on_created", real.part.on_created)
