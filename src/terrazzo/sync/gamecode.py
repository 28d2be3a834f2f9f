"""Runs a game's own code, and work of the engine on values of a game; a failure is confined to the entity.

    run_game_code    a method, hook or callback of the game raises: reported as "game error"
    Confinement      work of the engine for one entity raises: counted and reported as "entity work failed"
    words_of         a text of an exception that can be logged and sent, for any exception

An AssertionError of the engine's own work is a broken invariant. It is not confined: it stops the app. Of what a game's
code raises, only `KeyboardInterrupt` passes, since it comes from the operator. `SystemExit` does not pass: a game's
`quit()` only ends its call.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from terrazzo.cluster.app import Host
from terrazzo.errors import printable
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.reports import Reports

T = TypeVar("T")

WORDS_MAX = 2000
"""Characters of the text of an exception."""


def run_game_code(host: Host, what: str, function: Callable[..., Any], *args: Any) -> Any:
    """The result of the game's function, or None when it raised. `what` names entity and method for the report."""
    try:
        return function(*args)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        _report(host, what, problem)
        return None


def try_game_code(host: Host, what: str, function: Callable[..., Any], *args: Any) -> str:
    """Runs a function of the game; returns the text of its exception, or an empty text."""
    try:
        function(*args)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        return _report(host, what, problem)
    return ""


def _report(host: Host, what: str, problem: BaseException) -> str:
    error = words_of(problem)
    host.log(LogEvent.GAME_ERROR, what=what, error=error, trace=trace_of(problem))
    return error


def named(entity: object, what: str) -> str:
    """How the report of a failure names the entity and the work."""
    return f"{entity}, {what}"


class Confinement:
    """Runs the work of one app, entity by entity: a failure of the work for one is reported, and all others go on."""

    def __init__(self, reports: Reports, named: Callable[[Any, str], str] = named) -> None:
        self._reports = reports
        self._named = named

    def run(self, entity: object, what: str, function: Callable[..., T], *args: Any) -> T | None:
        """The result of the function, or None when it raised."""
        try:
            return function(*args)
        except AssertionError:
            raise
        except Exception as problem:
            self.report(entity, what, problem)
            return None

    def report(self, entity: object, what: str, problem: Exception) -> None:
        """Counts and reports what the work for an entity raised."""
        facts = {"what": self._named(entity, what), "error": words_of(problem), "trace": trace_of(problem)}
        self._reports.count(LogEvent.ENTITY_WORK_FAILED, **facts)


def words_of(problem: BaseException) -> str:
    """The type and the text of an exception: its own `__str__` may fail, and its text may be any string."""
    name = type(problem).__name__
    try:
        text = f"{name}: {problem}"
    except Exception:
        text = f"{name}, without a text: its __str__ failed"
    return printable(text[:WORDS_MAX])


def trace_of(problem: BaseException) -> str:
    """The traceback of an exception that is being handled."""
    return printable("".join(traceback.format_exception(problem)))
