"""LoginApp: the public door. It takes one request of each session, answers it, and ends the session.

    Connected ──▶ WAITING ── the request ──▶ checks ── they hold ──▶ ASKED ── LoggedOn ──▶ reply: where to go, the key
                    │                          │                       └── refused, late, no link ──┐
                    └─ nothing in request_s:   └───────────────────────────────────────────────────▶ reply: one sentence
                       ended                                            after a reply: the session ends gracefully

The checks, cheapest first, each with a sentence of its own: size and form, name, password length (`checks.py`); the
digest of the entity definitions; attempts from this address (`wire/rates.py`); players in work here, where players
at a known address have places of their own (`known.py`); a link with DBApp. Only then is DBApp asked, which looks at
the password. A session that says a second thing while the first is in work is
ended. A name that is reserved for bots needs the bots' password of the cluster, which is checked here; bots come in a
crowd from one address, so their attempts are not counted by it.

How the endpoint is driven. The app does no I/O. Whoever drives it owns a `wire.client.ServerEndpoint` (or several, one
for UDP and one for WebSockets) and moves the datagrams: what arrives goes into `endpoint.on_datagram` at once, what
`endpoint.poll` gives leaves after each tick and by its timers. The app sees of it only `events()`, which it takes once
per tick, and the sessions in them, with which it sends and ends. A driver that takes the events itself, as the shells
of `runtime` do, or that has several endpoints, hands the app an object whose `events()` gives all that has come since
the last call, in order.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.login.checks import Refused, read_request
from terrazzo.login.known import KnownAddresses
from terrazzo.sync.protocol import LoginReply, LoginRequest
from terrazzo.wire.client.events import Closed, Connected, Event, Received
from terrazzo.wire.client.limits import Reason
from terrazzo.wire.client.session import Address, Session
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, is_bot_name
from terrazzo.wire.rates import RateLimit
from terrazzo.wire.requests import Failure
from terrazzo.wire.sentences import is_told

DATABASE = AppId(AppKind.DB_APP, 0, ANY_INCARNATION)
CHEAP = frozenset({Refused.MALFORMED, Refused.NAME, Refused.PASSWORD, Refused.RESERVED, Refused.DIGEST, Refused.RATE})
"""Refusals that cost a client nothing, and would fill the disk if each were logged."""
ADDRESS_MAX = 100
"""Characters of an address that are passed on."""


class Endpoint(Protocol):
    """What the app sees of its endpoint."""

    def events(self) -> list[Event]:
        """What has happened since the last call, in order."""


@dataclass(frozen=True)
class LoginLimits:
    """How much and how long."""

    asked_max: int = 200
    known_max: int = 50
    """Attempts in work of players at an address from which they logged in before, beside `asked_max` of strangers."""
    request_s: float = 10.0
    log_on_s: float = 15.0
    attempts_per_s: float = 1.0
    """From one address, once its burst is used up."""
    attempts_burst: int = 20


def host_of(address: Address) -> str:
    """The part of a session's address that names a machine: of a tuple (host, port, …) the first."""
    return str(address[0] if isinstance(address, tuple) and address else address)[:ADDRESS_MAX]


class LoginApp(ClusterApp):
    """See the module."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        *,
        endpoint: Endpoint,
        digest: str,
        bots_password: str = "",
        limits: LoginLimits | None = None,
        host_of: Callable[[Address], str] = host_of,
    ) -> None:
        """Without `bots_password` no bot is let in."""
        super().__init__(me, host)
        self.let_in = 0
        self.refused: Counter[Refused] = Counter()
        self._endpoint = endpoint
        self._digest = digest
        self._bots_password = bots_password.encode()
        self._limits = limits or LoginLimits()
        self._host_of = host_of
        self._rate = RateLimit(per_s=self._limits.attempts_per_s, burst=self._limits.attempts_burst)
        self._waiting: dict[Session, float] = {}
        """Sessions that have said nothing yet, and when their time is over; in the order of it."""
        self._asked: dict[Session, bool] = {}
        """Sessions with a request in work, and whether the player is known at that address."""
        self._known = KnownAddresses()
        self._database: AppId | None = None
        self._is_joining = False

    def view(self) -> dict[str, object]:
        """What a console shows."""
        return {
            "waiting": len(self._waiting),
            "asked": len(self._asked),
            "let_in": self.let_in,
            "refused": {why.name.lower(): count for why, count in self.refused.items()},
            "has_database": self._database is not None,
        }

    def refused_clients(self) -> list[dict[str, Any]]:
        """See ClusterApp."""
        own = [
            {"door": "login", "reason": why.name.lower(), "count": count, "sentence": why.value}
            for why, count in self.refused.items()
        ]
        return super().refused_clients() + own

    # App.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        if peer.slot == DATABASE.slot:
            self._database = peer
            self._is_joining = False

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        if peer == self._database:
            self._database = None
        if peer.slot == DATABASE.slot:
            self._is_joining = False
        super().on_link_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        if self._database is None and not self._is_joining:
            self._is_joining = True
            self.host.join(DATABASE)
        for event in self._endpoint.events():
            if isinstance(event, Connected):
                self._waiting[event.session] = self.host.now + self._limits.request_s
            elif isinstance(event, Received):
                self._on_received(event)
            else:
                self._on_closed(event)
        self._end_the_silent()

    # Sessions.

    def _on_received(self, event: Received) -> None:
        session = event.session
        for message in event.messages:
            if self._waiting.pop(session, None) is not None:
                self._on_request(session, message)
            elif self._asked.pop(session, None) is not None:
                self.host.log("login session ended", address=self._host_of(session.address), why="a second request")
                session.abort(Reason.PROTOCOL)

    def _on_closed(self, event: Closed) -> None:
        if event.session is not None:
            self._waiting.pop(event.session, None)
            self._asked.pop(event.session, None)

    def _end_the_silent(self) -> None:
        while self._waiting:
            session, until = next(iter(self._waiting.items()))
            if until > self.host.now:
                return
            del self._waiting[session]
            session.abort(Reason.SILENT)

    # The request.

    def _on_request(self, session: Session, message: bytes) -> None:
        request = self._check(session, message)
        if isinstance(request, Refused):
            self._turn_away(session, request)
            return
        assert self._database is not None
        session.vouch()
        address = self._host_of(session.address)
        is_known = self._asked[session] = self._known.has(request.name, address)
        self.requests.ask(
            self._database,
            LogOn(request.name, request.password, address, is_known),
            timeout_s=self._limits.log_on_s,
            then=lambda answer: self._on_answer(session, request, answer),
            failed=lambda failure, why: self._on_failure(session, request, failure, why),
        )

    def _check(self, session: Session, message: bytes) -> LoginRequest | Refused:
        request = read_request(message)
        if isinstance(request, Refused):
            return request
        if request.digest != self._digest:
            return Refused.DIGEST
        if is_bot_name(request.name):
            if not self._is_bots_password(request.password):
                return Refused.RESERVED
        elif not self._rate.take(self._host_of(session.address), self.host.now):
            return Refused.RATE
        is_known = self._known.has(request.name, self._host_of(session.address))
        in_work = sum(each is is_known for each in self._asked.values())
        if in_work >= (self._limits.known_max if is_known else self._limits.asked_max):
            return Refused.TOO_MANY
        if self._database is None:
            return Refused.NOT_READY
        return request

    def _is_bots_password(self, password: str) -> bool:
        given = password.encode(errors="replace")
        return bool(self._bots_password) and hmac.compare_digest(given, self._bots_password)

    def _on_answer(self, session: Session, request: LoginRequest, answer: Message) -> None:
        if not isinstance(answer, LoggedOn):
            self.host.log("unexpected answer", kind=type(answer).__name__, to="LogOn")
            self._on_failure(session, request, Failure.TIMEOUT, "")
            return
        self._known.note(request.name, self._host_of(session.address))
        if self._asked.pop(session, None) is not None:
            self.let_in += 1
            session.admit()
            self.host.log("let in", name=request.name, entity=answer.entity, address=self._host_of(session.address))
            reply = LoginReply(host=answer.host, udp_port=answer.udp_port, ws_port=answer.ws_port, key=answer.key.hex())
            self._reply(session, reply)
        else:
            # The proxy waits in vain and is taken down by its BaseApp, which logs the player off.
            self.host.log("let in, but gone", name=request.name, entity=answer.entity)

    def _on_failure(self, session: Session, request: LoginRequest, failure: Failure, why: str) -> None:
        if self._asked.pop(session, None) is None:
            return
        if failure is Failure.REFUSED:
            self._turn_away(session, Refused.BY_DATABASE, why)
        else:
            self._turn_away(session, Refused.NO_ANSWER if failure is Failure.TIMEOUT else Refused.NOT_READY)

    def _turn_away(self, session: Session, why: Refused, sentence: str = "") -> None:
        self.refused[why] += 1
        count, sentence = self.refused[why], sentence or why.value
        if why not in CHEAP or is_told(count):
            host = self._host_of(session.address)
            self.host.log("login refused", address=host, why=why.name, sentence=sentence, count=count)
        self._reply(session, LoginReply(error=sentence))

    def _reply(self, session: Session, reply: LoginReply) -> None:
        session.send(msgspec.json.encode(reply))
        session.close(self.host.now)
