"""Coverage: which transitions of state machines are taken. `make coverage` asks 300 worlds for all of them."""

from __future__ import annotations

import json

from click.testing import CliRunner

import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios
from terrazzo.cli.sim import sim_command
from terrazzo.sim.coverage import all_paths, summed, unreached, untaken
from terrazzo.sim.runner import Order, run, run_counted
from terrazzo.sim.trace import Keep

SHORT_S = 8.0
SEEDS = (0, 1, 2)

COMMON = {
    "arrival": {"begins at once", "begins after a jump"},
    "offload": {"leaves", "leaves by a jump", "is confirmed"},
    "teleport": {"to a place", "beside an entity", "the entity answers", "is put in this cell", "leaves", "arrives"},
    "ghost": {
        "absent: create, ahead", "ghost: snapshot, ahead", "ghost: step", "ghost: step, known", "ghost: step, ahead",
        "absent: step, ahead", "ghost: delete", "ended: delete", "ghost: arrival", "ghost: next real",
        "ghost: next real, known", "ghost: set real, known", "ghost: set real, ahead", "ghost: unlisted",
    },
    "mending": {"a snapshot is asked for"},
    "ground": {"ready: sent", "ready: held back"},
    "cell part": {"none → finding", "finding → creating", "creating → there", "there → none"},
    "save": {"idle → gathering", "gathering → asked", "asked → idle"},
    "session": {"absent → waiting", "waiting → attached", "attached → ready"},
    "entry": {
        "none → announced", "announced → described", "announced → left", "described → left", "wanted", "released",
    },
    "log-on": {"a new name", "the account is made", "claimed", "loaded", "placed", "recorded"},
}  # fmt: skip
"""What a few short worlds take: if one of these vanishes, the worlds have become poorer."""


def test_common_transitions_are_taken_in_a_few_short_worlds():
    counts = summed([run_counted(Order("seamless", seed, duration_s=SHORT_S)).paths for seed in SEEDS])
    missing = {f"{name}: {path}" for name, paths in COMMON.items() for path in paths if not counts[name][path]}
    assert missing == set()
    taken = {f"{name}: {path}" for name, paths in counts.items() for path, count in paths.items() if count}
    assert taken & unreached().keys() == set(), "they are reached now: take them off that list"


def test_tables_name_each_transition_once_and_all_that_is_listed_elsewhere():
    table = all_paths().table
    assert all(len(set(paths)) == len(paths) for paths in table.values())
    known = {f"{name}: {path}" for name, paths in table.items() for path in paths}
    assert unreached().keys() <= known
    assert {f"{name}: {path}" for name, paths in COMMON.items() for path in paths} <= known


def test_a_transition_that_was_never_taken_is_named():
    counts = all_paths().plain()
    assert "arrival: is held" in untaken(counts)
    counts["arrival"]["is held"] = 1
    assert "arrival: is held" not in untaken(counts)


def test_counting_changes_nothing_in_a_world():
    order = Order("seamless", 1, duration_s=3.0)
    before = run(order, Keep.HASH).digest
    counted = run_counted(order)
    assert counted.paths["ghost"]["absent: create, ahead"] > 0
    assert run(order, Keep.HASH).digest == before
    assert run(order).events == counted.events


def test_sim_command_prints_the_coverage():
    done = CliRunner().invoke(sim_command, ["seamless", "--seeds", "1", "--duration", "3", "--coverage", "--json"])
    told = json.loads(done.stdout)
    assert told["coverage"]["offload"].keys() == set(all_paths().table["offload"])
    assert set(told["untaken"]) == set(untaken(told["coverage"]))
    assert done.exit_code == 0, "fewer than 300 worlds need not take everything"
