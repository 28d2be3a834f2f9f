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

Nothing here waits: what is asked for happens later, and a callback tells. Only an `async def` may wait, for what the
method of another part returns: `await self.cell.weigh(timeout=2.0)` (`sync/awaiting.py`). Callbacks and declared
methods may raise; that is reported with the entity and the method, and changes nothing else. What is used wrongly
raises a UsageError that says what there is. The names below are taken: a base property of the same name is refused when
the game is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from terrazzo.base.drafts import Place, checked_place, new_draft
from terrazzo.base.limits import REASON_MAX
from terrazzo.errors import UsageError, shown
from terrazzo.schema.arguments import text
from terrazzo.schema.classes import parts
from terrazzo.schema.model import Side
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync.calls import Calls, called_part

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp
    from terrazzo.base.entity import BaseEntity
    from terrazzo.base.proxy import ProxyEntity


class Base(parts.Base, engine=True):
    """The fixed home of an entity."""

    _engine: BaseEntity

    @property
    def id(self) -> int:
        """The number of the entity, the same on all its parts and on every client."""
        return self._engine.id

    @property
    def me(self) -> Ref:
        """A handle of this base part, to be given to others or kept in a property."""
        return Ref(self._engine.id, Component.BASE, self._engine.schema.type_id)

    @property
    def has_cell(self) -> bool:
        """Whether there is a cell part that can be called."""
        return self._engine.has_cell

    @property
    def cell(self) -> Calls:
        """The methods of the own cell part."""
        return Calls(self._engine.schema, Side.CELL, self._engine.call_own_cell)

    def ref(self, target: Ref) -> Calls:
        """The methods of the part of another entity that a Ref names, wherever it is; see `ref` of `Cell`: what cannot
        be delivered comes back as `on_call_failed`, and in an `async def` results can be awaited. A base stays where it
        is: its waiting methods end early only when it is destroyed."""
        part, schema, side = called_part(self._engine.app.game.schema, target)
        return Calls(schema, side, partial(self._engine.call_part, part, schema))

    @property
    def last_place(self) -> Place | None:
        """Where the cell part was last known to be (space, position, direction); saved with the entity."""
        return self._engine.draft.place

    def create_cell(
        self,
        space: str | None = None,
        position: Sequence[float] | None = None,
        direction: Sequence[float] = (0.0, 0.0, 0.0),
        **properties: Any,
    ) -> None:
        """Give the entity a body in a space; without a place, where it was last. Cell properties may be set with it.
        The direction is yaw, pitch and roll, in radians.

        `on_cell_created` or `on_cell_failed` tells what came of it. A body after another one is made when everybody who
        had to do with the former has heard of its end.
        """
        if (space is None) != (position is None):
            raise UsageError("create_cell takes a space and a position, or neither: then it is the last place")
        place = None
        if space is not None and position is not None:
            place = checked_place("create_cell", space, position, direction, self._engine.app.game)
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
        """A call that this base made was not and will not be delivered; one that is awaited says so there."""


class Proxy(parts.Proxy, Base, engine=True):
    """A base that a client can be connected to."""

    _engine: ProxyEntity

    @property
    def has_client(self) -> bool:
        """Whether a client is there."""
        return self._engine.has_client

    @property
    def client(self) -> Calls:
        """The methods of the own client. A client may leave at any moment: calls without one are dropped."""
        engine = self._engine
        return Calls(
            engine.schema, Side.CLIENT, lambda index, method, args, _s: engine.call_client(index, method, args)
        )

    def disconnect(self, reason: str) -> None:
        """Send the client away; it is told why. `on_client_lost` follows."""
        self._engine.disconnect(text(reason, "disconnect: reason", longest=REASON_MAX))

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
        direction: Sequence[float] = (0.0, 0.0, 0.0),
        **properties: Any,
    ) -> None:
        """Make an entity: a base with these properties (of either part; the others get defaults), and its body if a
        space is given. It may have to wait for an entity id; the part's own callbacks tell how it goes."""
        schema = self._app.game.schema.by_name.get(type_name) if isinstance(type_name, str) else None
        if schema is None:
            have = ", ".join(self._app.game.schema.by_name)
            raise UsageError(f"create: there is no entity type {shown(type_name)}; the game has {have}")
        if (space is None) != (position is None):
            raise UsageError("create takes both a space and a position, or neither")
        draft = new_draft(schema, properties)
        if space is not None and position is not None:
            draft.place = checked_place("create", space, position, direction, self._app.game)
        self._app.nursery.create(draft)
