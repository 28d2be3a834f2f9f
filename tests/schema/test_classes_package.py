"""Games on disk: how they are found and imported, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import terrazzo
from terrazzo import load_package

HERE = Path(__file__).parent
ENTITY = "from terrazzo import *\nclass {}(EntityType):\n    x: UInt8 = prop(BASE, default={})\n"


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def names(path: Path) -> list[str]:
    return [each.name for each in load_package(path).checked().entities]


def test_a_file(tmp_path: Path) -> None:
    write(tmp_path, world=ENTITY.format("A", 1) + "class B(A): ...\n")
    assert names(tmp_path / "world.py") == ["A", "B"]


def test_a_folder_with_entities_and_game(tmp_path: Path) -> None:
    write(
        tmp_path,
        monsters=ENTITY.format("Wolf", 1),
        entities="from monsters import Wolf\n" + ENTITY.format("Avatar", 1),
        game=ENTITY.format("Door", 1),
    )
    assert names(tmp_path) == ["Wolf", "Avatar", "Door"]


def test_a_package(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "some_world",
        __init__=ENTITY.format("First", 1),
        monsters=ENTITY.format("Wolf", 1),
        entities="from .monsters import Wolf\nfrom terrazzo import *\nclass Dog(Wolf): ...\n",
        unrelated="raise SystemError('never imported')\n",
    )
    assert names(folder) == ["First", "Wolf", "Dog"]


def test_abstract_types_have_no_number(tmp_path: Path) -> None:
    write(
        tmp_path,
        game="from terrazzo import *\nclass A(EntityType, abstract=True): ...\nclass I(Interface): ...\n"
        "class B(A, I): ...\n",
    )
    loaded = load_package(tmp_path)
    assert [(each.name, each.type_id) for each in loaded.checked().entities] == [("B", 1)]


def test_the_path_is_only_lent(tmp_path: Path) -> None:
    before = list(sys.path)
    names(write(tmp_path / "good", game=ENTITY.format("A", 1)))
    assert load_package(write(tmp_path / "bad", game="1 / 0\n")).errors
    assert sys.path == before


def test_loading_again_sees_what_changed(tmp_path: Path) -> None:
    for default in (1, 22):
        write(tmp_path, game="from entities import A\n", entities=ENTITY.format("A", default))
        (entity,) = load_package(tmp_path).checked().entities
        assert entity.properties[0].default == default


def test_two_games_of_one_name(tmp_path: Path) -> None:
    first = write(tmp_path / "one", game=ENTITY.format("A", 1))
    second = write(tmp_path / "two", game=ENTITY.format("B", 1))
    assert (names(first), names(second), names(first)) == (["A"], ["B"], ["A"])


def test_module_of_another_package_in_the_folder_stays_loaded(tmp_path: Path) -> None:
    """A virtual environment, or the engine itself, may lie below the folder of a game."""
    installed = write(tmp_path / "venv" / "site-packages", of_no_game_1="")
    write(tmp_path / "tools", of_no_game_2="")
    sys.path[:0] = [str(installed), str(tmp_path / "tools")]
    try:
        import of_no_game_2  # type: ignore[import-not-found]

        write(tmp_path, game="import of_no_game_1\n" + ENTITY.format("A", 1))
        assert names(tmp_path) == ["A"]
        first = sys.modules["of_no_game_1"]
        assert names(tmp_path) == ["A"]
        assert sys.modules["of_no_game_1"] is first
        assert sys.modules["of_no_game_2"] is of_no_game_2
    finally:
        del sys.path[:2], sys.modules["of_no_game_1"], sys.modules["of_no_game_2"]


def test_a_record_outlives_its_module(tmp_path: Path) -> None:
    code = "class R(Record):\n    x: 'Array[Later]' = []\nclass Later(Record):\n    y: UInt8\n"
    write(tmp_path, game=f"from terrazzo import *\n{code}")
    load_package(tmp_path).checked()
    record = sys.modules["game"].R
    load_package(write(tmp_path / "other", game="")).checked()
    assert record(x=[{"y": 1}]).x == [{"y": 1}]


def test_a_part_of_nothing_is_a_warning(tmp_path: Path) -> None:
    write(
        tmp_path,
        game="from terrazzo import *\nclass A(EntityType): ...\nclass Mixin(Cell): ...\n"
        "class ACell(Mixin, of=A): ...\nclass ABase(Base): ...\n",
    )
    loaded = load_package(tmp_path)
    assert loaded.errors == []
    assert [(each.file, each.line, each.kind) for each in loaded.warnings] == [("game.py", 5, "part without of")]


def test_problems_name_files_within_the_game(tmp_path: Path) -> None:
    folder = write(tmp_path / "world", __init__="", entities="from .deep.more import A\n")
    write(folder / "deep", __init__="", more="from terrazzo import *\n\nclass A(EntityType):\n    x: UInt8\n")
    (problem,) = load_package(folder).errors
    assert (problem.file, problem.line, problem.kind) == ("deep/more.py", 4, "property without flags")
    write(folder / "deep", more="\n\nimport nothing_of_that_name\n")
    (problem,) = load_package(folder).errors
    assert (problem.file, problem.line, problem.kind) == ("deep/more.py", 3, "missing module")
    write(folder / "deep", more="\n\ndef f():\n    raise ValueError('no')\nf()\n")
    (problem,) = load_package(folder).errors
    assert (problem.file, problem.line, problem.kind) == ("deep/more.py", 4, "exception in game code")
    assert "ValueError: no" in problem.message


def test_leaving_is_a_problem_not_an_exit(tmp_path: Path) -> None:
    (problem,) = load_package(write(tmp_path, game="import sys\nsys.exit(3)\n")).errors
    assert (problem.file, problem.line, problem.kind) == ("game.py", 2, "exception in game code")


def test_path_without_a_game_is_one_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "nothing.py"):
        (problem,) = load_package(path).errors
        assert problem.kind == "not a game"


def test_a_name_that_python_has_already(tmp_path: Path) -> None:
    (problem,) = load_package(write(tmp_path / "json", __init__=ENTITY.format("A", 1))).errors
    assert problem.kind == "bad name"
    assert not hasattr(sys.modules["json"], "A")
    (problem,) = load_package(write(tmp_path / "my-game", __init__="")).errors
    assert problem.kind == "bad name"


@pytest.mark.once
def test_a_game_passes_strict_type_checks(tmp_path: Path) -> None:
    """What a type checker sees of the game is ordinary Python, and it finds ordinary mistakes."""
    bad = "Berth(pier='1', hulls=[])\nBerth(pier=1)\nBerth(pier=1, hulls=[2]).pier + 'a'\n"
    write(tmp_path, bad=f"from game.values import Berth\n{bad}")
    source = str(Path(terrazzo.__file__).parents[1])
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"),
         "--follow-imports=silent", "game", str(tmp_path / "bad.py")],
        capture_output=True, text=True, cwd=HERE, env={**os.environ, "MYPYPATH": source}, check=False,
    )  # fmt: skip
    lines = [line.rpartition("[")[2] for line in ran.stdout.splitlines() if "error:" in line]
    assert lines == ["arg-type]", "call-arg]", "operator]"], ran.stdout + ran.stderr


def test_import_of_a_module_of_the_game_without_its_dot_is_reported_with_advice(tmp_path: Path) -> None:
    folder = write(tmp_path / "world", __init__="", being="", entities="from being import A\n")
    (problem,) = load_package(folder).errors
    assert (problem.file, problem.line, problem.kind) == ("entities.py", 1, "missing module")
    assert "write from .being import …" in problem.message
