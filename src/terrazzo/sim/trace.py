"""The events of a run: as a hash by which two runs are compared, or as a timeline to read.

Most runs are only judged and store nothing (`OFF`). `HASH` folds every event into one digest. `KEEP` stores the events
as well; a failing seed is run again with it. An event has a time, the app that it happened at, a name, and facts; a
timeline has the events with facts that mention a given thing.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import NamedTuple

from terrazzo.sim.clock import Clock


class Keep(Enum):
    """How much a run stores."""

    OFF = 0
    HASH = 1
    ALL = 2


class Event(NamedTuple):
    """One line of a timeline."""

    time: float
    where: str
    what: str
    facts: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        facts = " ".join(f"{name}={value}" for name, value in self.facts)
        return f"{self.time:9.3f}  {self.where:<16} {self.what:<18} {facts}"


class Trace:
    """The events of one run."""

    def __init__(self, clock: Clock, keep: Keep) -> None:
        self.keep = keep
        self.events: list[Event] = []
        self._clock = clock
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, where: object, what: str, /, **facts: object) -> None:
        """Notes an event; costs almost nothing when the run stores nothing."""
        if self.keep is Keep.OFF:
            return
        words = tuple((name, str(value)) for name, value in facts.items())
        event = Event(self._clock.now, str(where), str(what), words)
        self._hash.update(repr(event).encode())
        if self.keep is Keep.ALL:
            self.events.append(event)

    def digest(self) -> str:
        """The hash of everything that was noted."""
        return self._hash.hexdigest()

    def timeline(self, about: tuple[str, ...], last: int = 60) -> list[str]:
        """The last events that happened at, or mention, one of `about`; all events when it is empty."""
        wanted = set(about)
        lines = [
            str(event)
            for event in self.events
            if not wanted or event.where in wanted or any(value in wanted for _, value in event.facts)
        ]
        return lines[-last:]
