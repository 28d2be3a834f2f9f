"""A game as the apps see it: its schema, the classes of its parts, its spaces, and its few policies.

A game's package declares what it has beyond its entity types in one object:

    GAME = Game(
        player=Avatar,                                       # the entity type of a player
        spaces=[Space("plaza", bounds=(-200, -200, 200, 200)), Space("hall", bounds=(-50, -50, 50, 50))],
        on_ready=populate,                                   # called once, on a BaseApp, when the spaces are there
    )
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from terrazzo.errors import Problem, UsageError, shown
from terrazzo.schema.arguments import plain_number, text
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.classes.package import entity_types, load_package
from terrazzo.schema.classes.parts import EntityPart, Proxy
from terrazzo.schema.classes.sources import Sources
from terrazzo.schema.load import NO_SUCH_PATH
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import EntitySchema, Schema, Side
from terrazzo.world.place import PLACE_MAX

NAME_MAX = 1000
"""Characters of the name of a space."""
INSTANCE_MARK = "#"
"""Only the names of instances have it: of spaces that the code of the game makes (`create_space`)."""
INSTANCE_NAME_MAX = 200
"""Characters of the name of an instance."""
RECONNECT_S_MAX = 86_400.0
"""The longest time that a game can give a client to resume."""
Bounds = tuple[float, float, float, float]
"""Least x and z, greatest x and z."""
DATA_KEYS_MAX = 64
DATA_BYTES_MAX = 8192
"""Of the data of a space: bytes of all keys and encoded values together."""
DEFAULT_BOUNDS: Bounds = (-500.0, -500.0, 500.0, 500.0)


def is_instance_name(name: str) -> bool:
    """Whether a name is that of an instance, which may have been ended, or may never have been."""
    return INSTANCE_MARK in name and len(name) <= INSTANCE_NAME_MAX


@dataclass(frozen=True)
class Space:
    """One continuous plane."""

    name: str
    bounds: Bounds = DEFAULT_BOUNDS

    def __post_init__(self) -> None:
        if isinstance(self.name, str):
            object.__setattr__(self, "name", str.__str__(self.name))
        if isinstance(self.bounds, Sequence) and not isinstance(self.bounds, str):
            object.__setattr__(self, "bounds", tuple(map(_plain, self.bounds)))


@dataclass(frozen=True)
class Game:
    """The declaration of a game, beyond its entity types."""

    player: Any
    """The entity type class that a client logs in as."""
    spaces: Sequence[Space]
    on_ready: Callable[[Any], None] | None = None
    """Called once in the life of a cluster with the BaseApp's `Server`: make what should be there from the start."""
    allow_new_players: bool = True
    """Whether an unknown name may be created, with the password given."""
    area_radius_m: float = 80.0
    """How far a client sees, unless the code of its entity sets another radius (`set_aoi_radius`)."""
    area_hysteresis_m: float = 5.0
    """An entity leaves an area when it is this much further away than the radius at which it enters."""
    ghost_distance_m: float = 100.0
    """How far from its cell an entity still has ghosts; the most that an area's radius can be."""
    top_speed: float = 20.0
    """Metres a second; a client that moves faster is put back."""
    reconnect_s: float = 30.0
    """Seconds in which a client that lost its connection may resume without a login; 0: it may not."""

    def __post_init__(self) -> None:
        for name in NUMBERS:
            object.__setattr__(self, name, _plain(getattr(self, name)))


NUMBERS = ("area_radius_m", "area_hysteresis_m", "ghost_distance_m", "top_speed", "reconnect_s")
"""The settings of a Game that are numbers."""


def _plain(value: Any) -> Any:
    """A number as a plain float; anything else is returned as it is, and reported by `policy_problems`."""
    plain = plain_number(value)
    return value if plain is None else plain


@dataclass(frozen=True)
class LoadedGame:
    """A game ready to be run: what every app of its cluster is given."""

    schema: Schema
    policy: Game
    parts: dict[str, dict[Side, type[EntityPart]]]
    """The classes of the parts, by the name of the entity type."""
    warnings: tuple[Problem, ...] = ()
    """What works, but is probably a mistake."""

    @cached_property
    def player(self) -> EntitySchema:
        """What a client logs in as."""
        return self.schema[self.policy.player.__name__]


def load_game(path: str | Path) -> LoadedGame:
    """The game at a path; raises DefinitionError with everything that is wrong with it."""
    path = Path(path)
    if not path.exists():
        raise UsageError(f"{path}: {NO_SUCH_PATH}")
    loaded = check_policy(load_package(path), path)
    schema, policy = loaded.checked(), policy_of(loaded)
    assert policy is not None
    return LoadedGame(schema, policy, parts_of(entity_types(loaded.modules)), tuple(loaded.warnings))


def check_policy(loaded: Loaded, path: Path) -> Loaded:
    """The same, with the problems of the game's `Game` object. Definition trees have no such object."""
    if loaded.errors or not loaded.modules:
        return loaded
    policy = policy_of(loaded)
    if policy is None:
        message = "no module of the game makes a Game: write GAME = Game(player=…, spaces=[Space(…)])"
        return replace(loaded, errors=[Problem(str(path), 0, "no Game", message)])
    warnings = [*loaded.warnings, *_player_warnings(policy, path)]
    return replace(loaded, errors=policy_problems(policy, loaded.schema, path), warnings=warnings)


def policy_of(loaded: Loaded) -> Game | None:
    """The `Game` object of a game, if its package has one."""
    values = (value for module in loaded.modules.values() for value in vars(module).values())
    return next((value for value in values if isinstance(value, Game)), None)


def parts_of(classes: Sequence[type[EntityType]]) -> dict[str, dict[Side, type[EntityPart]]]:
    """The classes of the parts of these entity types; for a part without a class of the game, the engine's own."""
    return {each.__name__: {side: parts[0] for side, parts in each._parts.items() if parts} for each in classes}


def policy_problems(policy: Game, schema: Schema, path: Path) -> list[Problem]:
    """The problems of a `Game` object."""
    wrong = [Problem(str(path), 0, "bad game policy", each) for each in _policy_mistakes(policy)]
    name = getattr(policy.player, "__name__", repr(policy.player))
    if name not in schema.by_name:
        message = f"player={name} is no entity type of the game; it has {', '.join(schema.by_name)}"
        wrong.append(Problem(str(path), 0, "bad game policy", message))
    else:
        wrong += _player_problems(policy.player, path)
    return wrong


def _policy_mistakes(policy: Game) -> Iterator[str]:
    if not isinstance(policy.spaces, Sequence) or not all(isinstance(each, Space) for each in policy.spaces):
        yield f"spaces is a list of Space(…), not {shown(policy.spaces)}"
        return
    if not policy.spaces:
        yield "spaces=[] leaves the players no space to be in: give at least one Space"
    wrong = [*_wrong_numbers(policy), *(problem for each in policy.spaces for problem in _wrong_space(each))]
    if wrong:
        yield from wrong
        return
    names = [each.name for each in policy.spaces]
    for name in sorted({each for each in names if names.count(each) > 1}):
        yield f"two spaces are called {name}"
    for each in policy.spaces:
        if not (each.bounds[0] < each.bounds[2] and each.bounds[1] < each.bounds[3]):
            problem = f"the bounds of the space {each.name} are empty"
            yield f"{problem}: they are (least x, least z, greatest x, greatest z)"
    if policy.on_ready is not None and not _takes_server(policy.on_ready):
        yield "on_ready is called with one argument, the Server: give a function that takes it"
    if inspect.iscoroutinefunction(policy.on_ready):
        yield "on_ready is called, not awaited: write def, not async def"
    if policy.ghost_distance_m < policy.area_radius_m:
        yield "ghost_distance_m must be at least area_radius_m, or clients would not see over a border"


def _wrong_numbers(policy: Game) -> Iterator[str]:
    for name in NUMBERS:
        value, most = getattr(policy, name), RECONNECT_S_MAX if name == "reconnect_s" else PLACE_MAX
        if type(value) is not float or not 0 <= value <= most:
            yield f"{name} is a number of 0 or more and at most {most:g}, not {shown(value)}"


def _wrong_space(space: Space) -> Iterator[str]:
    try:
        text(space.name, "the name of a Space", longest=NAME_MAX)
    except UsageError as problem:
        yield str(problem)
    if isinstance(space.name, str) and INSTANCE_MARK in space.name:
        yield f"the name {shown(space.name)} has a {INSTANCE_MARK}, as only spaces that are made at run time have"
    bounds: Any = space.bounds
    is_tuple = type(bounds) is tuple and len(bounds) == 4
    if not is_tuple or not all(type(each) is float and -PLACE_MAX <= each <= PLACE_MAX for each in bounds):
        what = f"four numbers of at most {PLACE_MAX:g} (least x, least z, greatest x, greatest z)"
        yield f"the bounds of the space {shown(space.name)} are {what}, not {shown(bounds)}"


def _takes_server(on_ready: Any) -> bool:
    try:
        inspect.signature(on_ready).bind(None)
    except ValueError:  # a callable that Python cannot look into
        return True
    except TypeError:
        return False
    return True


def _player_warnings(policy: Game, path: Path) -> Iterator[Problem]:
    """Warns of a player type without a base class of the game: such players log in, but never get a body."""
    player = policy.player
    if isinstance(player, type) and issubclass(player, EntityType) and not player._parts[Side.BASE]:
        place = Sources(path.resolve() if path.is_dir() else path.resolve().parent).body(player).place()
        message = (
            f"{player.__name__} is what players log in as, and no module has a base part for it, so nothing gives a "
            f"player a body: write class …(Proxy, of={player.__name__}) with a method on_client_ready"
        )
        yield Problem(place.file, place.line, "player without base", message)


def _player_problems(player: type[EntityType], path: Path) -> Iterator[Problem]:
    """The type of players must be one that a client can be connected to."""
    sources = Sources(path.resolve() if path.is_dir() else path.resolve().parent)
    for part in player._parts[Side.BASE][:1]:
        if not issubclass(part, Proxy):
            place = sources.body(part).place()
            message = f"{player.__name__} is what players log in as: derive {part.__name__} from Proxy, not from Base"
            yield Problem(place.file, place.line, "player without proxy", message)
    if player.server_only:
        place = sources.body(player).place("server_only")
        message = f"{player.__name__} is what players log in as: it needs a client part, leave server_only out"
        yield Problem(place.file, place.line, "player without client", message)
