"""The services that the wire modules use: the time, and a log. An app's `Host` has both, and more."""

from __future__ import annotations

from typing import Protocol

from terrazzo.wire.log_events import EventName


class Environment(Protocol):
    """The clock and the log that the driver of an app provides."""

    @property
    def now(self) -> float:
        """Seconds since a fixed moment. The value never decreases, and is the same during one call into the app."""

    def log(self, event: EventName, /, **facts: object) -> None:
        """Logs an event for operators and failing tests; `facts` are plain values."""


class Log(Protocol):
    """Takes an event and its facts: a log outside of apps."""

    def __call__(self, event: EventName, /, **facts: object) -> None: ...
