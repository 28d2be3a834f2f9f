"""A name of a class or a type has one meaning in the whole source.

Benchmarks and simulations are left out: the game of each of them has types of its own, as every game has.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "terrazzo"
LEFT_OUT = ("bench", "sim")

TWINS = {
    "Transition": "the row of a table, in each file with the table of a state machine",
    "Ahead": "the same act, for the channels of a router and for the clients of a CellApp",
    "Base": "what a game derives from, and its declaration", "Proxy": "likewise", "Cell": "likewise",
    "Client": "likewise",
    "Int32": "what a game declares, and what a message between apps declares", "UInt32": "likewise",
    "Position": "three coordinates, for client and server", "Direction": "three angles, likewise",
    "Point": "three coordinates, for a kernel and for riders",
    "Manner": "how an event is sent: with names, and as a kernel takes it",
    "Channel": "the client channel and the entity channel: two protocols, in `wire/client` and `wire/entity`",
    "ToClient": "the kinds of messages to a client, and the message that brings such to its BaseApp",
    "Body": "the body of a packet (a kernel's), and of an entity in a cell",
    "Entry": "an entry of a packed message (a kernel's), and the answer to FindEntry",
    "Place": "a place in a packed message (a kernel's), and the app where a part lives",
    "Row": "a row of the bytes that a kernel reads or writes",
}  # fmt: skip
"""Names that stand twice, and what each of them means."""


def names_in(path: Path) -> set[str]:
    """The classes and the aliases of types at the top of a module, but for private ones and type variables."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    return {each for each in found if each[0] != "_" and not each.isupper()}


def modules_by_name() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] not in LEFT_OUT:
            for name in names_in(path):
                found[name].append(str(place))
    return found


def test_name_of_a_class_stands_once():
    twins = {name: places for name, places in modules_by_name().items() if len(places) > 1 and name not in TWINS}
    assert not twins, "give each meaning a name of its own:\n" + "\n".join(f"  {n}: {p}" for n, p in twins.items())


def test_allowed_twins_are_twins():
    found = modules_by_name()
    assert [name for name in TWINS if len(found[name]) < 2] == []


def test_classes_and_aliases_are_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("class One:\n    class Inner: ...\n\n\nTwo = One | None\nLIMIT = 1\n_Three = One\nT = One\n")
    assert names_in(module) == {"One", "Two"}
