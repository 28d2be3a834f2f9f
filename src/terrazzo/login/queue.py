"""The queue: clients that wait until there is room in the world, in the order in which they came.

    join ──▶ PRESENT ── it is the first present one, and there is room ──▶ take: its attempt begins
              │   ▲
       lose   │   │  come_back: the same name and password from the same address
              ▼   │
             AWAY, with its place, and passed over by those behind it ── `return_s` later ──▶ dropped
    leave ──▶ dropped at once: those behind it move up

The rules:

- *Fair.* Every request has a number in the order of arrival, and the lowest one is first. A request that was taken and
  found the world full after all comes back with its number, and so to its place.
- *One place each.* A place belongs to a name and a password from one address. A client that asks again, over a new
  connection or after its page was loaded anew, gets that place.
- *Bounded.* At most `waiting_max` requests wait, at most `address_max` of one address (or the /64 of an IPv6 address).
  Requests from addresses from which players have come have `waiting_max` places of their own, which a flood of
  strangers cannot take.
- *A client that vanishes is noticed.* Each client gets its place every `place_every_s`, and must acknowledge that: one
  that sends nothing for `silence_s` counts as away, and has no turn from half of that on.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from typing import Generic, TypeVar

from terrazzo.login.attempts import LoginAttempt
from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.addresses import subscriber
from terrazzo.wire.login_refusals import LoginRefusal

S = TypeVar("S")

_NUMBER = attrgetter("number")


@dataclass(frozen=True)
class QueueLimits:
    """How many clients may wait, and how."""

    waiting_max: int = 2000
    """0: no client waits."""
    address_max: int = 8
    return_s: float = 30.0
    place_every_s: float = 5.0
    silence_s: float = 16.0
    let_in_per_s: float = 50.0
    """The most requests that are taken from the queue."""


@dataclass(eq=False)
class Waiting(Generic[S]):
    """One attempt in the queue."""

    attempt: LoginAttempt[S]
    is_former: bool
    """Whether a player has come from this address before."""
    away_until: float = 0.0
    place_due_at: float = 0.0

    @property
    def number(self) -> int:
        """In the order of arrival."""
        return self.attempt.number

    @property
    def owner(self) -> bytes:
        """What the place belongs to."""
        return owner_of(self.attempt.request, self.attempt.host)


def owner_of(request: LoginRequest, host: str) -> bytes:
    """A name and a password from an address."""
    parts = (host, request.name, request.password)
    return sha256(b"\0".join(each.encode(errors="replace") for each in parts)).digest()


class LoginQueue(Generic[S]):
    """See the module."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._order: list[Waiting[S]] = []
        self._by_owner: dict[bytes, Waiting[S]] = {}
        self._by_session: dict[S, Waiting[S]] = {}
        self._of_source: Counter[str] = Counter()
        self._former = 0
        """How many come from addresses of former players."""

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, session: S) -> bool:
        return session in self._by_session

    @property
    def sessions(self) -> set[S]:
        """The sessions of the clients that are present."""
        return set(self._by_session)

    @property
    def has_present(self) -> bool:
        """Whether a client waits that is not away."""
        return bool(self._by_session)

    def attempts(self) -> list[LoginAttempt[S]]:
        """All attempts, first ones first."""
        return [each.attempt for each in self._order]

    def place_of(self, waiting: Waiting[S]) -> int:
        """1 for the first."""
        return bisect_left(self._order, waiting.number, key=_NUMBER) + 1

    def find(self, request: LoginRequest, host: str) -> Waiting[S] | None:
        """The place of this name and password from this address."""
        return self._by_owner.get(owner_of(request, host))

    def why_not(self, host: str, *, is_former: bool) -> LoginRefusal | None:
        """Why one more request from this address cannot wait; None: it can."""
        others = self._former if is_former else len(self._order) - self._former
        if others >= self._limits.waiting_max:
            return LoginRefusal.QUEUE_FULL
        is_crowded = self._of_source[subscriber(host)] >= self._limits.address_max
        return LoginRefusal.QUEUE_CROWDED if is_crowded else None

    def join(self, attempt: LoginAttempt[S], now: float, *, is_former: bool) -> None:
        """One more attempt waits, at the place of its number; without a session it is away from now on."""
        waiting = Waiting(attempt, is_former)
        assert waiting.owner not in self._by_owner
        attempt.has_waited = True
        insort(self._order, waiting, key=_NUMBER)
        self._by_owner[waiting.owner] = waiting
        self._of_source[subscriber(attempt.host)] += 1
        self._former += is_former
        if attempt.session is None:
            waiting.away_until = now + self._limits.return_s
        else:
            self._by_session[attempt.session] = waiting

    def come_back(self, waiting: Waiting[S], again: LoginAttempt[S]) -> S | None:
        """The client has asked again; gives its former session, if there is one."""
        assert again.session is not None
        before = waiting.attempt.session
        if before is not None:
            del self._by_session[before]
        again.number, again.has_waited = waiting.number, True
        waiting.attempt, waiting.place_due_at = again, 0.0
        self._by_session[again.session] = waiting
        return before

    def lose(self, session: S, now: float) -> None:
        """The connection is lost: the client is away."""
        waiting = self._by_session.pop(session)
        waiting.attempt.session = None
        waiting.away_until = now + self._limits.return_s

    def leave(self, session: S) -> None:
        """The client does not wait any more."""
        self.remove(self._by_session[session])

    def first(self, is_here: Callable[[S], bool]) -> Waiting[S] | None:
        """The first client that is present, and is here according to its session."""
        sessions = ((each, each.attempt.session) for each in self._order)
        return next((each for each, session in sessions if session is not None and is_here(session)), None)

    def remove(self, waiting: Waiting[S]) -> None:
        """It does not wait any more, or its turn has come."""
        del self._order[self.place_of(waiting) - 1]
        del self._by_owner[waiting.owner]
        session, source = waiting.attempt.session, subscriber(waiting.attempt.host)
        if session is not None:
            del self._by_session[session]
        self._former -= waiting.is_former
        self._of_source[source] -= 1
        if not self._of_source[source]:
            del self._of_source[source]

    def drop_away(self, now: float) -> None:
        """Drops the clients that have been away for too long."""
        if len(self._by_session) < len(self._order):
            for each in [each for each in self._order if each.attempt.session is None and each.away_until <= now]:
                self.remove(each)

    def due(self, now: float) -> list[tuple[int, Waiting[S]]]:
        """The present clients that get their places now, with these."""
        due = [
            (place, each)
            for place, each in enumerate(self._order, start=1)
            if each.attempt.session is not None and each.place_due_at <= now
        ]
        for _, each in due:
            each.place_due_at = now + self._limits.place_every_s
        return due
