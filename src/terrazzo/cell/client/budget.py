"""The byte budget of one client: how much it may be sent now, what it has saved, and what it owes.

The budget is bytes a second, in the long run, over all borders: what is saved or owed travels with the witness, as the
`deficit`. A client is granted bytes for the time since it was last served. What it is sent beyond that is owed, what it
does not use is saved, both for CARRY_TICKS at most. A new client begins with all that can be saved.

    served            Budget.grant     the bytes of the time since the last time, WAITED_MAX ticks of them at most
                      Budget.room      what is left for messages about others: messages about the own entity and leaves
                                       are sent in any case
                      Budget.spend     what was sent becomes the new deficit

A client that has used up its budget for STARVED_TICKS is served nevertheless, once, with the bytes of a tick. A witness
that has just arrived from another cell has nearly no time to be granted for; so that its client is not left without
news, it gets ADVANCE of a tick on credit, unless it owes as much already.
"""

from __future__ import annotations

from math import inf

CARRY_TICKS = 10
STARVED_TICKS = 10
"""After so many ticks without budget a client is served whatever it owes: it must not stand still for good."""
WAITED_MAX = 10
"""Ticks for which a client that waited gets its bytes at once."""
ADVANCE = 0.5
"""Of a tick's bytes: as much as leaves half for the next tick, in which it is paid back."""


class Budget:
    """The bytes of one client."""

    __slots__ = ("_advance", "_allowed", "_granted", "_starved", "deficit", "has_come", "served_at")

    def __init__(self, now: float, deficit: float = -inf, has_come: bool = False) -> None:
        self.deficit = deficit
        """Bytes that are owed; below zero: saved."""
        self.has_come = has_come
        """The client has arrived from another cell, and was not served here yet."""
        self.served_at = now
        """When the client was last served, by the clock of this app: for the time under way it is granted nothing."""
        self._allowed = self._granted = self._advance = 0.0
        self._starved = 0

    def grant(self, now: float, tick_s: float, tick_bytes: float) -> None:
        """The client is served now; a tick of `tick_s` is worth `tick_bytes`."""
        waited = min((now - self.served_at) / tick_s, WAITED_MAX)
        self.served_at = now
        self._allowed = tick_bytes * max(waited, 1.0)
        self._advance = 0.0
        if self.has_come:
            self.has_come = False
            self._advance = self._allowed * ADVANCE if self.deficit < self._allowed * ADVANCE else 0.0
        self._granted = tick_bytes * waited - max(self.deficit - self._advance, -self._allowed * CARRY_TICKS)

    def room(self, own: int) -> float:
        """The bytes for messages about others, after so many about the own entity."""
        room = self._granted - own
        if room > 0 and not self._starved:
            return room
        self._starved = 0 if room > 0 else self._starved + 1
        if self._starved < STARVED_TICKS:
            return room
        self._starved = 0
        return self._allowed

    def spend(self, sent: int) -> None:
        """So many bytes were sent, of whatever kind."""
        self.deficit = min(sent - self._granted, self._allowed * CARRY_TICKS) + self._advance
