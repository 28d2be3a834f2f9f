"""Names that are taken: what the engine has on a part, a game cannot have as well; hooks are for it to define."""

from __future__ import annotations

from pathlib import Path

import pytest

from terrazzo import (
    BASE,
    Base,
    Cell,
    EntityType,
    Int16,
    attach,
    build,
    load_package,
    prop,
)

TOP = "from terrazzo import *\n"
ENTITY = "class A(EntityType): ...\n"
CELL = ENTITY + "class B(Cell, of=A):\n"


def problems(folder: Path, code: str) -> list[tuple[str, str]]:
    """Kind and message of each problem; every one is reported at a line that ends in `#!`, and each such line has
    one."""
    file = folder / "game.py"
    file.write_text(TOP + code)
    marked = [number for number, line in enumerate((TOP + code).splitlines(), 1) if line.endswith("#!")]
    errors = load_package(file).errors
    assert [each.line for each in errors] == marked
    return [(each.kind, each.message) for each in errors]


@pytest.mark.parametrize("part", ["", "class B(Cell, of=A): ...\n"])
@pytest.mark.parametrize("name", ["id", "position", "space", "follow", "on_timer"])
def test_a_property_of_the_cell_may_not_have_a_name_of_the_engine(tmp_path: Path, name: str, part: str) -> None:
    code = f"class A(EntityType):\n    {name}: UInt8 = prop(ALL_CLIENTS) #!\n{part}"
    message = f"{name} is a name of the engine's Cell: call the property something else"
    assert problems(tmp_path, code) == [("name taken", message)]


@pytest.mark.parametrize(
    ("declared", "engine"),
    [
        ("client: UInt8 = prop(BASE) #!", "Proxy"),
        ("has_cell: UInt8 = prop(BASE) #!", "Proxy"),
        ("is_player: UInt8 = prop(BASE_AND_CLIENT) #!", "Client"),
        ("timer = component(Health) #!", "Cell"),
    ],
)
def test_nor_one_of_another_part_nor_a_component(tmp_path: Path, declared: str, engine: str) -> None:
    ((kind, message),) = problems(tmp_path, f"class Health(ComponentType): ...\nclass A(EntityType):\n    {declared}")
    assert (kind, f"engine's {engine}:" in message) == ("name taken", True)


def test_a_name_is_taken_only_on_the_part_that_holds_the_property(tmp_path: Path) -> None:
    code = "    follow: UInt8 = prop(BASE)\n    create_cell: UInt8 = prop(CELL_PRIVATE)\n    mro: UInt8 = prop(BASE)"
    assert problems(tmp_path, f"class A(EntityType):\n{code}") == []


@pytest.mark.parametrize(
    "code",
    [
        "    @exposed\n    def follow(self): ... #!",
        "    @remote\n    def timer(self): ... #!",
        "    teleport = 5 #!",
        "    def _walk(self): ... #!",
        "    @property\n    def position(self): ... #!",
    ],
)
def test_code_may_not_hide_what_the_engine_has(tmp_path: Path, code: str) -> None:
    ((kind, message),) = problems(tmp_path, CELL + code)
    assert (kind, "of the engine's Cell: call it something else" in message) == ("name taken", True)


def test_nor_the_code_of_a_mixin_or_a_component(tmp_path: Path) -> None:
    mixin = "class M(Cell):\n    def destroy(self): ... #!\n"
    health = "class Health(ComponentType):\n    yaw: UInt8 = prop(ALL_CLIENTS) #!\n"
    health += "class HealthCell(Cell, of=Health):\n    def timer(self): ... #!\n"
    code = f"{mixin}{health}class A(EntityType):\n    health = component(Health)\nclass B(M, of=A): ...\n"
    assert [kind for kind, _ in problems(tmp_path, code)] == ["name taken"] * 3


def test_hooks_and_everything_else_are_the_games(tmp_path: Path) -> None:
    code = """\
    count = 0
    def __init__(self): ...
    def on_timer(self, which): ...
    def on_move(self, *anything): ...
    def on_created(self, more=None): ...
    def on_something_else(self, a, b, c): ...
"""
    assert problems(tmp_path, CELL + code) == []


@pytest.mark.parametrize("given", ["self", "self, number, more", "self, *, number"])
def test_a_hook_must_take_what_the_engine_gives_it(tmp_path: Path, given: str) -> None:
    assert problems(tmp_path, f"{CELL}    def on_timer({given}): ... #!") == [
        ("bad hook", "the engine calls on_timer(self, number): define B.on_timer with these arguments")
    ]


def test_a_hook_that_answers_cannot_wait(tmp_path: Path) -> None:
    fine = "    async def on_timer(self, number): ...\n"
    assert problems(tmp_path, f"{CELL}{fine}    async def on_move(self, position): ... #!") == [
        ("bad hook", "the engine needs the answer of B.on_move at once: write def, not async def")
    ]


class Hero(EntityType):
    position: Int16 = prop(BASE)
    greeting: Int16 = prop(BASE)


class HeroCell(Cell, of=Hero):
    def greeting(self) -> str:
        return "hello"


class HeroBase(Base, of=Hero):
    pass


HERO = build([Hero]).checked()["Hero"]


def test_a_property_of_another_part_takes_no_name_from_this_one() -> None:
    assert isinstance(vars(Cell)["position"], property)
    assert "position" not in vars(HeroCell)
    assert attach(HeroCell, HERO).greeting() == "hello"
    assert attach(HeroBase, HERO).greeting == 0
