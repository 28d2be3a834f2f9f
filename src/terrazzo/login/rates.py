"""How often one address may try: a bucket of tokens for each, in a table that cannot grow without end.

A bucket holds `burst` tokens and fills at `per_s`; an attempt takes one. Addresses stand in the order of their last
attempt, so the one that is forgotten when the table is full is the one whose bucket has had the longest time to fill:
as a rule it is full, and forgetting it changes nothing. An IPv6 address counts by its /64, which is what one subscriber
has.
"""

from __future__ import annotations

from terrazzo.wire.addresses import subscriber

ADDRESSES_MAX = 10_000


class RateLimit:
    """Buckets by address."""

    def __init__(self, *, per_s: float, burst: int, addresses_max: int = ADDRESSES_MAX) -> None:
        self._per_s = per_s
        self._burst = burst
        self._addresses_max = addresses_max
        self._buckets: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str, now: float) -> bool:
        """Whether this address may try now; if so, it has one try less."""
        key = subscriber(address)
        tokens, since = self._buckets.pop(key, (float(self._burst), now))
        tokens = min(tokens + (now - since) * self._per_s, float(self._burst))
        is_allowed = tokens >= 1.0
        self._buckets[key] = (tokens - is_allowed, now)
        if len(self._buckets) > self._addresses_max:
            del self._buckets[next(iter(self._buckets))]
        return is_allowed
