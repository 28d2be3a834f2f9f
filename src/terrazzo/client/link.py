"""How a client gets into the world and out of it: logs in, joins its BaseApp, leaves. A state machine without I/O.

    CONNECTING ──session──► LOGGING_IN ──key──► JOINING ──base player──► PLAYING ──leave()──► LEAVING ──► OVER
        │                       │                  │                     │  ▲ │
        └── no answer ──────────┴── refused ───────┴── lost              │  │ └── logged off ──► OVER, `error` is why
                                                       lost, with a token│  │base player
                                                                         ▼  │
                                                                    RECONNECTING ── refused, too late ──► OVER

A client that has lost its connection to the BaseApp while it played resumes by itself, with the token of its session,
for as long as the server has said (`sync.protocol`, `pauses.py`). It gets everything from the beginning: the view is
emptied when the new session begins, and stays as it was until then.

LEAVING lasts until the server's *logged off*, which comes when everything is saved, and the session has ended after it.
Without it within LEAVE_S, or when the connection is lost first, `error` is that nothing is confirmed.

WAITING belongs to LOGGING_IN: a client that `may_wait` is in the queue of the LoginApp, and `place` is its place there.

If the connection is lost after the login request was sent, the client sends the same request again: once, or, while it
waits, with pauses that grow, for RETURN_S; the LoginApp keeps its place for some time.

There are two connections one after the other: to a LoginApp, and with the key it gives to a BaseApp. Both have
addresses that mean nothing here; `poll` gives (address, packet) pairs, and `addresses` has those still in use.
Over UDP a driver needs one socket for both; over WebSocket one connection for each address, opened when the first
packet for it appears and closed when it is in use no more.

    on_datagram(data, now)      a packet has come, from whichever of the two
    on_path_lost(address, now)  a WebSocket has closed, or could not be opened
    tick(now)                   once per tick
    poll(now)                   what is to be sent now
    next_timeout()              when `poll` must be called although nothing happens

What the BaseApp sends is the subclass's business: `ClientApp` (`client.py`) keeps a whole view of the world, a `Walker`
(`walker.py`) only what it needs for walking.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

import msgspec

from terrazzo.client import failures
from terrazzo.client.pauses import Pauses
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.schema.arguments import text
from terrazzo.sync.protocol import LoginReply, LoginRequest, ToClient, ToServer, decode_session, encode_resume
from terrazzo.wire.client import (
    CLIENT,
    UDP,
    ClientEndpoint,
    Closed,
    Connected,
    Reason,
    Received,
    Settings,
    Suite,
    Transport,
)
from terrazzo.wire.client.limits import LINGER_S
from terrazzo.wire.client.session import Entropy
from terrazzo.wire.environment import Log
from terrazzo.wire.log_events import LogEvent

Address = tuple[str, int]
"""Host and port, as they were given or as the LoginApp sent them."""

ANSWER_S = 15.0
"""How long a server that was reached may take: an account check, a place on a BaseApp."""
ATTEMPT_BYTES = 16
TOLD_S = 12.0
"""A client in the queue that is not told its place for so long takes its connection as lost."""
RETURN_S = 60.0
"""How long a client that waits tries to get its place back."""
RETURN_PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Between two such attempts; the last one repeats."""
REPEATS_MAX = 1
"""How often a login is sent again because the connection was lost before the answer came."""
FINAL = (Reason.PROTOCOL, Reason.BANNED, Reason.WRONG_VERSION, Reason.WRONG_SUITE)
"""Ends of a connection after which a client does not resume."""
LOST = frozenset({Reason.PATH_LOST, Reason.SILENT, Reason.NO_ANSWER})
"""The reasons of a session that has ended because its connection is lost."""
LEAVE_S = 10.0
"""How long a client that leaves waits for *logged off*."""


class Phase(Enum):
    """Where a client is in its life."""

    CONNECTING = "connecting"
    LOGGING_IN = "logging in"
    WAITING = "waiting"
    JOINING = "joining"
    PLAYING = "playing"
    RECONNECTING = "reconnecting"
    LEAVING = "leaving"
    OVER = "over"


def silent(event: str, /, **facts: object) -> None:
    """A log that keeps nothing."""


def _ignore_place(place: int, waiting: int) -> None:
    """No program has asked for it."""


class ClientLink(ABC):
    """One client of a cluster, as far as its connections go."""

    def __init__(
        self,
        *,
        digest: str,
        login: Address,
        server_key: bytes,
        name: str,
        password: str,
        entropy: Entropy,
        now: float,
        transport: Transport = UDP,
        suite: Suite = Suite.CHACHA20_POLY1305,
        settings: Settings = CLIENT,
        log: Log = silent,
        may_wait: bool = False,
    ) -> None:
        """`digest`: of the game's schema. `may_wait`: whether the client waits in the queue if there is no room."""
        words = ((name, "ClientApp: name"), (password, "ClientApp: password"))
        self.phase = Phase.CONNECTING
        self.error = ""
        """Why it is over, in one sentence; empty when it was left properly."""
        self.error_code = ""
        """The code of `error`, if the login was refused: see docs/login.md."""
        self.place = 0
        """In the queue, 1 for the first; 0 while it does not wait."""
        self.waiting = 0
        """How many wait in all."""
        self.on_place: Callable[[int, int], None] = _ignore_place
        """Called with `place` and `waiting` when the LoginApp has sent them."""
        self.name = name
        self.log = log
        self._server_key = server_key
        self._transport = transport
        self._entropy = entropy
        self._make = {"entropy": entropy, "transport": transport, "suite": suite, "settings": settings}
        name, password = (text(each, what, longest=settings.send_message_bytes_max) for each, what in words)
        self._attempt = entropy(ATTEMPT_BYTES).hex()
        self._request = msgspec.json.encode(LoginRequest(name, password, digest, self._attempt, may_wait))
        self._repeats_left = REPEATS_MAX
        self._returns = 0
        """How often the client has tried to get its place back since it was told one."""
        self._return_at: float | None = None
        self._return_by = 0.0
        if len(self._request) > settings.send_message_bytes_max:
            raise ValueRejected(f"expected a name and a password of less than {settings.send_message_bytes_max} bytes")
        self._login_at = login
        self._base_at: Address | None = None
        self._login: ClientEndpoint | None = self._connect(b"", now)
        self._base: ClientEndpoint | None = None
        self._answer_by: float | None = None
        self._over_at: float | None = None
        self._leave_by: float | None = None
        self._farewell: str | None = None
        self._token = b""
        """With which the client can resume."""
        self._reconnect_s = 0.0
        self._pauses: Pauses | None = None
        """Between the attempts to resume."""
        self._is_fresh = False
        """Whether the present session has sent nothing yet, and the view is that of the session before it."""

    # For the program.

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.phase is Phase.OVER

    def leave(self, now: float) -> None:
        """Leave the world: the server gets everything that was sent, saves the player, confirms it with *logged off*;
        then the connection ends."""
        if self.phase is Phase.PLAYING or (self.phase is Phase.JOINING and self._session_is_open(self._base)):
            self._send(bytes([ToServer.BYE]))
            self._leave_by = now + LEAVE_S
            self._answer_by = None
            self.phase = Phase.LEAVING
        elif self.phase is Phase.RECONNECTING:
            self._finish(self._not_confirmed(), now)
        elif self.phase not in (Phase.LEAVING, Phase.OVER):
            self._finish("", now)

    # For a driver.

    @property
    def addresses(self) -> list[Address]:
        """The addresses in use: a connection to any other one can be closed."""
        return [address for _, address in self._connections()]

    @property
    def connection_ids(self) -> list[int]:
        """The ids that packets for this client bear: for a driver that has one socket for many clients."""
        return [endpoint.client_id for endpoint, _ in self._connections()]

    def on_datagram(self, data: bytes, now: float) -> None:
        """A packet has come. Never raises because of what is in it."""
        endpoint = self._login if self._is_for_login(data) else self._base
        if endpoint is not None:
            endpoint.on_datagram(data, now)
            self._take_events(now)

    def on_path_lost(self, address: Address, now: float) -> None:
        """The connection under an ordered transport has closed, or could not be opened."""
        for endpoint, place in self._connections():
            if place == address:
                endpoint.on_path_lost()
        self._take_events(now)

    @abstractmethod
    def tick(self, now: float) -> None:
        """The time of the game moves on."""

    def poll(self, now: float) -> list[tuple[Address, bytes]]:
        """The packets to send now, and where."""
        if self._pauses is not None and self._base is None and now >= self._pauses.at:
            self._is_fresh = True
            self._base = self._connect(encode_resume(self._token), now)
        if self._answer_by is not None and now >= self._answer_by and self._pauses is not None:
            self._try_again(now)
        elif self._answer_by is not None and now >= self._answer_by and self._may_return(Reason.SILENT, now):
            self._return_soon(now)
        elif self._answer_by is not None and now >= self._answer_by:
            server, address = (
                (failures.LOGIN, self._login_at) if self._base_at is None else (failures.GAME, self._base_at)
            )
            self._finish(failures.too_slow(server, address, ANSWER_S), now)
        if self._leave_by is not None and now >= self._leave_by:
            self._finish(self._not_confirmed(), now)
        if self._return_at is not None and now >= self._return_at:
            self._return_at = None
            self._login = self._connect(b"", now)
        out: list[tuple[Address, bytes]] = []
        for endpoint, address in self._connections():
            out += [(address, data) for data in endpoint.poll(now)]
        self._take_events(now)
        if self._login is not None and self._base is not None and self._login.reason is not None:
            self._login = None
        if self._over_at is not None and now >= self._over_at:
            self._login = self._base = None
        return out

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing comes; None when there is nothing to wait for."""
        endpoints = (each.next_timeout() for each, _ in self._connections())
        times = [each for each in (*endpoints, self._answer_by, self._leave_by, self._return_at) if each is not None]
        if self._over_at is not None and self.addresses:
            times.append(self._over_at)
        if self._pauses is not None and self._base is None:
            times.append(self._pauses.at)
        return min(times, default=None)

    # For a subclass.

    @abstractmethod
    def _on_messages(self, messages: list[bytes], now: float) -> None:
        """The BaseApp has sent messages, in order."""

    def _begin_anew(self) -> None:
        """The client has resumed: what it has of the world is void, and comes again."""
        self._is_fresh = False

    def _on_player(self) -> None:
        """The BaseApp has sent the own entity: from now on the client plays."""
        self._answer_by = self._pauses = None
        if self.phase in (Phase.JOINING, Phase.RECONNECTING):
            self.phase = Phase.PLAYING
            self._send(bytes([ToServer.READY]))

    def _on_logged_off(self, text: str, now: float) -> None:
        """The BaseApp has sent its last message."""
        if self.phase is not Phase.LEAVING:
            self._farewell = text or "The game server logged this client off."
            self.phase = Phase.LEAVING
            self._answer_by = self._pauses = None
        self._leave_by = None
        self._end_session(self._base, now)

    def _send(self, message: bytes, *, reliable: bool = True) -> bool:
        if self._base is None or self._base.session is None:
            return False
        return self._base.session.send(message, reliable=reliable)

    # The two connections.

    def _connections(self) -> list[tuple[ClientEndpoint, Address]]:
        pairs = ((self._login, self._login_at), (self._base, self._base_at))
        return [(each, address) for each, address in pairs if each is not None and address is not None]

    def _connect(self, app_data: bytes, now: float) -> ClientEndpoint:
        return ClientEndpoint(self._server_key, now=now, app_data=app_data, **cast(Any, self._make))

    def _is_for_login(self, data: bytes) -> bool:
        """The login session may still be ending while the other one begins; packets bear the id of theirs."""
        if self._login is None or self._base is None:
            return self._base is None
        session = self._login.session
        return session is not None and data[1:5] == session.id.to_bytes(4, "little")

    def _take_events(self, now: float) -> None:
        if self._login is not None:
            for event in self._login.events():
                self._on_login_event(event, now)
        if self._base is not None:
            for event in self._base.events():
                self._on_base_event(event, now)

    def _on_login_event(self, event: Connected | Received | Closed, now: float) -> None:
        if isinstance(event, Connected):
            if self.phase is Phase.CONNECTING:
                self.phase = Phase.LOGGING_IN
            self._answer_by = now + ANSWER_S
            event.session.send(self._request)
        elif isinstance(event, Received):
            for message in event.messages:
                if self.phase in (Phase.LOGGING_IN, Phase.WAITING):
                    self._on_reply(message, now)
        elif isinstance(event, Closed) and self._may_return(event.reason, now):
            self._return_soon(now)
        elif isinstance(event, Closed) and self.phase is Phase.LOGGING_IN and self._may_repeat(event.reason):
            self._repeats_left -= 1
            self.phase, self._answer_by = Phase.CONNECTING, None
            self._login = self._connect(b"", now)
        elif isinstance(event, Closed) and self.phase in (Phase.CONNECTING, Phase.LOGGING_IN, Phase.WAITING):
            code = "" if event.session is not None else event.reason.name.lower()
            self._finish(self._explain(failures.LOGIN, self._login_at, event), now, code=code)

    def _may_repeat(self, reason: Reason) -> bool:
        """Whether the same request is sent again, over a new connection: the server recognises it."""
        return reason is Reason.PATH_LOST and self._repeats_left > 0

    def _may_return(self, reason: Reason, now: float) -> bool:
        """Whether the client tries to get its place in the queue back."""
        return self.phase is Phase.WAITING and reason in LOST and now < self._return_by

    def _return_soon(self, now: float) -> None:
        """A new connection after a pause. The present one is dropped without an end, which would give up the place."""
        pause_s = RETURN_PAUSES_S[min(self._returns, len(RETURN_PAUSES_S) - 1)]
        self._returns += 1
        self._return_at, self._answer_by = now + pause_s, None
        self._login = None

    def _on_place(self, reply: LoginReply, now: float) -> None:
        self.phase = Phase.WAITING
        self.place, self.waiting = reply.place, reply.waiting
        self._answer_by, self._return_by = now + TOLD_S, now + RETURN_S
        self._returns = 0
        self.on_place(self.place, self.waiting)

    def _on_reply(self, data: bytes, now: float) -> None:
        self._answer_by = None
        try:
            reply = msgspec.json.decode(data, type=LoginReply)
            key = bytes.fromhex(reply.key)
        except (msgspec.DecodeError, ValueError):
            self._finish(failures.unreadable(self._login_at), now)
            return
        if reply.place > 0:
            self._on_place(reply, now)
            return
        self.place = self.waiting = 0
        port = reply.udp_port if self._transport.datagram else reply.ws_port
        if reply.error:
            self._finish(reply.error, now, code=reply.code)
        elif not port:
            self._finish(failures.no_door(self._login_at, "UDP" if self._transport.datagram else "WebSocket"), now)
        else:
            self._end_session(self._login, now)
            self.phase = Phase.JOINING
            self._base_at = (reply.host or self._login_at[0], port)
            self._base = self._connect(key + self._attempt.encode(), now)

    def _on_base_event(self, event: Connected | Received | Closed, now: float) -> None:
        if isinstance(event, Connected):
            self._answer_by = now + ANSWER_S
        elif isinstance(event, Received):
            self._on_base_messages(event.messages, now)
        elif self.phase is Phase.LEAVING:
            self._finish(self._not_confirmed() if self._leave_by is not None else self._farewell or "", now)
        elif self._token and self.phase in (Phase.PLAYING, Phase.RECONNECTING) and event.reason not in FINAL:
            self._on_lost(event, now)
        elif self._base_at is not None:
            self._finish(self._explain(failures.GAME, self._base_at, event), now)

    def _on_base_messages(self, messages: list[bytes], now: float) -> None:
        if self._is_fresh and messages[0][:1] != bytes([ToClient.LOGGED_OFF]):
            self._begin_anew()
        for message in messages:
            if message[:1] == bytes([ToClient.SESSION]):
                self._on_session(message)
        self._on_messages([each for each in messages if each[:1] != bytes([ToClient.SESSION])], now)

    def _on_session(self, message: bytes) -> None:
        try:
            self._token, self._reconnect_s = decode_session(message)
        except DecodeError:
            self._token = b""  # the client plays on, and cannot resume

    # A connection that is lost.

    def _on_lost(self, closed: Closed, now: float) -> None:
        if self._pauses is None:
            assert self._base_at is not None
            why = self._explain(failures.GAME, self._base_at, closed)
            self.log(LogEvent.CLIENT_RECONNECTS, name=self.name, why=why)
            self.phase = Phase.RECONNECTING
            self._pauses = Pauses(self._entropy, now, self._reconnect_s)
            self._base = self._answer_by = None
        else:
            self._try_again(now)

    def _try_again(self, now: float) -> None:
        """An attempt to resume has failed."""
        assert self._pauses is not None
        assert self._base_at is not None
        self._base = self._answer_by = None
        if not self._pauses.draw(now):
            self._finish(failures.not_resumed(self._base_at, self._reconnect_s), now)

    def _not_confirmed(self) -> str:
        assert self._base_at is not None
        return failures.not_confirmed(self._base_at)

    def _explain(self, server: str, address: Address, closed: Closed) -> str:
        return failures.explain(
            server, address, closed.reason, was_open=closed.session is not None, by_peer=closed.by_peer
        )

    def _session_is_open(self, endpoint: ClientEndpoint | None) -> bool:
        return endpoint is not None and endpoint.session is not None and endpoint.reason is None

    def _end_session(self, endpoint: ClientEndpoint | None, now: float) -> None:
        if endpoint is not None and endpoint.session is not None:
            endpoint.session.close(now)

    def _finish(self, error: str, now: float, *, code: str = "") -> None:
        """It is over; the endpoints stay a little, so that the last packet can go out and be repeated."""
        if self.phase is Phase.OVER:
            return
        self.phase = Phase.OVER
        self.error, self.error_code = error, code
        self._answer_by = self._leave_by = self._return_at = self._pauses = None
        self.place = self.waiting = 0
        self._over_at = now + LINGER_S
        for endpoint, _ in self._connections():
            if endpoint.reason is None:
                endpoint.abort()
        if error:
            self.log(LogEvent.CLIENT_OVER, name=self.name, error=error)
