"""The LoginApp: takes one login request of each session, answers it, and ends the session.

    Connected ──▶ WAITING ── the request ──▶ checks ── they hold ──▶ ASKED ── LoggedOn ──▶ reply: where to go, the key
                    │                          │                       └── refused, late, no link ──┐
                    └─ nothing in request_s:   └───────────────────────────────────────────────────▶ reply: one sentence
                       ended                                            after a reply: the session ends gracefully

The checks, cheapest first, each with a sentence of its own: size and form, name, password length (`checks.py`); the
digest of the entity definitions; attempts from this address (`wire/rates.py`); attempts in work here, where known
addresses have a budget of their own (`known.py`); a link with the DBApp. Only then the DBApp is asked, which compares
the password. A session that sends a second message while its request is in work is ended. A name that is reserved for
bots needs the bots' password of the cluster, which is checked here. Many bots log in from one address at a time, so
their attempts are not counted by address.

How the endpoint is driven. The app does no I/O. Its driver owns a `wire.client.ServerEndpoint` (or several, one for UDP
and one for WebSockets) and moves the datagrams: incoming ones go into `endpoint.on_datagram` at once, and those of
`endpoint.poll` leave after each turn and tick and by its timers. The app uses only `events()`, in its turns, and the
sessions in the events, over which it sends and which it ends. A driver that takes the events itself, as the shells of
`runtime` do, or that has several endpoints, gives the app an object with a method `events()` that returns all events
since the last call, in order.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.login.checks import read_request
from terrazzo.login.known import KnownAddresses
from terrazzo.sync.protocol import LoginReply, LoginRequest
from terrazzo.wire.client.events import Closed, Connected, Event, Received
from terrazzo.wire.client.limits import Reason
from terrazzo.wire.client.session import Address, Session
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.login_refusals import LoginRefusal, read_code
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.login_db import LoggedOn, LogOn, LogOnRefused, is_bot_name
from terrazzo.wire.rates import RateLimit
from terrazzo.wire.requests import Failure
from terrazzo.wire.sentences import describe_refusals, is_logged

DATABASE = AppId(AppKind.DB_APP, 0, ANY_INCARNATION)
CHEAP = frozenset(
    {
        LoginRefusal.MALFORMED,
        LoginRefusal.NAME,
        LoginRefusal.PASSWORD,
        LoginRefusal.RESERVED,
        LoginRefusal.DIGEST,
        LoginRefusal.RATE,
    }
)
"""Refusals that cost a client no effort; logging each of them would fill the disk."""
WITHOUT_ANSWER = {
    Failure.TIMEOUT: LoginRefusal.LATE,
    Failure.LINK_LOST: LoginRefusal.NOT_READY,
    Failure.REFUSED: LoginRefusal.REFUSED,
}
"""What a player gets when the DBApp does not answer."""
ADDRESS_MAX = 100
"""Characters of an address that the DBApp gets."""


class Endpoint(Protocol):
    """What the app uses of its endpoint."""

    def events(self) -> list[Event]:
        """The events since the last call, in order."""


@dataclass(frozen=True)
class LoginLimits:
    """How many attempts, and how long each may wait."""

    asked_max: int = 200
    known_max: int = 50
    """Attempts in work from known addresses, beside `asked_max` from all others."""
    request_s: float = 10.0
    log_on_s: float = 15.0
    attempts_per_s: float = 1.0
    """Attempts from one address after its burst."""
    attempts_burst: int = 20


def host_of(address: Address) -> str:
    """The host of a session's address: the first item of a tuple (host, port, …)."""
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
        """Without `bots_password`, no bot can log in."""
        super().__init__(me, host)
        self.let_in = 0
        self.refused: Counter[LoginRefusal] = Counter()
        self._endpoint = endpoint
        self._digest = digest
        self._bots_password = bots_password.encode()
        self._limits = limits or LoginLimits()
        self._host_of = host_of
        self._rate = RateLimit(per_s=self._limits.attempts_per_s, burst=self._limits.attempts_burst)
        self._waiting: dict[Session, float] = {}
        """Sessions that have sent nothing yet, with their deadlines, in the order of these."""
        self._asked: dict[Session, bool] = {}
        """Sessions with a request in work, and whether the address is known for the player."""
        self._known = KnownAddresses()
        self._database: AppId | None = None
        self._is_joining = False

    def view(self) -> dict[str, object]:
        """The state of this app for the console."""
        return {
            "waiting": len(self._waiting),
            "asked": len(self._asked),
            "let_in": self.let_in,
            "refused": {why.value: count for why, count in self.refused.items()},
            "has_database": self._database is not None,
        }

    def refused_clients(self) -> list[dict[str, Any]]:
        """See ClusterApp."""
        return super().refused_clients() + describe_refusals("login", self.refused)

    @property
    def waiting_sessions(self) -> Set[Session]:
        """The sessions that have sent nothing yet."""
        return self._waiting.keys()

    @property
    def asking_sessions(self) -> Set[Session]:
        """The sessions with a request in work."""
        return self._asked.keys()

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
        self.on_turn()
        self._end_silent_sessions()

    def on_turn(self) -> None:
        """See TakesTurns."""
        for event in self._endpoint.events():
            if isinstance(event, Connected):
                self._waiting[event.session] = self.host.now + self._limits.request_s
            elif isinstance(event, Received):
                self._on_received(event)
            else:
                self._on_closed(event)

    # Sessions.

    def _on_received(self, event: Received) -> None:
        session = event.session
        for message in event.messages:
            if self._waiting.pop(session, None) is not None:
                self._on_request(session, message)
            elif self._asked.pop(session, None) is not None:
                self.host.log(
                    LogEvent.LOGIN_SESSION_ENDED, address=self._host_of(session.address), why="a second request"
                )
                session.abort(Reason.PROTOCOL)

    def _on_closed(self, event: Closed) -> None:
        if event.session is not None:
            self._waiting.pop(event.session, None)
            self._asked.pop(event.session, None)

    def _end_silent_sessions(self) -> None:
        while self._waiting:
            session, until = next(iter(self._waiting.items()))
            if until > self.host.now:
                return
            del self._waiting[session]
            session.abort(Reason.SILENT)

    # The request.

    def _on_request(self, session: Session, message: bytes) -> None:
        request = self._check(session, message)
        if isinstance(request, LoginRefusal):
            self._refuse_login(session, request)
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
            failed=lambda failure, why: self._on_failure(session, failure),
        )

    def _check(self, session: Session, message: bytes) -> LoginRequest | LoginRefusal:
        request = read_request(message)
        if isinstance(request, LoginRefusal):
            return request
        if request.digest != self._digest:
            return LoginRefusal.DIGEST
        if is_bot_name(request.name):
            if not self._is_bots_password(request.password):
                return LoginRefusal.RESERVED
        elif not self._rate.take(self._host_of(session.address), self.host.now):
            return LoginRefusal.RATE
        is_known = self._known.has(request.name, self._host_of(session.address))
        in_work = sum(each is is_known for each in self._asked.values())
        if in_work >= (self._limits.known_max if is_known else self._limits.asked_max):
            return LoginRefusal.TOO_MANY
        if self._database is None:
            return LoginRefusal.NOT_READY
        return request

    def _is_bots_password(self, password: str) -> bool:
        given = password.encode(errors="replace")
        return bool(self._bots_password) and hmac.compare_digest(given, self._bots_password)

    def _on_answer(self, session: Session, request: LoginRequest, answer: Message) -> None:
        if isinstance(answer, LogOnRefused):
            if self._asked.pop(session, None) is not None:
                self._refuse_login(session, read_code(answer.code), answer.sentence)
            return
        if not isinstance(answer, LoggedOn):
            self.host.log(LogEvent.UNEXPECTED_ANSWER, kind=type(answer).__name__, to="LogOn")
            self._on_failure(session, Failure.TIMEOUT)
            return
        self._known.note(request.name, self._host_of(session.address))
        if self._asked.pop(session, None) is not None:
            self.let_in += 1
            session.admit()
            self.host.log(
                LogEvent.LOGIN_ACCEPTED, name=request.name, entity=answer.entity, address=self._host_of(session.address)
            )
            reply = LoginReply(host=answer.host, udp_port=answer.udp_port, ws_port=answer.ws_port, key=answer.key.hex())
            self._reply(session, reply)
        else:
            # No client will come: the BaseApp ends the proxy when its key expires, and logs the player off.
            self.host.log(LogEvent.LOGIN_ACCEPTED_TOO_LATE, name=request.name, entity=answer.entity)

    def _on_failure(self, session: Session, failure: Failure) -> None:
        if self._asked.pop(session, None) is not None:
            self._refuse_login(session, WITHOUT_ANSWER[failure])

    def _refuse_login(self, session: Session, why: LoginRefusal, sentence: str = "") -> None:
        self.refused[why] += 1
        count, sentence = self.refused[why], sentence or why.sentence
        if why not in CHEAP or is_logged(count):
            host = self._host_of(session.address)
            self.host.log(LogEvent.LOGIN_REFUSED, address=host, code=why.value, sentence=sentence, count=count)
        self._reply(session, LoginReply(error=sentence, code=why.value))

    def _reply(self, session: Session, reply: LoginReply) -> None:
        session.send(msgspec.json.encode(reply))
        session.close(self.host.now)
