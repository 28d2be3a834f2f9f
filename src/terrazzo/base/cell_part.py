"""The cell part of an entity, as its base handles it (`cell_part_states.py` has the states and every transition).

The rules:

- *One life after the other.* Each cell part that a base asks for has a higher `life`, and its mailbox begins with it. A
  new one is asked for only when the channel to the one before is closed, so that late messages of the former cell part
  never reach its successor. The base waits for that as long as it takes; the time for finding a CellApp starts then.
- *Both requests can be repeated.* Asking again which CellApp covers a point changes nothing. Asking again for a cell
  part changes nothing either, because CreateReal carries the life: a CellApp that has created this life confirms it,
  even when the cell part has moved on since; a CellApp that has not creates it now or refuses. So a lost answer costs
  time, and no cell part. The base asks the same CellApp until it answers, or until mail of the cell part itself
  arrives, from wherever it lives by then. Only a refusal proves that it was not created; then another CellApp is looked
  for. A cell part that was taken down while it was being created is destroyed as soon as it exists.
- *No wait without an end.* A DestroyReal that cannot be delivered means that the cell part has ended by itself, or
  never existed. Its last CellData may still be on its way; if it has not arrived when the channel is closed, it never
  will.
- *A lost link changes nothing.* The CellApp is joined again, and the entity channel repeats what was lost. A request
  that was made meanwhile arrives when the link is back.
- *A CellApp that is declared dead* takes its cell parts with it: they are LOST, and their bases go on without them. A
  cell part that had moved in time sends mail from its new home, and is there again. If the game asks for a new one
  meanwhile, the former is given up. The declaration itself, fencing and the restore from backups come with crash
  recovery; until then a lost cell part loses what it changed since its last CellData.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from terrazzo.base.cell_part_states import (
    BEING_CREATED,
    EXISTING,
    CellPartAction,
    CellPartEvent,
    CellPartState,
    next_step,
)
from terrazzo.base.entity_data import EntityData, Location
from terrazzo.base.services import EntityServices
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.state import State
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId, first_of_life, life_of
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CellData, CreateReal, DestroyReal, RealCreated
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.requests import Failure

ENTRY_S = 10.0
"""How long a CellApp is looked for until the game's hook runs with the failure."""

_ANSWER_S = 5.0
AGAIN_S = 0.2
_TOO_SOON = "it was taken down before it was there"


class CellPartOwner(Protocol):
    """The base of a cell part."""

    id: EntityId
    part_id: PartId
    schema: EntitySchema
    data: EntityData

    def on_cell_state(self, *, exists: bool) -> None:
        """The state of the cell part may have changed."""

    def on_cell_created(self) -> None:
        """The cell part exists."""

    def on_cell_gone(self, *, had_body: bool, failure: str) -> None:
        """The cell part is gone or will not come. `had_body`: `on_cell_created` was called for it before."""


class CellPart:
    """The cell part of one base."""

    def __init__(self, owner: CellPartOwner, services: EntityServices) -> None:
        self.part = PartId(EntityId(owner.id), Part.CELL)
        self.state = CellPartState.NONE
        self.life = -1
        self._owner = owner
        self._services = services
        self._switchboard = services.switchboard
        self._attempt = 0
        self._deadline = 0.0
        self._wanted: Location | None = None
        self._made_at: AppId | None = None
        """The CellApp that was asked last to create one."""
        self._space = 0
        self._request: CreateReal | None = None
        self._is_announced = False
        """Whether `on_cell_created` was called for this cell part."""

    def __str__(self) -> str:
        return str(self._owner)

    @property
    def where(self) -> AppId | None:
        """The CellApp where it lives, by the latest report that this app has received."""
        return self._switchboard.home_of(self.part) if self.state in EXISTING else None

    @property
    def home(self) -> AppId | None:
        """The CellApp where it lives or was asked to be created."""
        return self._made_at if self.state in BEING_CREATED else self.where

    def send(self, message: Message) -> bool:
        """Sends a message to the cell part over the entity channel; False when the channel is full."""
        try:
            self._switchboard.send(self._owner.part_id, self.part, REGISTRY.encode(message))
        except ChannelFull as problem:
            self._log(LogEvent.CHANNEL_FULL, problem=str(problem))
            return False
        return True

    def _step(self, event: CellPartEvent, cause: Any = "") -> None:
        """Makes the transition of this event. `cause` is for the action: a reason in words, a Location or CellData."""
        self.state, action = next_step(self.state, event)
        self._owner.on_cell_state(exists=self.state in EXISTING)
        ACTIONS[action](self, cause)

    def _log(self, event: LogEvent, **facts: object) -> None:
        self._services.host.log(event, entity=str(self._owner), **facts)

    @property
    def _is_channel_open(self) -> bool:
        """Whether messages of the cell part that ends, or has ended, may still arrive. Calls that the game makes to the
        next cell part before it exists wait in a channel as well, but that one has no other end yet."""
        return self._switchboard.is_channel_open(self._owner.part_id, self.part)

    @property
    def _has_sent(self) -> bool:
        """Whether a message of the cell part that was asked for has arrived: it was created, even if no answer came."""
        return life_of(self._switchboard.version_of_place(self.part)) == self.life

    # Looking for a CellApp.

    def create(self, location: Location) -> None:
        """Asks for a cell part at this location; the outcome is reported to the owner."""
        if self.state is CellPartState.LOST:
            self._switchboard.gone(self.part, "given up for a new one")
        self._step(CellPartEvent.CREATE, location)

    def _begin_search(self, location: Location) -> None:
        self._wanted = location
        self._attempt += 1
        self._deadline = self._services.host.now + ENTRY_S
        self._services.alarms.after(ENTRY_S, partial(self._report_wait, self._attempt))
        self._find(self._attempt)

    def _refuse(self, location: Location) -> None:
        raise UsageError(f"{self._owner} has a cell part already (it is {self.state.value}): wait for on_cell_lost")

    def _report_wait(self, attempt: int) -> None:
        """Logs a wait of which the game sees no end."""
        if attempt == self._attempt and self.state is CellPartState.FINDING and self._is_channel_open:
            note = "the channel to the former cell part is still open: is a CellApp out of reach?"
            self._log(LogEvent.CELL_PART_WAITS, note=note)
            self._services.alarms.after(ENTRY_S, partial(self._report_wait, attempt))

    def _find(self, attempt: int, why: str = "") -> None:
        """Asks which CellApp covers the location, or waits: until the former channel is closed, or for the manager."""
        if attempt != self._attempt or self._wanted is None:
            return
        now, manager = self._services.host.now, self._services.peers.get(AppKind.CELL_APP_MGR)
        if self._is_channel_open:
            self._deadline = now + ENTRY_S
            self._find_later(why)
        elif now >= self._deadline:
            self._step(CellPartEvent.NO_ENTRY, why or "the CellAppMgr is out of reach: is it running?")
        elif manager is None:
            self._find_later(why)
        else:
            x, _, z = self._wanted.position
            self._services.requests.ask(
                manager,
                FindEntry(self._wanted.space, x, z),
                timeout_s=_ANSWER_S,
                then=partial(self._on_entry, attempt),
                failed=partial(self._on_no_entry, attempt),
            )

    def _find_later(self, why: str) -> None:
        self._services.alarms.after(AGAIN_S, partial(self._find, self._attempt, why))

    def _on_no_entry(self, attempt: int, failure: Failure, why: str) -> None:
        if attempt != self._attempt:
            return
        if failure is Failure.REFUSED:
            self._step(CellPartEvent.NO_ENTRY, why)
        else:
            self._step(CellPartEvent.NO_ENTRY_ANSWER, f"the CellAppMgr did not answer ({failure.value})")

    def _on_entry(self, attempt: int, message: Message) -> None:
        if attempt != self._attempt:
            return
        if not isinstance(message, Entry):
            self._step(CellPartEvent.NO_ENTRY, f"the CellAppMgr answered {type(message).__name__}")
            return
        self.life += 1
        self._made_at, self._space = message.app, message.space
        self._step(CellPartEvent.ENTRY)

    # Creating.

    def _ask(self, _: str) -> None:
        try:
            self._request = self._new_request()
            self._send_request(self._attempt)
        except Exception as problem:
            self._step(CellPartEvent.NOT_CREATABLE, f"its properties cannot be sent: {words_of(problem)}")

    def _new_request(self) -> CreateReal:
        owner = self._owner
        assert self._wanted is not None
        return CreateReal(
            entity=owner.id,
            type_id=owner.schema.type_id,
            space=self._space,
            position=self._wanted.position,
            direction=self._wanted.direction,
            properties=owner.data.cell.encode(),
            dbid=owner.data.dbid,
            life=self.life,
        )

    def _send_request(self, attempt: int) -> None:
        """Sends CreateReal, for the first time or again."""
        if attempt != self._attempt or self.state not in BEING_CREATED:
            return
        if self._has_sent:
            self._step(CellPartEvent.MAIL)
            return
        assert self._made_at is not None
        assert self._request is not None
        self._services.requests.ask(
            self._made_at,
            self._request,
            timeout_s=_ANSWER_S,
            then=partial(self._on_created, attempt),
            failed=partial(self._on_not_created, attempt),
        )

    def _ask_later(self, why: str) -> None:
        self._log(LogEvent.CELL_PART_AGAIN, app=str(self._made_at), why=why)
        self._services.alarms.after(AGAIN_S, partial(self._send_request, self._attempt))

    def _on_created(self, attempt: int, message: Message) -> None:
        if attempt != self._attempt:
            return
        if isinstance(message, RealCreated):
            self._step(CellPartEvent.CREATED)
        else:
            self._step(CellPartEvent.NOT_CREATABLE, f"the CellApp answered {type(message).__name__}")

    def _on_not_created(self, attempt: int, failure: Failure, why: str) -> None:
        if attempt != self._attempt:
            return
        if failure is Failure.REFUSED:
            # The ground may belong to another CellApp since it was looked up: a cell part that is still needed is
            # created there.
            self._step(CellPartEvent.REFUSED, _TOO_SOON if self.state is CellPartState.CANCELLED else why)
        else:
            self._step(CellPartEvent.NO_ANSWER, failure.value)

    def _announce(self, _: str) -> None:
        self._pin()
        self._owner.data.place = self._wanted
        self._is_announced = True
        self._owner.on_cell_created()

    def _announce_again(self, _: str) -> None:
        self._log(LogEvent.CELL_PART_BACK)
        self._is_announced = True
        self._owner.on_cell_created()

    def _pin(self) -> None:
        """From now on each of the two parts always has the home of the other."""
        assert self._made_at is not None
        self._switchboard.learn(self.part, first_of_life(self.life), self._made_at)
        self._switchboard.pin(self._owner.part_id, self.part)

    # Taking down.

    def take_down(self) -> None:
        """The cell part is not needed any more, whatever its state is."""
        is_lost = self.state is CellPartState.LOST
        self._step(CellPartEvent.TAKE_DOWN, "its CellApp is lost" if is_lost else _TOO_SOON)

    def _destroy_created(self, cause: str) -> None:
        self._pin()
        self._destroy(cause)

    def _destroy(self, _: str) -> None:
        self._send_destroy(self._attempt)

    def _send_destroy(self, attempt: int) -> None:
        is_leaving = attempt == self._attempt and self.state is CellPartState.LEAVING
        if is_leaving and not self.send(DestroyReal()):
            self._services.alarms.after(AGAIN_S, partial(self._send_destroy, attempt))

    def on_destroy_undelivered(self) -> None:
        """DestroyReal did not reach the cell part."""
        # Mail is read before alarms ring: last CellData that has arrived is read first.
        self._services.alarms.after(AGAIN_S, partial(self._await_close, self._attempt))

    def _await_close(self, attempt: int) -> None:
        if attempt != self._attempt or self.state is not CellPartState.LEAVING:
            return
        if self._is_channel_open:
            self.on_destroy_undelivered()
        else:
            self._log(LogEvent.CELL_PART_ENDED)
            self._step(CellPartEvent.CHANNEL_CLOSED, _TOO_SOON)

    def on_data(self, data: CellData) -> None:
        """The cell part has sent its values, as they are or as they were at its end."""
        self._step(CellPartEvent.LAST_DATA if data.is_last else CellPartEvent.DATA, data)

    def _report_data(self, _: CellData) -> None:
        self._log(LogEvent.CELL_DATA_UNEXPECTED, state=self.state.value)

    def _store_and_end(self, data: CellData) -> None:
        self._store(data)
        self._end(_TOO_SOON)

    def _store(self, data: CellData) -> None:
        own = self._owner.data
        own.place = Location(data.space, data.position, data.direction)
        try:
            values = self._owner.schema.cell_layout.row.decode(data.properties)
        except DecodeError as problem:
            self._log(LogEvent.CELL_DATA_MALFORMED, problem=str(problem), keeps="the values before")
        else:
            own.cell.release()
            own.cell = State(self._owner.schema.cell_layout, values=values)

    def give_up(self, why: str) -> None:
        """The server does not wait for the end of the cell part."""
        self._log_given_up(why)
        self._step(CellPartEvent.GIVE_UP, why)

    def _log_given_up(self, why: str) -> None:
        if self.state not in (CellPartState.NONE, CellPartState.LOST):
            self._log(LogEvent.CELL_PART_GIVEN_UP, why=why, state=self.state.value)

    def _end_lost(self, why: str) -> None:
        self._pin()
        self._end(why)

    def _end(self, why: str) -> None:
        had_body, self._is_announced = self._is_announced, False
        self._attempt += 1
        self._wanted = self._request = None
        self._owner.on_cell_gone(had_body=had_body, failure=why)

    def _forget(self, why: str) -> None:
        self._switchboard.gone(self.part, why)

    # Messages about the cell part.

    def on_app_dead(self, app: AppId) -> None:
        """A CellApp is declared dead."""
        why = f"{app} is dead"
        if self.state in BEING_CREATED and self._made_at == app:
            if self._has_sent:  # it had moved in time
                self._step(CellPartEvent.MAIL)
            else:
                self._step(CellPartEvent.CREATOR_DEAD, _TOO_SOON if self.state is CellPartState.CANCELLED else why)
        if self._switchboard.home_of(self.part) != app:
            return
        if self.state in EXISTING:
            if self.state is CellPartState.LEAVING:
                self._log_given_up(why)
            self._step(CellPartEvent.HOME_DEAD, why)
        if self.state not in EXISTING:
            self._step(CellPartEvent.HOME_DEAD, why)  # it has no cell part now: what waits for one is reported

    def on_mail(self) -> None:
        """Any mail of the cell part proves that it exists: it was created, and it is not lost."""
        if self.state is CellPartState.THERE:
            return  # nothing new: this is all but every message
        if self.state not in BEING_CREATED or self._has_sent:
            self._step(CellPartEvent.MAIL)

    def locate(self) -> None:
        """The switchboard needs the home of the cell part."""
        if self.state is CellPartState.NONE:
            # While the channel is open, the mailbox that ends answers for itself.
            if self._switchboard.home_of(self.part) is None or not self._is_channel_open:
                self._switchboard.gone(self.part, "it has no cell part")
        elif self.state in EXISTING and self._made_at is not None:
            # The CellApp where it began forwards to the next home, and the cell part itself reports each move.
            version = max(self._switchboard.version_of_place(self.part), first_of_life(self.life))
            self._switchboard.learn(self.part, version, self._made_at)


ACTIONS: dict[CellPartAction, Callable[[CellPart, Any], None]] = {
    CellPartAction.NOTHING: lambda cell, cause: None,
    CellPartAction.REFUSE: CellPart._refuse,
    CellPartAction.FIND: CellPart._begin_search,
    CellPartAction.FIND_LATER: CellPart._find_later,
    CellPartAction.ASK: CellPart._ask,
    CellPartAction.ASK_LATER: CellPart._ask_later,
    CellPartAction.ANNOUNCE: CellPart._announce,
    CellPartAction.ANNOUNCE_AGAIN: CellPart._announce_again,
    CellPartAction.DESTROY: CellPart._destroy,
    CellPartAction.DESTROY_CREATED: CellPart._destroy_created,
    CellPartAction.STORE: CellPart._store,
    CellPartAction.STORE_AND_END: CellPart._store_and_end,
    CellPartAction.REPORT_DATA: CellPart._report_data,
    CellPartAction.END: CellPart._end,
    CellPartAction.END_LOST: CellPart._end_lost,
    CellPartAction.FORGET: CellPart._forget,
}
"""The code of each action of the table."""
