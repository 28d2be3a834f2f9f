"""The client parts of the entities in view, and the game's code that runs when something happens to them.

An entity gets its part when it appears and loses it when it is gone; each event of the view becomes at most one
callback of the part (`parts.py` lists them). What the game's code raises is confined to that callback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from terrazzo.client.game import ClientGame
from terrazzo.client.parts import Client, Engine
from terrazzo.sync.gamecode import run_game_code
from terrazzo.sync.view_events import (
    BasePlayer,
    Called,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Left,
    Moved,
    Seen,
)
from terrazzo.wire.app import Host

Story = BasePlayer | CellPlayer | CellLost | Entered | Left | Moved | Changed | Called
"""The events that are about an entity."""


class Stage:
    """All client parts of one client."""

    def __init__(self, game: ClientGame, engine: Engine, log: Callable[..., None]) -> None:
        self.parts: dict[int, Client] = {}
        self.log = log
        self._game = game
        self._engine = engine

    def play(self, event: Story) -> None:
        """Run the game's code for an event."""
        seen = event.entity
        if isinstance(event, (BasePlayer, Entered)):
            self._make_part(seen)
        part = self.parts[seen.id]
        if isinstance(event, CellPlayer):
            part._state = seen.state
        name, args = _callback(event)
        self._run(part, name, *args)
        if isinstance(event, Left):
            del self.parts[seen.id]

    def _make_part(self, seen: Seen) -> None:
        cls = self._game.classes[seen.schema.name]
        part = cls.__new__(cls)
        part._state, part._seen, part._engine = seen.state, seen, self._engine
        self.parts[seen.id] = part
        self._run(part, "__init__")

    def _run(self, part: Client, name: str, *args: Any) -> None:
        function = getattr(part, name, None)
        if function is not None:
            what = f"{part._seen.schema.name} {part._seen.id}: client {name}"
            run_game_code(cast(Host, self), what, function, *args)  # which asks nothing but `log` of its host


def _callback(event: Story) -> tuple[str, tuple[Any, ...]]:
    """The method of the part that is called, and with what."""
    if isinstance(event, BasePlayer):
        return "on_player", ()
    if isinstance(event, (CellPlayer, Entered)):
        return "on_enter", ()
    if isinstance(event, (CellLost, Left)):
        return "on_leave", ()
    if isinstance(event, Moved):
        return "on_moved", ()
    if isinstance(event, Changed):
        name, args = event.applied.callback(event.name)
        return name.replace(".", "_"), args
    return event.method.name, tuple(event.args)
