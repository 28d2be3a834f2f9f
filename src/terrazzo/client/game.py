"""What all clients of one game share: the schema, its numbers and digest, and a class for each type's client part.

The class of a type is made here, from the game's own (if it has one) and the engine's `Client`: so a type that the game
has no class for can be looked at and called all the same, and a game's class needs nothing but its own methods.
"""

from __future__ import annotations

from collections.abc import Mapping

from terrazzo.client.parts import Client
from terrazzo.game import LoadedGame
from terrazzo.schema.classes.parts import EntityPart, bind
from terrazzo.schema.digest import digest
from terrazzo.schema.model import EntitySchema, Schema, Side
from terrazzo.sync.protocol import MethodTable


class ClientGame:
    """One game, ready for any number of clients."""

    def __init__(self, schema: Schema, parts: Mapping[str, type[EntityPart]] | None = None) -> None:
        """`parts`: the game's client classes, by the name of their entity type."""
        self.schema = schema
        self.methods = MethodTable(schema)
        self.digest = digest(schema)
        given = parts or {}
        self.classes = {each.name: _client_class(each, given.get(each.name)) for each in schema.entities}
        self._move_callbacks = {name for name, cls in self.classes.items() if cls.on_moved is not Client.on_moved}

    def asks_moves(self, schema: EntitySchema) -> bool:
        """Whether the game has code for moves of entities of this type (`on_moved`)."""
        return schema.name in self._move_callbacks

    @classmethod
    def of(cls, game: LoadedGame) -> ClientGame:
        """From a game as the servers have it."""
        parts = {name: sides[Side.CLIENT] for name, sides in game.parts.items() if Side.CLIENT in sides}
        return cls(game.schema, parts)


def _client_class(entity: EntitySchema, given: type[EntityPart] | None) -> type[Client]:
    bases = (Client,) if given is None else (given, Client)
    made: type[Client] = type(f"{entity.name}Client", bases, {})
    if (
        made._entity is not entity
    ):  # A class that a loader made for this schema has its properties, and its components'.
        bind(made, entity)
    return made
