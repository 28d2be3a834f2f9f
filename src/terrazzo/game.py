"""A game as the apps see it: its schema, the classes of its parts, its spaces, and its few policies.

A game's package says what it has beyond its entity types in one object:

    GAME = Game(
        player=Avatar,                                       # what somebody who logs in becomes
        spaces=[Space("plaza", bounds=(-200, -200, 200, 200)), Space("hall", bounds=(-50, -50, 50, 50))],
        on_ready=populate,                                   # called once, on a BaseApp, when the spaces are there
    )
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from terrazzo.errors import DefinitionError, Problem
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.classes.package import entity_types, read_package
from terrazzo.schema.classes.parts import Part
from terrazzo.schema.model import EntitySchema, Schema, Side

Bounds = tuple[float, float, float, float]
"""Least x and z, greatest x and z."""


@dataclass(frozen=True)
class Space:
    """One continuous plane."""

    name: str
    bounds: Bounds = (-500.0, -500.0, 500.0, 500.0)


@dataclass(frozen=True)
class Game:
    """What a game says of itself."""

    player: Any
    """The entity type class that a client logs in as."""
    spaces: Sequence[Space]
    on_ready: Callable[[Any], None] | None = None
    """Called once in the life of a cluster with the BaseApp's `Server`: make what should be there from the start."""
    allow_new_players: bool = True
    """Whether an unknown name may be created, with the password given."""
    area_radius_m: float = 80.0
    """How far a client sees, unless its entity says otherwise (`set_aoi_radius`)."""
    area_hysteresis_m: float = 5.0
    """So much further out than it came in an entity leaves the area again."""
    ghost_distance_m: float = 100.0
    """How far from its cell an entity still has ghosts; the most that an area's radius can be."""
    top_speed: float = 20.0
    """Metres a second; a client that moves faster is put back."""


@dataclass(frozen=True)
class LoadedGame:
    """A game ready to be run: what every app of its cluster is given."""

    schema: Schema
    policy: Game
    parts: dict[str, dict[Side, type[Part]]]
    """The classes of the parts, by the name of the entity type."""

    @cached_property
    def player(self) -> EntitySchema:
        """What a client logs in as."""
        return self.schema[self.policy.player.__name__]


def load_game(path: str | Path) -> LoadedGame:
    """The game at a path; raises DefinitionError with everything that is wrong with it."""
    loaded, modules = read_package(path)
    schema = loaded.checked()
    games = [value for module in modules.values() for value in vars(module).values() if isinstance(value, Game)]
    if not games:
        message = "no module of the game makes a Game: write GAME = Game(player=…, spaces=[Space(…)])"
        raise DefinitionError([Problem(str(path), 0, "game without policy", message)])
    policy = games[0]
    _check_policy(policy, schema, str(path))
    return LoadedGame(schema, policy, parts_of(entity_types(modules)))


def parts_of(classes: Sequence[type[EntityType]]) -> dict[str, dict[Side, type[Part]]]:
    """The classes of the parts of these entity types; one that a game does not write is the engine's own."""
    return {each.__name__: {side: parts[0] for side, parts in each._parts.items() if parts} for each in classes}


def _check_policy(policy: Game, schema: Schema, path: str) -> None:
    wrong = []
    name = getattr(policy.player, "__name__", repr(policy.player))
    if name not in schema.by_name:
        wrong.append(f"player={name} is no entity type of the game; it has {', '.join(schema.by_name)}")
    if not policy.spaces:
        wrong.append("spaces=[] leaves nobody a place to be: give at least one Space")
    names = [each.name for each in policy.spaces]
    wrong += [f"two spaces are called {each}" for each in sorted({each for each in names if names.count(each) > 1})]
    wrong += [
        f"the bounds of the space {each.name} are empty: they are (least x, least z, greatest x, greatest z)"
        for each in policy.spaces
        if not (each.bounds[0] < each.bounds[2] and each.bounds[1] < each.bounds[3])
    ]
    if policy.ghost_distance_m < policy.area_radius_m:
        wrong.append("ghost_distance_m must be at least area_radius_m, or clients would not see over a border")
    if wrong:
        raise DefinitionError([Problem(path, 0, "bad game policy", each) for each in wrong])
