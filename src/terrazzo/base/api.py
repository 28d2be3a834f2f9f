"""What a game's base parts can do: the classes `Base` and `Proxy` that they derive from, and the `Server`.

    class AvatarBase(Proxy, of=Avatar):
        def on_client_ready(self):                               # the player's program is there
            if self.last_place is None:
                self.create_cell("plaza", (0, 0, 0))
            else:
                self.create_cell()                               # where it was when it left

        def on_cell_created(self):
            self.cell.greet("hello")                             # a method declared on the cell part
            self.client.on_welcome(3)                            # a method declared on the client part

Nothing here waits: what is asked for happens later, and a callback tells. Callbacks and declared methods may raise;
that is reported with the entity and the method, and changes nothing else. What is used wrongly raises a UsageError that
says what there is. The names below are taken: a base property of the same name is refused when the game is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from terrazzo.base.drafts import Place, checked_place, new_draft
from terrazzo.errors import UsageError
from terrazzo.schema.classes import parts
from terrazzo.schema.model import EntitySchema, Method, Side

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp
    from terrazzo.base.entity import BaseEntity
    from terrazzo.base.proxy import ProxyEntity

Send = Callable[[int, Method, bytes], None]
"""What to do with a call: internal index, method, encoded arguments."""


class RemoteCalls:
    """An object whose attributes are the declared methods of a part; calling one checks its arguments and sends it.

    The methods of a component `health` are reached as `calls.health.heal(5)`.
    """

    __slots__ = ("_component", "_schema", "_send", "_side")

    def __init__(self, schema: EntitySchema, side: Side, send: Send, component: str | None = None) -> None:
        self._schema = schema
        self._side = side
        self._send = send
        self._component = component

    def __getattr__(self, name: str) -> Any:
        for index, method in enumerate(self._schema.methods(self._side)):
            if method.name == name and method.component == self._component:
                return _Bound(index, method, self._send)
        if self._component is None and any(name == each for each, _ in self._schema.components):
            return RemoteCalls(self._schema, self._side, self._send, name)
        if name.startswith("__"):
            raise AttributeError(name)  # Python itself asks for these
        inside = "" if self._component is None else f".{self._component}"
        have = ", ".join(each.name for each in self._schema.methods(self._side) if each.component == self._component)
        raise UsageError(
            f"the {self._side.value} part of {self._schema.name}{inside} has no method {name}; it has {have or 'none'}"
        )


class _Bound:
    """One method, ready to be called."""

    __slots__ = ("_index", "_method", "_send")

    def __init__(self, index: int, method: Method, send: Send) -> None:
        self._index = index
        self._method = method
        self._send = send

    def __call__(self, *args: Any, **named: Any) -> None:
        self._send(self._index, self._method, self._method.encode_args(*args, **named))


class Base(parts.Base):
    """The fixed home of an entity."""

    _engine: BaseEntity

    @property
    def id(self) -> int:
        """The number of the entity, the same on all its parts and on every client."""
        return self._engine.id

    @property
    def has_cell(self) -> bool:
        """Whether there is a cell part that can be called."""
        return self._engine.has_cell

    @property
    def cell(self) -> RemoteCalls:
        """The methods of the own cell part."""
        return RemoteCalls(self._engine.schema, Side.CELL, self._engine.call_own_cell)

    @property
    def last_place(self) -> Place | None:
        """Where the cell part was last known to be (space, position, yaw); saved with the entity."""
        return self._engine.draft.place

    def create_cell(
        self, space: str | None = None, position: Sequence[float] | None = None, yaw: float = 0.0, **properties: Any
    ) -> None:
        """Give the entity a body in a space; without a place, where it was last. Cell properties may be set with it.

        `on_cell_created` or `on_cell_failed` tells what came of it.
        """
        if (space is None) != (position is None):
            raise UsageError("create_cell takes a space and a position, or neither: then it is the last place")
        place = None
        if space is not None and position is not None:
            place = checked_place(space, position, yaw, self._engine.app.game)
        self._engine.create_cell(place, properties)

    def destroy_cell(self) -> None:
        """Take the body away; `on_cell_lost` tells when it is gone."""
        self._engine.cell.take_down()

    def save(self) -> None:
        """Keep the entity in the database: now, and when it is destroyed. Tried until it is safe."""
        self._engine.save()

    def destroy(self) -> None:
        """End the entity: its cell part goes, a stored one is saved, and a client is told."""
        self._engine.destroy()

    # Callbacks: for the game to define.

    def on_loaded(self) -> None:
        """The values are those that were saved."""

    def on_cell_created(self) -> None:
        """The cell part is there."""

    def on_cell_failed(self, reason: str) -> None:
        """There will be no cell part; a new one may be asked for."""

    def on_cell_lost(self) -> None:
        """The cell part is gone: destroyed by either side, or out of reach."""

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """A call of a cell method that this base made was not and will not be delivered."""


class Proxy(parts.Proxy, Base):
    """A base that a client can be connected to."""

    _engine: ProxyEntity

    @property
    def has_client(self) -> bool:
        """Whether a client is there."""
        return self._engine.has_client

    @property
    def client(self) -> RemoteCalls:
        """The methods of the own client. A client may leave at any moment: calls without one are dropped."""
        return RemoteCalls(self._engine.schema, Side.CLIENT, self._engine.call_client)

    def disconnect(self, reason: str) -> None:
        """Send the client away; it is told why. `on_client_lost` follows."""
        self._engine.disconnect(reason)

    def on_client_ready(self) -> None:
        """The client is there and has understood what its entity is."""

    def on_client_lost(self) -> None:
        """The client that was ready has left or is out of reach. A game may keep the entity; else it goes."""
        self.destroy()


class Server:
    """What a game's `on_ready` is given: the BaseApp as far as a game may use it."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app

    def create(
        self,
        type_name: str,
        *,
        space: str | None = None,
        position: Sequence[float] | None = None,
        yaw: float = 0.0,
        **properties: Any,
    ) -> None:
        """Make an entity: a base with these properties (of either part; the others get defaults), and its body if a
        space is given. It may have to wait for an entity id; the part's own callbacks tell how it goes."""
        schema = self._app.game.schema.by_name.get(type_name)
        if schema is None:
            have = ", ".join(self._app.game.schema.by_name)
            raise UsageError(f"there is no entity type {type_name!r}; the game has {have}")
        if (space is None) != (position is None):
            raise UsageError("create takes both a space and a position, or neither")
        draft = new_draft(schema, properties)
        if space is not None and position is not None:
            draft.place = checked_place(space, position, yaw, self._app.game)
        self._app.nursery.create(draft)
