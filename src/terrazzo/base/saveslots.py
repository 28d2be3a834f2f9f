"""How many saves of one BaseApp are under way at a time, and the periodic archive of all saved entities.

    Saver ──take──▶ a slot is free: it gathers its values now
                    none is free: it waits in line                ◀── give: the next in line gathers its values

A slot is held from the time at which the values are gathered until the DBApp has answered or failed. So a slow database
slows saves down, and neither the BaseApp nor the DBApp holds more than SLOTS records of one BaseApp. Each base waits in
line once at most. What waits has not been gathered yet: it is saved with its newest values.

The archive saves every stored entity once in a period, spread evenly over it. While half of the slots are in use it
waits, so that it never delays what the game saves; the round then takes longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from terrazzo.cluster.app import Host
from terrazzo.wire.ids import EntityId

SLOTS = 64


class SaveSlots:
    """The slots of one BaseApp."""

    def __init__(self, most: int = SLOTS) -> None:
        self._free = self._most = most
        self._line: deque[Callable[[], None]] = deque()
        self._is_giving = False

    def __len__(self) -> int:
        """How many wait in line."""
        return len(self._line)

    @property
    def is_half_used(self) -> bool:
        """Whether half of the slots are in use."""
        return 2 * self._free <= self._most

    def take(self, go: Callable[[], None]) -> bool:
        """True: there is a slot, now. False: `go` is called when there is one."""
        if self._free == 0:
            self._line.append(go)
            return False
        self._free -= 1
        return True

    def give(self) -> None:
        """A slot is given back: the next in line gets it."""
        self._free += 1
        if self._is_giving:
            return  # what got a slot gives it back at once: the loop below goes on
        self._is_giving = True
        try:
            while self._line and self._free:
                self._free -= 1
                self._line.popleft()()
        finally:
            self._is_giving = False


class Archived(Protocol):
    """A base, for the archive."""

    def archive(self) -> None:
        """Saves it, if it is a stored entity with values that were not saved yet."""


class Archive:
    """Saves the bases of one BaseApp, period after period."""

    def __init__(self, host: Host, slots: SaveSlots, bases: Mapping[EntityId, Archived], period_s: float) -> None:
        """`period_s` 0: there is no archive."""
        self._host = host
        self._slots = slots
        self._bases = bases
        self._period_s = period_s
        self._began = host.now
        self._round: list[EntityId] = []
        self._next = 0

    def on_tick(self) -> None:
        """Begins the saves that are due."""
        if not self._period_s:
            return
        past = (self._host.now - self._began) / self._period_s
        if past >= 1.0 and self._next == len(self._round):
            self._began, self._round, self._next = self._host.now, list(self._bases), 0
            past = 0.0
        due = min(int(past * len(self._round)) + 1, len(self._round))
        while self._next < due and not self._slots.is_half_used:
            base = self._bases.get(self._round[self._next])
            self._next += 1
            if base is not None:
                base.archive()
