"""Attempts that are in work or have just ended, so that a request that is sent again gets the same answer.

    the request, at once or out of the queue (`queue.py`)       ┌── cancel: it waits (again) ──▶ the queue
              │                                                 │
              └──▶ begin ──▶ IN WORK ───────────────────────────┴── finish ──▶ ENDED, with its answer ── `kept_s`
                                                                                             later ──▶ forgotten
    the same request, over another session ──▶ find ──▶ IN WORK: that session gets the answer, the one before is ended
                                                        ENDED: the same answer at once

A client repeats its request when the connection is lost before the answer has come. Without this the second request
would be a second login: it would be refused because the first is in work, or take the proxy from it. Two requests are
the same if they come from one address and have the same bytes, among them `attempt`, which the client chooses at
random. A request without `attempt` is never the same as another one.

The table is bounded: the attempts in work are (`LoginLimits`), and of those that ended at most `ended_max` are kept,
oldest dropped first.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

from terrazzo.sync.protocol import LoginRequest

S = TypeVar("S")

Key = bytes


@dataclass(eq=False)
class LoginAttempt(Generic[S]):
    """One login, from the moment when its request has passed the checks."""

    key: Key | None
    """None: a request without `attempt`."""
    request: LoginRequest
    host: str
    """The address that the request came from."""
    session: S | None
    """The session that gets the answer; None when it has ended."""
    number: int = 0
    """In the order of arrival of all requests."""
    is_known: bool = False
    """Whether the player has logged in from there before."""
    may_place: bool = True
    """Whether the player may get a new place in the world."""
    has_waited: bool = False
    """Whether it has been in the queue."""
    answer: bytes = b""
    """Empty until the attempt has ended."""
    until: float = 0.0
    """When an attempt that has ended is forgotten."""


def key_of(host: str, message: bytes) -> Key:
    """What two requests have in common if they are the same."""
    return sha256(host.encode() + b"\0" + message).digest()


def holder_of(request: LoginRequest) -> bytes:
    """What the login key of this request is bound to; empty for a request without `attempt`."""
    return sha256(request.attempt.encode(errors="replace")).digest() if request.attempt else b""


class Attempts(Generic[S]):
    """The attempts of one LoginApp."""

    def __init__(self, *, kept_s: float, ended_max: int) -> None:
        self._kept_s = kept_s
        self._ended_max = ended_max
        self._in_work: dict[bool, int] = {False: 0, True: 0}
        self._by_key: dict[Key, LoginAttempt[S]] = {}
        self._ended: dict[Key, LoginAttempt[S]] = {}
        """In the order in which they ended."""

    def in_work(self, is_known: bool) -> int:
        """How many attempts wait for an answer, from known addresses or from others."""
        return self._in_work[is_known]

    def find(self, key: Key, now: float) -> LoginAttempt[S] | None:
        """The attempt of the same request."""
        self._forget(now)
        return self._by_key.get(key)

    def begin(self, attempt: LoginAttempt[S]) -> None:
        """The DBApp is asked."""
        if attempt.key is not None:
            self._by_key[attempt.key] = attempt
        self._in_work[attempt.is_known] += 1

    def finish(self, attempt: LoginAttempt[S], answer: bytes, now: float) -> None:
        """The attempt has its answer."""
        self._in_work[attempt.is_known] -= 1
        if attempt.key is None:
            return
        attempt.answer, attempt.until = answer, now + self._kept_s
        self._ended[attempt.key] = attempt
        if len(self._ended) > self._ended_max:
            self._drop_oldest()
        self._forget(now)

    def cancel(self, attempt: LoginAttempt[S]) -> None:
        """The attempt is not in work any more, and has no answer: it waits in the queue."""
        self._in_work[attempt.is_known] -= 1
        if attempt.key is not None:
            del self._by_key[attempt.key]

    def _forget(self, now: float) -> None:
        while self._ended and next(iter(self._ended.values())).until <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        key = next(iter(self._ended))
        del self._ended[key], self._by_key[key]
