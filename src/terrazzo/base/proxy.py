"""A base with a client: the session of one player's program.

    WAITING ──key shown──▶ ATTACHED ──ready──▶ READY ──bye──▶ LEAVING ──base gone──▶ ABSENT
       │ 15 s                 │ lost, 30 s       │ lost, sent away ──────────────────▶ ABSENT
       ▼                      ▼
    the base goes          the base goes         on_client_ready and on_client_lost come in pairs

The rules:

- *The key is shown once*, and whoever shows it is the client. A proxy whose client never came was never played: it goes
  unsaved, so that what a late one would write cannot undo what was written since.
- *Base player first.* From then on each change of a BASE_AND_CLIENT property goes to the client, in order with calls.
- *The witness number.* Each time the cell part is told that a client is there, the number is one higher, and what the
  cell says for a client bears it. What bears another was meant for the client before, or comes from the cell part
  before: it is dropped (race 20).
- *What the client has been shown* is read off the messages on their way through (`shown.py`), so that a client can
  call only entities it sees, and speak only of what it was told.
- *The last word* is LOGGED_OFF with a reason. To a client that said bye it comes when everything is saved: by then it
  may log in again.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, IntEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

from terrazzo._speed.values import Change
from terrazzo.base.alarms import Alarm
from terrazzo.base.api import Base
from terrazzo.base.cellside import AGAIN_S, Body
from terrazzo.base.clientmail import ClientMail
from terrazzo.base.drafts import Draft
from terrazzo.base.entity import BaseEntity, Life
from terrazzo.base.limits import BAD_MAX, KEY_S, READY_S, REASON_MAX, UPDATES_MAX, WANTS_MAX, Refused
from terrazzo.base.shown import Shown
from terrazzo.errors import DecodeError, ValueRejected, printable
from terrazzo.schema.flags import Receiver
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.schema.shares import share_of
from terrazzo.sync import protocol
from terrazzo.wire.ids import AppId, EntityId
from terrazzo.wire.messages import Refusal
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientWants, SendAway, SetWitness
from terrazzo.wire.pairs.base_cell import ToClient as CellToClient

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp


class ClientSession(Protocol):
    """What a proxy needs of `wire.client.Session`."""

    @property
    def id(self) -> int:
        """Its number at its endpoint."""

    @property
    def heard_at(self) -> float:
        """When the last packet of the client came."""

    def probe(self) -> None:
        """Ask the client for a sign of life."""

    def send(self, message: bytes, *, reliable: bool = True) -> bool: ...
    def close(self, now: float) -> None: ...
    def admit(self) -> None: ...


class Presence(Enum):
    """Where the client is in its life."""

    WAITING = "waiting"
    ATTACHED = "attached"
    READY = "ready"
    LEAVING = "leaving"
    ABSENT = "absent"


class Farewell(IntEnum):
    """The reason in LOGGED_OFF."""

    BYE = 1  # the client left, and everything is saved
    DESTROYED = 2  # the game ended the entity
    SENT_AWAY = 3  # the game ended the session
    BAD_MESSAGES = 4
    TOO_SLOW = 5  # it was not ready in time
    WRONG_KEY = 6
    STOPPING = 7  # the server ends
    SILENT = 8  # the client did not answer when its player logged in again


class ProxyEntity(BaseEntity):
    """One base that can have a client."""

    part: Base

    def __init__(self, app: BaseApp, id: EntityId, draft: Draft, part_class: type[Base]) -> None:
        self.presence = Presence.ABSENT
        self.is_logged_on = False
        self.witness = 0
        self.moves_made = 0  # over all clients of this proxy: a move's number never goes back
        self.bad = 0
        self.session_key = (0, 0)
        self._session: ClientSession | None = None
        self._key = b""
        self._alarm: Alarm | None = None
        self._farewell = (Farewell.DESTROYED, "the entity was destroyed")
        self.shown = Shown()
        self.updates: deque[ClientUpdate] = deque(maxlen=UPDATES_MAX)
        """What may be lost, and waits for the next tick or for mail that was sent before it."""
        super().__init__(app, id, draft, part_class)
        self.mail = ClientMail(self)

    @property
    def is_ready(self) -> bool:
        """Whether the client may call and move."""
        return self.presence is Presence.READY

    @property
    def has_client(self) -> bool:
        """Whether there is somebody to send to."""
        return self.presence in (Presence.ATTACHED, Presence.READY)

    # The client comes.

    def expect(self, key: bytes) -> None:
        """A client will come and show this key."""
        self.presence = Presence.WAITING
        self.is_logged_on = True
        self._key = key
        self._alarm = self.app.alarms.after(KEY_S, self._on_nobody)

    def _on_nobody(self) -> None:
        self.app.host.log("client never came", entity=str(self), seconds=KEY_S)
        self.destroy()

    def attach(self, session: ClientSession, session_key: tuple[int, int]) -> None:
        """The client has come: it learns what its entity is. The app knows the session by its key."""
        self._cancel_alarm()
        self.session_key = session_key
        self.presence = Presence.ATTACHED
        self._session = session
        self._alarm = self.app.alarms.after(READY_S, self._on_slow)
        values = [self.draft.base[name] for name in self.schema.base_player_layout.names]
        self._send(protocol.encode_base_player(self.id, self.schema, values))

    def _on_slow(self) -> None:
        self._drop(Farewell.TOO_SLOW, f"the client was not ready within {READY_S:.0f} seconds")

    def on_ready(self) -> None:
        """The client has understood its entity."""
        if self.presence is not Presence.ATTACHED:
            raise DecodeError("ready, a second time", 0)
        self._cancel_alarm()
        self.presence = Presence.READY
        self.run("on_client_ready")
        self._set_witness()

    # The client speaks.

    def on_messages(self, messages: list[bytes]) -> None:
        """What the client has sent, in order."""
        for message in messages:
            if not self.has_client:
                return
            try:
                self.mail.read(message)
            except DecodeError as problem:
                self._on_bad(problem)

    def _on_bad(self, problem: DecodeError) -> None:
        self.bad += 1
        self.app.count_bad(Refused.BAD_MESSAGE)
        self.app.host.log("bad client message", entity=str(self), problem=str(problem), count=self.bad)
        if self.bad >= BAD_MAX:
            text = f"{self.bad} messages that no client of this game sends; the last: {problem}"
            self._drop(Farewell.BAD_MESSAGES, text)

    # The client goes.

    def on_bye(self) -> None:
        """The client leaves by itself; it hears the last word when all is done."""
        was_ready = self.is_ready
        self.presence = Presence.LEAVING
        self._farewell = (Farewell.BYE, "goodbye")
        self._after_client(was_ready=was_ready)
        if self.life is Life.ALIVE:  # the game keeps the entity
            self._end_session(*self._farewell)

    def on_session_closed(self, reason: str) -> None:
        """The session is over: closed by the client, silent, or slow."""
        was = self.presence
        self._session = None
        self.presence = Presence.ABSENT
        if was in (Presence.ATTACHED, Presence.READY):
            self.app.host.log("client lost", entity=str(self), reason=reason)
            self._after_client(was_ready=was is Presence.READY)

    def heard_since(self, since: float) -> bool:
        """Whether a packet of the client has come."""
        return self._session is not None and self._session.heard_at > since

    def probe(self) -> None:
        """Ask the client for a sign of life; one that has not come yet cannot give one."""
        if self._session is not None:
            self._session.probe()

    def let_go(self) -> None:
        """The client does not answer, and its player logs in again."""
        if self.presence is Presence.WAITING:
            self.app.host.log("client never came", entity=str(self), note="its player logs in again")
            self.destroy()
        else:
            self._drop(Farewell.SILENT, "this client did not answer, and its player has logged in again")

    def disconnect(self, reason: str) -> None:
        """The game sends the client away."""
        self._drop(Farewell.SENT_AWAY, reason)

    def _drop(self, farewell: Farewell, text: str) -> None:
        """Ends the session at once."""
        if self.has_client:
            was_ready = self.is_ready
            self.app.host.log("client sent away", entity=str(self), reason=farewell.name, text=text)
            self._end_session(farewell, text)
            self._after_client(was_ready=was_ready)

    def _after_client(self, *, was_ready: bool) -> None:
        """What follows when a client is gone, whatever the reason."""
        self._cancel_alarm()
        self.shown = Shown()
        if self.life is not Life.ALIVE:
            return
        self._say_witness(self.witness, is_on=False)
        if not was_ready:
            self.destroy()
        elif not self.run("on_client_lost"):
            self.destroy()  # the game's code failed: nobody would end it otherwise

    def _end_session(self, farewell: Farewell, text: str) -> None:
        self.presence = Presence.ABSENT
        session, self._session = self._session, None
        if session is not None:
            session.send(protocol.encode_logged_off(farewell, printable(text[:REASON_MAX])))
            session.close(self.app.host.now)
            self.app.sessions.pop(self.session_key, None)

    def destroy(self, farewell: Farewell = Farewell.DESTROYED, text: str = "the entity was destroyed") -> None:
        """See BaseEntity; a client that is there is not listened to any more."""
        if self.life is Life.ALIVE and self.has_client:
            self.presence = Presence.LEAVING
            self._farewell = (farewell, text)
        elif self.presence is Presence.WAITING:
            self.presence = Presence.ABSENT
            self.is_worth_saving = False
        self.app.keys.forget(self._key)
        self._cancel_alarm()
        super().destroy()

    def on_going(self) -> None:
        """See BaseEntity."""
        self._end_session(*self._farewell)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # To the client.

    def _send(self, message: bytes, *, reliable: bool = True) -> None:
        if self._session is None:
            return
        try:
            self._session.send(message, reliable=reliable)
        except ValueRejected as problem:
            self.app.host.log("message too large for a client", entity=str(self), problem=str(problem))
            if reliable:  # without it the client's story has a hole
                self._drop(Farewell.SENT_AWAY, "something of the world was too large to be sent")

    def _send_loose(self, message: bytes) -> None:
        if message:
            self._send(self.shown.turns.mark(message), reliable=False)

    def call_client(self, index: int, method: Method, args: bytes) -> None:
        """Call a method of the own client."""
        if self.has_client:
            told = self.app.methods.encode_call(self.schema, Side.CLIENT, method.name, args, component=method.component)
            message = protocol.with_alias(protocol.OWN, told)
            if method.is_reliable:
                self._send(message)
            else:
                self._send_loose(message)

    def on_change(self, change: Change) -> None:
        """See BaseEntity: what the own client has of the base is kept up to date."""
        prop = self.schema.base_layout.properties[change.prop]
        if prop.flags.value.own_client and self.has_client and self.schema.on_client:
            layout = self.schema.client_layout
            shared = share_of(change, prop.codec, prop.codec_for(Receiver.OWN_CLIENT))
            if shared is not None:
                told = protocol.encode_change(shared, layout.index[prop.name], len(layout))
                self._send(protocol.with_alias(protocol.OWN, told))

    # From the cell part to the client.

    def on_cell_created(self) -> None:
        """See BaseEntity."""
        self._set_witness()
        super().on_cell_created()

    def on_cell_gone(self, *, had_body: bool, failure: str) -> None:
        """See BaseEntity."""
        if self.shown.has_body and self.has_client:
            lost = protocol.encode_cell_lost()
            self.shown.note(lost)
            self._send(lost)
        self.shown.end()
        super().on_cell_gone(had_body=had_body, failure=failure)

    def _set_witness(self) -> None:
        if self.cell.state is Body.THERE and self.is_ready:
            self.witness += 1
            self._say_witness(self.witness, is_on=True)

    def _say_witness(self, witness: int, *, is_on: bool) -> None:
        """Tells the cell part whether a client is there, again while it takes nothing and that is still so."""
        if witness != self.witness or is_on != self.is_ready or self.cell.state is not Body.THERE:
            return
        if not self.cell.send(SetWitness(witness, is_on)):
            self.app.alarms.after(AGAIN_S, partial(self._say_witness, witness, is_on=is_on))

    def on_cell_mail(self, message: object, *, is_own: bool) -> bool:
        """See BaseEntity."""
        if is_own and isinstance(message, SendAway):
            if self._is_present(message.witness):
                self._drop(Farewell.SENT_AWAY, message.reason)
            return True
        if not isinstance(message, CellToClient) or not is_own:
            return False
        if self._is_present(message.witness):
            for each in message.messages:
                try:
                    self.shown.note(each)
                except DecodeError as problem:
                    self.app.refusals.count(self.cell.part, Refusal.MALFORMED)
                    self.app.host.log("bad message for a client", entity=str(self), problem=str(problem))
                else:
                    self._send(each)
        return True

    def send_wants(self) -> None:
        """What the client said about those it sees goes to the cell part."""
        wants, released = self.shown.take()
        if self.is_ready and self.cell.state is Body.THERE:
            for at in range(0, max(len(wants), len(released)), WANTS_MAX):
                part = slice(at, at + WANTS_MAX)
                if not self.cell.send(ClientWants(self.witness, wants[part], released[part])):
                    self.shown.put_back(wants[at:], released[at:])
                    self.app.wanting[self.id] = self  # in the next tick
                    return

    def keep_update(self, source: AppId, update: ClientUpdate) -> bool:
        """Positions, loose changes and calls have come. From where the cell part was before they come too late: what
        has been said from where it is now may be about others. That is asked now, for it may have come back there, and
        be heard in this very tick."""
        if source != self.cell.home:
            self.app.old_mail += 1
            return False
        self.updates.append(update)
        return True

    def pass_updates(self) -> bool:
        """What may be lost goes to the client when all mail is taken that was sent before it, which may tell of places,
        too, and not before its cell player. False when some waits for mail."""
        while self.updates:
            update = self.updates[0]
            if not self.app.switchboard.has_taken(self.part_id, self.cell.part, update.after):
                return False
            self.updates.popleft()
            if not self.shown.has_body:
                self.app.old_mail += 1
            elif self._is_present(update.witness):
                for each in update.messages:
                    self._send_loose(each)
        return True

    def _is_present(self, witness: int) -> bool:
        if witness == self.witness and self.is_ready and self.cell.state in (Body.THERE, Body.LEAVING):
            return True
        self.app.old_mail += 1
        return False

    def schema_of(self, entity: int) -> EntitySchema | None:
        """See BaseEntity: also of what the client sees."""
        type_id = self.shown.type_of(entity)
        return super().schema_of(entity) if type_id is None else self.app.game.schema.by_id.get(type_id)
