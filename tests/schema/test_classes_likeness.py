"""What Python takes in silence and is hardly meant: modules left out, misspelt hooks, properties and types."""

from __future__ import annotations

from pathlib import Path

import pytest

from terrazzo import load_package
from terrazzo.game import load_game
from tests.schema.test_classes_package import names, write

TOP = "from terrazzo import *\n"
FLAG = TOP + "class Flag(EntityType):\n    captures: UInt8 = prop(ALL_CLIENTS)\n"
CELL = FLAG + "class FlagCell(Cell, of=Flag):\n"


def problems(tmp_path: Path, code: str, *, kind: str = "errors") -> list[tuple[int, str, str]]:
    loaded = load_package(write(tmp_path, game=code))
    return [(each.line, each.kind, each.message) for each in getattr(loaded, kind)]


# Modules that nothing imports.


def test_module_with_parts_joins_the_game_by_itself(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "garden",
        __init__="",
        entities=TOP + "class Gardener(EntityType): ...\n",
        gardener=TOP + "from .entities import Gardener\nclass GardenerBase(Proxy, of=Gardener): ...\n",
        game=TOP + "from .entities import Gardener\nGAME = Game(player=Gardener, spaces=[Space('a')])\n",
    )
    assert {side.value for side in load_game(folder).parts["Gardener"]} == {"base"}


def test_modules_that_declare_nothing_are_not_imported(tmp_path: Path) -> None:
    never = "raise SystemError('imported')\n"
    part = "from game import A\nfrom terrazzo import Cell\nclass ACell(Cell, of=A): ...\n"
    folder = write(
        tmp_path, game=TOP + "class A(EntityType): ...\n", script=never + "class B: ...\n",
        _old=never + part, test_game=never + part, conftest=never + part,
    )  # fmt: skip
    write(folder / "tests", __init__=never, parts=never + part)
    write(folder / "no_package", parts=never + part)
    assert names(folder) == ["A"]


def test_packages_inside_are_searched_and_their_order_is_that_of_names(tmp_path: Path) -> None:
    entity = TOP + "class {}(EntityType): ...\n"
    folder = write(tmp_path / "zoo", __init__="", game=entity.format("Keeper"), b=entity.format("Bear"))
    write(folder / "a", __init__="", wolf=entity.format("Wolf"))
    assert names(folder) == ["Keeper", "Wolf", "Bear"]


def test_syntax_error_in_a_module_with_parts_is_reported(tmp_path: Path) -> None:
    part = "from terrazzo import Cell\nclass ACell(Cell, of=A)\n    pass\n"
    [problem] = load_package(write(tmp_path, game=TOP + "class A(EntityType): ...\n", part=part)).errors
    assert (problem.file, problem.line, problem.kind) == ("part.py", 2, "malformed Python")


# Hooks.


def test_misspelt_hook_is_an_error(tmp_path: Path) -> None:
    [(line, kind, message)] = problems(tmp_path, CELL + "    def on_timr(self, number): ...\n")
    assert (line, kind) == (5, "unknown hook")
    assert message.endswith("would never call FlagCell.on_timr: did you mean on_timer?")


def test_unknown_hook_is_a_warning_that_lists_what_there_is(tmp_path: Path) -> None:
    code = CELL + "    def on_player_joined(self): ...\n"
    assert problems(tmp_path, code) == []
    [(line, kind, message)] = problems(tmp_path, code, kind="warnings")
    assert (line, kind) == (5, "unknown hook")
    assert "on_timer" in message


def test_misspelt_callback_of_a_property_is_an_error(tmp_path: Path) -> None:
    code = FLAG + "class FlagClient(Client, of=Flag):\n    def set_capturs(self, old): ...\n    def set_up(self): ...\n"
    [(line, _, message)] = problems(tmp_path, code)
    assert (line, message.endswith("did you mean set_captures?")) == (5, True)


@pytest.mark.parametrize(
    "body",
    [
        "    def on_timer(self, number): ...\n",
        "    def on_timr(self): ...\n    def go(self):\n        self.on_timr()\n",
        "    def on_timr(self): ...\n    def go(self):\n        getattr(self, 'on_timr')()\n",
        "    @remote\n    def on_timr(self): ...\n",
        "    on_times = 3\n",
    ],
)
def test_what_the_game_calls_itself_is_its_own_business(tmp_path: Path, body: str) -> None:
    assert problems(tmp_path, CELL + body) == []
    assert problems(tmp_path, CELL + body, kind="warnings") == []


# Attributes.


def test_attribute_that_looks_like_a_property_is_a_warning(tmp_path: Path) -> None:
    code = CELL + "    def go(self):\n        self.captures = 4\n        self.capturs = 5\n"
    assert problems(tmp_path, code) == []
    [(line, kind, message)] = problems(tmp_path, code, kind="warnings")
    assert (line, kind) == (7, "attribute like a property")
    assert message.startswith("self.capturs is no property; did you mean captures?")


@pytest.mark.parametrize(
    "body",
    [
        "    capturs = 0\n    def go(self):\n        self.capturs = 5\n",
        "    capturs: int\n    def go(self):\n        self.capturs = 5\n",
        "    def go(self):\n        self._captures = 5\n",
        "    def go(self, other):\n        self.height = 5\n        other.capturs = 5\n",
    ],
)
def test_declared_attributes_and_unlike_ones_are_fine(tmp_path: Path, body: str) -> None:
    assert problems(tmp_path, CELL + body, kind="warnings") == []


# Types.


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (TOP + "class A(EntityType):\n    x: Uint8 = prop(BASE)\n", "Uint8 is not defined; did you mean UInt8?"),
        (
            "from __future__ import annotations\n" + TOP + "class A(EntityType):\n    x: Uint8 = prop(BASE)\n",
            "Uint8 is not defined; did you mean UInt8?",
        ),
        ("from terrazzo import Uint8\n", "terrazzo has no Uint8; did you mean UInt8?"),
        ("import terrazzo\nx = terrazzo.Uint8\n", "terrazzo has no Uint8; did you mean UInt8?"),
        (
            "from terrazzo import EntityType\nclass A(EntityType):\n    x: int = prop()\n",
            "prop is not defined: write from terrazzo import prop",
        ),
        (
            "from terrazzo import EntityType, prop, BASE\nclass A(EntityType):\n    x: Uint8 = prop(BASE)\n",
            "Uint8 is not defined; did you mean UInt8? Write from terrazzo import UInt8",
        ),
    ],
)
def test_misspelt_name_is_explained(tmp_path: Path, code: str, words: str) -> None:
    [(line, kind, message)] = problems(tmp_path, code)
    assert words in message
    assert kind in ("unknown name", "unknown type")
    assert line > 0


def test_player_without_a_base_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path, game=TOP + "class A(EntityType): ...\nGAME = Game(player=A, spaces=[Space('a')])\n")
    [problem] = load_game(tmp_path).warnings
    assert (problem.file, problem.line, problem.kind) == ("game.py", 2, "player without base")
