"""Loads and deletes stored entities, for the code of a base or cell part. `db/loads.py` has the rules.

    load ──LoadStored──▶ BaseAppMgr ──▶ DBApp, again and again until it answers ──▶ a Ref of the one base of the entity

Each question may be asked twice: a load that was done already finds the base that it made, and a deletion finds nothing
any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.cluster.app import Host
from terrazzo.errors import CallFailed, CallTimeout, StoredFailed, UsageError
from terrazzo.schema.arguments import whole
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.saved_layout import is_saved
from terrazzo.sync.asking import Asker
from terrazzo.sync.awaiting import Awaiting, Wait
from terrazzo.wire.ids import PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.stored import DeleteStored, LoadStored, StoredDeleted, StoredLoaded, StoredRefused

STORED_S = 20.0
"""How long a load or a deletion may take, unless the game sets another time."""
DBID_MAX = 2**63 - 1


def saved_type(schema: EntitySchema, method: str) -> EntitySchema:
    """The type, if there can be stored entities of it."""
    if not is_saved(schema):
        raise UsageError(f"{method}: {schema.name} is never saved, so none of it is stored")
    return schema


def given_dbid(dbid: object, method: str) -> int:
    """A dbid that the game gave."""
    return whole(dbid, f"{method}: dbid", least=1, most=DBID_MAX)


class StoredEntities:
    """What one app asks of the store for its game."""

    def __init__(self, host: Host, awaiting: Awaiting, asker: Asker) -> None:
        self._host = host
        self._awaiting = awaiting
        self._asker = asker

    def load(self, part: PartId, schema: EntitySchema, dbid: int, timeout_s: float) -> Wait:
        """Gives the Ref of the base of a stored entity."""
        wait = self._awaiting.promise(part, f"load of {schema.name} {dbid}", timeout_s)

        def value_of(answer: Message) -> Ref:
            assert isinstance(answer, StoredLoaded)
            return Ref(answer.entity, Component.BASE, schema.type_id)

        return self._ask(wait, LoadStored(schema.type_id, dbid), timeout_s, StoredLoaded, value_of)

    def delete(self, part: PartId, schema: EntitySchema, dbid: int, timeout_s: float) -> Wait:
        """Ends when no such entity is stored any more."""
        wait = self._awaiting.promise(part, f"deletion of {schema.name} {dbid}", timeout_s)
        return self._ask(wait, DeleteStored(schema.type_id, dbid), timeout_s, StoredDeleted, lambda answer: None)

    def _ask(
        self, wait: Wait, message: Message, timeout_s: float, kind: type[Message], value_of: Callable[[Message], Any]
    ) -> Wait:
        def then(answer: Message) -> None:
            if isinstance(answer, kind):
                self._awaiting.keep(wait, value_of(answer))
            elif isinstance(answer, StoredRefused):
                self._fail(wait, StoredFailed(f"{wait}: {answer.why}"))
            else:
                self._fail(wait, StoredFailed(f"{wait}: the DBApp answered {type(answer).__name__}"))

        def refused(why: str, is_certain: bool) -> None:
            self._fail(wait, CallTimeout(f"{wait}: not done in time: {why}"))

        self._asker.ask(message, timeout_s, then, refused, is_patient=True)
        return wait

    def _fail(self, wait: Wait, problem: CallFailed) -> None:
        if not self._awaiting.keep(wait, None, problem):
            self._host.log(LogEvent.STORED_FAILED, what=str(wait), why=str(problem))
