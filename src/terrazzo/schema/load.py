"""Loads what is at a path: a definition tree or a game written in Python."""

from __future__ import annotations

from pathlib import Path

from terrazzo.errors import Problem
from terrazzo.schema.classes.package import load_package
from terrazzo.schema.deffiles import load_tree
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import Schema

NO_SUCH_PATH = "there is no such file or folder"


def load(path: str | Path) -> Loaded:
    """Read the definitions at `path` by the front door they were written for."""
    path = Path(path)
    if not path.exists():
        return _nothing(path, NO_SUCH_PATH)
    if path.is_dir():
        if path.name == "entity_defs" or any((path / each).is_dir() for each in ("entity_defs", "scripts/entity_defs")):
            return load_tree(path)
        if any(path.glob("*.py")):
            return load_package(path)
    elif path.suffix == ".py":
        return load_package(path)
    return _nothing(
        path,
        "this is neither a definition tree (a folder with entity_defs/ and entities.xml) nor a game (a folder with "
        "Python files, or one Python file)",
    )


def _nothing(path: Path, message: str) -> Loaded:
    return Loaded(Schema(), [Problem(str(path), 0, "no definitions", message)])
