"""Finds the modules of a game that declare something, so that the game need not import each of them itself.

A module declares something when one of its class statements has `of=…`, or derives from EntityType, Interface or
ComponentType. That is read from the source, without running it: scripts, tools and tests beside a game are not run.
A module or folder is left out if its name begins with `_`, `.` or `test`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

DECLARED = {"EntityType", "Interface", "ComponentType"}
_LEFT_OUT = ("_", ".", "test", "conftest")


def declaring_modules(folder: Path, prefix: str) -> Iterator[str]:
    """The modules in a folder, and in the packages below it, that declare something; by name, in a fixed order."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_LEFT_OUT) or not path.stem.isidentifier():
            continue
        if path.suffix == ".py" and path.is_file():
            if _declares(path):
                yield prefix + path.stem
        elif (path / "__init__.py").is_file():
            if _declares(path / "__init__.py"):
                yield prefix + path.name
            yield from declaring_modules(path, f"{prefix}{path.name}.")


def _declares(file: Path) -> bool:
    try:
        source = file.read_bytes()
        tree = ast.parse(source)
    except (OSError, ValueError):
        return False
    except SyntaxError:
        return b"terrazzo" in source and b"of=" in source  # importing it raises the syntax error
    return any(isinstance(each, ast.ClassDef) and _is_declaration(each) for each in ast.walk(tree))


def _is_declaration(node: ast.ClassDef) -> bool:
    names = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in node.bases}
    return bool(names & DECLARED) or any(each.arg == "of" for each in node.keywords)
