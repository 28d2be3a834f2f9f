"""How a base is saved: the values of both parts travel as one record to the DBApp, again until it confirms.

    IDLE ──save──▶ GATHERING ──CellData, or no cell part──▶ ASKED ──Saved──▶ IDLE
                       ▲                                      │ refused, late, link lost, no DBApp
                       └────────── 1, 2, 4 … 30 s ── RETRYING ◀┘

A save that is asked for while another is under way is made after it, because values may have changed since that one was
gathered. A save that fails is logged and tried again for as long as the base exists, and at once when the link with the
DBApp is back. A base that is leaving ends only when it is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from typing import NamedTuple, Protocol

from terrazzo.base.alarms import Alarm
from terrazzo.base.cell_part import CellPart
from terrazzo.base.cell_part_states import CellPartState
from terrazzo.base.entity_data import EntityData, encode_entity_data
from terrazzo.base.services import BaseServices
from terrazzo.schema.model import EntitySchema
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppKind, EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import WantCellData
from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.requests import Failure

GATHER_S = 5.0
RETRY_S = 1.0
RETRY_MAX_S = 30.0
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
    schema: EntitySchema
    data: EntityData
    cell: CellPart
    is_worth_saving: bool


class Saving(Enum):
    """The state of a save."""

    IDLE = "idle"
    GATHERING = "gathering"
    ASKED = "asked"
    RETRYING = "retrying"


class Saver:
    """Saves one base."""

    def __init__(self, entity: SavedEntity, services: BaseServices) -> None:
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
        if self.state is Saving.IDLE:
            self._gather()  # a save that is retried gathers its values then

    @property
    def is_idle(self) -> bool:
        """Whether no save is under way."""
        return self.state is Saving.IDLE

    def retry_now(self) -> None:
        """The link with the DBApp is back, or the server stops: a failed save is retried at once."""
        if self.state is Saving.RETRYING:
            self._cancel()
            self._gather()

    def _gather(self) -> None:
        if self._entity.cell.state is CellPartState.THERE:
            self.state = Saving.GATHERING
            self._entity.cell.send(WantCellData())
            self._alarm = self._services.alarms.after(GATHER_S, self._on_no_data)
        else:
            self._ask()

    def _on_no_data(self) -> None:
        self._services.host.log(LogEvent.CELL_DATA_MISSING, entity=str(self._entity), saves="what was known last")
        self.on_cell_data()

    def on_cell_data(self) -> None:
        """The values of the cell part have arrived, or there is no cell part to wait for."""
        if self.state is Saving.GATHERING:
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
            self._asked = self.note_stored(request.record)
            self._services.requests.ask(db, request, timeout_s=_ANSWER_S, then=self._on_answer, failed=self._on_failed)
        except Exception as problem:
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
        self.state = Saving.IDLE
        done, self._present = self._present, []
        if self._next is not None:
            self._present, self._next = self._next, None
            self._gather()
        for then in done:
            then()

    def _retry(self, why: str) -> None:
        delay_s = min(RETRY_S * 2.0 ** min(self.failures, 10), RETRY_MAX_S)
        self.failures += 1
        self._services.host.log(
            LogEvent.SAVE_FAILED, entity=str(self._entity), why=why, failures=self.failures, again_s=delay_s
        )
        self.state = Saving.RETRYING
        self._alarm = self._services.alarms.after(delay_s, self._gather)

    def _cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
