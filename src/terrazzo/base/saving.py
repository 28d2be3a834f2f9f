"""How a base is saved: the values of both parts travel as one record to the DBApp, again until it confirms.

    IDLE ──save──▶ GATHERING ──CellData, or no cell part──▶ ASKED ──Saved──▶ IDLE
          │            ▲ ▲                                    │ refused, late, link lost, no DBApp
          └▶ WAITING ──┘ └──────── 1, 2, 4 … 30 s ── RETRYING ◀┘

A save that is asked for while another is under way is made after it, because values may have changed since that one was
gathered. A save that fails is logged and tried again for as long as the base exists, and at once when the link with the
DBApp is back. A base that is leaving ends only when it is saved. WAITING is for a slot (`saveslots.py`).

**One state of both parts.** The record has the values of the cell part from the moment at which it sends CellData, and
those of the base from the moment at which CellData arrives. Mail keeps its order, so what the cell part gave the base
before is in the record. What the base gives to its cell part after WantCellData was sent may be in neither part's
values: so if the base calls its cell part meanwhile, the values are asked for again, up to ROUNDS_MAX times.

**Awaited.** `await self.save()` ends when the DBApp has confirmed a record that was gathered after the call. It raises
SaveFailed if the values cannot be encoded, and CallTimeout, with the reason of the last failure, when its time is over;
the entity is then still saved later.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from hashlib import sha256
from typing import NamedTuple, Protocol

from terrazzo.base.alarms import Alarm
from terrazzo.base.cell_part import CellPart
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.entity_data import EntityData, encode_entity_data
from terrazzo.base.services import EntityServices
from terrazzo.errors import SaveFailed
from terrazzo.schema.model import EntitySchema
from terrazzo.sync.awaiting import Wait
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppKind, EntityId, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import WantCellData
from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.requests import Failure

GATHER_S = 5.0
RETRY_S = 1.0
RETRY_MAX_S = 30.0
SAVE_S = 30.0
"""How long an awaited save waits, unless the game sets another time."""
ROUNDS_MAX = 8
"""How often one save asks for the values of the cell part."""
_ANSWER_S = 10.0

_TRIED_MAX = 64

OnSaved = Callable[[], None]


class Unsaved(NamedTuple):
    """A base that could not be saved; the next start of the cluster saves it."""

    type_name: str
    dbid: int
    record: bytes
    replaces: list[str]
    """Digests of every record of it that the database may hold: any other record is newer."""
    label: str
    """The type and the name, for the log."""


class SavedEntity(Protocol):
    """The base that is saved."""

    id: EntityId
    part_id: PartId
    schema: EntitySchema
    data: EntityData
    cell: CellPart
    is_worth_saving: bool


class Saving(Enum):
    """The state of a save."""

    IDLE = "idle"
    WAITING = "waiting"
    GATHERING = "gathering"
    ASKED = "asked"
    RETRYING = "retrying"


class Saver:
    """Saves one base."""

    def __init__(self, entity: SavedEntity, services: EntityServices) -> None:
        self.state = Saving.IDLE
        self.failures = 0
        self._entity = entity
        self._services = services
        self._present: list[OnSaved] = []  # calls after the save under way
        self._next: list[OnSaved] | None = None  # calls after the next save; None when there is to be none
        self._alarm: Alarm | None = None
        self._stored: list[str] = []
        self._asked = ""
        """The digest of the record in the save under way."""
        self._waits: list[Wait] = []
        """What methods of the game await."""
        self._is_archiving = False
        """Whether the save under way is only made if the record has changed."""
        self._rounds = 0
        self._is_torn = False
        """Whether the base has called its cell part since it asked for its values."""

    def __str__(self) -> str:
        return str(self._entity)

    def note_stored(self, record: bytes) -> str:
        """The database holds this record, or may hold it instead of an earlier one. The first record is never dropped:
        the database certainly holds it while saves fail. Returns the digest."""
        digest = sha256(record).hexdigest()
        if digest not in self._stored:
            self._stored = [*self._stored[:1], *self._stored[1:][-_TRIED_MAX:], digest]
        return digest

    def unsaved(self) -> Unsaved | None:
        """The data that would be lost if the base ended now; None if all is saved."""
        entity = self._entity
        if not entity.is_worth_saving and self.is_idle:
            return None
        data = entity.data
        label = f"{entity.schema.name} {self._name() or entity.id}"
        return Unsaved(entity.schema.name, data.dbid, encode_entity_data(data), list(self._stored), label)

    def _name(self) -> str:
        """The value of the property that identifies the entity in the database."""
        data = self._entity.data
        named = [each.name for each in self._entity.schema.properties if each.identifier]
        values = [state[name] for name in named for state in (data.base, data.cell) if name in state.index]
        return repr(str(values[0])) if values else ""

    def save(self, then: OnSaved | None = None) -> None:
        """Saves the entity as it is now or later; `then` is called when the DBApp has confirmed it."""
        waiting = [] if then is None else [then]
        if self.state in (Saving.GATHERING, Saving.ASKED):
            self._next = [*(self._next or []), *waiting]
            return
        self._present += waiting
        self._is_archiving = False
        if self.state is Saving.IDLE:
            self._start()  # a save that waits or is retried gathers its values then

    def promise(self, timeout_s: float) -> Wait:
        """Saves the entity; an `async def` of the game can await that it is durable."""
        wait = self._services.awaiting.promise(self._entity.part_id, f"save of {self}", timeout_s)
        if not wait.is_done:
            self._waits = [*(each for each in self._waits if not each.is_done), wait]
        self.save(partial(self._keep, wait))
        return wait

    def _keep(self, wait: Wait) -> None:
        self._services.awaiting.keep(wait, None)

    def archive(self) -> None:
        """Saves the entity if its record has changed since it was last saved, unless a save is under way anyway."""
        if self.is_idle:
            self._is_archiving = True
            self._start()

    def on_call_of_cell(self) -> None:
        """The base calls its cell part."""
        self._is_torn = True

    @property
    def is_idle(self) -> bool:
        """Whether no save is under way."""
        return self.state is Saving.IDLE

    def retry_now(self) -> None:
        """The link with the DBApp is back, or the server stops: a failed save is retried at once."""
        if self.state is Saving.RETRYING:
            self._cancel()
            self._start()

    def _start(self) -> None:
        self._alarm = None
        if self._services.saves.take(self._gather):
            self._gather()
        else:
            self.state = Saving.WAITING

    def _gather(self) -> None:
        self._rounds = 0
        if self._entity.cell.state is CellPartState.THERE:
            self.state = Saving.GATHERING
            self._want_data()
            self._alarm = self._services.alarms.after(GATHER_S, self._on_no_data)
        else:
            self._ask()

    def _want_data(self) -> None:
        self._rounds += 1
        self._is_torn = False
        self._entity.cell.send(WantCellData())

    def _on_no_data(self) -> None:
        self._services.host.log(LogEvent.CELL_DATA_MISSING, entity=str(self._entity), saves="what was known last")
        self._ask()

    def on_cell_data(self) -> None:
        """The values of the cell part have arrived, or there is no cell part to wait for."""
        if self.state is not Saving.GATHERING:
            return
        is_there = self._entity.cell.state is CellPartState.THERE
        if self._is_torn and is_there and self._rounds < ROUNDS_MAX:
            self._want_data()
        else:
            self._cancel()
            self._ask()

    def _ask(self) -> None:
        db = self._services.peers.get(AppKind.DB_APP)
        if db is None:
            self._retry("there is no link with the DBApp")
            return
        data = self._entity.data
        try:
            request = Save(self._entity.schema.type_id, data.dbid, encode_entity_data(data), self._entity.id)
            if self._is_archiving and self._stored == [sha256(request.record).hexdigest()]:
                self._finish()
                return
            self._asked = self.note_stored(request.record)
            self._services.requests.ask(db, request, timeout_s=_ANSWER_S, then=self._on_answer, failed=self._on_failed)
        except Exception as problem:
            self._fail_waits(words_of(problem))
            self._retry(words_of(problem))  # too large, most likely: the game may reduce it before the next attempt
        else:
            self.state = Saving.ASKED

    def _on_failed(self, failure: Failure, why: str) -> None:
        self._retry(f"{failure.value}: {why}" if why else failure.value)

    def _on_answer(self, message: Message) -> None:
        if not isinstance(message, Saved):
            self._retry(f"the DBApp answered {type(message).__name__}")
            return
        self._entity.data.dbid = message.dbid
        self._stored = [self._asked]
        self.failures = 0
        self._finish()

    def _finish(self) -> None:
        """The save is done: what was asked for meanwhile begins."""
        self.state = Saving.IDLE
        self._is_archiving = False
        self._services.saves.give()
        done, self._present = self._present, []
        if self._next is not None:
            self._present, self._next = self._next, None
            self._start()
        for then in done:
            then()

    def _fail_waits(self, why: str) -> None:
        waits, self._waits = self._waits, []
        for each in waits:
            self._services.awaiting.keep(each, None, SaveFailed(f"{each}: {why}"))

    def _retry(self, why: str) -> None:
        delay_s = min(RETRY_S * 2.0 ** min(self.failures, 10), RETRY_MAX_S)
        self.failures += 1
        self._services.host.log(
            LogEvent.SAVE_FAILED, entity=str(self._entity), why=why, failures=self.failures, again_s=delay_s
        )
        for each in self._waits:
            each.why = why
        self.state = Saving.RETRYING
        self._services.saves.give()
        self._alarm = self._services.alarms.after(delay_s, self._start)

    def _cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
