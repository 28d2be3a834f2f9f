"""The client part of an entity: what a game derives from, and what its code can do there.

    class AvatarClient(Client, of=Avatar):
        def on_enter(self):                      # it is in the world: the own body, or another one in the area
            self.cell.wave()                     # an exposed method, on the server
        def set_health(self, old): ...           # a property has a new value
        def set_nested_bag(self, path, old): ... # one thing inside it
        def set_slice_bag(self, path, old): ...  # some elements of a list; path ends with (start, end)
        @remote
        def on_said(self, words: Text): ...      # the server calls

For a part without `set_nested_bag` or `set_slice_bag`, such changes call `set_bag(old)`, with the whole value as it
was before (`sync.callbacks`). A property of a component calls `set_health_hp`; calls of its methods go to the
class of its client part. Callbacks that a class does not have are passed over. They come in the order of the server's
messages, each when its message, and no later one, has been taken in. What the game's code raises is reported and ends
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from terrazzo.errors import UsageError
from terrazzo.schema.classes import parts
from terrazzo.schema.export import is_open_to_all
from terrazzo.schema.model import Method, Side
from terrazzo.sync.protocol import Direction, Position
from terrazzo.sync.view_events import Seen


class Engine(Protocol):
    """What a part needs of the program it is in."""

    def is_player(self, entity: Seen) -> bool:
        """Whether it is the client's own entity."""

    def call(self, entity: Seen, side: Side, method: Method, args: bytes) -> bool:
        """Send a call; False when it cannot be sent now."""


class ServerPart:
    """The cell or the base part of an entity, as a client calls it: `player.cell.say("hi")`.

    A call gives True when it was sent. It is not sent, and gives False, when there is no connection or (for a cell) no
    body. Calling what is not there, or what this client may not call, is a UsageError.
    """

    __slots__ = ("_engine", "_entity", "_side")

    def __init__(self, engine: Engine, entity: Seen, side: Side) -> None:
        self._engine, self._entity, self._side = engine, entity, side

    def __getattr__(self, name: str) -> Callable[..., bool]:
        entity, side = self._entity, self._side
        method = next((each for each in entity.schema.exposed(side) if each.name == name), None)
        if method is None:
            have = ", ".join(each.name for each in entity.schema.exposed(side)) or "none"
            raise UsageError(f"{entity.schema.name} has no exposed {side.value} method {name!r}; it has {have}")
        if not self._engine.is_player(entity) and not is_open_to_all(method.exposed, side):
            raise UsageError(f"{entity.schema.name}.{name} may be called by the entity's own client only")

        def call(*args: Any, **named: Any) -> bool:
            return self._engine.call(entity, side, method, method.encode_args(*args, **named))

        return call


class Client(parts.Client, engine=True):
    """What a player's program has of an entity."""

    _engine: Engine
    _seen: Seen

    @property
    def id(self) -> int:
        """The entity's id."""
        return self._seen.id

    @property
    def position(self) -> Position:
        """Where it is, by the latest place that this client has."""
        return self._seen.position

    @property
    def yaw(self) -> float:
        """Which way it looks, in radians."""
        return self._seen.direction[0]

    @property
    def direction(self) -> Direction:
        """Yaw, pitch and roll, in radians."""
        return self._seen.direction

    @property
    def vehicle(self) -> int:
        """The entity that it stands on; 0: none. Where that is there, this is where it is (`sync.riding`)."""
        return 0 if self._seen.ride is None else self._seen.ride.vehicle

    @property
    def is_player(self) -> bool:
        """Whether this is the client's own entity."""
        return self._engine.is_player(self._seen)

    @property
    def cell(self) -> ServerPart:
        """Calls the entity's cell part."""
        return ServerPart(self._engine, self._seen, Side.CELL)

    @property
    def base(self) -> ServerPart:
        """Calls the entity's base part; the own one only."""
        return ServerPart(self._engine, self._seen, Side.BASE)

    def _lend(self, component: parts.EntityPart) -> None:
        if "_seen" in self.__dict__:  # a part that no engine made has none
            component._engine, component._seen = self._engine, self._seen

    def on_player(self) -> None:
        """The own entity is there (its base part); the body follows with `on_enter`."""

    def on_enter(self) -> None:
        """It is in the world: the own entity has a body, or another came into the area."""

    def on_leave(self) -> None:
        """It is not there any more: the own entity lost its body, or another left the area."""

    def on_space(self) -> None:
        """The own entity has its body in another space now; all others have left just before."""

    def on_space_data(self, changed: dict[str, Any]) -> None:
        """Items of the data of the space of the own entity have these values now (`app.view.space_data` has all)."""

    def on_moved(self) -> None:
        """It is somewhere else: another entity moved, or the server put the own one there."""
