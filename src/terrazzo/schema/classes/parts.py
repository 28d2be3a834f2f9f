"""The three parts of an entity as classes, in which a game writes its behaviour.

    class AvatarCell(Cell, of=Avatar):
        @exposed(rate=5)
        def hit(self, target: Ref, power: Int16) -> None:
            self.hp -= power

`@remote` makes a method callable from servers, through a ref; `@exposed` from clients too. Argument and
return hints are the types. A part without `of` is a mixin: its methods count where a part derives from it.

The properties that a part holds are descriptors on its class. They read and write `_state` by index, so they are set
when the schema is complete (`bind`): cell properties on Cell, base properties on Base, what clients get on Client. The
properties of a component `health` are reached as `self.health.hp`.

    part.hp = 3  →  PropertyAccess  →  part._state.set(index of hp, 3)  →  the state's listener

A property that another part holds is a descriptor that raises when it is used (`Elsewhere`).

These classes are thin: the abilities of a cell, base or client part come from the packages of that name, which have
classes with `engine=True` (`schema/classes/names.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

from terrazzo.errors import HeldElsewhere, UsageError
from terrazzo.schema.classes.declare import Declaration, lineage, refuse_options
from terrazzo.schema.flags import Flags
from terrazzo.schema.layout import Layout
from terrazzo.schema.model import EntitySchema, Exposed, Property, Side
from terrazzo.schema.state import State

F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P", bound="EntityPart")


@dataclass(frozen=True)
class RemoteOptions:
    """What `remote` or `exposed` was given."""

    to: Flags | Exposed = Exposed.NO
    rate: float | None = None
    detail_distance: float | None = None
    latest_only: bool = False
    reliable: bool = True
    header_size: int = 1


@overload
def remote(method: F, /) -> F: ...
@overload
def remote(
    *,
    detail_distance: float | None = None,
    latest_only: bool = False,
    reliable: bool = True,
    header_size: int = 1,
) -> Callable[[F], F]: ...
def remote(method: Any = None, /, **options: Any) -> Any:
    """A method that can be called from elsewhere: on the server's parts by servers, on the client's by the
    server.

    `detail_distance`, of a client's method: other clients get the call up to this distance.
    """
    return _marked("remote", method, options)


@overload
def exposed(method: F, /) -> F: ...
@overload
def exposed(
    *,
    to: Flags | Exposed = Flags.OWN_CLIENT,
    rate: float | None = None,
    latest_only: bool = False,
    reliable: bool = True,
    header_size: int = 1,
) -> Callable[[F], F]: ...
def exposed(method: Any = None, /, *, to: Flags | Exposed = Flags.OWN_CLIENT, **options: Any) -> Any:
    """A method that clients may call: the entity's own client, or (`to=ALL_CLIENTS`) every client that sees
    it.

    `rate` is how many calls a second one client may make.
    """
    return _marked("exposed", method, {"to": to, **options})


def _marked(word: str, method: Any, options: dict[str, Any]) -> Any:
    known = [each.name for each in fields(RemoteOptions)]
    refuse_options(word, (each for each in options if each not in known), RemoteOptions)
    made = RemoteOptions(**options)

    def mark(function: Any) -> Any:
        function.remote_options = made
        return function

    return mark if method is None else mark(method)


class EntityPart:
    """What the parts have in common. Derive from Base, Proxy, Cell or Client."""

    _side: ClassVar[Side]
    _of: ClassVar[type[Declaration] | None] = None
    _entity: ClassVar[EntitySchema | None] = None
    """The schema that the descriptors of the class were made for."""
    _engines: ClassVar[list[type[EntityPart]]] = []
    """The engine's own classes for parts, from which games derive theirs."""
    _state: State

    def __init_subclass__(cls, *, of: type[Declaration] | None = None, engine: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._of = of
        if engine:
            cls._engines.append(cls)
        if of is not None:
            if not (isinstance(of, type) and issubclass(of, Declaration)):
                raise UsageError(f"{cls.__name__}: of= takes an EntityType, Interface or ComponentType, not {of!r}")
            of._parts[cls._side].append(cls)

    def _lend(self, component: EntityPart) -> None:
        """What an engine gave to this part, for the object of one of its components."""

    if TYPE_CHECKING:
        # The properties come from `of`, which a type checker does not follow: it takes any attribute. A part
        # that wants them checked repeats the annotation, `hp: Int16`.
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Base(EntityPart):
    """The fixed home of an entity."""

    _side = Side.BASE


class Proxy(Base):
    """A base that a client can be connected to."""


class Cell(EntityPart):
    """The body of an entity in a space."""

    _side = Side.CELL


class Client(EntityPart):
    """What a player's program has of an entity."""

    _side = Side.CLIENT


@dataclass(frozen=True)
class RemoteMethod:
    """A method as it was declared, and the class that did."""

    declarer: type[Any]
    name: str
    function: Callable[..., Any]
    options: RemoteOptions


def remote_methods(part: type[EntityPart]) -> Iterator[RemoteMethod]:
    """The methods a part declares for its own type: its mixins', then its own. Its parents' are theirs."""
    elders = set() if part._of is None else {*lineage(part._of)} - {part._of}

    def walk(cls: type[Any]) -> Iterator[RemoteMethod]:
        for each in cls.__bases__:
            if getattr(each, "_of", None) not in elders:
                yield from walk(each)
        for name, value in vars(cls).items():
            options = getattr(value, "remote_options", None)
            if isinstance(options, RemoteOptions):
                yield RemoteMethod(cls, name, value, options)

    return walk(part)


class PropertyAccess:
    """One property of a part: the attribute is read from, and assigned to, the state of the part."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __get__(self, part: EntityPart | None, owner: type[EntityPart]) -> Any:
        if part is None:
            return self
        return _state_of(part).get(self.index)

    def __set__(self, part: EntityPart, value: Any) -> None:
        _state_of(part).set(self.index, value)


class ComponentAccess:
    """One component of a part: returns an object that has the component's properties as attributes."""

    __slots__ = ("view",)

    def __init__(self, view: type[EntityPart]) -> None:
        self.view = view

    def __get__(self, part: EntityPart | None, owner: type[EntityPart]) -> Any:
        if part is None:
            return self
        view = self.view.__new__(self.view)
        view._state = _state_of(part)
        part._lend(view)
        return view

    def __set__(self, part: EntityPart, value: Any) -> None:
        raise UsageError("a component is not assigned: assign its properties")


class Elsewhere:
    """A property that another part holds: reading or assigning it here raises an error that names that part."""

    __slots__ = ("problem",)

    def __init__(self, entity: EntitySchema, prop: Property) -> None:
        name, flags = f"{entity.name}.{prop.name}", prop.flags
        if flags is Flags.EDITOR_ONLY:
            self.problem = f"{name} is EDITOR_ONLY: tools read it, and no part of the entity has it"
        else:
            side = "base" if flags.value.base else "cell"
            self.problem = f"{name} is held by the {side} part ({flags.name}): call a method of it"

    def __get__(self, part: EntityPart | None, owner: type[EntityPart]) -> Any:
        if part is None:
            return self
        raise HeldElsewhere(self.problem)

    def __set__(self, part: EntityPart, value: Any) -> None:
        raise HeldElsewhere(self.problem)


def _state_of(part: EntityPart) -> State:
    try:
        return part._state
    except AttributeError:
        raise UsageError(
            f"this {type(part).__name__} has no state: parts are made by the engine, or by attach()"
        ) from None


def layout_of(side: Side, entity: EntitySchema) -> Layout:
    """How a part keeps its properties."""
    if side is Side.CELL:
        return entity.cell_layout
    return entity.base_layout if side is Side.BASE else entity.client_layout


def held(side: Side, entity: EntitySchema) -> tuple[Property, ...]:
    """The properties that a part holds, in the order of its layout."""
    return layout_of(side, entity).properties


def bind(
    part: type[EntityPart], entity: EntitySchema, components: Mapping[str, type[EntityPart]] | None = None
) -> None:
    """Give a part's class the properties of its entity type; `components`: their part classes, by name."""
    views: dict[str, dict[str, Any]] = {name: {} for name, _ in entity.components}
    for index, each in enumerate(held(part._side, entity)):
        outer, _, inner = each.name.rpartition(".")
        if outer in views:
            views[outer][inner] = PropertyAccess(index)
        else:
            setattr(part, each.name, PropertyAccess(index))
    bases = {name: (components or {}).get(name, EntityPart) for name in views}
    for each in _elsewhere(part._side, entity):
        outer, _, inner = each.name.rpartition(".")
        if outer in views:
            if _is_free(bases[outer], inner):
                views[outer][inner] = Elsewhere(entity, each)
        elif _is_free(part, each.name):
            setattr(part, each.name, Elsewhere(entity, each))
    for name, access in views.items():
        setattr(part, name, ComponentAccess(type(bases[name].__name__, (bases[name],), access)))
    part._entity = entity


def _elsewhere(side: Side, entity: EntitySchema) -> Iterator[Property]:
    """The properties that a part does not hold."""
    names = layout_of(side, entity).index
    return (each for each in entity.properties if each.name not in names)


def _is_free(part: type[EntityPart], name: str) -> bool:
    """Whether a part has nothing else of this name: it may have a method with the name of another part's property."""
    known = next((vars(each)[name] for each in part.__mro__ if name in vars(each)), None)
    return known is None or isinstance(known, (PropertyAccess, Elsewhere))


def attach(part_class: type[P], entity: EntitySchema, listener: Callable[[Any], None] | None = None) -> P:
    """A part with a new state of default values; `listener` is called with each change."""
    if part_class._entity is not entity:
        bind(part_class, entity)
    part = part_class.__new__(part_class)
    part._state = State(layout_of(part_class._side, entity), listener)
    part.__init__()  # type: ignore[misc]
    return part
