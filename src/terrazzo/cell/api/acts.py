"""What an entity can do: timers, movements, turns, teleports, rides, its end."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from functools import partial
from typing import Any

from terrazzo.cell.api.own import Own, id_of, number_of, place
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.space import place_problem
from terrazzo.cell.motion.controllers import Turning, Walk, category_named
from terrazzo.errors import UsageError, shown
from terrazzo.game import NAME_MAX
from terrazzo.schema.arguments import number as plain
from terrazzo.schema.arguments import text
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync.awaiting import Sleep, Wait
from terrazzo.sync.calls import entity_type
from terrazzo.sync.creating import CREATE_S, keep_promise
from terrazzo.sync.lookup import LOOKUP_S, name_of
from terrazzo.sync.newborn import new_states, wanted_entity
from terrazzo.sync.stored import STORED_S, given_dbid, saved_type
from terrazzo.sync.timers import given
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Position
from terrazzo.world.place import PLACE_MAX


class Acts(Own):
    """The part of the API that does something."""

    def destroy(self) -> None:
        """Takes the body down at the end of this tick; the base part gets a message, and goes on."""
        self._body.core.mark_destroyed(self._own("be destroyed"))

    def timer(self, seconds: float, repeat: float = 0.0, *, number: int | None = None) -> int:
        """Calls `on_timer(number)` in so many seconds, then every `repeat`. A number that is in use sets that timer
        again. Its number."""
        real = self._own("set a timer")
        return real.timers.set(self._body.core.host.now, seconds, repeat, number)

    def spawn(
        self,
        type: type[EntityType] | str,
        *,
        position: Iterable[float] | None = None,
        direction: Iterable[float] | None = None,
        **properties: Any,
    ) -> Ref:
        """Makes an entity of a type that is `cell_only` (an arrow, an effect) in this space and this very tick, with
        these properties; the others get defaults. Without a position it is here, without a direction it looks as this
        entity does. Its `on_created` runs when the code that runs now is through.

        It has no base part: it is not saved, ends by `destroy`, and is lost with its CellApp."""
        body = self._own("spawn anything").body
        schema = entity_type(body.core.game.schema, type, "spawn: type")
        if not schema.cell_only:
            raise UsageError(f"spawn: {schema.name} has a base part: use create, or declare it with cell_only = True")
        _, state = new_states(schema, properties)
        point = body.position if position is None else self._point(position, "spawn: position")
        looks = body.direction if direction is None else place(direction, "spawn: direction")
        real = self._own("spawn anything")
        entity = body.core.services.births.spawn(real, schema, state, point, looks)
        return Ref(entity, Component.CELL, schema.type_id)

    def create(
        self,
        type: type[EntityType] | str,
        *,
        space: str | None = None,
        position: Iterable[float] | None = None,
        direction: Iterable[float] = (0.0, 0.0, 0.0),
        timeout: float = CREATE_S,
        **properties: Any,
    ) -> Awaitable[Ref]:
        """Creates an entity with a base part, on the least loaded BaseApp, with these properties of either part. With a
        position it has a body: in this space, or in the one that is named.

        In an `async def`, `await self.create(…)` gives a Ref of its base part as soon as the base and the body exist,
        or raises CreationFailed, or CallTimeout after `timeout` seconds. When this entity moves to another cell
        meanwhile, EntityMoved is raised there, and the creation goes on."""
        body = self._own("create anything").body
        schema = entity_type(body.core.game.schema, type, "create: type")
        timeout_s = plain(timeout, "create: timeout, in seconds,", above=0)
        where, point = "", (0.0, 0.0, 0.0)
        if position is not None:
            where = body.space.name if space is None else text(space, "create: space", longest=NAME_MAX)
            point = place(position, "create: position")
            problem = place_problem(body.core.game, where, point)
            if problem is not None:
                raise UsageError(f"create: {problem}")
        elif space is not None:
            raise UsageError("create: position: an entity in a space has a position there")
        wanted = wanted_entity(
            schema, *new_states(schema, properties), where, point, place(direction, "create: direction")
        )
        wait = body.core.awaiting.promise(body.part, f"creation of a {schema.name}", timeout_s)
        body.core.creator.create(wanted, partial(_created, body.core, body.label, schema, wait))
        return wait

    def lookup(self, name: str, *, timeout: float = LOOKUP_S) -> Awaitable[Ref | None]:
        """The base that has registered this name, wherever it is: `auction = await self.lookup("auction")`; None if
        there is none."""
        timeout_s = plain(timeout, "lookup: timeout, in seconds,", above=0)
        part = self._own("look up a name").body.part
        return self._body.core.lookup.find(part, name_of(name, "lookup: name"), timeout_s)

    def load(self, type: type[EntityType] | str, *, dbid: int, timeout: float = STORED_S) -> Awaitable[Ref]:
        """The stored entity with this dbid: `guild = await self.load(Guild, dbid=7)` gives a Ref of its base part. If
        it is in the world already, of the base that it has; otherwise it gets one. It raises StoredFailed if there is
        no such entity, CallTimeout after `timeout` seconds, and EntityMoved when this entity moves to another cell
        meanwhile; the entity may be loaded all the same."""
        body = self._own("load anything").body
        schema = saved_type(entity_type(body.core.game.schema, type, "load: type"), "load")
        timeout_s = plain(timeout, "load: timeout, in seconds,", above=0)
        return body.core.stored.load(body.part, schema, given_dbid(dbid, "load"), timeout_s)

    def delete(self, type: type[EntityType] | str, *, dbid: int, timeout: float = STORED_S) -> Awaitable[None]:
        """Deletes a stored entity that is not in the world, and the account that logs on as it. It raises StoredFailed
        if the entity is in the world."""
        body = self._own("delete anything").body
        schema = saved_type(entity_type(body.core.game.schema, type, "delete: type"), "delete")
        timeout_s = plain(timeout, "delete: timeout, in seconds,", above=0)
        return body.core.stored.delete(body.part, schema, given_dbid(dbid, "delete"), timeout_s)

    def sleep(self, seconds: float) -> Sleep:
        """In an `async def`: `await self.sleep(2.0)` goes on after so many seconds. When this entity moves to another
        cell meanwhile, EntityMoved is raised there, and the method ends: what must go on wherever it is needs a
        timer."""
        seconds = plain(seconds, "sleep: seconds", least=0)
        return self._body.core.awaiting.sleep(self._own("sleep").body.part, seconds)

    def move_to(
        self, target: Any, speed: float, *, distance: float = 0.0, face: bool = True, number: int | None = None
    ) -> int:
        """Walks straight to a position, or to an entity (a view, Ref or id) wherever it goes, at so many metres a
        second, until `distance` is left: then `on_reached(number)`. If the entity gets out of sight,
        `on_move_failed(number, reason)`. `face`: it looks where it goes.

        There is one movement at a time: a new one replaces the former, which gets no hook any more. Returns its
        number."""
        return self._walk("move_to", target, speed, distance, face, number)

    def follow(
        self, target: Any, speed: float, *, distance: float = 2.0, face: bool = True, number: int | None = None
    ) -> int:
        """As `move_to` an entity, but goes on when it has caught up, until it is cancelled or the entity is gone.
        `on_reached(number)` runs each time it has caught up."""
        return self._walk("follow", target, speed, distance, face, number)

    def turn_to(self, yaw: float, speed: float, *, number: int | None = None) -> int:
        """Turns on the spot, the shorter way, at so many radians a second; then `on_turned(number)`. One turn at a
        time; meanwhile a movement does not look where it goes. Its number."""
        real = self._free("turn")
        yaw = plain(yaw, "turn_to: yaw, in radians,", least=-PLACE_MAX, most=PLACE_MAX)
        speed = plain(speed, "turn_to: speed, in radians a second,", above=0, most=PLACE_MAX)
        number = number_of(real, number, "turn_to: number")
        real.controllers.start(Turning(number, yaw, speed))
        return number

    def cancel(self, what: int | str) -> None:
        """Ends the timer, movement, turn or trigger of this number; or whatever is of a category: "movement",
        "turning". No hook is called. What is over already needs no cancelling."""
        real = self._own("cancel anything")
        if isinstance(what, str):
            real.controllers.cancel(category_named(what))
        else:
            what = given(what, "cancel: what, if it is no category,")
            real.timers.cancel(what)
            real.controllers.cancel(what)
            self._body.core.services.triggers.cancel(real, what)

    def teleport(
        self, where: Any, position: Iterable[float] | None = None, direction: Iterable[float] | None = None
    ) -> None:
        """Goes to a position of a space, by the space's name (its own, too); or beside an entity (a view or Ref),
        wherever in the world that is by then: `position` is then how far from it, none at all if left out. Without a
        direction it looks as it does.

        Then `on_teleported()`; or `on_teleport_failed(reason)`, and it is where it was. One teleport at a time: a
        second call takes the place of the first. Until it leaves it goes on as ever; when it arrives, it stands."""
        real, teleports = self._own("be teleported"), self._body.core.services.teleports
        looks = None if direction is None else place(direction, "teleport: direction")
        if isinstance(where, str):
            where = text(where, "teleport: where", longest=NAME_MAX)
            if position is None:
                raise UsageError(f"teleport: position: a teleport to the space {where!r} takes a position there")
            point = place(position, "teleport: position")
            problem = place_problem(self._body.core.game, where, point)
            if problem is not None:
                raise UsageError(f"teleport: {problem}")
            teleports.to_space(real, where, point, looks)
            return
        entity = id_of(where, "teleport: where, if it is no space,")
        if entity == self._body.id:
            raise UsageError("teleport: where: an entity cannot be teleported beside itself: assign its position")
        offset = (0.0, 0.0, 0.0) if position is None else place(position, "teleport: position")
        teleports.to_entity(real, entity, offset, looks)

    def board(
        self, vehicle: Any, position: Iterable[float] | None = None, direction: Iterable[float] | None = None
    ) -> None:
        """Stands on another entity (a view, Ref or id) from now on, and goes where that goes: at a position relative to
        it, z being where it looks; if left out, as they stand now. Its client sees itself carried, and cannot move it.
        Boarding again puts it elsewhere on the same, or on another.

        It ends with `alight`, and when a teleport has brought it away; or with the vehicle, which is destroyed, out of
        sight, or boards something itself: then `on_vehicle_lost()`."""
        real, body = self._own("board anything"), self._body.core.bodies[self._known(vehicle, "board: vehicle")]
        seat = None if position is None else place(position, "board: position")
        looks = None if direction is None else place(direction, "board: direction")
        self._body.core.services.riding.board(real, body, seat, looks)

    def alight(self) -> None:
        """Stands where it is, on nothing; its client can move it again."""
        self._body.core.services.riding.alight(self._own("alight"))

    def _walk(self, method: str, target: Any, speed: float, distance: float, face: bool, number: int | None) -> int:
        real, entity, is_lasting = self._free("walk"), 0, method == "follow"
        speed = plain(speed, f"{method}: speed, in metres a second,", above=0, most=PLACE_MAX)
        distance = plain(distance, f"{method}: distance, in metres,", least=0, most=PLACE_MAX)
        if isinstance(target, Own | Ref | int):
            entity = self._known(target, f"{method}: target")
            point = self._body.core.bodies[entity].position
        elif is_lasting:
            entities = "an entity (a view, Ref or id)"
            raise UsageError(f"follow: target is {entities}, not {shown(target)}; move_to takes a position, too")
        else:
            point = self._point(target, f"{method}: target")
        number = number_of(real, number, f"{method}: number")
        faces = bool(face)
        walk = Walk(number, point, speed, entity=entity, distance=distance, faces=faces, is_lasting=is_lasting)
        real.controllers.start(walk)
        return number

    def _point(self, position: Iterable[float], name: str) -> Position:
        """A point within the bounds of its space."""
        point, space = place(position, name), self._body.space
        if not space.allows(point):
            raise UsageError(f"{name}: {point} is not within {tuple(space.bounds)}, the bounds of {space.name}")
        return point


def _created(core: Core, by: str, schema: EntitySchema, wait: Wait, entity: int, why: str) -> None:
    """A creation has come to its end."""
    if not keep_promise(core.awaiting, wait, schema, entity, why):
        core.count(LogEvent.CREATION_FAILED, entity=by, type=schema.name, why=why)
