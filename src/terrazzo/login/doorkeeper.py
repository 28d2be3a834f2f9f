"""The checks of a request that need neither another app nor the state of the world, cheapest first.

A name that is reserved for bots needs the bots' password of the cluster, which is checked here. Many bots log in from
one address at a time, so the rates do not count them.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import NamedTuple

from terrazzo.login.checks import read_request
from terrazzo.sync.protocol import LoginRequest
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import BOT_PREFIX, is_bot_name
from terrazzo.wire.rates import Bucket, RateLimit


@dataclass(frozen=True)
class RateLimits:
    """How often clients may try."""

    attempts_per_s: float
    """From one address after its burst."""
    attempts_burst: int
    total_per_s: float
    """From all addresses; a second's worth at once."""


class Checked(NamedTuple):
    """A request that has passed."""

    request: LoginRequest
    is_bot: bool
    """Whether it is a bot of the cluster."""


class Doorkeeper:
    """See the module."""

    def __init__(self, rates: RateLimits, *, digest: str, bots_password: bytes) -> None:
        self._digest = digest
        self._bots_password = bots_password
        self._rate = RateLimit(per_s=rates.attempts_per_s, burst=rates.attempts_burst)
        self._total_rate = {is_former: Bucket(per_s=rates.total_per_s) for is_former in (False, True)}
        """Of all addresses together; those from which players have come have a rate of their own."""

    def check_rates(self, host: str, message: bytes, now: float, *, is_former: bool) -> LoginRefusal | None:
        """Whether one more attempt is too much. `is_former`: whether a player has come from this address before."""
        if self._is_own_bot(message):
            return None
        if not self._rate.take(host, now):
            return LoginRefusal.RATE
        return None if self._total_rate[is_former].take(now) else LoginRefusal.TOO_MANY

    def read(self, message: bytes) -> Checked | LoginRefusal:
        """The request, or the first check of its content that it fails."""
        request = read_request(message)
        if isinstance(request, LoginRefusal):
            return request
        is_bot = is_bot_name(request.name)
        if is_bot and not self._has_bots_password(request):
            return LoginRefusal.RESERVED
        return Checked(request, is_bot) if request.digest == self._digest else LoginRefusal.DIGEST

    def _is_own_bot(self, message: bytes) -> bool:
        """Whether this is a bot of the cluster. Only a request that may be one is read for that."""
        if not self._bots_password or BOT_PREFIX.encode() not in message:
            return False
        request = read_request(message)
        return not isinstance(request, LoginRefusal) and is_bot_name(request.name) and self._has_bots_password(request)

    def _has_bots_password(self, request: LoginRequest) -> bool:
        password = request.password.encode(errors="replace")
        return bool(self._bots_password) and hmac.compare_digest(password, self._bots_password)
