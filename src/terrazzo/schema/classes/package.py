"""A game on disk: finds its modules, imports them, builds the schema of the entity types they define.

    mygame/__init__.py     a package: imported as `mygame`, with the folder around it on the path; then, where
                           they exist, `mygame.entities` and `mygame.game`
    mygame/entities.py     a folder that is no package: `entities` and `game` are imported, with the folder
                           itself on the path
    entities.py            one file

Of a package or folder, every other module that declares entity types or parts is imported as well (`discovery.py`),
after these and in the order of their names. So a part joins the game wherever it stands.

The import path is restored when the import is done. An exception of the game's own code becomes a problem with its file
and line. There is one game at a time: loading drops the modules of the game before, so that changed files are read
again.

The type ids follow the order in which the classes were defined. Classes with `abstract=True` get none.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from terrazzo.errors import Problem
from terrazzo.schema.classes.build import build
from terrazzo.schema.classes.declare import EntityType
from terrazzo.schema.classes.discovery import declaring_modules
from terrazzo.schema.classes.misnamed import explain_name
from terrazzo.schema.classes.parts import EntityPart
from terrazzo.schema.classes.sources import Sources
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import Schema

MODULES = ("entities", "game")
"""The modules of a game's folder that are looked into."""

_MARK = "__terrazzo_game__"


@dataclass(frozen=True)
class GamePackage:
    """Where a game is: the folder its files are named by, that to import from, and the modules to import."""

    root: Path
    import_from: Path
    modules: tuple[str, ...]
    prefix: str | None = None
    """What the names of its other modules begin with; None: it is one file."""


def load_package(path: str | Path) -> Loaded:
    """Import a game and build its schema. Never raises for what is in it: the result lists all mistakes."""
    game = _find(Path(path).resolve())
    if isinstance(game, Problem):
        return Loaded(Schema(), [game])
    _forget(game)
    known = set(sys.modules)
    problem = _import(game)
    modules = {name: each for name, each in sys.modules.items() if name not in known and _is_below(each, game.root)}
    for each in modules.values():
        setattr(each, _MARK, True)
    if problem is not None:
        return Loaded(Schema(), [problem], modules=modules)
    loaded = build(entity_types(modules), root=game.root)
    return replace(loaded, warnings=[*loaded.warnings, *_idle_parts(modules, game.root)], modules=modules)


def _find(path: Path) -> GamePackage | Problem:
    if path.suffix == ".py" and path.is_file():
        return GamePackage(path.parent, path.parent, (path.stem,))
    present = tuple(each for each in MODULES if (path / f"{each}.py").is_file() or (path / each).is_dir())
    if (path / "__init__.py").is_file():
        if not path.name.isidentifier():
            return Problem(path.name, 0, "bad name", "the folder of a package is imported: give it a Python name")
        return GamePackage(
            path, path.parent, (path.name, *(f"{path.name}.{each}" for each in present)), f"{path.name}."
        )
    if present:
        return GamePackage(path, path, present, "")
    message = "there is no game here: it needs __init__.py, entities.py or game.py, or be a .py file itself"
    return Problem(path.name, 0, "not a game", message)


def _forget(game: GamePackage) -> None:
    """Drop the modules of the game loaded before, or of this one if it was imported in another way."""
    tops = {each.partition(".")[0] for each in game.modules}
    for name, module in list(sys.modules.items()):
        if hasattr(module, _MARK) or (name.partition(".")[0] in tops and _is_below(module, game.root)):
            del sys.modules[name]


def _import(game: GamePackage) -> Problem | None:
    taken = sorted(sys.modules.keys() & set(game.modules))
    if taken:
        message = f"Python has another module named {taken[0]} already: give the game another name"
        return Problem(game.root.name, 0, "bad name", message)
    with _lent_path(game.import_from):
        for name in _names_of(game):
            try:
                importlib.import_module(name)
            except (Exception, SystemExit) as problem:
                return _explain(problem, game.root)
    return None


def _names_of(game: GamePackage) -> Iterator[str]:
    yield from game.modules
    if game.prefix is not None:
        yield from (each for each in declaring_modules(game.root, game.prefix) if each not in sys.modules)


@contextmanager
def _lent_path(folder: Path) -> Iterator[None]:
    """Lets a folder be imported from, and nothing else be changed by it."""
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _is_below(module: ModuleType | None, root: Path) -> bool:
    """True for a module in the game's folder, unless a package installed there (in a virtual environment)."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not Path(file).is_relative_to(root):
        return False
    return "site-packages" not in Path(file).relative_to(root).parts


def _explain(problem: BaseException, root: Path) -> Problem:
    """The problem that an exception in a game's code is: at the last line of the game that led to it."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return Problem(_name(Path(problem.filename), root), problem.lineno or 0, "malformed Python", problem.msg)
    frames = [each for each in traceback.extract_tb(problem.__traceback__) if Path(each.filename).is_relative_to(root)]
    file, line = (_name(Path(frames[-1].filename), root), frames[-1].lineno or 0) if frames else (root.name, 0)
    misnamed = explain_name(problem)
    if misnamed:
        return Problem(file, line, "unknown name", misnamed)
    if isinstance(problem, ImportError):
        return Problem(file, line, "missing module", f"{problem}: {_what_to_import(problem, root)}")
    return Problem(file, line, "exception in game code", f"{type(problem).__name__}: {problem}")


def _what_to_import(problem: ImportError, root: Path) -> str:
    """A module of the game is imported with a dot; any other is to be installed."""
    name = (problem.name or "").partition(".")[0]
    if name and ((root / f"{name}.py").is_file() or (root / name / "__init__.py").is_file()):
        return f"it is a module of the game: write from .{name} import …, or from {root.name}.{name} import …"
    return "install it, or correct the import"


def _name(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name


def entity_types(modules: Mapping[str, ModuleType]) -> list[type[EntityType]]:
    """The entity types that the game's modules define, in order of definition."""
    found = {each for each in _classes(modules) if issubclass(each, EntityType) and not each._abstract}
    return sorted(found, key=lambda each: each._sequence)


def _idle_parts(modules: dict[str, ModuleType], root: Path) -> Iterator[Problem]:
    """Warnings of parts that no entity type has and no other part derives from: `of` is missing."""
    sources = Sources(root)
    for cls in _classes(modules):
        if issubclass(cls, EntityPart) and cls._of is None and not cls.__subclasses__():
            place = sources.body(cls).place()
            message = f"{cls.__name__} belongs to no entity type: write class {cls.__name__}(…, of=…)"
            yield Problem(place.file, place.line, "part without of", message)


def _classes(modules: Mapping[str, ModuleType]) -> Iterator[type[Any]]:
    for name, module in modules.items():
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield value
