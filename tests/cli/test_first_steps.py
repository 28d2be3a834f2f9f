"""What the command prints when it is used for the first time, and wrongly."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from tests.runtime.worlds import call

GAME = """
from terrazzo import EntityType, Game, Proxy, Space
class Hero(EntityType): ...
class HeroBase(Proxy, of=Hero): ...
def populate(server):
    raise KeyError("no such tree")
GAME = Game(player=Hero, spaces=[Space("hall")], on_ready=populate)
"""


def told(*args):
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("rum", "there is no command rum; did you mean run?"),
        ("xyzzy", "there is no command xyzzy; see terrazzo --help"),
    ],
)
def test_misspelt_command_gets_a_suggestion(command, words):
    code, said = told(command, "examples/plaza")
    assert code == 2
    assert words in said


def test_path_that_is_not_there_is_not_called_a_mistake_in_the_definitions(tmp_path):
    code, said = told("run", tmp_path / "nowhere")
    assert (code, said) == (1, f"Error: {tmp_path / 'nowhere'}: there is no such file or folder\n")
    code, said = told("check", tmp_path / "nowhere")
    assert code == 1
    assert ":0:" not in said
    assert said.replace("\n", " ").endswith("there is no such file or folder 1 error, 0 warnings, 0 entity types. ")


def test_on_ready_that_raises_is_no_world(tmp_path):
    game = tmp_path / "hall.py"
    game.write_text(GAME)
    code, said, complained = call("run", game, "--single", "--cells", 1, "--no-console")
    assert code == 1
    assert "base_app-0: the game's on_ready raised KeyError: 'no such tree'. Where, is in " in complained
    assert "The world is ready" not in said
    log = tmp_path / "hall-data" / "logs" / "base_app-0.log"
    assert "line 6, in populate" in log.read_text()


def test_data_folder_of_another_game_is_refused(tmp_path):
    (tmp_path / "hall.py").write_text(GAME)
    (tmp_path / "tower.py").write_text(GAME)
    call("run", tmp_path / "hall.py", "--single", "--cells", 1, "--no-console")
    code, said = told("run", tmp_path / "tower.py", "--data", tmp_path / "hall-data")
    assert code == 1
    assert "holds the world of the game hall, not of tower: give another one with --data" in said
    assert "What is saved" not in said


def test_ctrl_c_while_the_command_is_imported_is_no_traceback(tmp_path):
    (tmp_path / "terrazzo").mkdir()
    (tmp_path / "terrazzo" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    entry = Path(__file__).parents[2] / "src" / "terrazzo_command.py"
    (tmp_path / "terrazzo_command.py").write_text(entry.read_text())
    program = [sys.executable, "-c", "from terrazzo_command import main; main()"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
