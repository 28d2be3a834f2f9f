"""A crowd of walkers: in a real world, with its report; and how reports are put together."""

import json
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest
from click.testing import CliRunner

from terrazzo.cli.crowd import crowd, share_out
from terrazzo.game import load_game
from terrazzo.runtime.crowd import add_up, percentile
from terrazzo.runtime.crowd_report import seen
from terrazzo.runtime.walkers import Sample
from terrazzo.wire.client.lane import SessionTally
from tests.runtime.worlds import LIMIT_S, PLAZA, World


def walk(*args):
    """Runs `terrazzo crowd` to its end; exit code, report, and stderr."""
    given = [sys.executable, "-c", "from terrazzo.cli.crowd import crowd; crowd()", *map(str, args), "--json"]
    done = subprocess.run(given, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_crowd_walks_in_a_real_world_and_leaves_nothing_behind(tmp_path):
    with World(tmp_path / "data", "--cells", 2, "--no-console") as world:
        world.wait_ready()
        code, report, words = walk(6, "--data", world.folder.root, "--jobs", 2, "--seconds", 1)
        assert code == 0, words
        assert (report["crowd"], report["walking"], report["out"], report["why"]) == (6, 6, 0, {})
        assert report["packets_missed"] == 0
        assert report["moves_per_s"] > 0
        assert report["datagrams_in_per_s"] > 0
        assert {"cell_app-0", "cell_app-1", "base_app-0"} <= set(report["share_of_a_core"])
        assert "6 walk, 0 are out" in words
        cluster = world.folder.read_cluster()
        address = f"{cluster.login.host}:{cluster.login.udp_port}"
        code, report, words = walk(2, PLAZA, "--address", address, "--key", cluster.public_key, "--name", "bot-x")
        assert (code, report) == (1, None)
        assert "not one walker was let in: Names that begin with bot- are for bots" in words
        assert (world.terminate(), world.errors) == (0, [])
    with sqlite3.connect(tmp_path / "data" / "world.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM accounts").fetchall() == [(0,)]


def test_crowd_needs_a_world_and_for_one_elsewhere_its_game(tmp_path):
    said = CliRunner().invoke(crowd, ["5", "--data", str(tmp_path)])
    assert (said.exit_code, "Error: " in said.output) == (1, True)
    said = CliRunner().invoke(crowd, ["5", "--address", "127.0.0.1:1", "--key", "00" * 32])
    assert "name the GAME of the world at --address" in said.output


def test_walkers_are_shared_out_among_jobs_with_names_of_their_own():
    game = load_game(PLAZA)

    def shared(count, jobs):
        orders = share_out(game, count, jobs, host="h", port=1, key="k", name="n", password="p")
        return [(each.first, each.count) for each in orders]

    assert shared(10, 3) == [(1, 4), (5, 3), (8, 3)]
    assert shared(2, 5) == [(1, 1), (2, 1)]
    assert shared(8001, 0) == [(1, 2667), (2668, 2667), (5335, 2667)]
    assert len(share_out(game, 1, 1, host="h", port=1, key="k", name="n", password="p")[0].bounds) == len(
        game.policy.spaces
    )


def test_samples_of_processes_add_up():
    one = Sample(at=5.0, walking=2, out=1, why={"no": 1}, moves=10, tally=SessionTally(muted=3, gap_max_s=0.5))
    other = Sample(at=6.0, walking=3, why={}, moves=1, tally=SessionTally(muted=4, gap_max_s=0.2), round_trips_ms=[7.0])
    total = add_up([one, other])
    assert (total.at, total.walking, total.out, total.moves) == (6.0, 5, 1, 11)
    assert (total.tally.muted, total.tally.gap_max_s, total.why) == (7, 0.5, {"no": 1})
    assert total.round_trips_ms == [7.0]


def test_report_compares_each_process_with_itself():
    before = [Sample(at=1.0, moves=100, cpu_s=1.0), Sample(at=2.0, moves=50, cpu_s=0.0)]
    after = [
        Sample(
            at=3.0, moves=140, cpu_s=1.5, walking=2, tally=SessionTally(packets_received=20), round_trips_ms=[3.0, 9.0]
        ),
        Sample(at=3.0, moves=60, cpu_s=0.25, walking=3, round_trips_ms=[1.0]),
    ]
    found = seen(list(zip(before, after, strict=True)), Counter({100: 98, 300: 2}))
    assert found["moves_per_s"] == pytest.approx(30.0)
    assert found["datagrams_in_per_s"] == pytest.approx(10.0)
    assert found["crowd_share_of_a_core"] == pytest.approx(0.5)
    assert (found["walking"], found["walkers_per_core"]) == (5, 10)
    assert (found["gap_p50_ms"], found["gap_p99_ms"], found["gap_max_ms"]) == (100, 300, 300)
    assert found["round_trip_p50_ms"] == 3.0


def test_report_has_no_number_for_what_was_not_seen():
    found = seen([(Sample(at=1.0), Sample(at=1.0))], Counter())
    assert found["gap_p50_ms"] is None
    assert found["round_trip_p50_ms"] is None
    assert "walkers_per_core" not in found


def test_percentile_is_the_value_at_or_below_which_the_share_lies():
    assert percentile([(1, 50), (2, 49), (9, 1)], 0.99) == 2
    assert percentile([(1, 1)], 0.5) == 1
    assert percentile([], 0.5) is None
