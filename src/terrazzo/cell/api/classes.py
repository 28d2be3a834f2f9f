"""The classes of a game for the cell part of an entity type: its own, that of its views, and the hooks it overrides."""

from __future__ import annotations

from terrazzo.cell.api.cell import Cell
from terrazzo.cell.api.views import view_class_of
from terrazzo.cell.core.hooks import HOOKS, has_hook
from terrazzo.cell.core.kind import PartClasses
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.schema.classes.parts import bind
from terrazzo.schema.model import EntitySchema, Side


def classes_of(game: LoadedGame, schema: EntitySchema) -> PartClasses:
    """What `EntityKind` needs of the game."""
    part_class = part_class_of(game, schema)
    hooks = frozenset(name for name in HOOKS if has_hook(part_class, name))
    return PartClasses(part_class, view_class_of(part_class, schema), hooks)


def part_class_of(game: LoadedGame, schema: EntitySchema) -> type[Cell]:
    """The part class of an entity type; a type without one has properties and a place, and no behaviour."""
    found = game.parts.get(schema.name, {}).get(Side.CELL) or type(f"{schema.name}Cell", (Cell,), {})
    if not issubclass(found, Cell):
        raise UsageError(f"{found.__name__} derives from a bare part: derive it from terrazzo.Cell")
    if found._entity is not schema:
        bind(found, schema)
    return found
