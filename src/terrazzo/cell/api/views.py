"""What code of one entity sees of another: a view, of the other's own part class, that can be read and called.

    for other in self.entities_in_range(10):
        if other.health < 20:          reading: the public properties, as they are in this cell
            other.heal(5)              a declared cell method: sent to wherever the real is, in order, once; in an
                                       async method what it returns can be awaited (`sync/awaiting.py`)
        other.health = 20              UsageError: only an entity's own code changes it
        other.is_weak()                any other method: runs here and now, on the view, as far as it only reads; for
                                       one that changes something the error asks for `@remote`

Real or ghost makes no difference: what works with both on one cell works with them on two, and calls keep their order
while either migrates. So of a record that has private fields a view shows what a ghost has, the default in their place,
even where the real is on the same CellApp (`schema/shares.py`). A view lives as long as the body it shows; then it
shows the last known values. Its state is read-only (`cell/core/readonly.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction
from typing import Any

from terrazzo.cell.core.hooks import Hooks
from terrazzo.errors import CopyRefused, UsageError
from terrazzo.schema.classes.names import engine_class, is_hook
from terrazzo.schema.classes.parts import ComponentAccess
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.sync.calls import send_call


def view_class_of(part_class: type[Hooks], schema: EntitySchema) -> type[Hooks]:
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
    def send(view: Hooks, *args: Any, **named: Any) -> Any:
        body = view._body
        return send_call(partial(body.core.call, body.part, body.kind.schema), index, method, args, named)

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
            act = str(problem).partition(":")[0]
            ran = f"{method.__qualname__} is not @remote, so it ran here, on a view ({act})"
            raise UsageError(f"{ran}: decorate it with @remote, then it runs where the entity is") from None

    return read
