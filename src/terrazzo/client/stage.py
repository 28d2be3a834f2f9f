"""The client parts of the entities in view, and the game's code that runs when something happens to them.

An entity gets its part when it appears and loses it when it is gone; each event of the view becomes at most one
callback of the part (`parts.py` lists them). What the game's code raises is confined to that callback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from terrazzo.client.game import ClientGame
from terrazzo.client.parts import Client, Engine
from terrazzo.cluster.app import Host
from terrazzo.sync.callbacks import find_callback
from terrazzo.sync.gamecode import run_game_code
from terrazzo.sync.view_events import (
    BasePlayer,
    CellLost,
    CellPlayer,
    Changed,
    Entered,
    Left,
    MethodCalled,
    Moved,
    PlayerLeft,
    Seen,
    SpaceChanged,
    SpaceDataChanged,
)
from terrazzo.wire.environment import Log

Story = (
    BasePlayer | CellPlayer | CellLost | PlayerLeft | SpaceChanged | SpaceDataChanged
    | Entered | Left | Moved | Changed | MethodCalled
)  # fmt: skip
"""The events that are about an entity."""

_CALLBACKS = {
    BasePlayer: "on_player",
    CellPlayer: "on_enter",
    Entered: "on_enter",
    CellLost: "on_leave",
    Left: "on_leave",
    SpaceChanged: "on_space",
    Moved: "on_moved",
}


class Stage:
    """All client parts of one client."""

    def __init__(self, game: ClientGame, engine: Engine, log: Log) -> None:
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
        if isinstance(event, Changed):
            found = find_callback(part, event.name, event.applied, seen.state[event.name])
            if found is not None:
                self._call(part, *found)
        elif isinstance(event, MethodCalled):
            self._on_called(part, event)
        elif isinstance(event, SpaceDataChanged):
            self._call(part, "on_space_data", part.on_space_data, (event.changed,))
        elif not isinstance(event, PlayerLeft):
            self._run(part, _CALLBACKS[type(event)])
        if isinstance(event, Left | PlayerLeft):
            del self.parts[seen.id]

    def _on_called(self, part: Client, event: MethodCalled) -> None:
        method = event.method
        target = part if method.component is None else getattr(part, method.component, None)
        function = getattr(target, method.name, None)
        if function is not None:
            name = method.name if method.component is None else f"{method.component}.{method.name}"
            self._call(part, name, function, tuple(event.args))

    def _make_part(self, seen: Seen) -> None:
        cls = self._game.classes[seen.schema.name]
        part = cls.__new__(cls)
        part._state, part._seen, part._engine = seen.state, seen, self._engine
        self.parts[seen.id] = part
        self._run(part, "__init__")

    def _run(self, part: Client, name: str) -> None:
        self._call(part, name, getattr(part, name), ())

    def _call(self, part: Client, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        what = f"{part._seen.schema.name} {part._seen.id}: client {name}"
        run_game_code(cast(Host, self), what, function, *args)  # which asks nothing but `log` of its host
