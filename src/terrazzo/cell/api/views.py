"""What code of one entity sees of another: a view, of the other's own part class, that can be read and called.

    for other in self.entities_in_range(10):
        if other.health < 20:          reading: the public properties, as this cell knows them
            other.heal(5)              a declared cell method: sent to wherever the real is, in order, once; in an
                                       async method what it returns can be awaited (`sync/awaiting.py`)
        other.health = 20              UsageError: only an entity's own code changes it
        other.is_weak()                any other method: runs here and now, on the view, as far as it only reads; one
                                       that wants to change something is told to be `@remote`

Real or ghost makes no difference: what works with both on one cell works with them on two, and calls keep their order
while either migrates. So of a record that has private fields a view shows what a ghost has, the default in their place,
even where the real is at hand (`schema/shares.py`). A view lives as long as the body it shows; then it shows the last
that was known.

`ReadOnly` is the state behind it. It reads from the body's present state, whatever that is by now; lists and records
come out as copies that refuse to be changed, so that nobody believes to have changed another entity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from terrazzo._speed.values import Change, Slots
from terrazzo.errors import CopyRefused, UsageError
from terrazzo.schema.classes.names import engine_class, is_hook
from terrazzo.schema.classes.parts import ComponentAccess
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.schema.shares import share_of_value
from terrazzo.schema.state import State
from terrazzo.sync.calls import send_call

if TYPE_CHECKING:
    from terrazzo.cell.api.cell import Cell
    from terrazzo.cell.core.body import Body


class ReadOnly(State):
    """The state of a body for those who may not change it, and who may read as much of it as is in `shown`."""

    __slots__ = ("_advice", "_body", "_shown")

    def __init__(self, body: Body, shown: Layout, advice: str) -> None:
        self.layout = body.kind.schema.cell_layout
        self._body = body
        self._shown = shown
        self._advice = advice

    def get(self, place: int) -> Any:
        """The value at a place; what could be changed inside is a copy."""
        if place >= len(self._shown):
            raise UsageError(
                f"{self._name(place)} is private: only the entity's own code has it; make it public, or call a method"
            )
        value = self._body.state.get(place)
        codec = self._shown.codecs[place]
        if codec is not self.layout.codecs[place]:
            copy = share_of_value(value, codec)
        elif codec.holds:
            copy = codec.copy(value)
        else:
            return value
        Slots(self.layout.label, (self.layout.names[place],), (codec,), [copy], self._refuse_inside)
        return copy

    def set(self, place: int, value: Any) -> None:
        """Refused."""
        raise CopyRefused(f"{self._name(place)} cannot be changed here: {self._advice}")

    def __getitem__(self, name: str) -> Any:
        return self.get(self._place(name))

    def __setitem__(self, name: str, value: Any) -> None:
        self.set(self._place(name), value)

    def values(self) -> list[Any]:
        """The values that can be read."""
        return [self.get(place) for place in range(len(self._shown))]

    def _name(self, place: int) -> str:
        return f"{self.layout.label}.{self.layout.names[place]}"

    def _refuse_inside(self, change: Change) -> None:
        raise CopyRefused(f"this is a copy of a value of {self.layout.label} {self._body.id}: {self._advice}")


def view_of(body: Body) -> Cell:
    """A new view of a body."""
    kind = body.kind
    view = kind.view_class.__new__(kind.view_class)
    view._body = body
    advice = "it is another entity's; call one of its methods, which runs where the entity is"
    view._state = ReadOnly(body, kind.schema.ghost_layout, advice)
    return view


def view_class_of(part_class: type[Cell], schema: EntitySchema) -> type[Cell]:
    """The part class with its declared methods, and those of its components, replaced by calls."""
    members: dict[str, Any] = {**_readers(part_class), **_senders(schema, None)}
    for name, _ in schema.components:
        inner = getattr(part_class, name).view
        inner_members = {**_readers(inner), **_senders(schema, name)}
        members[name] = ComponentAccess(type(f"{inner.__name__}View", (inner,), inner_members))
    return type(f"{part_class.__name__}View", (part_class,), members)


def _senders(schema: EntitySchema, component: str | None) -> dict[str, Callable[..., Any]]:
    methods = enumerate(schema.cell_methods)
    return {method.name: _sender(index, method) for index, method in methods if method.component == component}


def _sender(index: int, method: Method) -> Callable[..., Any]:
    def send(view: Cell, *args: Any, **named: Any) -> Any:
        body = view._body
        return send_call(partial(body.app.call, body.part, body.kind.schema), index, method, args, named)

    send.__name__ = method.name
    send.__doc__ = f"Calls {method.name} of the entity, wherever its real is."
    return send


def _readers(part_class: type[Any]) -> dict[str, Callable[..., Any]]:
    """The methods that the game wrote and did not declare: they run on the view, and may read."""
    engine = engine_class(Side.CELL, part_class)
    found: dict[str, Callable[..., Any]] = {}
    for cls in reversed(part_class.__mro__):
        if engine is not None and not issubclass(engine, cls):
            for name, method in vars(cls).items():
                if isfunction(method) and not is_hook(name) and not name.startswith("__"):
                    found[name] = _reader(method)
    return found


def _reader(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def read(view: Any, *args: Any, **named: Any) -> Any:
        try:
            return method(view, *args, **named)
        except CopyRefused as problem:
            wish = str(problem).partition(":")[0]
            ran = f"{method.__qualname__} is not @remote, so it ran here, on a view ({wish})"
            raise UsageError(f"{ran}: decorate it with @remote, then it runs where the entity is") from None

    return read
