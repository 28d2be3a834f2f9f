"""Runs a game's own code, and work of the engine on values of a game; a failure is confined to the entity.

    run_game_code    a method, hook or callback of the game raises: reported as "game error"
    words_of         a text of an exception that can be logged and sent, for any exception

Only `KeyboardInterrupt` passes, since it comes from the operator. `SystemExit` does not pass: a game's `quit()` only
ends its call.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from terrazzo.cluster.app import Host
from terrazzo.errors import printable
from terrazzo.wire.log_events import LogEvent

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
