"""Where a class was written: the file, and the lines of what its body declares; and the mistakes found there.

A class has no line numbers of its attributes at run time, so the file is read once more, with `ast`. A class is found
by its qualified name; of two with the same name, by `__firstlineno__` if Python has it, else the last one is taken,
which is the one that the module has in the end.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terrazzo.schema.model import SourcePlace
from terrazzo.schema.report import Report

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class AlreadyReported(Exception):
    """Something declared cannot be used because of a mistake elsewhere, which is noted already."""


class Mistake(Exception):
    """A mistake in a declaration: its kind and what to do. The code that catches it adds the line."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class ClassLines:
    """The lines of one class: of the class statement, and of each name in its body, in order of writing."""

    file: str
    line: int
    names: dict[str, list[int]] = field(default_factory=dict)
    arguments: dict[tuple[str, str], int] = field(default_factory=dict)
    """(method, argument) → line."""

    def place(self, name: str | None = None, argument: str | None = None) -> SourcePlace:
        """Where the class, a name of its body or an argument of a method was written."""
        if name is not None and argument is not None and (name, argument) in self.arguments:
            return SourcePlace(self.file, self.arguments[name, argument])
        if name is not None and name in self.names:
            return SourcePlace(self.file, self.names[name][-1])
        return SourcePlace(self.file, self.line)


class Sources:
    """Reads the files of the classes it is asked about, each once, and notes the problems found there."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self.report = Report()
        self._trees: dict[str, ast.Module] = {}
        self._bodies: dict[type[Any], ClassLines] = {}

    def body(self, cls: type[Any]) -> ClassLines:
        """The lines of a class."""
        if cls not in self._bodies:
            self._bodies[cls] = self._read(cls)
        return self._bodies[cls]

    def node(self, cls: type[Any]) -> ast.ClassDef | None:
        """The statement that made a class; None where its source cannot be read."""
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        return None if file is None else self._find(cls, file)

    def used_names(self) -> set[str]:
        """The attributes that the files read so far take from something, and the words in their strings."""
        found = set()
        for tree in self._trees.values():
            for each in ast.walk(tree):
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load):
                    found.add(each.attr)
                elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
                    found.add(each.value)
        return found

    def error(self, place: SourcePlace, kind: str, message: str) -> None:
        """Note a mistake; the same one found again through another class is noted once."""
        self.report.error(place, kind, message, subject=message)

    def name_of(self, path: Path, module: str = "") -> str:
        """A file as messages name it: relative to the game's root, else to where its top package lies."""
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        depth = len(module.split(".")) + (path.stem == "__init__")
        return Path(*path.parts[-depth:]).as_posix()

    def _read(self, cls: type[Any]) -> ClassLines:
        file = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if file is None:
            return ClassLines(f"<{cls.__module__}>", 0)
        name = self.name_of(Path(file), cls.__module__)
        node = self._find(cls, file)
        if node is None:
            return ClassLines(name, 0)
        body = ClassLines(name, node.lineno)
        for statement in node.body:
            for declared in _names(statement):
                body.names.setdefault(declared, []).append(statement.lineno)
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                given = statement.args
                for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                    if arg is not None:
                        body.arguments[statement.name, arg.arg] = arg.lineno
        return body

    def _find(self, cls: type[Any], file: str) -> ast.ClassDef | None:
        scopes: list[ast.Module | Definition] = [self._tree(file)]
        for name in cls.__qualname__.replace(".<locals>", "").split("."):
            scopes = [found for scope in scopes for found in _scopes(scope.body) if found.name == name]
        found = [scope for scope in scopes if isinstance(scope, ast.ClassDef)]
        first_line = getattr(cls, "__firstlineno__", None)
        return next((each for each in found if each.lineno == first_line), found[-1] if found else None)

    def _tree(self, file: str) -> ast.Module:
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse(Path(file).read_bytes())
            except (OSError, SyntaxError, ValueError):
                # The file changed or was deleted since it was imported: problems are then reported without lines.
                self._trees[file] = ast.Module([], [])
        return self._trees[file]


def _names(statement: ast.stmt) -> list[str]:
    """The names that one statement of a class body gives a value or a type to."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign):
        return [statement.target.id] if isinstance(statement.target, ast.Name) else []
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def _scopes(statements: list[ast.stmt]) -> Iterator[Definition]:
    """The classes and functions defined by statements, also under `if`, `try` and `with`."""
    for statement in statements:
        if isinstance(statement, Definition):
            yield statement
        else:
            yield from (each for each in ast.walk(statement) if isinstance(each, Definition))
