"""What a CellApp works out once for each entity type: who hears of which property, and the classes of its bodies.

    place in the cell layout   →   Reach: does it go to ghosts, to the own client, to other clients, under which index
    game's part class          →   part_class (the real's) and view_class (what other entities' code gets to see)

The rows of values that a client gets when an entity appears are picked from a state by these tables, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from terrazzo._speed.values import WHOLE, Change
from terrazzo.cell.api import Cell
from terrazzo.cell.views import view_class_of
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.classes.parts import bind
from terrazzo.schema.model import EntitySchema, Method, Side
from terrazzo.schema.state import State
from terrazzo.sync.protocol import MethodTable, encode_change


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
        self.reach = tuple(self._reach(place) for place in range(len(schema.cell_layout)))
        self._methods = methods
        self._client_count = len(schema.client_layout)
        self.for_others = [place for place, each in enumerate(self.reach) if each.to_others]
        """The places of the properties that other clients see."""
        self._for_player = [schema.cell_layout.index[name] for name in schema.cell_player_layout.names]
        self._numbers = {
            side: {each.name: (index, each) for index, each in enumerate(schema.methods(side)) if not each.component}
            for side in Side
        }

    def _reach(self, place: int) -> Reach:
        prop = self.schema.cell_properties[place]
        audience = prop.flags.value
        index = self.schema.client_layout.index.get(prop.name, -1)
        return Reach(audience.ghosted, audience.own_client and index >= 0, audience.other_clients and index >= 0, index)

    @property
    def name(self) -> str:
        """Of the entity type."""
        return self.schema.name

    def find(self, side: Side, name: str) -> tuple[int, Method]:
        """A declared method of a side, with the index by which servers call it."""
        try:
            return self._numbers[side][name]
        except KeyError:
            have = ", ".join(self._numbers[side]) or "none"
            raise UsageError(f"{self.name} has no {side.value} method {name!r}; it has {have}") from None

    def others_row(self, state: State) -> dict[int, Any]:
        """What somebody else's client gets when the entity appears, by client-server index."""
        return {self.reach[place].client_index: state.get(place) for place in self.for_others}

    def player_row(self, state: State) -> list[Any]:
        """What the own client gets with the cell part."""
        return [state.get(place) for place in self._for_player]

    def change_message(self, entity: int, change: Change) -> bytes:
        """A change of a property as clients are told of it."""
        return encode_change(entity, change, self.reach[change.prop].client_index, self._client_count)

    def whole_messages(self, entity: int, state: State, places: Iterable[int]) -> list[bytes]:
        """These properties as they are, for a client that missed too much."""
        codecs = self.schema.cell_layout.codecs
        return [
            self.change_message(entity, Change(WHOLE, place, (), (), 0, 0, codecs[place].encode(state.get(place))))
            for place in places
        ]

    def call_message(self, entity: int, index: int, args: bytes) -> bytes:
        """A call of a client method (by the index of servers) as clients are told of it."""
        name = self.schema.client_methods[index].name
        return self._methods.encode_call(entity, self.schema, Side.CLIENT, name, args)


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
