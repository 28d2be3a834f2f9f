"""The client of one proxy: which session it has, and what happens when it comes and goes.

`presence_states.py` has the table of states; this module has the code of each action.

- *A key is valid once*, and the session that presents it is the client's. A proxy that no client ever connected to
  was not played: it ends unsaved.
- *A client that lost its connection resumes* with its session token (`tokens.py`), within the time that the game gives.
  It gets a fresh view. A former session that seems alive gives way to the next one.
- *The game's hooks run in pairs*: `on_client_ready` for the first client, `on_client_back` for each later one and for
  each that has resumed, and then `on_client_lost`. A client that replaces another one, or its own former session, is
  `on_client_back` without `on_client_lost` before.
- *The last message* of a session is LOGGED_OFF with a reason.
- *A kept entity* without a client ends when its time is over, but not while a next client has a valid key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from terrazzo.base.alarms import Alarm
from terrazzo.base.client_row import ClientRow, ClientSession
from terrazzo.base.entity import BaseLife
from terrazzo.base.farewells import LOSSES, ClientLoss, Farewell
from terrazzo.base.limits import KEY_S, READY_S, REASON_MAX
from terrazzo.base.presence_states import CONNECTED, Presence, PresenceAction, PresenceEvent, next_step
from terrazzo.base.services import ClientServices, EntityServices, SessionKey
from terrazzo.base.shown import Shown
from terrazzo.base.tokens import ClientTokens
from terrazzo.errors import printable
from terrazzo.sync.protocol import encode_logged_off, encode_session
from terrazzo.wire.client import Reason
from terrazzo.wire.ids import EntityId
from terrazzo.wire.log_events import LogEvent

FINAL = (Reason.SLOW_READER, Reason.PROTOCOL, Reason.BANNED)
"""Reasons for which the BaseApp ends a session for good."""


class PresenceOwner(Protocol):
    """What the client of a proxy needs of it."""

    id: EntityId
    life: BaseLife
    row: ClientRow
    reconnect_s: float
    is_worth_saving: bool

    def run(self, callback: str, *args: Any) -> bool: ...
    def destroy(self) -> None: ...
    def set_lane(self) -> None: ...
    def send_player(self) -> None: ...
    def begin_witness(self) -> None: ...
    def end_witness(self) -> None: ...


class ClientPresence:
    """The client of one proxy."""

    def __init__(self, owner: PresenceOwner, services: EntityServices, clients: ClientServices) -> None:
        self.state = Presence.ABSENT
        self.session_key: SessionKey = (0, 0)
        self._owner = owner
        self._services = services
        self._clients = clients
        self._key = b""
        self._key_ends_at = 0.0
        self._tokens = ClientTokens(clients.tokens, owner.id)
        self._reconnect_s = 0.0
        """How long the present client may take to resume."""
        self._away: Alarm | None = None
        """For a client that does not resume."""
        self._alarm: Alarm | None = None
        """For a client that does not come, or is not ready in time."""
        self._keeping: Alarm | None = None
        """For the end of an entity without a client."""
        self._was_played = False
        """Whether a client was ready."""
        self._is_told = False
        """Whether the game counts a client as connected."""
        self._farewell = (Farewell.DESTROYED, "the entity was destroyed")

    @property
    def is_connected(self) -> bool:
        """Whether a client is connected."""
        return self.state in CONNECTED

    @property
    def is_next_expected(self) -> bool:
        """Whether a client may come with a key that is valid."""
        return bool(self._key) and self._services.host.now < self._key_ends_at

    @property
    def may_resume(self) -> bool:
        """Whether a session token is valid."""
        return bool(self._tokens)

    def _step(self, event: PresenceEvent, *details: Any) -> None:
        """Makes the transition of this event. `details` are for its action."""
        self.state, action = next_step(self.state, event)
        self._owner.row.is_ready = self.state is Presence.READY
        ACTIONS[action](self, *details)

    # What happens.

    def expect(self, key: bytes) -> None:
        """Waits for a client that presents this key. A former key is void."""
        self._forget_key()
        self._key = key
        self._key_ends_at = self._services.host.now + KEY_S
        self._step(PresenceEvent.EXPECT)

    def attach(self, session: ClientSession, session_key: SessionKey) -> None:
        """A client has presented the key. `session_key` identifies the session at this app."""
        self._key = b""
        self._step(PresenceEvent.ATTACH, session, session_key)

    def resume(self, session: ClientSession, session_key: SessionKey, token: bytes) -> None:
        """The client has presented a valid token, over another connection."""
        self._clients.counts.resumed += 1
        self._services.host.log(LogEvent.CLIENT_RESUMED, entity=str(self._owner))
        self._step(PresenceEvent.RESUME, session, session_key, token)

    def on_ready(self) -> None:
        """The client has created its entity."""
        self._step(PresenceEvent.READY)

    def on_bye(self) -> None:
        """The client leaves by itself; it gets LOGGED_OFF when everything is saved."""
        self._step(PresenceEvent.BYE)

    def on_session_closed(self, reason: Reason, *, by_peer: bool) -> None:
        """The session has ended: the client closed it, it timed out, or the BaseApp ended it."""
        self._owner.row.session = None
        if self.is_connected:
            self._services.host.log(LogEvent.CLIENT_LOST, entity=str(self._owner), reason=reason.name)
        self._step(PresenceEvent.CUT if reason in FINAL and not by_peer else PresenceEvent.LOST)

    def send_away(self, farewell: Farewell, text: str) -> None:
        """Ends the session at once, if a client is connected."""
        if self.is_connected:
            self._services.host.log(LogEvent.CLIENT_SENT_AWAY, entity=str(self._owner), reason=farewell.name, text=text)
            self._step(PresenceEvent.SEND_AWAY, farewell, text)

    def on_destroy(self, farewell: Farewell, text: str) -> None:
        """The entity ends."""
        self._forget_key()
        self._forget_tokens()
        self._cancel_alarm()
        self._cancel_keeping()
        self._step(PresenceEvent.DESTROY, farewell, text)

    def on_going(self) -> None:
        """The entity has ended, and is saved."""
        self._step(PresenceEvent.GONE)

    def keep(self, seconds: float | None) -> None:
        """An entity without a client ends after so many seconds, unless a client comes; None: never by itself."""
        self._cancel_keeping()
        if self.is_connected or self.state is Presence.WAITING or self._owner.life is not BaseLife.ALIVE:
            return
        if seconds is None:
            return
        if seconds <= 0.0:
            self._owner.destroy()
        else:
            self._keeping = self._services.alarms.after(seconds, self._on_kept)

    def _on_kept(self) -> None:
        self._keeping = None
        if self.is_next_expected:
            self._keeping = self._services.alarms.after(self._key_ends_at - self._services.host.now, self._on_kept)
        elif not self.is_connected:
            self._services.host.log(LogEvent.CLIENT_NOT_BACK, entity=str(self._owner))
            self._owner.destroy()

    # The actions.

    def _await(self) -> None:
        self._cancel_alarm()
        self._alarm = self._services.alarms.after(KEY_S, self._on_no_client)

    def _on_no_client(self) -> None:
        self._services.host.log(LogEvent.CLIENT_NEVER_CAME, entity=str(self._owner), seconds=KEY_S)
        self._step(PresenceEvent.NO_CLIENT)
        self._owner.destroy()

    def _greet(self, session: ClientSession, session_key: SessionKey, token: bytes | None = None) -> None:
        self._cancel_alarm()
        self._cancel_away()
        self.session_key = session_key
        self._owner.row.session = session
        self._alarm = self._services.alarms.after(READY_S, self._on_slow)
        self._reconnect_s = self._owner.reconnect_s
        if self._reconnect_s > 0.0:
            session.send(encode_session(self._tokens.renew(token), self._reconnect_s))
        else:
            self._tokens.forget()
        self._owner.send_player()

    def _on_slow(self) -> None:
        self.send_away(Farewell.TOO_SLOW, f"the client was not ready within {READY_S:.0f} seconds")

    def _replace(self, session: ClientSession, session_key: SessionKey) -> None:
        self._services.host.log(LogEvent.CLIENT_TAKEN_OVER, entity=str(self._owner))
        self._let_former_go(Farewell.TAKEN_OVER, "your player has logged in again, from another place")
        self._greet(session, session_key)

    def _renew(self, session: ClientSession, session_key: SessionKey, token: bytes) -> None:
        self._let_former_go(Farewell.RESUMED, "this client has resumed over another connection")
        self._greet(session, session_key, token)

    def _let_former_go(self, farewell: Farewell, text: str) -> None:
        """The session that the next one replaces ends, and its witness."""
        self._end_session(farewell, text)
        self._owner.row.shown = Shown()
        self._owner.end_witness()

    def _begin(self) -> None:
        self._tokens.confirm()
        self._cancel_alarm()
        self._cancel_keeping()
        callback = "on_client_back" if self._was_played else "on_client_ready"
        self._was_played = self._is_told = True
        self._owner.run(callback)
        self._owner.begin_witness()
        self._owner.set_lane()

    def _part(self) -> None:
        self._farewell = (Farewell.BYE, "goodbye")
        self._forget_tokens()
        self._let_game_decide(ClientLoss.LEFT)
        if self._owner.life is BaseLife.ALIVE:
            self._step(PresenceEvent.KEEP)

    def _lose(self) -> None:
        if self._tokens:
            self._tokens.set_end(self._services.host.now + self._reconnect_s)
            self._away = self._services.alarms.after(self._reconnect_s, self._on_too_late)
        else:
            self._step(PresenceEvent.TOO_LATE)
        self._let_game_decide(ClientLoss.CONNECTION)

    def _on_too_late(self) -> None:
        self._services.host.log(LogEvent.CLIENT_NOT_RESUMED, entity=str(self._owner), seconds=self._reconnect_s)
        self._step(PresenceEvent.TOO_LATE)

    def _cut_off(self) -> None:
        self._forget_tokens()
        self._let_game_decide(ClientLoss.LIMITS)

    def _dismiss(self, farewell: Farewell, text: str) -> None:
        self._end_session(farewell, text)
        self._forget_tokens()
        self._let_game_decide(LOSSES[farewell])

    def _let_game_decide(self, loss: ClientLoss) -> None:
        """A client is gone, for whatever reason: its witness ends, and the game's hook runs."""
        self._cancel_alarm()
        self._owner.set_lane()
        self._owner.row.shown = Shown()
        if self._owner.life is not BaseLife.ALIVE:
            return
        self._owner.end_witness()
        if self._is_told:
            self._is_told = False
            if not self._owner.run("on_client_lost", loss):
                self._owner.destroy()  # the game's code failed, so the game will not end it
        elif not self._was_played:
            self._owner.destroy()

    def _discard(self, *_: Any) -> None:
        self._owner.is_worth_saving = False

    def _stop_reading(self, farewell: Farewell, text: str) -> None:
        self._owner.set_lane()
        self._farewell = (farewell, text)

    def _say_farewell(self) -> None:
        self._end_session(*self._farewell)

    def _end_session(self, farewell: Farewell, text: str) -> None:
        self._owner.set_lane()
        row = self._owner.row
        session, row.session = row.session, None
        if session is not None:
            session.send(encode_logged_off(farewell, printable(text[:REASON_MAX])))
            session.close(self._services.host.now)
            self._clients.forget_session(self.session_key)

    def _forget_key(self) -> None:
        self._clients.keys.forget(self._key)
        self._key = b""

    def _forget_tokens(self) -> None:
        self._cancel_away()
        self._tokens.forget()

    def _cancel_away(self) -> None:
        if self._away is not None:
            self._away.cancel()
            self._away = None

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _cancel_keeping(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None


def _nothing(presence: ClientPresence, *_: Any) -> None:
    """The state changes, no more."""


ACTIONS: dict[PresenceAction, Callable[..., None]] = {
    PresenceAction.NOTHING: _nothing,
    PresenceAction.AWAIT: ClientPresence._await,
    PresenceAction.GREET: ClientPresence._greet,
    PresenceAction.REPLACE: ClientPresence._replace,
    PresenceAction.RENEW: ClientPresence._renew,
    PresenceAction.BEGIN: ClientPresence._begin,
    PresenceAction.PART: ClientPresence._part,
    PresenceAction.LOSE: ClientPresence._lose,
    PresenceAction.CUT_OFF: ClientPresence._cut_off,
    PresenceAction.FORGET: ClientPresence._forget_tokens,
    PresenceAction.DISMISS: ClientPresence._dismiss,
    PresenceAction.DISCARD: ClientPresence._discard,
    PresenceAction.STOP_READING: ClientPresence._stop_reading,
    PresenceAction.FAREWELL: ClientPresence._say_farewell,
}
"""The code of each action of the table."""
