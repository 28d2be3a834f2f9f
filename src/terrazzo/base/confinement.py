"""Confines a failure to the entity that it concerns: the error is counted and logged, and the tick goes on for all
other entities of the BaseApp.

An AssertionError is a broken invariant of the engine. It is not confined: it stops the app.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from terrazzo.cluster.app import Host
from terrazzo.sync.gamecode import trace_of, words_of
from terrazzo.wire.log_events import LogEvent

T = TypeVar("T")


class Confinement:
    """Runs the work of one BaseApp, entity by entity."""

    def __init__(self, host: Host) -> None:
        self.failures = 0
        """How often the work for an entity raised an exception."""
        self._host = host

    def run(self, entity: object, what: str, function: Callable[..., T], *args: Any) -> T | None:
        """The result of the function, or None when it raised."""
        try:
            return function(*args)
        except AssertionError:
            raise
        except Exception as problem:
            self.note(entity, what, problem)
            return None

    def note(self, entity: object, what: str, problem: Exception) -> None:
        """Counts and logs a failure."""
        self.failures += 1
        facts = {"what": f"{entity}, {what}", "error": words_of(problem), "trace": trace_of(problem)}
        self._host.log(LogEvent.ENTITY_WORK_FAILED, count=self.failures, **facts)

    def ring(self, act: Callable[[], None]) -> None:
        """Runs an alarm. The object with the method is named in the log; its text names the entity."""
        function = act.func if isinstance(act, partial) else act
        owner = getattr(function, "__self__", "the BaseApp")
        self.run(owner, getattr(function, "__name__", "alarm"), act)
