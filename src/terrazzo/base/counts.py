"""Counters of one BaseApp: what clients were refused, and what arrived too late to be used."""

from __future__ import annotations

from collections import Counter

from terrazzo.base.limits import ClientRefusal


class Counts:
    """The counters that the console shows."""

    def __init__(self) -> None:
        self.refused: Counter[ClientRefusal] = Counter()
        self.resumed = 0
        """Clients that have resumed with a session token."""
        self.bad_messages = 0
        self.old_mail = 0
        """Messages for a client that were meant for an earlier client or came from a former home of the cell part."""
        self.late_answers = 0
        """Answers to calls for which no method waits any more."""

    def count_bad(self, why: ClientRefusal) -> int:
        """Counts a message that no honest client sends; returns how often this reason has occurred."""
        self.bad_messages += 1
        self.refused[why] += 1
        return self.refused[why]
