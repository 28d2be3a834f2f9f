"""What a CellApp works out once for each entity type: who hears of which property, and the classes of its bodies.

    place in the cell layout   →   Reach: does it go to ghosts, to the own client, to other clients, under which index
    change, call               →   Event: what clients are told, once for all of them (`cell/history.py`)
    volatile                   →   how places are told (`_speed/sight`)
    game's part class          →   part_class (the real's), view_class (what other entities' code gets to see), hooks

The rows of values that a client gets when an entity appears are picked from a state by these tables, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from terrazzo._speed.sight import ANGLES, DETAILED
from terrazzo._speed.values import WHOLE, Change
from terrazzo.cell.api import Cell
from terrazzo.cell.history import Event
from terrazzo.cell.hooks import Hooks, has_hook
from terrazzo.cell.views import view_class_of
from terrazzo.errors import DecodeError, UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.classes.parts import bind
from terrazzo.schema.model import EntitySchema, Side
from terrazzo.schema.state import State
from terrazzo.sync.protocol import MethodTable, encode_change
from terrazzo.wire.ids import life_of

if TYPE_CHECKING:
    from terrazzo.cell.body import Body


class Reach(NamedTuple):
    """How far a cell property goes."""

    to_ghosts: bool
    to_own: bool
    to_others: bool
    client_index: int
    """Client-server index; -1 for what no client gets."""


class EntityKind:
    """One entity type, as a CellApp needs it."""

    def __init__(self, schema: EntitySchema, part_class: type[Cell], methods: MethodTable) -> None:
        self.schema = schema
        self.part_class = part_class
        self.view_class = view_class_of(part_class, schema)
        self.hooks = frozenset(name for name in vars(Hooks) if name.startswith("on_") and has_hook(part_class, name))
        """The hooks that the game overrides: the others need not be run."""
        self.reach = tuple(self._reach(place) for place in range(len(schema.cell_layout)))
        self.sight_flags = _sight_flags(schema)
        self._methods = methods
        self._client_count = len(schema.client_layout)
        self.for_others = [place for place, each in enumerate(self.reach) if each.to_others]
        """The places of the properties that other clients see."""
        self._for_player = [schema.cell_layout.index[name] for name in schema.cell_player_layout.names]

    def _reach(self, place: int) -> Reach:
        prop = self.schema.cell_properties[place]
        audience = prop.flags.value
        index = self.schema.client_layout.index.get(prop.name, -1)
        return Reach(audience.ghosted, audience.own_client and index >= 0, audience.other_clients and index >= 0, index)

    @property
    def name(self) -> str:
        """Of the entity type."""
        return self.schema.name

    # What clients are told.

    def player_row(self, state: State) -> list[Any]:
        """What the own client gets with the cell part."""
        return [state.get(place) for place in self._for_player]

    def describe(self, body: Body, remembered: int = 0) -> bytes:
        """The properties that somebody else's client gets with the description of a body; of one that it remembers up
        to a number, only those that have changed since."""
        history, number = body.history, body.number
        if remembered and life_of(remembered) == life_of(number) and remembered <= number:
            return self._row(body.state, [place for place in self.for_others if history.has_changed(place, remembered)])
        if history.row is None:
            history.row = self._row(body.state, self.for_others)
        return history.row

    def _row(self, state: State, places: Iterable[int]) -> bytes:
        return self.schema.client_layout.encode_some({self.reach[at].client_index: state.get(at) for at in places})

    def tell_change(self, change: Change) -> Event:
        """A change of a property as clients are told of it."""
        return Event(change.prop, encode_change(change, self.reach[change.prop].client_index, self._client_count))

    def tell_call(self, index: int, args: bytes) -> Event:
        """A call of a client method (by the index of servers) as clients are told of it."""
        methods = self.schema.client_methods
        if not 0 <= index < len(methods):
            raise DecodeError(f"{self.name} has no client method {index}")
        return Event(
            -1,
            self._methods.encode_call(
                self.schema, Side.CLIENT, methods[index].name, args, component=methods[index].component
            ),
        )

    def tell_ride(self, data: bytes) -> Event:
        """What an entity stands on as clients are told of it (`sync.riding`)."""
        return Event(RIDE, Told(ToClient.RIDES, data))

    def tell_again(self, body: Body, number: int) -> list[Event]:
        """What has changed since the step of this number, as it is now: for a client that missed too much."""
        codecs, state = self.schema.cell_layout.codecs, body.state
        return [
            self.tell_change(Change(WHOLE, place, (), (), 0, 0, codecs[place].encode(state.get(place))))
            for place in self.for_others
            if body.history.has_changed(place, number)
        ]


def _sight_flags(schema: EntitySchema) -> int:
    """How the places of a type are told. What is not volatile moves rarely, and is told exactly."""
    volatile = schema.volatile
    if volatile.position is None:
        return DETAILED | ANGLES
    angles = sum(each is not None for each in (volatile.yaw, volatile.pitch, volatile.roll))
    return angles | (DETAILED if schema.detailed_volatile_position else 0)


class Kinds:
    """All entity types of a game, by type id; each is worked out when it is first asked for."""

    def __init__(self, game: LoadedGame) -> None:
        self._game = game
        self._methods = MethodTable(game.schema)
        self._kinds: dict[int, EntityKind] = {}

    def get(self, type_id: int) -> EntityKind | None:
        """The entity type of this number, if there is one."""
        if type_id not in self._kinds and type_id in self._game.schema.by_id:
            schema = self._game.schema.by_id[type_id]
            self._kinds[type_id] = EntityKind(schema, self._part_class(schema), self._methods)
        return self._kinds.get(type_id)

    def _part_class(self, schema: EntitySchema) -> type[Cell]:
        found = self._game.parts.get(schema.name, {}).get(Side.CELL)
        if found is None:  # nobody wrote behaviour for it: it has properties and a place, and that is all
            found = type(f"{schema.name}Cell", (Cell,), {})
        if not issubclass(found, Cell):
            raise UsageError(f"{found.__name__} derives from a bare part: derive it from terrazzo.Cell")
        if found._entity is not schema:
            bind(found, schema)
        return found
