"""Every call of the seamless scenario, from the moment it is made until it has arrived or is reported (P2).

    PENDING ──arrives──▶ HEARD        once, and in the order in which the caller's life made them
       │ a later one arrived first
       ├──────────────▶ SKIPPED       then it must be reported
       └──reported────▶ REPORTED      it must never arrive afterwards

A call may miss its callee only if the callee's part did not exist at some moment since the call was made. The judge
does not distinguish lives of the callee: the caller may have seen a former one, and its call may reach the next one, or
be reported because of the end.

In a swift world every call between parts arrives before its sender's resend timer could have repeated it
(`latency.py`), unless its callee was away meanwhile.

Calls of clients are not reported. All of them arrive as long as the client's entity has the body that it had; calls on
another entity arrive as long as that entity has the body that the client saw, and the client sees it all the time. The
BaseApp learns of a leave before the client does: so this is judged at rest. Calls that were not acknowledged when the
client's program vanished may be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple, Protocol

from terrazzo.sim.oracle import Broken

Key = tuple[str, int, int]

WAYS = {
    "sniffed": "cell to cell",
    "called": "cell to cell",
    "noted": "base to cell",
    "note": "cell to base",
    "heard_of": "cell to base",
    "greeted": "base to base",
    "do": "client to cell",
    "poke": "client to cell",
    "ask": "client to base",
}
"""The parts between which each method is called."""
OF_CLIENTS = ("client to cell", "client to base")


class Fate(Enum):
    """The state of a call."""

    PENDING = "pending"
    HEARD = "heard"
    SKIPPED = "skipped"
    REPORTED = "reported"


class Hold(NamedTuple):
    """An entity as a client has it: its life, and whether the client has had it since without interruption."""

    life: int
    has: Callable[[], bool]


@dataclass
class Call:
    """One call."""

    method: str
    source_life: int
    made_at: float
    own: Hold | None = None
    other: Hold | None = None
    has_vanished: Callable[[], bool] = lambda: False
    """Whether the program of the client that made it has vanished."""
    fate: Fate = Fate.PENDING


class Lives(Protocol):
    """The lives of the parts of entities, as the ledger uses them."""

    def life(self, side: str, entity: int) -> int:
        """Which life of that part is the latest."""

    def is_over(self, side: str, entity: int, life: int) -> bool:
        """Whether that life of that part has ended."""

    def was_away(self, side: str, entity: int, since: float) -> bool:
        """Whether the part did not exist at some moment since then."""


class Ledger:
    """All calls, by way, caller and callee."""

    def __init__(
        self, now: Callable[[], float], lives: Lives, most_s: Callable[[str, int, int], float] = lambda *_: inf
    ) -> None:
        """`most_s`: how long a call may take, by way, caller and callee."""
        self.calls: dict[Key, list[Call]] = {}
        self.heard: dict[str, int] = {}
        """How many have arrived, by parts."""
        self.reported = 0
        self._now = now
        self._lives = lives
        self._most_s = most_s
        self._open: dict[Key, int] = {}
        """How many of the first calls are done with."""

    def make(
        self,
        method: str,
        source: int,
        target: int,
        own: Hold | None = None,
        other: Hold | None = None,
        has_vanished: Callable[[], bool] = lambda: False,
    ) -> int:
        """The number of a call that is about to be made; by a client: what it has of its own entity, and of another."""
        way = WAYS[method]
        calls = self.calls.setdefault((way, source, target), [])
        calls.append(Call(method, self._lives.life(way.split()[0], source), self._now(), own, other, has_vanished))
        return len(calls)

    def hear(self, method: str, source: int, target: int, number: int) -> Broken | None:
        """A call has arrived; returns what is wrong with that."""
        way = WAYS[method]
        key, calls = (way, source, target), self.calls.get((way, source, target), [])
        name = f"{way}, {source} → {target}, {method} {number}"
        if not 0 < number <= len(calls) or calls[number - 1].method != method:
            return Broken("P2", f"{name} was never made", source, target)
        call = calls[number - 1]
        if call.fate not in (Fate.PENDING, Fate.SKIPPED):
            return Broken("P2", f"{name} came, but was {call.fate.value} before", source, target)
        if call.fate is Fate.SKIPPED:
            return Broken("P2", f"{name} came after a later one", source, target)
        for at in range(self._open.get(key, 0), number - 1):
            before = calls[at]
            if before.fate is Fate.PENDING and before.source_life == call.source_life:
                if before.other is None and not self._may_miss(key, before):
                    return Broken("P2", f"{name} came, {before.method} {at + 1} was due", source, target)
                before.fate = Fate.SKIPPED
        call.fate = Fate.HEARD
        self.heard[way] = self.heard.get(way, 0) + 1
        self._settle(key, calls)
        return self._lateness(key, call, name)

    def _lateness(self, key: Key, call: Call, name: str) -> Broken | None:
        """What is wrong with the time that an arrived call took."""
        waited_s = self._now() - call.made_at
        if waited_s < self._most_s(*key) or self._may_miss(key, call):
            return None
        return Broken("P2", f"{name} came after {waited_s:.2f} s, in peace", *key[1:])

    def report(self, method: str, source: int, target: int) -> Broken | None:
        """A call was reported to its caller as undelivered: it is the first open call of this life of the caller."""
        way = WAYS[method]
        key, life = (way, source, target), self._lives.life(way.split()[0], source)
        for call in self.calls.get(key, [])[self._open.get(key, 0) :]:
            is_it = call.method == method and call.source_life == life
            if is_it and call.fate in (Fate.PENDING, Fate.SKIPPED):
                if not self._may_miss(key, call):
                    what = f"{way}, {source} → {target}: {method} was given up, but it was there all the time"
                    return Broken("P2", what, source, target)
                call.fate = Fate.REPORTED
                self.reported += 1
                return None
        return Broken("P2", f"{way}, {source} → {target}: {method} was reported, but it had come", source, target)

    def unrest(self) -> tuple[str, int, int] | None:
        """A call that has neither arrived nor been reported, and should have."""
        for key, calls in self.calls.items():
            for at in range(self._open.get(key, 0), len(calls)):
                call = calls[at]
                if call.fate in (Fate.PENDING, Fate.SKIPPED) and not self._may_vanish(key, call):
                    return f"{key[0]}, {key[1]} → {key[2]}: {call.method} {at + 1} is {call.fate.value}", *key[1:]
        return None

    def _may_miss(self, key: Key, call: Call) -> bool:
        way, source, target = key
        if call.has_vanished():
            return True
        if call.own is None:
            return self._lives.was_away(way.split()[-1], target, call.made_at)
        if self._lives.is_over("cell", source, call.own.life):
            return True
        other = call.other
        return other is not None and (self._lives.is_over("cell", target, other.life) or not other.has())

    def _may_vanish(self, key: Key, call: Call) -> bool:
        """Whether a call may be missing without a report: neither its caller nor its callee exists any more."""
        way, source, _ = key
        is_nobody_told = way in OF_CLIENTS or self._lives.is_over(way.split()[0], source, call.source_life)
        return is_nobody_told and self._may_miss(key, call)

    def _settle(self, key: Key, calls: list[Call]) -> None:
        at = self._open.get(key, 0)
        while at < len(calls) and calls[at].fate in (Fate.HEARD, Fate.REPORTED):
            at += 1
        self._open[key] = at
