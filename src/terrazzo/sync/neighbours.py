"""The other entities in a client's view: their aliases, and the answers of the client to the server.

    announced by an alias ──described──► in the view: changes, calls, places ──leave, space, cell lost──► gone
            └───────────── leave, space, cell lost: the game never gets it ────────────────────────────────┘

The rules; the client answers a message that breaks one with a violation (`sync.view`):

- An announcement is of an entity that is not in the view, by an alias that is free: its former entity has left, and the
  client has released it. After `cell lost` all aliases are free at once, also those that are still to be released.
- A description is of an announced entity that has not been described; a change or a call is of a described one; a leave
  is of an announced one.

The client answers every announcement with `want`, and the end of every alias with `released`.

**Memory.** An entity that has left may come back. The client keeps its values, with the number of its description, and
wants it with this number: then the server need only send what may have changed since. While an entity is announced, its
memory is kept with the announcement, so that the description is applied to the values for which it was requested.
Memory ends with the body. The reason: the remembered values are later than their number, since changes came after the
description; only the witness that sent these changes is sure not to send older values. The witness of the next body may
be in another cell, with an older ghost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from terrazzo._speed.view import PlaceTable
from terrazzo.schema.model import EntitySchema
from terrazzo.schema.state import State
from terrazzo.sync.protocol import (
    OWN,
    RELEASED_MAX,
    WANTS_MAX,
    encode_released,
    encode_want,
    take_number,
    take_place,
)
from terrazzo.sync.turns import Turns
from terrazzo.sync.view_events import Entered, Fault, Left, MessageRefused, Seen, check_audience

REMEMBERED_MAX = 256
"""The most entities that are remembered; the oldest are dropped."""


class _Remembered(NamedTuple):
    """The memory of an entity that left."""

    schema: EntitySchema
    number: int
    values: list[Any]


class _Announced(NamedTuple):
    """An entity that is in the area, and not described yet."""

    entity: int
    schema: EntitySchema
    remembered: _Remembered | None
    turn: int


class AreaView:
    """All entities of a view, without the own one."""

    def __init__(self, turns: Turns, asks_moves: Callable[[EntitySchema], bool]) -> None:
        """`asks_moves`: whether moves of entities of this type are reported one by one."""
        self.places = PlaceTable()
        """Where the described entities are, by alias."""
        self.others: dict[int, Seen] = {}
        """The described entities by id, in the order in which they entered."""
        self.by_alias: dict[int, Seen] = {}
        """The same by alias."""
        self._announced: dict[int, _Announced] = {}  # by alias
        self._remembered: dict[int, _Remembered] = {}
        self._wants: dict[int, int] = {}
        self._released: list[int] = []
        self._resting: set[int] = set()  # the released aliases that no entity may have until the client has sent that
        self._turns = turns
        self._asks_moves = asks_moves

    def answers(self) -> list[bytes]:
        """The client's answers since the last call; reliable messages."""
        wants, self._wants = list(self._wants.items()), {}
        released, self._released = self._released, []
        self._resting.clear()
        return [
            *(encode_released(released[at : at + RELEASED_MAX]) for at in range(0, len(released), RELEASED_MAX)),
            *(encode_want(wants[at : at + WANTS_MAX]) for at in range(0, len(wants), WANTS_MAX)),
        ]

    def find(self, alias: int) -> Seen:
        """The described entity with this alias; there must be one."""
        seen = self.by_alias.get(alias)
        if seen is None and alias in self._announced:
            entity = self._announced[alias].entity
            raise MessageRefused(
                Fault.NOT_DESCRIBED, f"entity {entity} is changed or called, but was only announced", entity
            )
        if seen is None:
            raise MessageRefused(Fault.UNKNOWN_ENTITY, f"alias {alias} is changed or called, but is nobody's")
        return seen

    def announce(self, entity: int, alias: int, schema: EntitySchema) -> None:
        """An entity has entered the area, with this alias."""
        if entity in self.others or any(each.entity == entity for each in self._announced.values()):
            raise MessageRefused(Fault.ENTERED_TWICE, f"entity {entity} is announced, but is there already", entity)
        if alias == OWN or alias in self.by_alias or alias in self._announced or alias in self._resting:
            raise MessageRefused(
                Fault.ALIAS_TAKEN, f"entity {entity} is announced by alias {alias}, which is taken", entity
            )
        remembered = self._remembered.pop(entity, None)
        if remembered is not None and remembered.schema is not schema:
            remembered = None
        self._announced[alias] = _Announced(entity, schema, remembered, self._turns.begin())
        self._wants[entity] = 0 if remembered is None else remembered.number

    def describe(self, alias: int, data: bytes) -> Entered:
        """An announced entity is described: number, place, some properties."""
        if alias == OWN or alias in self.by_alias:
            raise MessageRefused(Fault.ENTERED_TWICE, f"alias {alias} is described, but is there already")
        if alias not in self._announced:
            raise MessageRefused(Fault.UNKNOWN_ENTITY, f"alias {alias} is described, but was not announced")
        entity, schema, remembered, turn = self._announced[alias]
        number, rest = take_number(data)
        position, direction, rest = take_place(rest)
        layout = schema.other_client_layout
        some = layout.decode_some(rest)
        for index in some:
            check_audience(schema, index, is_own=False, entity=entity)
        known = layout.new_values() if remembered is None else remembered.values
        values = [some.get(index, value) for index, value in enumerate(known)]
        del self._announced[alias]
        seen = Seen(entity, schema, State(layout, None, values), position, direction, alias, number, turn)
        seen.enter(self.places, are_moves_asked=self._asks_moves(schema))
        self.others[entity] = self.by_alias[alias] = seen
        return Entered(seen)

    def leave(self, alias: int) -> Iterator[Left]:
        """The entity with this alias has left."""
        if alias not in self.by_alias and alias not in self._announced:
            raise MessageRefused(Fault.UNKNOWN_ENTITY, f"alias {alias} leaves, but is nobody's")
        self._turns.end()
        yield from self._forget(alias)

    def forget_all(self) -> Iterator[Left]:
        """All other entities have left."""
        self._turns.end()
        for alias in [*(each.alias for each in self.others.values()), *self._announced]:
            yield from self._forget(alias)

    def begin_anew(self) -> None:
        """The next body has a new witness: all aliases are free, and nothing is remembered."""
        self._resting.clear()
        self._remembered.clear()

    def _forget(self, alias: int) -> Iterator[Left]:
        self._released.append(alias)
        self._resting.add(alias)
        announced = self._announced.pop(alias, None)
        if announced is not None:
            self._wants.pop(announced.entity, None)
            self._remember(announced.entity, announced.remembered)
            return
        seen = self.by_alias.pop(alias)
        del self.others[seen.id]
        seen.leave()
        seen.state.release()
        self._remember(seen.id, _Remembered(seen.schema, seen.number, seen.state.values()))
        yield Left(seen)

    def _remember(self, entity: int, remembered: _Remembered | None) -> None:
        if remembered is not None:
            self._remembered[entity] = remembered
            if len(self._remembered) > REMEMBERED_MAX:
                del self._remembered[next(iter(self._remembered))]
