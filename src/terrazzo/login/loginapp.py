"""The LoginApp: takes one login request of each session, answers it, and ends the session.

    Connected ──▶ SILENT ── the request ──▶ checks ── they hold ──▶ ASKED ── LoggedOn ──▶ reply: where to go, the key
                    │                        │  │                   ▲   └── refused, late, no link ┐
                    │        no room: QUEUED, and gets its place ───┘ room                         │
                    └─ nothing in request_s:    └──────────────────────────────────────────────────▶ reply: a sentence
                       ended                                            after a reply: the session ends gracefully

The checks, cheapest first (`doorkeeper.py`), each with a code and a sentence of its own; `docs/login.md` has the whole
order, with what the channel checks before. The same request over another session gets the answer of the first
(`attempts.py`). Attempts from known addresses have a budget of their own (`known.py`). Only then the DBApp is asked,
which compares the password. A session that sends a second message while its request is in work is ended.

Without room (`capacity.py`) a request that may wait goes into the queue (`queue.py`), others are refused. A player that
has logged in from there before may be in the world already, and then needs no room: the DBApp is asked first, which
places no new player then (`LogOn.may_place`).

How the endpoint is driven. The app does no I/O. Its driver owns a `wire.client.ServerEndpoint` (or several, one for UDP
and one for WebSockets) and moves the datagrams: incoming ones go into `endpoint.on_datagram` at once, and those of
`endpoint.poll` leave after each turn and tick and by its timers. The app uses only `events()`, in its turns, and the
sessions in the events, over which it sends and which it ends. A driver that takes the events itself, as the shells of
`runtime` do, or that has several endpoints, gives the app an object with a method `events()` that returns all events
since the last call, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from itertools import count
from typing import Any, Protocol

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.cluster.loads import is_load
from terrazzo.login.attempts import Attempts, Key, LoginAttempt, holder_of, key_of
from terrazzo.login.capacity import Capacity
from terrazzo.login.doorkeeper import Checked, Doorkeeper, RateLimits
from terrazzo.login.known import KnownAddresses
from terrazzo.login.limits import LoginLimits
from terrazzo.login.queue import LoginQueue, Waiting
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
from terrazzo.wire.pairs.login_db import DoorLoad, LoggedOn, LogOn, LogOnRefused
from terrazzo.wire.rates import Bucket
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
        LoginRefusal.FULL,
        LoginRefusal.TOO_MANY,
        LoginRefusal.QUEUE_FULL,
        LoginRefusal.QUEUE_CROWDED,
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
NEEDS_PLACE = frozenset({LoginRefusal.FULL, LoginRefusal.TOO_MANY})
"""With these a player that is in already may log in once more: it needs no room."""
FOR_A_WHILE = frozenset({LoginRefusal.FULL, LoginRefusal.TOO_MANY, LoginRefusal.AWAY})
"""Refusals of the DBApp after which a client that may wait is in the queue again, at its place."""
LEAVING = frozenset({Reason.ENDED, Reason.ABORTED})
"""How a client ends its session that does not want to wait any more; with other reasons the connection is lost."""


class LoginEndpoint(Protocol):
    """What the app uses of its endpoint."""

    def events(self) -> list[SessionEvent]:
        """The events since the last call, in order."""


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
        self._limits = limits = limits or LoginLimits()
        self._host_of = host_of
        rates = RateLimits(limits.attempts_per_s, limits.attempts_burst, limits.total_per_s)
        self._doorkeeper = Doorkeeper(rates, digest=digest, bots_password=bots_password.encode())
        self._waiting: dict[Session, float] = {}
        """Sessions that have sent nothing yet, with their deadlines, in the order of these."""
        self._asked: dict[Session, LoginAttempt[Session]] = {}
        """Sessions with a request in work."""
        self._attempts: Attempts[Session] = Attempts(
            kept_s=self._limits.answers_kept_s, ended_max=self._limits.answers_max
        )
        self._known = KnownAddresses()
        self._known_sources = KnownSources()
        self._numbers = count(1)
        """Of the requests, in the order of their arrival."""
        self._queue: LoginQueue[Session] = LoginQueue(limits.queue)
        self._queue_rate = Bucket(per_s=limits.queue.let_in_per_s)
        self._capacity = Capacity(host, limits, self._attempts, lambda: self.refused[LoginRefusal.OVERLOADED])
        self.admission = self._capacity.admission
        self._database: AppId | None = None
        self._is_joining = False
        self.on(DoorLoad, self._on_door_load)

    def view(self) -> dict[str, object]:
        """The state of this app for the console."""
        return {
            "waiting": len(self._waiting),
            "asked": len(self._asked),
            "queued": len(self._queue),
            "let_in": self.let_in,
            "repeated": self.repeated,
            "refused": {why.value: count for why, count in self.refused.items()},
            "has_database": self._database is not None,
            "admission": self.admission.view(),
        }

    def refused_clients(self) -> list[dict[str, Any]]:
        """See ClusterApp."""
        return super().refused_clients() + describe_refusals("login", self.refused)

    def queues(self) -> dict[str, int]:
        """See ClusterApp."""
        return {**super().queues(), "clients": len(self._queue)}

    @property
    def waiting_sessions(self) -> Set[Session]:
        """The sessions that have sent nothing yet."""
        return self._waiting.keys()

    @property
    def asking_sessions(self) -> Set[Session]:
        """The sessions with a request in work."""
        return self._asked.keys()

    @property
    def queued_sessions(self) -> Set[Session]:
        """The sessions of the clients in the queue."""
        return self._queue.sessions

    def attempts_queued(self) -> list[LoginAttempt[Session]]:
        """Those in the queue, first ones first."""
        return self._queue.attempts()

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
            self._capacity.note(DoorLoad(None, None))
        if peer.slot == DATABASE.slot:
            self._is_joining = False
        super().on_link_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        if self._database is None and not self._is_joining:
            self._is_joining = True
            self.host.join(DATABASE)
        self._capacity.on_tick()
        self.on_turn()
        self._end_silent_sessions()
        self._queue.drop_away(self.host.now)
        self._send_places()

    def on_turn(self) -> None:
        """See TakesTurns."""
        for event in self._endpoint.events():
            if isinstance(event, Connected):
                self._waiting[event.session] = self.host.now + self._limits.request_s
            elif isinstance(event, Received):
                self._on_received(event)
            else:
                self._on_closed(event)
        self._let_in_waiting()

    # Loads.

    def _on_door_load(self, source: AppId, message: DoorLoad) -> None:
        world = message.world
        loads = (message.db_app, *((world.base_app, world.cell_mean, world.cell_most) if world else ()))
        if source != self._database or not all(map(is_load, loads)):
            self._refuse(source, message)
            return
        self._capacity.note(message)

    # Sessions.

    def _on_received(self, event: Received) -> None:
        session = event.session
        for message in event.messages:
            if self._waiting.pop(session, None) is not None:
                self._on_request(session, message)
            elif self._leave_queue(session) or self._forget_session(session):
                self.host.log(
                    LogEvent.LOGIN_SESSION_ENDED, address=self._host_of(session.address), why="a second request"
                )
                session.abort(Reason.PROTOCOL)

    def _on_closed(self, event: Closed) -> None:
        session = event.session
        if session is None:
            return
        self._waiting.pop(session, None)
        if event.reason in LEAVING:
            self._leave_queue(session)
        elif session in self._queue:
            self._queue.lose(session, self.host.now)
        self._forget_session(session)

    def _leave_queue(self, session: Session) -> bool:
        """The client does not wait any more. Whether it did."""
        if session not in self._queue:
            return False
        self._queue.leave(session)
        return True

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
        elif not self._come_back(session, host, key, message):
            checked = self._check(host, message)
            if isinstance(checked, LoginRefusal):
                self._refuse_login(session, checked)
            else:
                self._let_in_or_queue(self._attempt_of(checked.request, host, key, session), is_bot=checked.is_bot)

    def _attempt_of(self, request: LoginRequest, host: str, key: Key, session: Session) -> LoginAttempt[Session]:
        return LoginAttempt(key if request.attempt else None, request, host, session, next(self._numbers))

    def _check(self, host: str, message: bytes) -> Checked | LoginRefusal:
        """The request, or the first check that it fails: what costs least comes first."""
        is_former = subscriber(host) in self._known_sources
        refusal = self._doorkeeper.check_rates(host, message, self.host.now, is_former=is_former)
        if refusal is not None:
            return refusal
        return LoginRefusal.NOT_READY if self._database is None else self._doorkeeper.read(message)

    def _let_in_or_queue(self, attempt: LoginAttempt[Session], *, is_bot: bool) -> None:
        attempt.is_known = self._known.has(attempt.request.name, attempt.host)
        busy = self._capacity.why_no_room(attempt, is_bot=is_bot)
        if busy is None and self._queue.has_present and not is_bot:
            busy = LoginRefusal.TOO_MANY  # others are first
        if busy is None:
            self._begin(attempt)
        elif busy in NEEDS_PLACE and attempt.is_known and self._attempts.in_work(True) < self._limits.known_max:
            attempt.may_place = False
            self._begin(attempt)
        else:
            self._enqueue(attempt, busy)

    def _begin(self, attempt: LoginAttempt[Session]) -> None:
        """Asks the DBApp."""
        assert self._database is not None
        assert attempt.session is not None
        self.admission.count_login(self.host.now)
        attempt.session.vouch()
        self._attempts.begin(attempt)
        self._asked[attempt.session] = attempt
        request, host = attempt.request, attempt.host
        self.requests.ask(
            self._database,
            LogOn(request.name, request.password, host, attempt.is_known, holder_of(request), attempt.may_place),
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

    # The queue.

    def _enqueue(self, attempt: LoginAttempt[Session], busy: LoginRefusal) -> None:
        """An attempt for which there is no room: it waits, or is refused."""
        assert attempt.session is not None
        is_former = subscriber(attempt.host) in self._known_sources
        earlier = self._queue.find(attempt.request, attempt.host)
        why_not = busy if not attempt.request.may_wait else self._queue.why_not(attempt.host, is_former=is_former)
        if earlier is not None and attempt.request.may_wait:
            self._return_to(earlier, attempt)
        elif why_not is not None:
            self._refuse_login(attempt.session, why_not)
        else:
            attempt.session.vouch()
            if not len(self._queue):
                self.host.log(LogEvent.LOGINS_WAIT, why=busy.value)
            self._queue.join(attempt, self.host.now, is_former=is_former)

    def _come_back(self, session: Session, host: str, key: Key, message: bytes) -> bool:
        """Whether the request is that of a client in the queue, which has it again over this session."""
        checked = self._doorkeeper.read(message) if len(self._queue) else None
        if not isinstance(checked, Checked) or not checked.request.may_wait:
            return False
        waiting = self._queue.find(checked.request, host)
        if waiting is not None:
            self._return_to(waiting, self._attempt_of(checked.request, host, key, session))
        return waiting is not None

    def _return_to(self, waiting: Waiting[Session], attempt: LoginAttempt[Session]) -> None:
        self.repeated += 1
        assert attempt.session is not None
        attempt.session.vouch()
        before = self._queue.come_back(waiting, attempt)
        if before is not None:
            before.abort(Reason.ABORTED)

    def _let_in_waiting(self) -> None:
        """Those that have their turn, while there is room."""
        while self._database is not None and (waiting := self._queue.first(self._is_here)) is not None:
            attempt = waiting.attempt
            attempt.is_known = self._known.has(attempt.request.name, attempt.host)
            if self._capacity.why_no_room(attempt) is not None or not self._queue_rate.take(self.host.now):
                return
            self._queue.remove(waiting)
            attempt.may_place = True
            self._begin(attempt)
            if not len(self._queue):
                self.host.log(LogEvent.LOGINS_WAIT_NO_MORE)

    def _back_to_queue(self, attempt: LoginAttempt[Session]) -> None:
        """The world is full after all: the attempt waits at the place of its number."""
        is_former = subscriber(attempt.host) in self._known_sources
        twin = self._queue.find(attempt.request, attempt.host)
        why_not = None if attempt.has_waited or twin else self._queue.why_not(attempt.host, is_former=is_former)
        if why_not is not None:
            self._refuse_attempt(attempt, why_not)
            return
        self._attempts.cancel(attempt)
        if attempt.session is not None:
            del self._asked[attempt.session]
        if twin is not None:
            self._merge(attempt, twin)
        else:
            self._queue.join(attempt, self.host.now, is_former=is_former)

    def _merge(self, attempt: LoginAttempt[Session], twin: Waiting[Session]) -> None:
        """The client has asked anew meanwhile: its newer request gets the lower number of the two."""
        self._queue.remove(twin)
        if attempt.session is not None:
            attempt.session.abort(Reason.ABORTED)
        twin.attempt.number = min(attempt.number, twin.number)
        self._queue.join(twin.attempt, self.host.now, is_former=twin.is_former)

    def _is_here(self, session: Session) -> bool:
        """Whether a packet of the client has come lately, so that it takes what it is given."""
        return self.host.now < session.heard_at + self._limits.queue.silence_s / 2

    def _send_places(self) -> None:
        now, silence_s = self.host.now, self._limits.queue.silence_s
        length = len(self._queue)
        for place, waiting in self._queue.due(now):
            session = waiting.attempt.session
            assert session is not None
            if session.heard_at + silence_s <= now:
                self._queue.lose(session, now)
                session.abort(Reason.SILENT)
            else:
                session.send(msgspec.json.encode(LoginReply(place=place, waiting=length)))

    # The answer.

    def _on_answer(self, attempt: LoginAttempt[Session], answer: Message) -> None:
        if isinstance(answer, LogOnRefused):
            why = read_code(answer.code)
            if why is LoginRefusal.FULL and attempt.may_place:
                self._capacity.room.note_full()
            if why in FOR_A_WHILE and attempt.request.may_wait:
                self._back_to_queue(attempt)
            else:
                self._refuse_attempt(attempt, why, answer.sentence)
        elif isinstance(answer, LoggedOn):
            self._let_in(attempt, answer)
        else:
            self.host.log(LogEvent.UNEXPECTED_ANSWER, kind=type(answer).__name__, to="LogOn")
            self._refuse_attempt(attempt, LoginRefusal.LATE)

    def _let_in(self, attempt: LoginAttempt[Session], answer: LoggedOn) -> None:
        name, host, session = attempt.request.name, attempt.host, attempt.session
        self._capacity.room.count_let_in(self.host.now)
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
