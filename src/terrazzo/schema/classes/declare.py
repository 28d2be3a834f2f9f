"""The classes and functions with which a game declares its entity types: one class, type hints, `prop`.

    class Avatar(Named, EntityType):
        hp: Int16 = prop(ALL_CLIENTS, default=100)
        gold: Int32 = prop(OWN_CLIENT, saved=True)
        volatile = Volatile(position=True, yaw=True)

A base that is an EntityType is the Parent, bases that are Interfaces are what it Implements, in the order of the bases.
`lineage` puts the classes in the order in which they declare: the parent's line, each interface's line, the class
itself.

A class only stores its declarations; nothing is checked before `build`, so that all mistakes are reported at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Never

from terrazzo.errors import UsageError
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import Compression, DetailLevel, Side, Volatile
from terrazzo.schema.report import did_you_mean

_counter = itertools.count()


@dataclass(frozen=True)
class PropertyOptions:
    """What `prop` was given."""

    flags: Flags | None
    default: Any
    saved: bool
    unique: bool
    indexed: bool | str
    database_length: int | None
    detail: str | None
    latest_only: bool
    reliable: bool
    header_size: int
    editable: bool
    replay: bool | None


def prop(
    flags: Flags | None = None,
    *,
    default: Any = None,
    saved: bool = False,
    unique: bool = False,
    indexed: bool | str = False,
    database_length: int | None = None,
    detail: str | None = None,
    latest_only: bool = False,
    reliable: bool = True,
    header_size: int = 1,
    editable: bool = False,
    replay: bool | None = None,
    **unknown: Never,
) -> Any:
    """A property of an entity type.

    `flags` sets its holders and its receivers. `saved`: the database stores it. `unique`, for the type that players log
    in as: it is filled with the account's name when the player is new; names of accounts are unique, values that the
    game assigns later are not checked. `detail` names the level of detail up to which clients get it. `latest_only`: a
    value that is replaced before it was sent is never sent. `reliable=False`: a lost value is not sent again.
    `indexed`, `editable` and `replay` come from definition trees, and have no effect yet.
    """
    refuse_options("prop", unknown, PropertyOptions)
    return PropertyOptions(
        flags, default, saved, unique, indexed, database_length, detail, latest_only, reliable, header_size,
        editable, replay,
    )  # fmt: skip


def refuse_options(word: str, unknown: Iterable[str], options: type[Any]) -> None:
    """Raises for options that do not exist, with the ones that do."""
    known = [each.name for each in fields(options)]
    for name in unknown:
        raise UsageError(f"{word} has no option {name}{did_you_mean(name, known) or '; it has ' + ', '.join(known)}")


@dataclass(frozen=True)
class ComponentUse:
    """What `component` was given."""

    type: Any


def component(type_: type[ComponentType]) -> Any:
    """A component of an entity type: `health = component(Health)` gives it the properties `health.…`."""
    return ComponentUse(type_)


def level(label: str, start: float, hysteresis: float = 10.0) -> DetailLevel:
    """A level of detail: seen in full up to `start` metres, kept until `hysteresis` further out."""
    return DetailLevel(label, start, hysteresis)


class Declaration:
    """What EntityType, Interface and ComponentType have in common. Derive from one of them."""

    volatile: ClassVar[Volatile] = Volatile()
    """How far position and angles are sent as they change: True is any distance, a number is metres."""
    detail_levels: ClassVar[Sequence[DetailLevel]] = ()
    """From near to far; `prop(detail=…)` names one."""
    appeal_radius: ClassVar[float] = 0.0
    """How much further than usual the entity is seen, in metres."""
    temp_properties: ClassVar[Sequence[str]] = ()
    """Attributes that are dropped when the entity moves to another cell."""
    compression: ClassVar[Compression] = Compression()
    server_only: ClassVar[bool] = False
    """True for types without a client part."""
    cell_only: ClassVar[bool] = False
    """True for types without a base part: arrows, effects. The code of a cell part makes them with `spawn`; they are
    not saved, and are lost with their cell."""
    is_manual_aoi: ClassVar[bool] = False
    """The game decides which clients see the entity."""
    detailed_volatile_position: ClassVar[bool] = False
    """Volatile positions are sent unpacked."""
    persistent: ClassVar[bool] = True
    """False for types that never go to the database."""
    explicit_database_id: ClassVar[bool] = False

    _parts: ClassVar[dict[Side, list[type[Any]]]] = {}
    _sequence: ClassVar[int] = 0
    _abstract: ClassVar[bool] = True

    def __init_subclass__(cls, *, abstract: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls._parts = {side: [] for side in Side}
        cls._sequence = next(_counter)
        cls._abstract = abstract

    def __new__(cls, *args: object, **more: object) -> Declaration:
        """Refused: a declaration describes entities, it is none."""
        raise UsageError(f"{cls.__name__} only declares what an entity is; the engine makes its parts")


SETTINGS = tuple(name for name, value in vars(Declaration).items() if not name.startswith("_"))
"""The names in a declaration's body that are no properties."""


class EntityType(Declaration, abstract=True):
    """Base of entity types. With `abstract=True` a class is only there to be the parent of others."""


class Interface(Declaration, abstract=True):
    """Base of what several entity types have in common."""


class ComponentType(Declaration, abstract=True):
    """Base of components: properties and methods under a name of their own inside an entity type."""


ROOTS = (Declaration, EntityType, Interface, ComponentType)


def parents(cls: type[Declaration]) -> list[type[Declaration]]:
    """The direct bases that are entity types (of a component: components); there should be one at most."""
    kinds = (EntityType, ComponentType)
    return [each for each in cls.__bases__ if issubclass(each, kinds) and each not in ROOTS]


def interfaces(cls: type[Declaration]) -> list[type[Declaration]]:
    """The direct bases that are interfaces."""
    found = [each for each in cls.__bases__ if issubclass(each, Interface) and each not in ROOTS]
    return [each for each in found if not issubclass(each, (EntityType, ComponentType))]


def lineage(cls: type[Declaration]) -> Iterator[type[Declaration]]:
    """The classes of which this one inherits declarations, in order; one that is inherited twice comes twice."""
    for each in (*parents(cls), *interfaces(cls)):
        yield from lineage(each)
    yield cls
