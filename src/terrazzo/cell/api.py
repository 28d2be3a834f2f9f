"""`Cell`: what a game's code can do with the body of an entity. Games import it as `terrazzo.Cell`.

    class AvatarCell(Cell, of=Avatar):
        def on_created(self):                        hooks: the engine calls them, a game overrides them
            self.timer(5.0, repeat=5.0, number=HUNGER)

        def on_timer(self, number):
            self.health -= 1                         properties: assigned, the engine finds out who must hear
            for other in self.near(10.0):            others: views (`cell/views.py`)
                other.beg(self.me)
            self.everyone.on_yelled("bread!")        clients: the own one, the others that see this entity, or both
            self.base.note_hunger()                  the base part

An entity lives in one cell at a time and moves between them. What goes with it: properties, place, timers, calls that
wait. Plain attributes of the object do not; set those in `__init__`, which runs in each new cell (reading properties is
fine there, writing is for `on_created`). When the entity has left, the object that stayed behind can only be read.

Whatever a hook or method raises is reported, and costs nothing but the rest of that call.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from terrazzo.cell import moves
from terrazzo.errors import UsageError
from terrazzo.schema.classes import parts
from terrazzo.schema.model import Method, Side
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.vectors import Vector3
from terrazzo.world.rect import Rect

if TYPE_CHECKING:
    from terrazzo.cell.body import Body
    from terrazzo.cell.kind import EntityKind
    from terrazzo.cell.real import Real

Send = Callable[[int, bytes], None]


class Calls:
    """Methods to be called somewhere else, as attributes."""

    __slots__ = ("_kind", "_send", "_side")

    def __init__(self, kind: EntityKind, side: Side, send: Send) -> None:
        self._kind = kind
        self._side = side
        self._send = send

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        index, method = self._kind.find(self._side, name)
        return _Call(index, method, self._send)


class _Call:
    __slots__ = ("_index", "_method", "_send")

    def __init__(self, index: int, method: Method, send: Send) -> None:
        self._index = index
        self._method = method
        self._send = send

    def __call__(self, *args: Any, **named: Any) -> None:
        self._send(self._index, self._method.encode_args(*args, **named))


class Cell(parts.Cell):
    """The body of an entity in a space."""

    _body: Body
    _is_starting: bool

    # What and where it is.

    @property
    def id(self) -> int:
        """The entity's number."""
        return self._body.id

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
        """Where it is. Assign a new vector to put it elsewhere in its space; its client is told."""
        return Vector3(self._body.position)

    @position.setter
    def position(self, position: Any) -> None:
        real = self._own("be moved")
        x, y, z = Vector3(position)
        if not self._body.space.allows((x, y, z)):
            raise UsageError(f"{position} is not within {tuple(self._body.space.bounds)}, the bounds of {self.space}")
        moves.put(real, (x, y, z), self._body.yaw, self._body.app.host.now)

    @property
    def yaw(self) -> float:
        """Where it looks, in radians."""
        return self._body.yaw

    @yaw.setter
    def yaw(self, yaw: float) -> None:
        real = self._own("be turned")
        if not isfinite(yaw):
            raise UsageError(f"a yaw is a finite number of radians, not {yaw!r}")
        moves.put(real, self._body.position, float(yaw), self._body.app.host.now)

    @property
    def caller(self) -> int:
        """In a method that a client called: the entity of that client; 0 when a server called."""
        return self._own("have a caller").caller

    # Calls.

    @property
    def base(self) -> Calls:
        """The base part's methods."""
        body = self._body
        return Calls(body.kind, Side.BASE, lambda index, args: body.app.call_base(body.id, index, args))

    @property
    def client(self) -> Calls:
        """The methods of the own client."""
        real = self._own("speak to its client")
        return Calls(self._body.kind, Side.CLIENT, real.call_own)

    @property
    def others(self) -> Calls:
        """The methods of this entity on every other client that sees it."""
        real = self._own("speak to those who see it")
        return Calls(self._body.kind, Side.CLIENT, real.call_others)

    @property
    def everyone(self) -> Calls:
        """The methods of this entity on every client that sees it, the own one included."""
        real = self._own("speak to those who see it")

        def send(index: int, args: bytes) -> None:
            real.call_own(index, args)
            real.call_others(index, args)

        return Calls(self._body.kind, Side.CLIENT, send)

    def ref(self, target: Ref | int) -> Calls:
        """The methods of another entity, wherever it is: of the part that a Ref names, or of the cell part of one that
        is known here by its id."""
        app = self._body.app
        if not isinstance(target, Ref):
            known = app.bodies.get(target)
            if known is None:
                raise UsageError(f"entity {target} is not known in this cell; use a Ref of it, which says what it is")
            target = Ref(target, Component.CELL, known.kind.schema.type_id)
        kind, entity = app.kinds.get(target.type_id), target.id
        if kind is None:
            raise UsageError(f"{target} names no entity type; take it from the entity itself (self.me)")
        if target.component is Component.CELL:
            return Calls(kind, Side.CELL, lambda index, args: app.call_cell(entity, index, args))
        if target.component is Component.BASE:
            return Calls(kind, Side.BASE, lambda index, args: app.call_base(entity, index, args))
        raise UsageError(f"a cell part can call cell and base parts, not {target.component.name}")

    # Looking around.

    def near(self, radius: float) -> list[Any]:
        """Views of the other entities within so many metres, measured on the ground, nearest first."""
        body = self._body
        (x, _, z) = body.position
        found: list[tuple[float, int, Cell]] = []
        for other in body.space.within(Rect.around(x, z, radius)):
            away = ((other.position[0] - x) ** 2 + (other.position[2] - z) ** 2) ** 0.5
            is_there = other is not body and not (other.real is not None and other.real.is_doomed)
            if is_there and away <= radius:
                found.append((away, other.id, other.view))
        return [view for _, _, view in sorted(found, key=lambda each: each[:2])]

    def entity(self, entity: int) -> Any:
        """A view of an entity that is known in this cell, or None; of itself, this very object."""
        if entity == self._body.id:
            return self
        other = self._body.app.bodies.get(entity)
        return None if other is None or other.space is not self._body.space else other.view

    # Acts.

    def destroy(self) -> None:
        """Takes the body down at the end of this call; the base part hears of it and goes on."""
        self._body.app.doom(self._own("be destroyed"))

    def timer(self, seconds: float, repeat: float = 0.0, *, number: int | None = None) -> int:
        """Calls on_timer(number) in so many seconds, then every `repeat`. A number of your own choice (below 65536)
        sets that timer again; without one a new number is drawn."""
        real = self._own("set a timer")
        return real.timers.set(self._body.app.host.now, seconds, repeat, number)

    def cancel(self, number: int) -> None:
        """Forgets a timer."""
        self._own("cancel a timer").timers.cancel(number)

    # Hooks.

    def on_created(self) -> None:
        """The entity has got this body. Runs once."""

    def on_arrived(self) -> None:
        """The entity has come over from another cell, and is the same as before."""

    def on_timer(self, number: int) -> None:
        """A timer is due."""

    def on_move(self, position: Vector3) -> bool | None:
        """The client wants to be there; False refuses."""
        return True

    def on_call_failed(self, entity: int, method: str, reason: str) -> None:
        """A call to that entity was not and will not be delivered."""

    def _own(self, wish: str) -> Real:
        """The real of this object, which only the entity's own code has."""
        body = self.__dict__.get("_body")
        if body is None:
            raise UsageError(f"a component cannot {wish}: do it in the code of the entity's cell part")
        if self.__dict__.get("_is_starting"):
            raise UsageError(f"in __init__ nothing can {wish} yet: do it in on_created, or in on_arrived")
        real: Real | None = body.real
        if real is None or real.part is not self:
            raise UsageError(f"{body.label} can {wish} only in its own code: call one of its methods, which runs there")
        return real
