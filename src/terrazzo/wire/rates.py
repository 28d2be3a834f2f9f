"""Rates by time: a bucket of tokens, and a table of buckets by address that cannot grow without end.

A bucket holds `burst` tokens and fills at `per_s`; an attempt takes one. After a time in which nothing could be taken,
because the process stood still, attempts of that whole time come at once: then a bucket may hold more (`spare_s`). Over
any time it gives at most `burst` tokens more than `per_s` allows. The table has addresses in the order of their
last attempt, so a full table drops the bucket that had the longest time to fill: usually it is full, and dropping it
changes nothing. An IPv6 address counts by its /64, which belongs to one subscriber.
"""

from __future__ import annotations

from terrazzo.wire.addresses import subscriber

ADDRESSES_MAX = 10_000


class Bucket:
    """One bucket; full at the start. Without a burst of its own it holds a second's worth, but always one."""

    __slots__ = ("_burst", "_has_begun", "_per_s", "_since", "_tokens")

    def __init__(self, *, per_s: float, burst: float | None = None) -> None:
        self._per_s = per_s
        self._burst = self._tokens = float(max(per_s, 1.0) if burst is None else burst)
        self._has_begun = False
        self._since = 0.0

    def take(self, now: float, spare_s: float = 0.0) -> bool:
        """Whether one more is within the rate; if so, it is counted. The bucket may hold its burst and what fills it in
        `spare_s`."""
        most = self._burst + spare_s * self._per_s
        self._tokens = min(self._tokens + (now - self._since) * self._per_s, most) if self._has_begun else most
        self._has_begun = True
        self._since = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class RateLimit:
    """Buckets by address."""

    def __init__(self, *, per_s: float, burst: int, addresses_max: int = ADDRESSES_MAX) -> None:
        self._per_s = per_s
        self._burst = burst
        self._addresses_max = addresses_max
        self._buckets: dict[str, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str, now: float) -> bool:
        """Whether this address may try now; if so, it has one try less."""
        key = subscriber(address)
        bucket = self._buckets.pop(key, None) or Bucket(per_s=self._per_s, burst=self._burst)
        self._buckets[key] = bucket
        if len(self._buckets) > self._addresses_max:
            del self._buckets[next(iter(self._buckets))]
        return bucket.take(now)
