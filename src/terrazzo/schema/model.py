"""An entity type: its properties, its methods, and how it is shown. Plain frozen descriptions that compare by value.

Both front doors (`classes`, `deffiles`) make this model, and the rest of the engine reads it. The order has a meaning:
`properties` are in declared order (the parent's, then each interface's, then the type's own; one declared again stays
where it was), and so are methods. Derived lists:

    client_properties   those a client may get, smallest first: the position is the client-server index
    cell_properties     those of the cell part, ghosted ones first, so that a ghost is a prefix
    base_properties     those of the base part
    *_layout            the same as Layouts: with places, names and codecs worked out
    exposed(side)       the methods of a side that a client may call (for the client side: all), smallest first
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from terrazzo._speed.codec import Codec, RowCodec
from terrazzo.errors import UsageError, ValueRejected, shown
from terrazzo.schema.flags import Flags, Receiver
from terrazzo.schema.layout import Layout
from terrazzo.schema.shares import share
from terrazzo.schema.types import VARIABLE, DataType, HiddenType, limited_codec


class Index(Enum):
    """Whether a database can find an entity by a property."""

    NONE = "none"
    INDEXED = "indexed"
    UNIQUE = "unique"


class Exposed(Enum):
    """Which clients may call a method. DEFAULT is an empty <Exposed/>: any client on the cell, the own one on the
    base."""

    NO = "NO"
    DEFAULT = "DEFAULT"
    OWN_CLIENT = "OWN_CLIENT"
    ALL_CLIENTS = "ALL_CLIENTS"


class Side(Enum):
    """The three parts of an entity."""

    CLIENT = "client"
    CELL = "cell"
    BASE = "base"


@dataclass(frozen=True)
class SourcePlace:
    """Where something was declared; for messages only, never compared."""

    file: str = ""
    line: int = 0


NOWHERE = SourcePlace()


@dataclass(frozen=True)
class Property:
    """One declared property."""

    name: str
    type: DataType
    flags: Flags
    default: Any = None
    """A plain value (lists, dicts, numbers …) to be checked into a new value each time. None: the type's default."""
    persistent: bool = False
    identifier: bool = False
    indexed: Index = Index.NONE
    database_length: int | None = None
    detail_level: str | None = None
    """Label of the level of detail; None: seen from wherever the entity is seen."""
    send_latest_only: bool = False
    is_reliable: bool = True
    header_size: int = 1
    editable: bool = False
    exposed_for_replay: bool | None = None
    place: SourcePlace = field(default=NOWHERE, compare=False)

    @cached_property
    def codec(self) -> Codec:
        """Checks, encodes and decodes the values; what is saved must also fit its database column."""
        return limited_codec(self.type, self.database_length if self.persistent else None)

    @cached_property
    def _plain_default(self) -> Any:
        return self.type.preset if self.default is None else self.default

    def new_default(self) -> Any:
        """A new default value."""
        plain = self._plain_default
        return self.codec.default() if plain is None else self.codec.check(plain)

    def type_for(self, receiver: Receiver) -> DataType:
        """The type of what a receiver gets of the values; the type itself where that is all of them."""
        shared = share(self.type, receiver)
        return replace(shared, preset=self._plain_default) if isinstance(shared, HiddenType) else shared

    @cached_property
    def _codecs(self) -> dict[Receiver, Codec]:
        types = {each: self.type_for(each) for each in Receiver}
        return {each: self.codec if found is self.type else found.codec for each, found in types.items()}

    def codec_for(self, receiver: Receiver) -> Codec:
        """Encodes values as a receiver gets them, and decodes them there; `codec` itself where that is all of them."""
        return self._codecs[receiver]


@dataclass(frozen=True)
class Argument:
    """One argument or return value of a method; the name is for people and keyword calls, streams go by position."""

    type: DataType
    name: str | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Method:
    """One declared method."""

    name: str
    args: tuple[Argument, ...] = ()
    returns: tuple[Argument, ...] = ()
    exposed: Exposed = Exposed.NO
    detail_distance: float | None = None
    send_latest_only: bool = False
    is_reliable: bool = True
    header_size: int = 1
    rate: float | None = field(default=None, compare=False)
    """Calls a second that one client may make; None: the engine's default. A policy, not part of the definition."""
    component: str | None = None
    place: SourcePlace = field(default=NOWHERE, compare=False)

    @property
    def sort_size(self) -> int:
        """Orders the exposed indexes: the arguments' size (at most VARIABLE) plus the header size."""
        return min(sum(arg.type.sort_size for arg in self.args), VARIABLE) + self.header_size

    @cached_property
    def _row(self) -> RowCodec:
        names = (arg.name or f"argument {number}" for number, arg in enumerate(self.args, 1))
        return RowCodec(tuple(names), tuple(arg.type.codec for arg in self.args))

    def encode_args(self, *args: Any, **named: Any) -> bytes:
        """The stream of a call: the arguments one after the other, by position or by name."""
        try:
            return self._row.encode(self._in_order(args, named))
        except ValueRejected as problem:
            raise ValueRejected(problem.problem, ": ".join(filter(None, (self.name, problem.where)))) from None

    def _in_order(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        given = list(args)
        for arg in self.args[len(args) :]:
            if arg.name not in named:
                break
            given.append(named[arg.name])
        if len(given) != len(self.args) or len(given) - len(args) != len(named):
            wanted = ", ".join(f"{arg.name or '_'}: {arg.type.spell()}" for arg in self.args)
            got = ", ".join([*map(shown, args), *(f"{name}={shown(value)}" for name, value in named.items())])
            raise ValueRejected(f"expected the arguments ({wanted}), got ({got})")
        return given

    def decode_args(self, data: bytes) -> list[Any]:
        """The arguments of a call, which take the whole of the data."""
        return self._row.decode(data)

    @cached_property
    def _results(self) -> RowCodec:
        names = (each.name or f"result {number}" for number, each in enumerate(self.returns, 1))
        return RowCodec(tuple(names), tuple(each.type.codec for each in self.returns))

    def encode_result(self, result: Any) -> bytes:
        """The stream of what a call gave back: one value, or as many as are declared in a tuple."""
        values = [result] if len(self.returns) == 1 else result
        try:
            if not isinstance(values, (list, tuple)) or len(values) != len(self.returns):
                wanted = ", ".join(each.type.spell() for each in self.returns)
                raise ValueRejected(f"expected to return ({wanted}), got {shown(result)}")
            return self._results.encode(list(values))
        except ValueRejected as problem:
            raise ValueRejected(problem.problem, ": ".join(filter(None, (self.name, problem.where)))) from None

    def decode_result(self, data: bytes) -> Any:
        """What a call gave back: the value, or a tuple of them."""
        values = self._results.decode(data)
        return values[0] if len(values) == 1 else tuple(values)


@dataclass(frozen=True)
class DetailLevel:
    """One level of detail: seen in full up to `start` metres, kept until `hysteresis` further out."""

    label: str
    start: float
    hysteresis: float = 10.0


ALWAYS = float("inf")


@dataclass(frozen=True)
class Volatile:
    """How far position and angles are sent as volatile data, in metres; None: not volatile, ALWAYS: at any distance."""

    position: float | None = None
    yaw: float | None = None
    pitch: float | None = None
    roll: float | None = None

    def in_order(self) -> bool:
        """Angles nest: yaw reaches at least as far as pitch, pitch as far as roll."""
        yaw, pitch, roll = (-1.0 if each is None else each for each in (self.yaw, self.pitch, self.roll))
        return yaw >= pitch >= roll


@dataclass(frozen=True)
class Compression:
    """Zip levels (1–9) for what is sent about a whole entity, inside the cluster and to clients; 0: none."""

    internal: int = 0
    external: int = 0


@dataclass(frozen=True)
class EntitySchema:
    """One entity type."""

    name: str
    type_id: int
    properties: tuple[Property, ...] = ()
    client_methods: tuple[Method, ...] = ()
    cell_methods: tuple[Method, ...] = ()
    base_methods: tuple[Method, ...] = ()
    detail_levels: tuple[DetailLevel, ...] = ()
    volatile: Volatile = Volatile()
    appeal_radius: float = 0.0
    temp_properties: tuple[str, ...] = ()
    compression: Compression = Compression()
    on_client: bool = True
    """False for server-only types: they have no client part and no client-server indexes."""
    is_manual_aoi: bool = False
    detailed_volatile_position: bool = False
    persistent: bool = True
    explicit_database_id: bool = False
    cell_only: bool = False
    """Its entities have no base part: the code of cell parts makes them (`spawn`)."""
    components: tuple[tuple[str, str], ...] = ()
    """(name in the entity, component type) pairs; a component's properties are named `name.property`."""
    place: SourcePlace = field(default=NOWHERE, compare=False)

    @cached_property
    def client_properties(self) -> tuple[Property, ...]:
        """What clients may get, in the order of the client-server index."""
        if not self.on_client:
            return ()
        seen = (each for each in self.properties if each.flags.on_client)
        return tuple(sorted(seen, key=lambda each: each.type.sort_size))

    @cached_property
    def cell_properties(self) -> tuple[Property, ...]:
        """The cell part's layout: ghosted properties first."""
        held = (each for each in self.properties if each.flags.value.cell)
        return tuple(sorted(held, key=lambda each: not each.flags.value.ghosted))

    @cached_property
    def ghosted_count(self) -> int:
        """How many of the cell properties a ghost holds."""
        return sum(each.flags.value.ghosted for each in self.cell_properties)

    @cached_property
    def base_properties(self) -> tuple[Property, ...]:
        """The base part's layout, in declared order."""
        return tuple(each for each in self.properties if each.flags.value.base)

    @cached_property
    def base_player_properties(self) -> tuple[Property, ...]:
        """What the own client gets with the base part, in declared order."""
        return self._own_client_properties(of_base=True)

    @cached_property
    def cell_player_properties(self) -> tuple[Property, ...]:
        """What the own client gets with the cell part, in declared order. OTHER_CLIENTS is not among it."""
        return self._own_client_properties(of_base=False)

    def _own_client_properties(self, *, of_base: bool) -> tuple[Property, ...]:
        if not self.on_client:
            return ()
        own = (each for each in self.properties if each.flags.value.own_client)
        return tuple(each for each in own if each.flags.value.base is of_base)

    @cached_property
    def cell_layout(self) -> Layout:
        """How a real keeps its values."""
        return Layout(self.name, self.cell_properties)

    @cached_property
    def ghost_layout(self) -> Layout:
        """How a ghost keeps its values: the first of the real's."""
        return Layout(self.name, self.cell_properties[: self.ghosted_count], Receiver.GHOSTS)

    @cached_property
    def base_layout(self) -> Layout:
        """How a base keeps its values."""
        return Layout(self.name, self.base_properties)

    @cached_property
    def client_layout(self) -> Layout:
        """What clients may get by client-server index, with whole values: for indexes, and never to be sent."""
        return Layout(self.name, self.client_properties)

    @cached_property
    def own_client_layout(self) -> Layout:
        """How a client keeps its copy of its own entity: by client-server index."""
        return Layout(self.name, self.client_properties, Receiver.OWN_CLIENT)

    @cached_property
    def other_client_layout(self) -> Layout:
        """How a client keeps its copy of any other entity: by client-server index."""
        return Layout(self.name, self.client_properties, Receiver.OTHER_CLIENTS)

    @cached_property
    def base_player_layout(self) -> Layout:
        """What goes to the own client with the base part, in that order."""
        return Layout(self.name, self.base_player_properties, Receiver.OWN_CLIENT)

    @cached_property
    def cell_player_layout(self) -> Layout:
        """What goes to the own client with the cell part, in that order."""
        return Layout(self.name, self.cell_player_properties, Receiver.OWN_CLIENT)

    def methods(self, side: Side) -> tuple[Method, ...]:
        """All methods of a side; the position is the index that servers use among themselves."""
        return {Side.CLIENT: self.client_methods, Side.CELL: self.cell_methods, Side.BASE: self.base_methods}[side]

    @cached_property
    def _methods_by_name(self) -> dict[Side, dict[tuple[str | None, str], tuple[int, Method]]]:
        return {
            side: {(each.component, each.name): (index, each) for index, each in enumerate(self.methods(side))}
            for side in Side
        }

    def find_method(self, side: Side, name: str, component: str | None = None) -> tuple[int, Method]:
        """A declared method of a side (of a component, if one is named), with the index by which servers call it."""
        methods = self._methods_by_name[side]
        try:
            return methods[component, name]
        except KeyError:
            have = ", ".join(each for of, each in methods if of == component) or "none"
            owner = self.name if component is None else f"{component} of {self.name}"
            raise UsageError(f"{owner} has no {side.value} method {name!r}; it has {have}") from None

    def exposed(self, side: Side) -> tuple[Method, ...]:
        """What crosses between client and server by exposed index: all client methods, else the exposed ones."""
        if not self.on_client:
            return ()
        open_ones = (m for m in self.methods(side) if side is Side.CLIENT or m.exposed is not Exposed.NO)
        return tuple(sorted(open_ones, key=lambda each: each.sort_size))


@dataclass(frozen=True)
class Schema:
    """All entity types of a game, in the order of their type ids."""

    entities: tuple[EntitySchema, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, EntitySchema]:
        """The entity types by name."""
        return {each.name: each for each in self.entities}

    @cached_property
    def by_id(self) -> dict[int, EntitySchema]:
        """The entity types by type id."""
        return {each.type_id: each for each in self.entities}

    def __getitem__(self, name: str) -> EntitySchema:
        return self.by_name[name]
