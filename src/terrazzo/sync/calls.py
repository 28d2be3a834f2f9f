"""Remote methods of parts as attributes: `self.base.note("x")`, `self.client.health.on_hurt(3)`.

The arguments are checked and encoded where the call is made, so a mistake raises in the code that makes it. A method
that is declared with a result also takes `timeout=`, the seconds to wait for its answer if the call is awaited
(`sync/awaiting.py`); an argument of that name can still be given by its position.

Cell and base parts use the same classes; they differ in how a call is sent (`Send`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from terrazzo.errors import UsageError, shown
from terrazzo.schema.arguments import entity_id, number
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.model import EntitySchema, Method, Schema, Side
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.report import did_you_mean
from terrazzo.wire.ids import EntityId, Part, PartId

TIMEOUT_S = 5.0
"""How long an answer is waited for, without a `timeout`."""
CALLED_MAX = 1000

Send = Callable[[int, Method, bytes, float], Any]
"""Sends a call: internal index, method, encoded arguments, seconds to wait for its answer. Returns what can be awaited,
or None."""


class Calls:
    """The declared methods of one side of an entity; those of a component `health` are reached as `calls.health`."""

    __slots__ = ("_component", "_schema", "_send", "_side")

    def __init__(self, schema: EntitySchema, side: Side, send: Send, component: str | None = None) -> None:
        self._schema = schema
        self._side = side
        self._send = send
        self._component = component

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # Python itself looks these up
        if self._component is None and any(name == each for each, _ in self._schema.components):
            return Calls(self._schema, self._side, self._send, name)
        index, method = self._schema.find_method(self._side, name, self._component)
        return _Call(index, method, self._send)


class _Call:
    """One method, ready to be called."""

    __slots__ = ("_index", "_method", "_send")

    def __init__(self, index: int, method: Method, send: Send) -> None:
        self._index = index
        self._method = method
        self._send = send

    def __call__(self, *args: Any, **named: Any) -> Any:
        return send_call(self._send, self._index, self._method, args, named)


def send_call(send: Send, index: int, method: Method, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Makes a call with the arguments that the game gave."""
    timeout_s = TIMEOUT_S
    if method.returns and "timeout" in named:
        timeout_s = number(named.pop("timeout"), f"{method.name}: timeout=, in seconds,", above=0)
    given = send(index, method, method.encode_args(*args, **named), timeout_s)
    return given if method.returns else NoResult(method.name)


class NoResult:
    """Returned by calls of methods without a declared result: awaiting it is an error."""

    __slots__ = ("_method",)

    def __init__(self, method: str) -> None:
        self._method = method

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self._method} gives no result>"

    def __await__(self) -> NoReturn:
        problem = f"{self._method} declares no result, so there is nothing to wait for"
        raise UsageError(f"{problem}: write `-> UInt8` (or what it gives) in its definition, or leave out the await")


def called_part(schema: Schema, target: Ref) -> tuple[PartId, EntitySchema, Side]:
    """The part that a Ref names, with its type and side; only cell and base parts can be called."""
    if not isinstance(target, Ref):
        raise UsageError(f"ref: target is a Ref, which an entity gives as self.me, not {shown(target)}")
    entity = EntityId(entity_id(target.id, "ref: target, the id of a Ref,"))
    entity_schema = schema.by_id.get(target.type_id) if type(target.type_id) is int else None
    if entity_schema is None:
        raise UsageError(f"ref: {shown(target)} names no entity type; take it from the entity itself (self.me)")
    if target.component is Component.CELL:
        return PartId(entity, Part.CELL), entity_schema, Side.CELL
    if target.component is Component.BASE and entity_schema.cell_only:
        raise UsageError(f"ref: {entity_schema.name} is cell_only: it has no base part that could be called")
    if target.component is Component.BASE:
        return PartId(entity, Part.BASE), entity_schema, Side.BASE
    raise UsageError(f"ref: cell and base parts can be called by a Ref, not {shown(target.component)}")


def entity_type(schema: Schema, given: type[EntityType] | str, name: str) -> EntitySchema:
    """The entity type that the game names, by its class or its name."""
    if isinstance(given, type) and issubclass(given, EntityType):
        given = given.__name__
    found = schema.by_name.get(given) if isinstance(given, str) else None
    if found is None:
        have = ", ".join(schema.by_name)
        near = did_you_mean(given, schema.by_name) if isinstance(given, str) else ""
        raise UsageError(f"{name}: there is no entity type {shown(given)}{near}; the game has {have}")
    return found


class Callees:
    """The types of entities that were called lately: an entity may be gone when a report has to name its method."""

    def __init__(self) -> None:
        self._schemas: dict[int, EntitySchema] = {}

    def note(self, entity: int, schema: EntitySchema) -> None:
        """An entity is called."""
        if entity not in self._schemas:
            self._schemas[entity] = schema
            if len(self._schemas) > CALLED_MAX:
                del self._schemas[next(iter(self._schemas))]

    def method_name(self, to: PartId, index: int, otherwise: EntitySchema | None = None) -> str:
        """The name of a method, if the type of the entity is known."""
        side = Side.BASE if to.part is Part.BASE else Side.CELL
        schema = self._schemas.get(to.entity, otherwise)
        methods = () if schema is None else schema.methods(side)
        return methods[index].name if 0 <= index < len(methods) else f"{side.value} method {index}"
