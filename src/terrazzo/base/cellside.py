"""The cell part of an entity, as its base knows it: asked for, there, taken down, lost.

    NONE ──create──▶ FINDING ──Entry──▶ CREATING ──RealCreated──▶ THERE ──DestroyReal──▶ LEAVING ──last CellData──▶ NONE
     ▲                  │ refused, too late   │ refused  ▲          │ last CellData, unasked ──▶ NONE
     └──────────────────┴─────────────────────┘          │          │ its CellApp declared dead ──▶ LOST
                                              no answer ─┘ asked again

The rules:

- *One life after the other.* Each cell part that is asked for has a higher `life`, with which its mailbox begins. A new
  one is asked for only when the channel to the one before is over: its last words must not meet its successor. That is
  waited for, however long it takes; the time for finding a place begins then.
- *Nobody guesses.* Where a point is covered is asked again as long as there is time, that does no harm. Nor does asking
  again for a cell part, for it has its life: whoever has made that one says so, even when it has moved on since, and
  whoever has not makes it now or refuses. So an answer that is lost costs time and no cell part: the same CellApp is
  asked until it answers, or until the cell part itself is heard, from wherever it is by then. Only what is refused was
  not made; then another place is looked for. What was not wanted any more meanwhile is taken down when it is there.
- *Nobody waits for ever.* A DestroyReal that cannot be delivered met nobody: the part has ended by itself, or never
  was. Its last word may still be on its way; if it has not come when the channel is over, it will not come.
- *A broken link is no death.* Nothing changes for the cell part: the CellApp is joined again, and the entity channel
  says again what was lost. What is asked for while it is away arrives when it is back.
- *A CellApp that is declared dead* takes its cell parts with it: they are LOST, and the bases go on without them. One
  that had moved on in time is heard again from elsewhere, and is there again. If the game asks for a new one meanwhile,
  the former is given up. Who declares, fences, and restores from backups comes with the recovery of crashes; until
  then a lost cell part loses what it changed since its values were last heard.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from terrazzo.base.drafts import Place
from terrazzo.errors import DecodeError, UsageError
from terrazzo.schema.state import State
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId, first_of_life, life_of
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CellData, CreateReal, DestroyReal, RealCreated
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.requests import Failure

if TYPE_CHECKING:
    from terrazzo.base.entity import BaseEntity

ENTRY_S = 10.0
"""How long a place is looked for until the game is told that there is none."""

_ANSWER_S = 5.0
AGAIN_S = 0.2
_TOO_SOON = "it was taken down before it was there"


class Body(Enum):
    """Where the cell part is in its life."""

    NONE = "none"
    FINDING = "finding"
    CREATING = "creating"
    THERE = "there"
    LEAVING = "leaving"
    LOST = "lost"


class CellSide:
    """What a base knows and does about its cell part."""

    def __init__(self, entity: BaseEntity) -> None:
        self.part = PartId(EntityId(entity.id), Part.CELL)
        self.state = Body.NONE
        self.life = -1
        self._entity = entity
        self._app = entity.app
        self._attempt = 0
        self._deadline = 0.0
        self._wanted: Place | None = None
        self._made_at: AppId | None = None
        self._failure = ""  # why the one that is being made, or taken down, is not to be

    @property
    def where(self) -> AppId | None:
        """The CellApp that has it, as far as is known."""
        place = self._app.switchboard.places.get(self.part)
        return None if place is None or self.state not in (Body.THERE, Body.LEAVING) else place.app

    @property
    def home(self) -> AppId | None:
        """The CellApp that has it or was asked to make it, as far as is known."""
        return self._made_at if self.state is Body.CREATING else self.where

    def send(self, message: Message) -> bool:
        """Say something to the cell part, over the entity channel; False when it takes nothing more now."""
        try:
            self._app.switchboard.send(self._entity.part_id, self.part, REGISTRY.encode(message))
        except ChannelFull as problem:
            self._app.host.log("cell part takes nothing", entity=str(self._entity), problem=str(problem))
            return False
        return True

    @property
    def _may_speak(self) -> bool:
        """Whether the one that ends, or ended, has not said its last word. What the game says to the next one before it
        is there waits in a channel, too, but with nobody at its other end yet."""
        channel = self._app.switchboard.boxes[self._entity.part_id].channels.get(self.part)
        return channel is not None and (channel.pinned or channel.is_waited_for or channel.incoming is not None)

    # Up.

    def create(self, place: Place) -> None:
        """Ask for a cell part there; what comes of it is told to the entity."""
        if self.state not in (Body.NONE, Body.LOST):
            raise UsageError(
                f"{self._entity} has a cell part already (it is {self.state.value}): wait for on_cell_lost"
            )
        if self.state is Body.LOST:
            self._app.switchboard.gone(self.part, "given up for a new one")
        self.state = Body.FINDING
        self._wanted = place
        self._failure = ""
        self._attempt += 1
        self._deadline = self._app.host.now + ENTRY_S
        self._app.alarms.after(ENTRY_S, partial(self._tell_of_wait, self._attempt))
        self._find(self._attempt)

    def _tell_of_wait(self, attempt: int) -> None:
        """Who runs the server hears of a wait to which the game sees no end."""
        if attempt == self._attempt and self.state is Body.FINDING and self._may_speak:
            note = "the one before has not said its last word: is a CellApp out of reach?"
            self._app.host.log("next cell part waits", entity=str(self._entity), note=note)
            self._app.alarms.after(ENTRY_S, partial(self._tell_of_wait, attempt))

    def _find(self, attempt: int, why: str = "") -> None:
        """Asks who covers the place, or waits: for the last word of the one before, or until somebody can be asked."""
        if attempt != self._attempt or self._wanted is None:
            return
        manager = self._app.peers.get(AppKind.CELL_APP_MGR)
        if self._may_speak:
            self._deadline = self._app.host.now + ENTRY_S
            self._find_later(attempt, why)
        elif self._app.host.now >= self._deadline:
            self._end(Body.NONE, why or "the CellAppMgr is out of reach: is it running?")
        elif manager is None:
            self._find_later(attempt, why)
        else:
            x, _, z = self._wanted.position
            self._app.requests.ask(
                manager,
                FindEntry(self._wanted.space, x, z),
                timeout_s=_ANSWER_S,
                then=partial(self._on_entry, attempt),
                failed=partial(self._on_no_entry, attempt),
            )

    def _find_later(self, attempt: int, why: str) -> None:
        self._app.alarms.after(AGAIN_S, partial(self._find, attempt, why))

    def _on_no_entry(self, attempt: int, failure: Failure, why: str) -> None:
        if attempt != self._attempt:
            return
        if failure is Failure.REFUSED:
            self._end(Body.NONE, why)
        else:
            self._find_later(attempt, f"the CellAppMgr did not answer ({failure.value})")

    def _on_entry(self, attempt: int, message: Message) -> None:
        if attempt != self._attempt or self._wanted is None:
            return
        if not isinstance(message, Entry):
            self._end(Body.NONE, f"the CellAppMgr answered {type(message).__name__}")
            return
        self.state = Body.CREATING
        self.life += 1
        self._made_at = message.app
        try:
            self._ask(attempt, self._request(self._wanted, message.space))
        except Exception as problem:
            self._end(Body.NONE, f"its properties cannot be sent: {words_of(problem)}")

    def _ask(self, attempt: int, request: CreateReal) -> None:
        """Asks for the cell part, for the first time or again."""
        if attempt != self._attempt or self.state is not Body.CREATING:
            return
        assert self._made_at is not None
        if self._is_heard:
            self._begin()
            return
        self._app.requests.ask(
            self._made_at,
            request,
            timeout_s=_ANSWER_S,
            then=partial(self._on_created, attempt),
            failed=partial(self._on_not_created, attempt, request),
        )

    @property
    def _is_heard(self) -> bool:
        """Whether the cell part that was asked for has spoken: then it was made, whatever became of the answer."""
        place = self._app.switchboard.places.get(self.part)
        return place is not None and life_of(place.version) == self.life

    def _request(self, place: Place, space: int) -> CreateReal:
        entity = self._entity
        return CreateReal(
            entity=entity.id,
            type_id=entity.schema.type_id,
            space=space,
            position=place.position,
            direction=place.direction,
            properties=entity.draft.cell.encode(),
            dbid=entity.draft.dbid,
            life=self.life,
        )

    def _on_created(self, attempt: int, message: Message) -> None:
        if attempt != self._attempt or self.state is not Body.CREATING:
            return
        if isinstance(message, RealCreated):
            self._begin()
        else:
            self._end(Body.NONE, f"the CellApp answered {type(message).__name__}")

    def _begin(self) -> None:
        """It was made."""
        self._meet()
        self.state = Body.THERE
        if self._failure:
            self.take_down()
        else:
            self._entity.draft.place = self._wanted
            self._entity.on_cell_created()

    def _on_not_created(self, attempt: int, request: CreateReal, failure: Failure, why: str) -> None:
        if attempt != self._attempt or self.state is not Body.CREATING:
            return
        if failure is not Failure.REFUSED:
            self._app.host.log(
                "cell part asked for again", entity=str(self._entity), app=str(self._made_at), why=failure.value
            )
            self._app.alarms.after(AGAIN_S, partial(self._ask, attempt, request))
        elif self._failure:
            self._end(Body.NONE, self._failure)
        else:
            # It is certain that it was not made. The ground may have changed hands since it was looked for: ask again.
            self.state = Body.FINDING
            self._find_later(attempt, why)

    def _meet(self) -> None:
        """Both parts always know where the other is, from here on."""
        assert self._made_at is not None
        self._app.switchboard.learn(self.part, first_of_life(self.life), self._made_at)
        self._app.switchboard.pin(self._entity.part_id, self.part)

    # Down.

    def take_down(self) -> None:
        """The cell part is not wanted any more, whatever has become of it so far."""
        if self.state is Body.THERE:
            self._leave()
        elif self.state is Body.CREATING:
            self._failure = _TOO_SOON
        elif self.state is Body.FINDING:
            self._end(Body.NONE, _TOO_SOON)
        elif self.state is Body.LOST:
            self.state = Body.NONE
            self._app.switchboard.gone(self.part, "its CellApp is lost")

    def _leave(self) -> None:
        self.state = Body.LEAVING
        self._say_destroy(self._attempt)

    def _say_destroy(self, attempt: int) -> None:
        if attempt == self._attempt and self.state is Body.LEAVING and not self.send(DestroyReal()):
            self._app.alarms.after(AGAIN_S, partial(self._say_destroy, attempt))

    def on_not_taken_down(self) -> None:
        """DestroyReal did not reach it."""
        # Mail is read before alarms go off: a last word that has come is heard first.
        self._app.alarms.after(AGAIN_S, partial(self._await_last_word, self._attempt))

    def _await_last_word(self, attempt: int) -> None:
        if attempt != self._attempt or self.state is not Body.LEAVING:
            return
        if self._may_speak:
            self.on_not_taken_down()
        else:
            self._app.host.log("cell part ended without a word", entity=str(self._entity))
            self._end(Body.NONE, self._failure)

    def on_data(self, data: CellData) -> None:
        """The cell part as it is, or as it was at its end."""
        entity = self._entity
        if self.state not in (Body.THERE, Body.LEAVING):
            self._app.host.log("unexpected cell data", entity=str(entity), state=self.state.value)
            return
        entity.draft.place = Place(data.space, data.position, data.direction)
        try:
            values = entity.schema.cell_layout.row.decode(data.properties)
        except DecodeError as problem:
            self._app.host.log("bad cell data", entity=str(entity), problem=str(problem), keeps="the values before")
        else:
            entity.draft.cell.release()
            entity.draft.cell = State(entity.schema.cell_layout, values=values)
        if data.is_last:
            self._end(Body.NONE, self._failure)

    def give_up(self, why: str) -> None:
        """There is no time to wait for its last word."""
        if self.state not in (Body.NONE, Body.LOST):
            self._app.host.log("cell part given up", entity=str(self._entity), why=why, state=self.state.value)
            self._end(Body.NONE, why)

    def _end(self, state: Body, failure: str) -> None:
        had_body = self.state in (Body.THERE, Body.LEAVING) and not self._failure
        self.state = state
        self._attempt += 1
        self._wanted = None
        self._failure = ""
        self._entity.on_cell_gone(had_body=had_body, failure=failure)

    # What the app hears about it.

    def on_app_dead(self, app: AppId) -> None:
        """A CellApp is declared dead."""
        if self.state is Body.CREATING and self._made_at == app:
            self._on_maker_dead(app)
        place = self._app.switchboard.places.get(self.part)
        if place is None or place.app != app:
            return
        if self.state is Body.THERE:
            self._end(Body.LOST, "")
        elif self.state is Body.LEAVING:
            self.give_up(f"{app} is dead")
        if self.state in (Body.NONE, Body.FINDING):
            self._app.switchboard.gone(self.part, f"{app} is dead")

    def _on_maker_dead(self, app: AppId) -> None:
        """Who was asked for it is dead. If it was made and had moved on in time, it is heard, or will be."""
        if self._is_heard:
            self._begin()
        elif self._failure:
            self._end(Body.NONE, self._failure)
        else:
            self._meet()
            self._end(Body.LOST, f"{app} is dead")

    def on_heard(self) -> None:
        """It has said something: if it was thought lost, it is not; and if it was asked for, it was made."""
        if self.state is Body.CREATING and self._is_heard:
            self._begin()
        elif self.state is Body.LOST:
            self._app.host.log("cell part is back", entity=str(self._entity))
            self.state = Body.THERE
            self._entity.on_cell_created()

    def locate(self) -> None:
        """The switchboard asks where it is."""
        switchboard = self._app.switchboard
        place = switchboard.places[self.part]
        if self.state is Body.NONE:
            # Until it has said its last word its mailbox, which is ending, answers for itself.
            if place.app is None or not self._may_speak:
                switchboard.gone(self.part, "it has no cell part")
        elif self.state in (Body.THERE, Body.LEAVING) and self._made_at is not None:
            # Where it began there is a trace of where it went, and it speaks up itself when it has moved.
            switchboard.learn(self.part, max(place.version, first_of_life(self.life)), self._made_at)
