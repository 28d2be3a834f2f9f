"""What the code of a base asks for: new entities, somewhere or near another entity.

    create ──▶ near another one: WhereAreYou ──▶ its cell part ──▶ IAmHere     (else: the place that was given, or none)
           ──▶ `sync/creating.py` ──▶ the promise is kept with a Ref, or ends with CreationFailed

Without an `async def` that waits, a failure is logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from terrazzo.base.alarms import Alarms
from terrazzo.cluster.app import Host
from terrazzo.schema.model import EntitySchema
from terrazzo.sync.awaiting import Awaiting, Wait
from terrazzo.sync.creating import Creator, keep_promise
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY
from terrazzo.wire.pairs.base_cell import IAmHere, Position, WhereAreYou
from terrazzo.wire.pairs.creation import CreateEntity

NEAR_S = 10.0
"""How long the place of another entity is waited for."""


@dataclass
class _Creation:
    """One `create` of a base."""

    by: str
    wait: Wait
    schema: EntitySchema
    wanted: CreateEntity
    is_here: bool


class Making:
    """The creations that the bases of one BaseApp have asked for."""

    def __init__(
        self, host: Host, alarms: Alarms, awaiting: Awaiting, switchboard: Switchboard, creator: Creator
    ) -> None:
        self._host = host
        self._alarms = alarms
        self._awaiting = awaiting
        self._switchboard = switchboard
        self._creator = creator
        self._near: dict[int, tuple[PartId, _Creation]] = {}
        """Those that wait for the place of another entity, by the number of the question."""
        self._asked = 0

    def create(
        self,
        base: PartId,
        by: str,
        schema: EntitySchema,
        wanted: CreateEntity,
        *,
        near: EntityId | None,
        is_here: bool,
        timeout_s: float,
    ) -> Wait:
        """A base creates an entity; `by` is its name in reports. With `near`, the position of `wanted` is relative to
        that entity."""
        wait = self._awaiting.promise(base, f"creation of a {schema.name}", timeout_s)
        creation = _Creation(by, wait, schema, wanted, is_here)
        if near is None:
            self._begin(creation)
        else:
            self._asked += 1
            self._near[self._asked] = (base, creation)
            question = REGISTRY.encode(WhereAreYou(self._asked))
            self._switchboard.send(base, PartId(near, Part.CELL), question)
            self._alarms.after(NEAR_S, partial(self.on_nowhere, self._asked, "it did not answer in time"))
        return wait

    def on_here(self, message: IAmHere) -> bool:
        """An entity sends its place; False when it was not asked for."""
        asked = self._near.get(message.question)
        if asked is None:
            return False
        del self._near[message.question]
        creation = asked[1]
        x, y, z = (mine + off for mine, off in zip(message.position, creation.wanted.position, strict=True))
        creation.wanted = _at(creation.wanted, message.space, (x, y, z))
        self._begin(creation)
        return True

    def on_nowhere(self, question: int, why: str) -> None:
        """The place of the other entity cannot be had."""
        asked = self._near.pop(question, None)
        if asked is not None:
            self._end(asked[1], 0, f"the place of the entity near which it was to be is unknown: {why}")

    def _begin(self, creation: _Creation) -> None:
        self._creator.create(creation.wanted, partial(self._end, creation), is_here=creation.is_here)

    def _end(self, creation: _Creation, entity: int, why: str) -> None:
        if not keep_promise(self._awaiting, creation.wait, creation.schema, entity, why):
            self._host.log(LogEvent.CREATION_FAILED, entity=creation.by, type=creation.schema.name, why=why)


def _at(wanted: CreateEntity, space: str, position: Position) -> CreateEntity:
    return CreateEntity(wanted.number, wanted.type_id, wanted.base, wanted.cell, space, position, wanted.direction)
