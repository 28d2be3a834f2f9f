"""What a game's base parts can do: the classes `Base` and `Proxy` that they derive from, and the `Server`.

    class AvatarBase(Proxy, of=Avatar):
        def on_client_ready(self):                               # the player's program is connected
            if self.last_place is None:
                self.create_cell("plaza", (0, 0, 0))
            else:
                self.create_cell()                               # where it was when it left

        def on_cell_created(self):
            self.cell.greet("hello")                             # a method declared on the cell part
            self.client.on_welcome(3)                            # a method declared on the client part

No call here blocks: each takes effect later, and a callback reports the outcome. Only an `async def` may wait: for the
result of a method of another part (`await self.cell.weigh(timeout=2.0)`), or for a while (`await self.sleep(2.0)`); see
`sync/awaiting.py`. The part of a component (`self.health`) can do all of this as well, for its entity. An exception in
a callback or a declared method is logged with the entity and the method, and changes nothing else. Wrong use raises a
UsageError that lists what is possible. The names below are reserved: a base property of the same name is refused when
the game is loaded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from terrazzo.base.entity import BaseEntity
from terrazzo.base.entity_data import (
    EntityData,
    Location,
    checked_place,
    near_entity,
    new_entity_data,
    placed,
    wanted_of,
)
from terrazzo.base.farewells import ClientLoss, LogOnAnswer
from terrazzo.base.limits import REASON_MAX
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.saving import SAVE_S
from terrazzo.errors import UsageError
from terrazzo.game import DEFAULT_BOUNDS, NAME_MAX, RECONNECT_S_MAX, LoadedGame
from terrazzo.schema.arguments import number as number_in
from terrazzo.schema.arguments import text
from terrazzo.schema.classes import parts
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.model import Side
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync.awaiting import Sleep
from terrazzo.sync.calls import Calls, called_part, entity_type
from terrazzo.sync.creating import CREATE_S
from terrazzo.sync.lookup import LOOKUP_S, name_of
from terrazzo.sync.spaces import NO_DATA, SPACE_S, bounds_of, data_of, instance_name, kind_of
from terrazzo.sync.stored import STORED_S, given_dbid, saved_type
from terrazzo.sync.timers import given


class Base(parts.Base, engine=True):
    """The fixed home of an entity."""

    _engine: BaseEntity

    @property
    def id(self) -> int:
        """The number of the entity, the same on all its parts and on every client."""
        return self._engine.id

    @property
    def me(self) -> Ref:
        """A handle of this base part, which can be passed to other entities or kept in a property."""
        return Ref(self._engine.id, Component.BASE, self._engine.schema.type_id)

    def _lend(self, component: Any) -> None:
        """A component has what its part has."""
        if "_engine" in self.__dict__:  # a part that no engine made has none
            component._engine = self._engine

    @property
    def has_cell(self) -> bool:
        """Whether there is a cell part that can be called."""
        return self._engine.has_cell

    @property
    def cell(self) -> Calls:
        """The methods of the own cell part."""
        return Calls(self._engine.schema, Side.CELL, self._engine.call_own_cell)

    def ref(self, target: Ref) -> Calls:
        """The methods of the part of another entity that a Ref names, wherever it lives; see `ref` of `Cell`. A call
        that cannot be delivered is reported with `on_call_failed`; in an `async def`, results can be awaited. A base
        does not move: a method of it that waits ends early only when the base is destroyed."""
        part, schema, side = called_part(self._engine.game.schema, target)
        return Calls(schema, side, partial(self._engine.call_part, part, schema))

    @property
    def last_place(self) -> Location | None:
        """The last known location of the cell part (space, position, direction); saved with the entity."""
        return self._engine.data.place

    def create_cell(
        self,
        space: str | None = None,
        position: Sequence[float] | None = None,
        direction: Sequence[float] = (0.0, 0.0, 0.0),
        **properties: Any,
    ) -> None:
        """Gives the entity a body in a space; without a location, where it was last. Cell properties may be set with
        it. The direction is yaw, pitch and roll, in radians.

        `on_cell_created` or `on_cell_failed` follows. If the entity had a body before, the next one is created when the
        channel to the former is closed.
        """
        if (space is None) != (position is None):
            raise UsageError("create_cell takes a space and a position, or neither: then it is the last place")
        place = None
        if space is not None and position is not None:
            place = checked_place("create_cell", space, position, direction, self._engine.game)
        self._engine.create_cell(place, properties)

    def destroy_cell(self) -> None:
        """Takes the body down; `on_cell_lost` follows when it is gone."""
        self._engine.cell.take_down()

    def create(
        self,
        type: type[EntityType] | str,
        *,
        space: str | None = None,
        position: Sequence[float] | None = None,
        direction: Sequence[float] = (0.0, 0.0, 0.0),
        near: Ref | None = None,
        here: bool = False,
        timeout: float = CREATE_S,
        **properties: Any,
    ) -> Awaitable[Ref]:
        """Creates another entity with these properties, of either part; the others get defaults. Its base is made on
        the least loaded BaseApp, or with `here` on this one.

        It has a body if a space and a position are given, or an entity `near` which it is to be (a Ref of any of its
        parts); then `position` is how far from that. In an `async def`, `await self.create(…)` gives a Ref of its base
        part as soon as the base and the body exist, or raises CreationFailed, or CallTimeout after `timeout` seconds.
        """
        game = self._engine.game
        schema = entity_type(game.schema, type, "create: type")
        beside = near_entity(near, "create")
        place = placed("create", space, position, direction, near, game)
        wanted = wanted_of(new_entity_data(schema, properties), place)
        return self._engine.create_entity(
            schema,
            wanted,
            near=beside,
            is_here=bool(here),
            timeout_s=number_in(timeout, "create: timeout, in seconds,", above=0),
        )

    def register_name(self, name: str, *, timeout: float = CREATE_S) -> Awaitable[None]:
        """Takes a name by which every part in the cluster finds this base, until it is gone (`lookup`). Awaited, it
        raises NameTaken if another base has it. A base may have several names."""
        timeout_s = number_in(timeout, "register_name: timeout, in seconds,", above=0)
        return self._engine.register_name(name_of(name, "register_name: name"), timeout_s)

    def drop_name(self, name: str) -> None:
        """Gives one of its names back."""
        self._engine.drop_name(name_of(name, "drop_name: name"))

    def lookup(self, name: str, *, timeout: float = LOOKUP_S) -> Awaitable[Ref | None]:
        """The base with this name: `auction = await self.lookup("auction")`; None if there is none."""
        timeout_s = number_in(timeout, "lookup: timeout, in seconds,", above=0)
        return self._engine.lookup(name_of(name, "lookup: name"), timeout_s)

    def create_space(
        self,
        name: str,
        *,
        bounds: Sequence[float] = DEFAULT_BOUNDS,
        data: Mapping[str, Any] = NO_DATA,
        timeout: float = SPACE_S,
    ) -> Awaitable[str]:
        """Makes an instance: a space of its own for a party, say, with these bounds (least x, least z, greatest x,
        greatest z). `hall = await self.create_space("hall")` gives the name of the new space, "hall#…", which no other
        one ever has: `create_cell`, `create` and `teleport` of a cell part take it, at once; entering waits until the
        space is there. It is there until `end_space`, or until the cluster is stopped.

        `data` is what the space has from the beginning (`set_space_data`). Raises SpaceFailed with the reason, or
        CallTimeout after `timeout` seconds. When the method ends before it has the name, the space is ended."""
        timeout_s = number_in(timeout, "create_space: timeout, in seconds,", above=0)
        return self._engine.create_space(kind_of(name), bounds_of(bounds), data_of(data, "create_space"), timeout_s)

    def set_space_data(self, space: str, data: Mapping[str, Any], *, timeout: float = SPACE_S) -> Awaitable[None]:
        """Sets items of the data of a space, together: `self.set_space_data("plaza", {"weather": "rain"})`. Keys are
        texts, values plain data, as of a PYTHON property. All cells and clients of the space get the new values a
        moment later, in one order; the other items stay. It need not be awaited; awaited, it raises SpaceFailed with
        the reason why nothing was set: the space has been ended, or would have more than 64 keys or 8192 bytes."""
        timeout_s = number_in(timeout, "set_space_data: timeout, in seconds,", above=0)
        name = text(space, "set_space_data: space", longest=NAME_MAX)
        return self._engine.set_space_data(name, data_of(data, "set_space_data"), timeout_s)

    def end_space(self, space: str, *, timeout: float = SPACE_S) -> Awaitable[None]:
        """Ends an instance, by the name that `create_space` gave. What is in it is destroyed: bases get on_cell_lost,
        and entities without a base part end. A teleport into it that is under way fails. The end of a space that has
        been ended already changes nothing. It need not be awaited; awaited, it raises SpaceFailed."""
        timeout_s = number_in(timeout, "end_space: timeout, in seconds,", above=0)
        return self._engine.end_space(instance_name(space, "end_space"), timeout_s)

    @property
    def dbid(self) -> int:
        """The number under which the entity is stored; 0: it was never saved."""
        return self._engine.data.dbid

    def load(self, type: type[EntityType] | str, *, dbid: int, timeout: float = STORED_S) -> Awaitable[Ref]:
        """The stored entity with this dbid: `guild = await self.load(Guild, dbid=7)` gives a Ref of its base part. If
        it is in the world already, of the base that it has; otherwise it gets one, on the least loaded BaseApp, and
        `on_loaded` runs. It raises StoredFailed if there is no such entity, and CallTimeout after `timeout` seconds;
        it may be loaded then or later."""
        schema = saved_type(entity_type(self._engine.game.schema, type, "load: type"), "load")
        timeout_s = number_in(timeout, "load: timeout, in seconds,", above=0)
        return self._engine.load(schema, given_dbid(dbid, "load"), timeout_s)

    def delete(self, type: type[EntityType] | str, *, dbid: int, timeout: float = STORED_S) -> Awaitable[None]:
        """Deletes a stored entity that is not in the world, and the account that logs on as it. Awaited, it ends when
        no such entity is stored any more. It raises StoredFailed if the entity is in the world: its own code can call
        `destroy(delete=True)`."""
        schema = saved_type(entity_type(self._engine.game.schema, type, "delete: type"), "delete")
        timeout_s = number_in(timeout, "delete: timeout, in seconds,", above=0)
        return self._engine.delete(schema, given_dbid(dbid, "delete"), timeout_s)

    def timer(self, seconds: float, repeat: float = 0.0, *, number: int | None = None) -> int:
        """Calls `on_timer(number)` in so many seconds, then every `repeat`. A number that is in use sets that timer
        again. Its number."""
        return self._engine.set_timer(seconds, repeat, number)

    def cancel(self, number: int) -> None:
        """Ends the timer of this number. What is over already needs no cancelling."""
        self._engine.timers.cancel(given(number, "cancel: number"))

    def sleep(self, seconds: float) -> Sleep:
        """In an `async def`: `await self.sleep(2.0)` goes on after so many seconds. When this base is destroyed
        meanwhile, EntityGone is raised there, and the method ends."""
        return self._engine.sleep(number_in(seconds, "sleep: seconds", least=0))

    def save(self, *, timeout: float = SAVE_S) -> Awaitable[None]:
        """Saves the entity, both parts as one state, in the database: now, from time to time, and when it is destroyed.
        A failed save is retried until it succeeds.

        In an `async def`, `await self.save()` ends when the values of this moment, or later ones, are durable. It
        raises SaveFailed when they cannot be saved, and CallTimeout with the reason after `timeout` seconds; the entity
        is then still saved later.
        """
        return self._engine.save(number_in(timeout, "save: timeout, in seconds,", above=0))

    def destroy(self, *, delete: bool = False) -> None:
        """Ends the entity: its cell part is taken down, a stored entity is saved, and a client gets LOGGED_OFF. With
        `delete` a stored entity is deleted from the database instead, and its account with it."""
        if delete:
            self._engine.destroy_stored()
        else:
            self._engine.destroy()

    # Callbacks: for the game to define.

    def on_created(self) -> None:
        """The base exists. Runs once, after `__init__`, and before `on_loaded` where it was loaded."""

    def on_timer(self, number: int) -> None:
        """A timer is due (`timer`)."""

    def on_loaded(self) -> None:
        """The values are those that were saved."""

    def on_cell_created(self) -> None:
        """The cell part exists."""

    def on_cell_failed(self, reason: str) -> None:
        """The cell part was not created; `create_cell` may be called again."""

    def on_cell_lost(self) -> None:
        """The cell part is gone: destroyed by either side, or out of reach."""

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """A call of this base was not and will not be delivered. An awaited call raises CallUndelivered instead."""


class Proxy(parts.Proxy, Base, engine=True):
    """A base that a client can be connected to."""

    _engine: ProxyEntity

    @property
    def has_client(self) -> bool:
        """Whether a client is connected."""
        return self._engine.has_client

    @property
    def client(self) -> Calls:
        """The methods of the own client. A client may leave at any moment: a call without a client is dropped."""
        engine = self._engine
        return Calls(
            engine.schema, Side.CLIENT, lambda index, method, args, _s: engine.call_client(index, method, args)
        )

    def kick(self, reason: str) -> None:
        """Sends the client away, and tells it the reason. `on_client_lost` follows."""
        self._engine.kick(text(reason, "kick: reason", longest=REASON_MAX))

    @property
    def reconnect_s(self) -> float:
        """How many seconds a client that lost its connection may take to resume here, without a login; 0: it may not.
        By default that of the `Game`. A new value holds for the next connection."""
        return self._engine.reconnect_s

    @reconnect_s.setter
    def reconnect_s(self, seconds: float) -> None:
        self._engine.reconnect_s = number_in(seconds, "reconnect_s", least=0, most=RECONNECT_S_MAX)

    def keep_for(self, seconds: float | None) -> None:
        """Without a client, the entity ends after so many seconds, unless one comes; None: not by itself. It has no
        effect while a client is connected."""
        limit = None if seconds is None else number_in(seconds, "keep_for: seconds")
        self._engine.client.keep(limit)

    def on_log_on_attempt(self, address: str) -> LogOnAnswer:
        """Its player logs in again, from this address, with the right password, while a client is connected or the
        entity is kept. ACCEPT, the default: the new client gets this entity, the present client is told why it is let
        go, and the body stays. REFUSE: the present client stays as long as it answers. WAIT: the new client gets the
        entity if the present one is gone within a few seconds."""
        return LogOnAnswer.ACCEPT

    def on_client_ready(self) -> None:
        """The first client is connected and has created its entity."""

    def on_client_back(self) -> None:
        """The client has resumed after it lost its connection, or a later client of the same player is connected: the
        entity was kept, or the client has taken over from another one. It has created its entity. The body may still be
        there (`has_cell`)."""

    def on_client_lost(self, reason: ClientLoss) -> None:
        """The client that was ready is gone: it has left, was lost, or was sent away. The entity stays until the game
        destroys it, or for the time that it gives to `keep_for`. By default it is kept for `reconnect_s` seconds if the
        connection was lost, and otherwise destroyed."""
        if reason is ClientLoss.CONNECTION:
            self.keep_for(self.reconnect_s)
        else:
            self.destroy()


class Server:
    """The argument of a game's `on_ready`: what a game can do on a BaseApp."""

    def __init__(self, game: LoadedGame, create: Callable[[EntityData], None]) -> None:
        self._game = game
        self._create = create

    def create(
        self,
        type_name: type[EntityType] | str,
        *,
        space: str | None = None,
        position: Sequence[float] | None = None,
        direction: Sequence[float] = (0.0, 0.0, 0.0),
        **properties: Any,
    ) -> None:
        """Creates an entity: a base with these properties (of either part; the others get defaults), and its body if a
        space is given. The base may have to wait for an entity id; its own callbacks report the outcome."""
        schema = entity_type(self._game.schema, type_name, "create: type_name")
        if (space is None) != (position is None):
            raise UsageError("create takes both a space and a position, or neither")
        if schema.cell_only:
            raise UsageError(f"create: {schema.name} is cell_only: the code of a cell part makes it, with spawn")
        data = new_entity_data(schema, properties)
        if space is not None and position is not None:
            data.place = checked_place("create", space, position, direction, self._game)
        self._create(data)
