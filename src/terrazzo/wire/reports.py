"""Counts the events of one app; the first ones of each are also logged."""

from __future__ import annotations

from terrazzo.wire.environment import Environment
from terrazzo.wire.log_events import EventCounts, LogEvent
from terrazzo.wire.sentences import is_logged

LOGGED_MAX = 100
"""So many of one event are logged; of later ones the 128th, 256th, 512th …, so that the log stays bounded."""


class Reports:
    """The events of one app that should not happen, or that an operator may need."""

    def __init__(self, host: Environment) -> None:
        self.counts = EventCounts()
        self._host = host

    def count(self, event: LogEvent, /, **facts: object) -> None:
        """Counts an event, and logs it with its facts."""
        count = self.counts.add(event)
        if count <= LOGGED_MAX or is_logged(count):
            self._host.log(event, count=count, **facts)
