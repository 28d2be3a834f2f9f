"""The LoginApp: takes one login request of each session, answers it, and ends the session.

    Connected ──▶ WAITING ── the request ──▶ checks ── they hold ──▶ ASKED ── LoggedOn ──▶ reply: where to go, the key
                    │                          │                       └── refused, late, no link ──┐
                    └─ nothing in request_s:   └───────────────────────────────────────────────────▶ reply: one sentence
                       ended                                            after a reply: the session ends gracefully

The checks, cheapest first (`_check`), each with a code and a sentence of its own; `docs/login.md` has the whole order,
with what the channel checks before. The same request over another session gets the answer of the first
(`attempts.py`). Attempts from known addresses have a budget of their own (`known.py`). Only then the DBApp is asked,
which compares the password. A session that sends a second message while its request is in work is ended. A name that is
reserved for bots needs the bots' password of the cluster, which is checked here. Many bots log in from one address at a
time, so their attempts are not counted by address.

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
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.loads import OwnLoad, is_load
from terrazzo.login.admission import Admission, AdmissionLimits, AdmissionState, Overload
from terrazzo.login.attempts import Attempts, LoginAttempt, holder_of, key_of
from terrazzo.login.checks import read_request
from terrazzo.login.known import KnownAddresses
from terrazzo.sync.protocol import LoginReply, LoginRequest
from terrazzo.wire.addresses import subscriber
from terrazzo.wire.client.events import Closed, Connected, Received, SessionEvent
from terrazzo.wire.client.limits import Reason
from terrazzo.wire.client.session import EndpointAddress, Session
from terrazzo.wire.client.strangers import KnownSources
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.login_refusals import LoginRefusal, read_code
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.login_db import BOT_PREFIX, DoorLoad, LoggedOn, LogOn, LogOnRefused, is_bot_name
from terrazzo.wire.rates import Bucket, RateLimit
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
        LoginRefusal.OVERLOADED,
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


class LoginEndpoint(Protocol):
    """What the app uses of its endpoint."""

    def events(self) -> list[SessionEvent]:
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
    total_per_s: float = 500.0
    """Attempts from all addresses; a second's worth at once."""
    answers_kept_s: float = 15.0
    """How long an answer is kept for the same request."""
    answers_max: int = 2000
    admission: AdmissionLimits = field(default_factory=AdmissionLimits)


def host_of(address: EndpointAddress) -> str:
    """The host of a session's address: the first item of a tuple (host, port, …)."""
    return str(address[0] if isinstance(address, tuple) and address else address)[:ADDRESS_MAX]


class LoginApp(ClusterApp):
    """See the module."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        *,
        endpoint: LoginEndpoint,
        digest: str,
        bots_password: str = "",
        limits: LoginLimits | None = None,
        host_of: Callable[[EndpointAddress], str] = host_of,
    ) -> None:
        """Without `bots_password`, no bot can log in."""
        super().__init__(me, host)
        self.let_in = 0
        self.repeated = 0
        """Requests that were sent again, and got the answer of the first."""
        self.refused: Counter[LoginRefusal] = Counter()
        self._endpoint = endpoint
        self._digest = digest
        self._bots_password = bots_password.encode()
        self._limits = limits or LoginLimits()
        self._host_of = host_of
        self._rate = RateLimit(per_s=self._limits.attempts_per_s, burst=self._limits.attempts_burst)
        self._waiting: dict[Session, float] = {}
        """Sessions that have sent nothing yet, with their deadlines, in the order of these."""
        self._asked: dict[Session, LoginAttempt[Session]] = {}
        """Sessions with a request in work."""
        self._attempts: Attempts[Session] = Attempts(
            kept_s=self._limits.answers_kept_s, ended_max=self._limits.answers_max
        )
        self._known = KnownAddresses()
        self._known_sources = KnownSources()
        self._total_rate = {is_known: Bucket(per_s=self._limits.total_per_s) for is_known in (False, True)}
        """Of all addresses together; those from which players have come have a rate of their own."""
        self.admission = Admission(self._limits.admission)
        self._own_load = OwnLoad(host)
        self._database: AppId | None = None
        self._is_joining = False
        self.on(DoorLoad, self._on_door_load)

    def view(self) -> dict[str, object]:
        """The state of this app for the console."""
        return {
            "waiting": len(self._waiting),
            "asked": len(self._asked),
            "let_in": self.let_in,
            "repeated": self.repeated,
            "refused": {why.value: count for why, count in self.refused.items()},
            "has_database": self._database is not None,
            "admission": self.admission.view(),
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
            self._note_loads(DoorLoad(None, None))
        if peer.slot == DATABASE.slot:
            self._is_joining = False
        super().on_link_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        if self._database is None and not self._is_joining:
            self._is_joining = True
            self.host.join(DATABASE)
        if self._own_load.on_tick():
            self._admit_by({Overload.LOGIN_APP: self._own_load.value})
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

    # Loads.

    def _on_door_load(self, source: AppId, message: DoorLoad) -> None:
        world = message.world
        loads = (message.db_app, *((world.base_app, world.cell_mean, world.cell_most) if world else ()))
        if source != self._database or not all(map(is_load, loads)):
            self._refuse(source, message)
            return
        self._note_loads(message)

    def _note_loads(self, message: DoorLoad) -> None:
        world = message.world
        self._admit_by(
            {
                Overload.DB_APP: message.db_app,
                Overload.BASE_APPS: world.base_app if world else None,
                Overload.CELL_APPS: world.cell_most if world else None,
                Overload.CELL_MEAN: world.cell_mean if world else None,
            }
        )

    def _admit_by(self, loads: Mapping[Overload, float | None]) -> None:
        before = self.admission.state
        self.admission.note(loads, self.host.now)
        if self.admission.state is not before:
            facts = {**self.admission.view(), "refused": self.refused[LoginRefusal.OVERLOADED]}
            is_open = self.admission.state is AdmissionState.OPEN
            self.host.log(LogEvent.LOGINS_OPEN if is_open else LogEvent.LOGINS_OVERLOADED, **facts)

    # Sessions.

    def _on_received(self, event: Received) -> None:
        session = event.session
        for message in event.messages:
            if self._waiting.pop(session, None) is not None:
                self._on_request(session, message)
            elif self._forget_session(session):
                self.host.log(
                    LogEvent.LOGIN_SESSION_ENDED, address=self._host_of(session.address), why="a second request"
                )
                session.abort(Reason.PROTOCOL)

    def _on_closed(self, event: Closed) -> None:
        if event.session is not None:
            self._waiting.pop(event.session, None)
            self._forget_session(event.session)

    def _forget_session(self, session: Session) -> bool:
        """The session gets no answer any more; its attempt goes on. Whether it has one."""
        attempt = self._asked.pop(session, None)
        if attempt is not None:
            attempt.session = None
        return attempt is not None

    def _end_silent_sessions(self) -> None:
        while self._waiting:
            session, until = next(iter(self._waiting.items()))
            if until > self.host.now:
                return
            del self._waiting[session]
            session.abort(Reason.SILENT)

    # The request.

    def _on_request(self, session: Session, message: bytes) -> None:
        host = self._host_of(session.address)
        key = key_of(host, message)
        earlier = self._attempts.find(key, self.host.now)
        if earlier is not None:
            self._answer_again(session, earlier)
            return
        request = self._check(host, message)
        if isinstance(request, LoginRefusal):
            self._refuse_login(session, request)
            return
        assert self._database is not None
        self.admission.count_login(self.host.now)
        session.vouch()
        is_known = self._known.has(request.name, host)
        attempt = self._asked[session] = self._attempts.begin(key, request, host, is_known, session)
        self.requests.ask(
            self._database,
            LogOn(request.name, request.password, host, is_known, holder_of(request)),
            timeout_s=self._limits.log_on_s,
            then=lambda answer: self._on_answer(attempt, answer),
            failed=lambda failure, why: self._refuse_attempt(attempt, WITHOUT_ANSWER[failure]),
        )

    def _answer_again(self, session: Session, attempt: LoginAttempt[Session]) -> None:
        """The same request has come before: it gets the same answer, now or when there is one."""
        self.repeated += 1
        session.vouch()
        if attempt.answer:
            self._send_answer(session, attempt.answer)
            return
        if attempt.session is not None:
            del self._asked[attempt.session]
            attempt.session.abort(Reason.ABORTED)
        attempt.session = session
        self._asked[session] = attempt

    def _check(self, host: str, message: bytes) -> LoginRequest | LoginRefusal:
        """The request, or the first check that it fails: what costs least comes first."""
        is_bot = self._is_own_bot(message)
        if not is_bot and not self._rate.take(host, self.host.now):
            return LoginRefusal.RATE
        if not is_bot and not self._total_rate[subscriber(host) in self._known_sources].take(self.host.now):
            return LoginRefusal.TOO_MANY
        if self._database is None:
            return LoginRefusal.NOT_READY
        if not is_bot and self.admission.is_shut(self.host.now):
            return LoginRefusal.OVERLOADED
        request = read_request(message)
        if isinstance(request, LoginRefusal):
            return request
        if is_bot_name(request.name) and not is_bot:
            return LoginRefusal.RESERVED
        if request.digest != self._digest:
            return LoginRefusal.DIGEST
        is_known = self._known.has(request.name, host)
        most = self._limits.known_max if is_known else self._limits.asked_max
        return LoginRefusal.TOO_MANY if self._attempts.in_work(is_known) >= most else request

    def _is_own_bot(self, message: bytes) -> bool:
        """Whether this is a bot of the cluster. Only a request that may be one is read for that."""
        if not self._bots_password or BOT_PREFIX.encode() not in message:
            return False
        request = read_request(message)
        if isinstance(request, LoginRefusal) or not is_bot_name(request.name):
            return False
        return hmac.compare_digest(request.password.encode(errors="replace"), self._bots_password)

    def _on_answer(self, attempt: LoginAttempt[Session], answer: Message) -> None:
        if isinstance(answer, LogOnRefused):
            self._refuse_attempt(attempt, read_code(answer.code), answer.sentence)
        elif isinstance(answer, LoggedOn):
            self._let_in(attempt, answer)
        else:
            self.host.log(LogEvent.UNEXPECTED_ANSWER, kind=type(answer).__name__, to="LogOn")
            self._refuse_attempt(attempt, LoginRefusal.LATE)

    def _let_in(self, attempt: LoginAttempt[Session], answer: LoggedOn) -> None:
        name, host, session = attempt.request.name, attempt.host, attempt.session
        self._known.note(name, host)
        self._known_sources.add(subscriber(host))
        if session is not None:
            self.let_in += 1
            session.admit()
            self.host.log(LogEvent.LOGIN_ACCEPTED, name=name, entity=answer.entity, address=host)
        else:
            # If the client does not ask again, its key expires, and the BaseApp ends the proxy and logs it off.
            self.host.log(LogEvent.LOGIN_ACCEPTED_TOO_LATE, name=name, entity=answer.entity)
        reply = LoginReply(host=answer.host, udp_port=answer.udp_port, ws_port=answer.ws_port, key=answer.key.hex())
        self._finish(attempt, reply)

    def _refuse_attempt(self, attempt: LoginAttempt[Session], why: LoginRefusal, sentence: str = "") -> None:
        self._note_refusal(attempt.host, why, sentence or why.text())
        self._finish(attempt, LoginReply(error=sentence or why.text(), code=why.value))

    def _refuse_login(self, session: Session, why: LoginRefusal) -> None:
        self._note_refusal(self._host_of(session.address), why, why.text())
        self._send_answer(session, msgspec.json.encode(LoginReply(error=why.text(), code=why.value)))

    def _note_refusal(self, host: str, why: LoginRefusal, sentence: str) -> None:
        self.refused[why] += 1
        count = self.refused[why]
        if why not in CHEAP or is_logged(count):
            self.host.log(LogEvent.LOGIN_REFUSED, address=host, code=why.value, sentence=sentence, count=count)

    def _finish(self, attempt: LoginAttempt[Session], reply: LoginReply) -> None:
        """The attempt has ended; its session, if there is one, gets the answer."""
        answer = msgspec.json.encode(reply)
        session, attempt.session = attempt.session, None
        self._attempts.finish(attempt, answer, self.host.now)
        if session is not None:
            del self._asked[session]
            self._send_answer(session, answer)

    def _send_answer(self, session: Session, answer: bytes) -> None:
        session.send(answer)
        session.close(self.host.now)
