"""`terrazzo outage` in small: real processes, and each store that there is. No time is asserted."""

import json

import pytest
from click.testing import CliRunner

from terrazzo.bench import outage_game
from terrazzo.bench.outage_player import Writer
from terrazzo.bench.postgres import missing
from terrazzo.cli.main import main
from terrazzo.client import ClientGame
from terrazzo.game import load_game

PLAYERS = 20


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_confirmed_write_is_lost_when_database_and_cluster_go_down(store):
    if store == "postgres" and (why := missing()):
        pytest.skip(why)
    done = CliRunner().invoke(
        main, ["outage", "--json", "--players", str(PLAYERS), "--seconds", "0.3", "--only", store]
    )
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["is_sound"]
    assert report["failures"] == []
    [phases] = [each["phases"] for each in report["stores"].values()]
    assert list(phases) == ["calm", *(["database"] if store == "postgres" else []), "restart", "killed"]
    assert all(phase["writes"] >= PLAYERS for name, phase in phases.items() if name != "calm")


@pytest.mark.parametrize(("found", "word"), [(4, "it is lost"), (5, ""), (7, ""), (8, "has sent no more than 7")])
def test_what_a_player_finds_must_lie_between_what_was_confirmed_and_what_was_sent(found, word):
    player = Writer(ClientGame.of(load_game(outage_game.__file__)), "ann", lambda: None)
    player.confirmed, player.sent = 5, 7
    player.judge(found)
    assert (len(player.faults), word in "".join(player.faults)) == (1 if word else 0, True)
