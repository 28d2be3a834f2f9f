"""Stored entities that a game loads or deletes: never two bases of one, and a deletion that was confirmed stays.

    LoadStored ─▶ CHECKING OUT ── claimed ──▶ PLACING ── ProxyPlaced ──▶ RECORDING ──▶ StoredLoaded
                       │                         └── in doubt ─▶ `doubts.py`; refused for the moment
                       ├── another base has it ── AskAlive ──▶ it is there ──▶ StoredLoaded, with that base
                       │                                  └──▶ it ends, or is out of reach: refused for the moment
                       └── there is no such entity ──▶ StoredRefused

    DeleteStored ─▶ deleted, or not there ──▶ StoredDeleted;   it is in the world ── AskAlive ──▶ StoredRefused

The rules:

- *One log-on record.* A load claims the entity with the same record as a log-on does, in one operation with reading it;
  the first save of a new entity creates the record with the entity. The record is cleared when its base has ended and
  was saved. So whichever comes first, a log-on, a load or the life of an entity that the game has created, the others
  find the record.
- *Refused for the moment* means: ask again. The askers do so until their time is over (`sync/stored.py`). Questions for
  an entity that is being loaded are answered together.
- *A deletion finds no record* in the transaction in which it deletes, so it never takes an entity from under its base,
  and a load that comes after it finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from terrazzo.cluster.app import Host
from terrazzo.db.doubts import AGAIN_S
from terrazzo.db.logon import LogOns
from terrazzo.db.store import (
    PLACE_UNKNOWN,
    CheckedOut,
    CheckOut,
    DeleteEntity,
    LogOnRecord,
    PlaceLogOn,
    Store,
)
from terrazzo.schema.model import EntitySchema, Schema
from terrazzo.schema.saved_layout import is_saved
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff
from terrazzo.wire.pairs.db_basemgr import PlaceProxy, ProxyPlaced
from terrazzo.wire.pairs.stored import (
    Alive,
    AskAlive,
    DeleteStored,
    LoadStored,
    StoredDeleted,
    StoredLoaded,
    StoredRefused,
)
from terrazzo.wire.requests import Failure, Question, Requests

LOADS_MAX = 256
"""Loads under way at a time."""
DBID_MAX = 2**63 - 1
ALIVE_S = 3.0
PLACE_S = 9.0
"""A little longer than the BaseAppMgr takes for a placement."""


@dataclass
class _Load:
    schema: EntitySchema
    dbid: int
    questions: list[Question] = field(default_factory=list)
    entity: int = 0
    """The base that is claimed and not placed."""
    is_gone: bool = False
    """Whether that base has ended already."""


class Loads:
    """The loads and deletions of one DBApp."""

    def __init__(self, host: Host, requests: Requests, store: Store, schema: Schema, log_ons: LogOns) -> None:
        self.loaded = 0
        self.deleted = 0
        self._host = host
        self._requests = requests
        self._store = store
        self._schema = schema
        self._log_ons = log_ons
        self._loads: dict[int, _Load] = {}

    def __len__(self) -> int:
        return len(self._loads)

    # What is asked.

    def on_load(self, question: Question, why_not: str) -> None:
        """An app wants the base of an entity; `why_not`: why the store takes nothing at present."""
        asked = question.message
        assert isinstance(asked, LoadStored)
        schema = self._saved_type(question, asked.type_id, asked.dbid)
        if schema is None:
            return
        load = self._loads.get(asked.dbid)
        if why_not or self._log_ons.manager is None:
            self._requests.refuse(question, why_not or "the BaseAppMgr is out of reach")
        elif load is not None and load.schema is schema:
            load.questions.append(question)
        elif load is not None or self._log_ons.is_claiming(asked.dbid) or len(self._loads) >= LOADS_MAX:
            self._requests.refuse(question, "it is being logged on, or too many are being loaded")
        else:
            load = self._loads[asked.dbid] = _Load(schema, asked.dbid, [question])
            self._log_ons.loading.add(asked.dbid)
            self._submit_check_out(load)

    def on_delete(self, question: Question, why_not: str) -> None:
        """An app wants an entity to be deleted."""
        asked = question.message
        assert isinstance(asked, DeleteStored)
        schema = self._saved_type(question, asked.type_id, asked.dbid)
        if schema is None:
            return
        if why_not or asked.dbid in self._loads or self._log_ons.is_claiming(asked.dbid):
            self._requests.refuse(question, why_not or "it is being loaded or logged on")
            return
        self._store.submit(
            DeleteEntity(schema.name, asked.dbid),
            lambda holder: self._deleted(question, schema, holder),
            lambda reason: self._requests.refuse(question, reason),
        )

    def on_logged_off(self, message: LoggedOff) -> None:
        """A BaseApp reports that a base has ended."""
        load = self._loads.get(message.dbid)
        if load is not None and load.entity == message.entity:
            load.is_gone = True

    def _saved_type(self, question: Question, type_id: int, dbid: int) -> EntitySchema | None:
        schema = self._schema.by_id.get(type_id)
        if schema is None or not is_saved(schema):
            self._requests.answer(question, StoredRefused(f"there is no entity type {type_id} that is saved"))
        elif not 0 < dbid <= DBID_MAX:
            self._requests.answer(question, StoredRefused(f"{dbid} is no dbid: an entity has one once it is saved"))
        else:
            return schema
        return None

    # A load.

    def _submit_check_out(self, load: _Load) -> None:
        self._store.submit(
            CheckOut(load.schema.name, load.dbid),
            lambda result: self._checked_out(load, result),
            lambda reason: self._refuse(load, reason),
        )

    def _checked_out(self, load: _Load, result: CheckedOut | None) -> None:
        if result is None:
            self._answer(load, StoredRefused(f"no {load.schema.name} is stored under the dbid {load.dbid}"))
        elif not result.is_new:
            entity = result.holder.entity
            self._ask_alive(
                result.holder,
                lambda: self._answer(load, StoredLoaded(entity)),
                lambda why: self._refuse(load, why),
            )
        elif self._log_ons.manager is None:
            self._log_ons.clear(load.dbid, result.holder.entity)
            self._refuse(load, "the BaseAppMgr is out of reach")
        else:
            load.entity = result.holder.entity
            self._requests.ask(
                self._log_ons.manager,
                PlaceProxy(load.schema.type_id, load.dbid, result.record, load.entity, is_player=False),
                timeout_s=PLACE_S,
                then=lambda answer: self._placed(load, answer),
                failed=lambda failure, why: self._not_placed(load, failure, why),
            )

    def _placed(self, load: _Load, answer: Message) -> None:
        entity = load.entity
        if not isinstance(answer, ProxyPlaced) or answer.entity != entity:
            self._doubt(load, "it may or may not have been loaded")
        elif load.is_gone:
            self._refuse(load, "it has ended at once")
        else:
            self._store.submit(
                PlaceLogOn(load.dbid, entity, answer.index),
                lambda is_there: self._recorded(load, is_there),
                lambda reason: self._doubt(load, reason, after_s=AGAIN_S),
            )

    def _recorded(self, load: _Load, is_there: bool) -> None:
        if is_there:
            self.loaded += 1
            self._answer(load, StoredLoaded(load.entity))
        else:
            self._refuse(load, "it has ended at once")

    def _not_placed(self, load: _Load, failure: Failure, why: str) -> None:
        self._host.log(LogEvent.NOT_LOADED, type=load.schema.name, dbid=load.dbid, why=why or failure.value)
        if failure is Failure.REFUSED:
            self._log_ons.clear(load.dbid, load.entity)
            self._refuse(load, why)
        else:
            self._doubt(load, why or failure.value)

    def _doubt(self, load: _Load, why: str, *, after_s: float = 0.0) -> None:
        """There may be a base: the record stays until that is certain."""
        self._log_ons.doubts.add(load.dbid, load.entity, after_s=after_s)
        self._refuse(load, why)

    # The end of a question.

    def _answer(self, load: _Load, answer: Message) -> None:
        for question in self._end(load):
            self._requests.answer(question, answer)

    def _refuse(self, load: _Load, why: str) -> None:
        """For the moment: the question may be asked again."""
        for question in self._end(load):
            self._requests.refuse(question, why[:500])

    def _end(self, load: _Load) -> list[Question]:
        del self._loads[load.dbid]
        self._log_ons.loading.discard(load.dbid)
        return load.questions

    def _deleted(self, question: Question, schema: EntitySchema, holder: LogOnRecord | None) -> None:
        if holder is None:
            self.deleted += 1
            self._requests.answer(question, StoredDeleted())
            return
        why = (
            f"{schema.name} {holder.dbid} is in the world, as entity {holder.entity}: load it and have its own code "
            f"call destroy(delete=True)"
        )
        self._ask_alive(
            holder,
            lambda: self._requests.answer(question, StoredRefused(why)),
            lambda moment: self._requests.refuse(question, moment),
        )

    def _ask_alive(self, holder: LogOnRecord, alive: Callable[[], None], otherwise: Callable[[str], None]) -> None:
        """Whether the base that has the record is there. If it ends, its log-off clears the record."""
        base_app = self._log_ons.base_apps.get(holder.base_app)
        if holder.base_app == PLACE_UNKNOWN or base_app is None:
            otherwise("its base is being placed, or out of reach")
            return

        def then(answer: Message) -> None:
            if isinstance(answer, Alive) and answer.is_alive:
                alive()
                return
            self._log_ons.doubts.add(holder.dbid, holder.entity, after_s=AGAIN_S)  # its log-off may have come, or not
            otherwise("its former base ends")

        self._requests.ask(
            base_app,
            AskAlive(holder.entity),
            timeout_s=ALIVE_S,
            then=then,
            failed=lambda failure, why: otherwise(why or f"its BaseApp did not answer ({failure.value})"),
        )
