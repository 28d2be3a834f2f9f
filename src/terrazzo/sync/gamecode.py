"""Running a game's own code: whatever it raises is confined to the entity, reported, and never takes the app down."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from terrazzo.wire.app import Host


def run_game_code(host: Host, what: str, function: Callable[..., Any], *args: Any) -> Any:
    """The result of the game's function, or None when it raised. `what` names entity and method for the report."""
    try:
        return function(*args)
    except Exception as problem:
        host.log("game error", what=what, error=f"{type(problem).__name__}: {problem}", trace=traceback.format_exc())
        return None
