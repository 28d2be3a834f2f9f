"""How a base gets into the database: what both parts hold, as one record, until it is confirmed.

    IDLE ──save──▶ GATHERING ──CellData, or none to be had──▶ ASKED ──Saved──▶ IDLE
                       ▲                                        │ refused, late, link lost, no DBApp
                       └────────── 1, 2, 4 … 30 s ── RETRYING ◀─┘

A save that is asked for while one is under way is done after it: values may have changed since those were gathered.
What cannot be saved is tried again for as long as the base is here, at once when the link with DBApp is back, and each
failure is logged; a base that is leaving does not go before it is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from terrazzo.base.alarms import Alarm
from terrazzo.base.cellside import Body
from terrazzo.base.drafts import save_draft
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import AppKind
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_cell import WantCellData
from terrazzo.wire.pairs.base_db import Save, Saved
from terrazzo.wire.requests import Failure

if TYPE_CHECKING:
    from terrazzo.base.entity import BaseEntity

GATHER_S = 5.0
RETRY_S = 1.0
RETRY_MAX_S = 30.0
_ANSWER_S = 10.0

_TRIED_MAX = 64

Then = Callable[[], None]


class Unsaved(NamedTuple):
    """A base that could not be saved, as the next start of the cluster needs it."""

    type_name: str
    dbid: int
    record: bytes
    replaces: list[str]
    """Digests of every record that the database may hold of it: any other one is newer."""
    label: str
    """For people."""


class Saving(Enum):
    """Where a save is."""

    IDLE = "idle"
    GATHERING = "gathering"
    ASKED = "asked"
    RETRYING = "retrying"


class Saver:
    """Saves one base."""

    def __init__(self, entity: BaseEntity) -> None:
        self.state = Saving.IDLE
        self.failures = 0
        self._entity = entity
        self._app = entity.app
        self._present: list[Then] = []  # what waits for the save under way
        self._next: list[Then] | None = None  # what waits for the one after, if there is to be one
        self._alarm: Alarm | None = None
        self._stored: list[str] = []
        self._asked = ""
        """The digest of the record in the save under way."""

    def note_stored(self, record: bytes) -> str:
        """The database holds this record, or may hold it instead of those that were noted before. The first one, which
        it holds for certain while saves fail, is never dropped. Gives the digest."""
        digest = sha256(record).hexdigest()
        if digest not in self._stored:
            self._stored = [*self._stored[:1], *self._stored[1:][-_TRIED_MAX:], digest]
        return digest

    def unsaved(self) -> Unsaved | None:
        """What would be lost if the base ended now; None if nothing would."""
        entity = self._entity
        if not entity.is_worth_saving and self.is_idle:
            return None
        draft = entity.draft
        label = f"{entity.schema.name} {self._name() or entity.id}"
        return Unsaved(entity.schema.name, draft.dbid, save_draft(draft), list(self._stored), label)

    def _name(self) -> str:
        """The value by which the database knows the entity."""
        draft = self._entity.draft
        named = [each.name for each in self._entity.schema.properties if each.identifier]
        values = [state[name] for name in named for state in (draft.base, draft.cell) if name in state.index]
        return repr(str(values[0])) if values else ""

    def save(self, then: Then | None = None) -> None:
        """Save the entity as it is now or later; `then` is called when that is safe."""
        waiting = [] if then is None else [then]
        if self.state in (Saving.GATHERING, Saving.ASKED):
            self._next = [*(self._next or []), *waiting]
            return
        self._present += waiting
        if self.state is Saving.IDLE:
            self._gather()  # one that is tried again later gathers its values then

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being saved."""
        return self.state is Saving.IDLE

    def hurry(self) -> None:
        """The link with DBApp is back, or the server stops: what waits to be tried again waits no longer."""
        if self.state is Saving.RETRYING:
            self._cancel()
            self._gather()

    def _gather(self) -> None:
        if self._entity.cell.state is Body.THERE:
            self.state = Saving.GATHERING
            self._entity.cell.send(WantCellData())
            self._alarm = self._app.alarms.after(GATHER_S, self._on_no_data)
        else:
            self._ask()

    def _on_no_data(self) -> None:
        self._app.host.log("cell part did not send its values", entity=str(self._entity), saves="what was known last")
        self.on_cell_data()

    def on_cell_data(self) -> None:
        """The cell part's values have come, or there are none to wait for."""
        if self.state is Saving.GATHERING:
            self._cancel()
            self._ask()

    def _ask(self) -> None:
        db = self._app.peers.get(AppKind.DB_APP)
        if db is None:
            self._retry("there is no link with the DBApp")
            return
        draft = self._entity.draft
        try:
            request = Save(self._entity.schema.type_id, draft.dbid, save_draft(draft), self._entity.id)
            self._asked = self.note_stored(request.record)
            self._app.requests.ask(db, request, timeout_s=_ANSWER_S, then=self._on_answer, failed=self._on_failed)
        except Exception as problem:
            self._retry(words_of(problem))  # too large, most likely: the game may still make it smaller
        else:
            self.state = Saving.ASKED

    def _on_failed(self, failure: Failure, why: str) -> None:
        self._retry(f"{failure.value}: {why}" if why else failure.value)

    def _on_answer(self, message: Message) -> None:
        if not isinstance(message, Saved):
            self._retry(f"the DBApp answered {type(message).__name__}")
            return
        self._entity.draft.dbid = message.dbid
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
        self._app.host.log("save failed", entity=str(self._entity), why=why, failures=self.failures, again_s=delay_s)
        self.state = Saving.RETRYING
        self._alarm = self._app.alarms.after(delay_s, self._gather)

    def _cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
