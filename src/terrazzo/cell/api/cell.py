"""`Cell`: what a game's code can do with the body of an entity. Games import it as `terrazzo.Cell`.

    class GuardCell(Cell, of=Guard):
        def on_created(self):                                hooks: the engine calls them (`cell/core/hooks.py`)
            self.add_proximity(20.0, number=ALARM)
            self.timer(5.0, repeat=5.0, number=HUNGER)

        def on_proximity_entered(self, number, other):       others: views, to be read and called (`cell/api/views.py`)
            if other.is_wanted:
                self.everyone.on_shouted("halt!")            clients: the own one, the others that see this entity, both
                self.follow(other, speed=4.0, distance=2.0)  controllers: go on by themselves

        def on_timer(self, number):
            self.health -= 1                                 properties: assigned, the engine sends the change
            self.base.note_hunger()                          the base part, and any other by its Ref: self.ref(…)

An entity lives in one cell at a time and moves between them. What goes with it: properties, place, timers, controllers,
triggers, its client's area, calls that wait, a teleport that was asked for. Plain attributes of the object do not; set
those in `__init__`, which runs in each new cell (reading properties is fine there, writing is for `on_created`). When
the entity has left, the object that stayed behind can only be read.

Timers, controllers and triggers are known by numbers. The hook gets the number, also after a move to another cell.
Choose it (0 … 65535), or leave it out, and one is drawn. `cancel(number)` ends whatever has that number.

The part of a component (`self.health`) can do all of this as well, for its entity; hooks are those of the entity's
part.

The names are in five places: here what and where an entity is and which parts it can call; in `cell/api/sights.py` what
it sees, in `cell/api/acts.py` what it does, in `cell/api/spaces.py` what it does about spaces, in `cell/core/hooks.py`
the hooks. All are taken: a property of such a name
is refused when a game is loaded, and so is a method, unless it is one of the hooks.

An exception in a hook or method is reported, and ends that call only. Wrong use raises a UsageError with what to
do instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from terrazzo.cell.api.acts import Acts
from terrazzo.cell.api.own import id_of, place
from terrazzo.cell.api.sights import Sights
from terrazzo.cell.api.spaces import SpaceActs
from terrazzo.cell.core.hooks import Hooks
from terrazzo.errors import UsageError
from terrazzo.schema.arguments import number
from terrazzo.schema.classes import parts
from terrazzo.schema.model import Method, Side
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.vectors import Vector3
from terrazzo.sync.calls import Calls, called_part
from terrazzo.world.place import PLACE_MAX


class Cell(Sights, Acts, SpaceActs, Hooks, parts.Cell, engine=True):
    """The body of an entity in a space."""

    # What and where it is.

    @property
    def me(self) -> Ref:
        """A handle of this cell part, to be given to others or kept in a property."""
        return Ref(self._body.id, Component.CELL, self._body.kind.schema.type_id)

    @property
    def space(self) -> str:
        """The name of the space it is in."""
        return self._body.space.name

    @property
    def position(self) -> Vector3:
        """Where it is. Assign a vector to put it elsewhere in its space, any distance; its client is sent the place."""
        return Vector3(self._body.position)

    @position.setter
    def position(self, position: Iterable[float]) -> None:
        real, point = self._free("be moved"), self._point(position, "position")
        self._body.core.moves.put(real, point, self._body.direction)

    @property
    def direction(self) -> Vector3:
        """Where it looks: yaw, pitch and roll, in radians. A yaw of 0 looks along z, one of pi / 2 along x. Assign a
        vector to turn it; its client is sent that."""
        return Vector3(self._body.direction)

    @direction.setter
    def direction(self, direction: Iterable[float]) -> None:
        real, looks = self._free("be turned"), place(direction, "direction")
        self._body.core.moves.put(real, self._body.position, looks)

    @property
    def yaw(self) -> float:
        """Where it looks on the ground, in radians; may be assigned."""
        return self._body.direction[0]

    @yaw.setter
    def yaw(self, yaw: float) -> None:
        self.direction = Vector3(_angle(yaw, "yaw"), self.pitch, self.roll)

    @property
    def pitch(self) -> float:
        """How far it looks up or down, in radians; may be assigned."""
        return self._body.direction[1]

    @pitch.setter
    def pitch(self, pitch: float) -> None:
        self.direction = Vector3(self.yaw, _angle(pitch, "pitch"), self.roll)

    @property
    def roll(self) -> float:
        """How far it leans to the side, in radians; may be assigned."""
        return self._body.direction[2]

    @roll.setter
    def roll(self, roll: float) -> None:
        self.direction = Vector3(self.yaw, self.pitch, _angle(roll, "roll"))

    @property
    def vehicle(self) -> int:
        """The entity that it stands on (`board`); 0: none."""
        ride = self._body.ride
        return 0 if ride is None else ride.vehicle

    @property
    def local_position(self) -> Vector3:
        """Where it is on its vehicle; without one, in the world."""
        body = self._body
        return Vector3(body.position if body.ride is None else body.ride.position)

    @property
    def local_direction(self) -> Vector3:
        """Where it looks, as seen from its vehicle; without one, in the world."""
        body = self._body
        return Vector3(body.direction if body.ride is None else body.ride.direction)

    # Calls.

    @property
    def caller(self) -> int:
        """In a method that a client called: the entity of that client, also after an await; 0 when a server called."""
        return self._own("have a caller").caller

    @property
    def has_client(self) -> bool:
        """Whether a client sees through this entity."""
        return self._own("ask for its client").witness is not None

    @property
    def base(self) -> Calls:
        """The base part's methods."""
        body = self._body
        if body.kind.schema.cell_only:
            raise UsageError(f"{body.kind.name} is cell_only: it has no base part")
        return Calls(body.kind.schema, Side.BASE, partial(body.core.call, body.base_part, body.kind.schema))

    @property
    def client(self) -> Calls:
        """The methods of the own client; without one, calls are dropped."""
        real = self._own("call its client")
        return Calls(self._body.kind.schema, Side.CLIENT, lambda index, _method, args, _s: real.call_own(index, args))

    @property
    def others(self) -> Calls:
        """The methods of this entity on every other client that sees it."""
        real = self._own("call the clients that see it")
        return Calls(
            self._body.kind.schema, Side.CLIENT, lambda index, _method, args, _s: real.call_others(index, args)
        )

    @property
    def everyone(self) -> Calls:
        """The methods of this entity on every client that sees it, the own one included."""
        real = self._own("call the clients that see it")

        def send(index: int, method: Method, args: bytes, timeout_s: float) -> None:
            real.call_own(index, args)
            real.call_others(index, args)

        return Calls(self._body.kind.schema, Side.CLIENT, send)

    def ref(self, target: Ref | Cell | int) -> Calls:
        """The methods of another entity, wherever it is: of the part that a Ref names, or of the cell part of one that
        is known here, by a view or its id.

        What cannot be delivered comes back as `on_call_failed`. In an `async def` the result of a method that returns
        something can be awaited: `await self.ref(other).weigh(timeout=2.0)`; what comes of it otherwise is raised
        there, as a CallFailed (`terrazzo.errors`). When this entity moves to another cell meanwhile, that is
        EntityMoved: the waiting method ends, here, and nothing of it goes along."""
        core = self._body.core
        if isinstance(target, Cell):
            target = target.me
        elif not isinstance(target, Ref):
            entity = id_of(target, "ref: target")
            known = core.bodies.get(entity)
            if known is None:
                problem = f"entity {entity} is not known in this cell; use a Ref of it, which says what it is"
                raise UsageError(f"ref: target: {problem}")
            target = Ref(entity, Component.CELL, known.kind.schema.type_id)
        part, schema, side = called_part(core.game.schema, target)
        return Calls(schema, side, partial(core.call, part, schema))


def _angle(value: float, name: str) -> float:
    return number(value, f"{name}, in radians,", least=-PLACE_MAX, most=PLACE_MAX)
