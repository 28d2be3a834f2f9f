"""Strangers: connections and sessions that have not shown yet that a player is behind them, by where they come from.

Each costs memory, so there are at most `total_max` of them, and at most `per_source_max` from one source (an address,
or the /64 of an IPv6 address). A new stranger is never refused for that; another one gives way:

- a source that has too many gives up its own oldest one;
- when there are too many in all, the source that has the most gives up its oldest one, an unknown source before a
  source from which a player has come before.

So an attacker pushes out itself. An honest client is a stranger for a moment only, and is pushed out only by an
attacker that has as many addresses as there are places, or that opens `per_source_max` connections from the client's
own address within that moment.
"""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")

SOURCES_MAX = 10_000


class KnownSources:
    """The sources from which players have come lately; of too many, the one that was used least lately is removed."""

    def __init__(self, sources_max: int = SOURCES_MAX) -> None:
        self._sources: dict[str, None] = {}
        self._sources_max = sources_max

    def __contains__(self, source: str) -> bool:
        return source in self._sources

    def add(self, source: str) -> None:
        """A player has come from there."""
        self._sources.pop(source, None)
        self._sources[source] = None
        if len(self._sources) > self._sources_max:
            del self._sources[next(iter(self._sources))]


class Strangers(Generic[K]):
    """The strangers at one door; each has a key of its own."""

    def __init__(self, *, total_max: int, per_source_max: int, known: KnownSources) -> None:
        self._total_max = total_max
        self._per_source_max = per_source_max
        self._known = known
        self._source_of: dict[K, str] = {}
        self._by_source: dict[str, dict[K, None]] = {}  # the keys of a source, oldest first
        self._rank_of: dict[str, tuple[bool, int]] = {}
        self._ranks: dict[tuple[bool, int], dict[str, None]] = {}  # (is unknown, how many it has) → sources

    def __len__(self) -> int:
        return len(self._source_of)

    def __contains__(self, key: K) -> bool:
        return key in self._source_of

    def add(self, key: K, source: str) -> K | None:
        """One more; gives the one that gives way for it, which is not in the table any more and may be itself."""
        own = self._by_source.setdefault(source, {})
        own[key] = None
        self._source_of[key] = source
        self._rank(source)
        if len(own) > self._per_source_max:
            return self._give_up(source)
        if len(self._source_of) > self._total_max:
            return self._give_up(next(iter(self._ranks[max(self._ranks)])))
        return None

    def remove(self, key: K) -> None:
        """It is no stranger any more, or is gone."""
        source = self._source_of.pop(key, None)
        if source is not None:
            del self._by_source[source][key]
            self._rank(source)

    def _give_up(self, source: str) -> K:
        oldest = next(iter(self._by_source[source]))
        self.remove(oldest)
        return oldest

    def _rank(self, source: str) -> None:
        """The number of a source's strangers has changed."""
        before = self._rank_of.pop(source, None)
        if before is not None:
            del self._ranks[before][source]
            if not self._ranks[before]:
                del self._ranks[before]
        count = len(self._by_source[source])
        if not count:
            del self._by_source[source]
            return
        rank = self._rank_of[source] = (source not in self._known, count)
        self._ranks.setdefault(rank, {})[source] = None
