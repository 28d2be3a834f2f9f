"""The problems of a game's `Game` object, as `load_game` and `terrazzo check` report them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.errors import DefinitionError
from terrazzo.game import load_game

GAME = """\
from terrazzo import *
class Hero(EntityType): {body}
class Tree(EntityType): ...
{part}
def nothing(): ...
async def waits(server): ...
GAME = Game(player={player}, spaces={spaces}, ghost_distance_m={ghosts}, on_ready={on_ready})
"""
GOOD = {"body": "...", "part": "", "player": "Hero", "spaces": "[Space('hall')]", "ghosts": 100, "on_ready": None}


def write(folder: Path, **said: object) -> Path:
    (folder / "game.py").write_text(GAME.format(**{**GOOD, **said}))
    return folder


@pytest.mark.parametrize("part", ["", "class HeroBase(Proxy, of=Hero): ...", "class TreeBase(Base, of=Tree): ..."])
def test_a_game_that_holds(tmp_path: Path, part: str) -> None:
    assert load_game(write(tmp_path, part=part)).player.name == "Hero"
    assert CliRunner().invoke(main, ["check", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize(
    ("said", "line", "words"),
    [
        ({"part": "class HeroBase(Base, of=Hero): ..."}, 4, "derive HeroBase from Proxy, not from Base"),
        ({"body": "server_only = True"}, 2, "it needs a client part, leave server_only out"),
        ({"player": "Space"}, 0, "player=Space is no entity type of the game; it has Hero, Tree"),
        ({"spaces": "[]"}, 0, "give at least one Space"),
        ({"spaces": "[Space('a'), Space('a')]"}, 0, "two spaces are called a"),
        ({"spaces": "[Space('a', (5, 0, 0, 5))]"}, 0, "the bounds of the space a are empty"),
        ({"on_ready": "nothing"}, 0, "on_ready is called with one argument, the Server"),
        ({"on_ready": "waits"}, 0, "on_ready is called, not awaited"),
        ({"ghosts": 10}, 0, "ghost_distance_m must be at least area_radius_m"),
    ],
)
def test_wrong_game_is_refused_with_file_and_line(
    tmp_path: Path, said: dict[str, object], line: int, words: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_game(write(tmp_path, **said))
    [problem] = caught.value.problems
    assert (problem.line, words in problem.message) == (line, True)
    result = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert result.exit_code == 1
    assert words in result.output.replace("\n", " ")


def test_package_without_a_game_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text("from terrazzo import *\nclass Hero(EntityType): ...\n")
    result = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert result.exit_code == 1
    assert "no module of the game makes a Game" in result.output.replace("\n", " ")
    assert result.output.endswith("1 error, 0 warnings, 1 entity type.\n")
    assert CliRunner().invoke(main, ["defs", str(tmp_path)]).exit_code == 0
    with pytest.raises(DefinitionError, match="no module of the game makes a Game"):
        load_game(tmp_path)
