"""The command line as people and programs use it."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import COMMANDS, main
from terrazzo.sim.runner import Outcome
from tests.schema.golden import GOLDEN


def run(*args):
    return CliRunner().invoke(main, list(args))


def test_help_names_every_command():
    result = run("--help")
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name in result.output


def test_defs_shows_tables():
    result = run("defs", str(GOLDEN / "defs"))
    assert result.exit_code == 0
    assert "Traveller" in result.output
    assert "digest " in result.output


def test_defs_prints_which_fields_are_hidden_from_which_clients(tmp_path):
    (tmp_path / "game.py").write_text(
        "from terrazzo import *\n"
        "class Rune(Record):\n"
        "    power: Int16 = field(to=CELL_PRIVATE)\n"
        "class Item(Record):\n"
        "    kind: Int16\n"
        "    uses: Int16 = field(to=OWN_CLIENT)\n"
        "    rune: Rune\n"
        "class Avatar(EntityType):\n"
        "    bag: Array[Item] = prop(ALL_CLIENTS)\n"
        "    purse: Array[Item] = prop(OWN_CLIENT)\n"
        "    rune: Rune = prop(CELL_PUBLIC)\n"
    )
    [bag, purse, rune] = json.loads(run("defs", str(tmp_path), "--json").output)["entities"]["Avatar"]["properties"]
    assert bag["hidden"] == {"ghosts": ["uses", "rune"], "own_client": ["rune"], "other_clients": ["uses", "rune"]}
    assert purse["hidden"] == {"own_client": ["rune"]}
    assert rune["hidden"] == {"ghosts": ["*"]}
    assert "bag hides from other clients: uses, rune" in run("defs", str(tmp_path)).output


@pytest.mark.parametrize("command", ["defs", "check"])
def test_path_without_a_game_is_an_error(command, tmp_path):
    result = run(command, str(tmp_path / "nowhere"), "--json")
    assert result.exit_code == 1
    [error] = json.loads(result.output)["errors"]
    assert error["message"] == "there is no such file or folder"
    result = run(command, str(tmp_path))
    assert result.exit_code == 1
    assert "neither a definition tree" in result.output.replace("\n", " ")


def test_check_lists_all_errors_of_a_game_in_one_pass(tmp_path):
    (tmp_path / "game.py").write_text(
        "from terrazzo import *\n"
        "class Avatar(EntityType):\n"
        "    hp: Int16 = prop(ALL_CLIENTS, default=70000)\n"
        "    name: Text\n"
        "    friend: Ref = prop(ALL_CLIENTS)\n"
    )
    result = run("check", str(tmp_path), "--json")
    assert result.exit_code == 1
    errors = json.loads(result.output)["errors"]
    assert [each["line"] for each in errors] == [3, 4, 5]
    assert all(each["file"] == "game.py" for each in errors)


def test_the_installed_command_runs():
    done = subprocess.run(
        [sys.executable, "-c", "from terrazzo.cli.main import main; main()", "check", str(GOLDEN / "defs")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 errors, 5 warnings, 10 entity types." in done.stdout


def test_bench_codec_prints_its_figures():
    result = run("bench", "codec", "--rounds", "1", "--json")
    assert result.exit_code == 0, result.output
    figures = json.loads(result.output)["figures"]
    assert set(figures) == {"encode_ratio", "decode_ratio", "bytes_ratio"}
    assert figures["bytes_ratio"] < 1
    assert "encode_ratio" in run("bench", "codec", "--rounds", "1").output


def test_scenario_refuses_faults_that_it_does_not_have_once():
    result = run("sim", "skeleton", "--seeds", "3", "--faults", "harsh")
    assert result.exit_code == 2
    assert result.output.count("skeleton") >= 1
    assert "Error:" in result.output


def test_a_short_simulation_holds_its_promises():
    result = run("sim", "channel", "--seeds", "2", "--faults", "harsh", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert set(told) == {"scenario", "seeds", "failures", "events", "virtual_s"}
    assert told["failures"] == []


@pytest.mark.parametrize("wrong", [("--duration", "-5"), ("--duration", "0"), ("--jobs", "-3"), ("--seeds", "0")])
def test_sim_refuses_what_would_prove_nothing(wrong):
    result = run("sim", "channel", *wrong)
    assert result.exit_code == 2
    assert "is not in the range" in result.output


def test_a_world_in_which_nothing_happens_has_not_held(monkeypatch):
    def idle(orders, jobs, **rest):
        return [Outcome(order, 0, 1.0, "") for order in orders]

    monkeypatch.setattr("terrazzo.cli.sim.run_many", idle)
    result = run("sim", "channel", "--seeds", "3")
    assert result.exit_code == 1
    assert "in 3 of them nothing happened" in result.output
