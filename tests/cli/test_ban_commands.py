"""`terrazzo ban`, `unban`, `bans` with a data folder, whether or not its world runs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main


@pytest.fixture
def run(tmp_path):
    return lambda *words: CliRunner().invoke(main, [*words, "--data", str(tmp_path)])


def test_ban_is_listed_and_taken_back(run):
    done = run("ban", "192.0.2.7", "--for", "2h", "--why", "guesses")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("192.0.2.7/32 is banned until 20")
    assert run("ban", "192.0.2.9").output == "192.0.2.9/32 is banned until it is taken back.\n"
    [first, second] = json.loads(run("bans", "--json").output)["bans"]
    assert (first["network"], first["why"], second["until"]) == ("192.0.2.7/32", "guesses", None)
    assert "guesses" in run("bans").output
    assert run("unban", "192.0.2.7").output == "192.0.2.7/32 is not banned any more.\n"
    run("unban", "192.0.2.9")
    assert run("bans").output == "No address is banned.\n"


@pytest.mark.parametrize("words", [("ban", "here"), ("ban", "192.0.2.7", "--for", "long"), ("unban", "192.0.2.7")])
def test_wrong_ban_is_one_sentence(run, words):
    done = run(*words)
    assert done.exit_code
    assert "Traceback" not in done.output
