"""No large group of modules depends on itself: what a newcomer must understand at once stays small.

A knot is a strongly connected component of modules: from each of them, by imports, one gets to every other. Imports for
type checkers count: a reader follows them as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"
KNOT_MAX = 5

Graph = dict[str, set[str]]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def module_of(name: str, modules: Iterable[str]) -> str:
    """The module that an imported name is, or is in; empty when it is of another package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def graph() -> Graph:
    paths = {name_of(path): path for path in (SOURCES / "terrazzo").rglob("*.py")}
    return {
        name: {module_of(each, paths) for each in imported(ast.parse(path.read_text()))} - {"", name, "terrazzo"}
        for name, path in paths.items()
    }


def reached_from(start: str, edges: Graph) -> set[str]:
    found, left = set[str](), [start]
    while left:
        for each in edges.get(left.pop(), set()) - found:
            found.add(each)
            left.append(each)
    return found


def knots(edges: Graph) -> list[frozenset[str]]:
    """The strongly connected components of more than one module."""
    reached = {name: reached_from(name, edges) for name in edges}
    return list({frozenset(each for each in reached[name] if name in reached[each]) for name in edges} - {frozenset()})


def test_no_knot_has_more_than_five_modules():
    large = [sorted(knot) for knot in knots(graph()) if len(knot) > KNOT_MAX]
    assert not large, f"{len(large[0])} modules depend on each other: {', '.join(large[0])}"


def test_knots_are_found_as_components():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(map(sorted, knots(edges))) == [["a", "b", "c"], ["d", "e"]]
