"""The channel scenario: the promises hold, runs repeat, failures explain themselves, every mutation is caught."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from terrazzo.cli.sim import sim_command
from terrazzo.sim.runner import Order, explain, run, shrink
from terrazzo.sim.trace import Keep
from terrazzo.sim.world import FaultLevel

SEEDS_MAX = 200


@pytest.mark.parametrize("level", list(FaultLevel))
def test_the_promises_hold(level):
    for seed in range(25):
        outcome = run(Order("channel", seed, level))
        assert outcome.failure is None, f"{outcome.order.command()}: {outcome.failure}"


def test_the_same_seed_gives_the_same_trace():
    first = run(Order("channel", 3), Keep.HASH)
    assert run(Order("channel", 3), Keep.HASH) == first
    assert run(Order("channel", 3), Keep.ALL).digest == first.digest
    assert run(Order("channel", 4), Keep.HASH).digest != first.digest


def test_the_same_seed_gives_the_same_trace_in_another_process():
    script = (
        "import terrazzo.sim.scenarios\n"
        "from terrazzo.sim.runner import Order, run\n"
        "from terrazzo.sim.trace import Keep\n"
        "print(*(run(Order('channel', seed), Keep.HASH).digest for seed in (3, 19)))\n"
    )
    others = [
        subprocess.Popen(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE, text=True,
        )
        for hash_seed in ("1", "2")
    ]  # fmt: skip
    here = " ".join(run(Order("channel", seed), Keep.HASH).digest for seed in (3, 19))
    digests = {other.communicate()[0].strip() for other in others}
    assert [other.returncode for other in others] == [0, 0]
    assert digests == {here}


def test_a_failing_run_explains_itself():
    order = Order("channel", 0, FaultLevel.HARSH, None, "deliver-early")
    while run(order).failure is None:
        order = replace(order, seed=order.seed + 1)
    smaller = shrink(order)
    told, full = run(smaller), run(order)
    assert told.failure is not None
    assert full.failure is not None
    assert told.failure.promise == full.failure.promise == "P2"
    assert len(told.faults) < len(full.faults)
    text = explain(order)
    assert f"terrazzo sim channel --seed {order.seed} --seeds 1 --faults harsh --mutation deliver-early" in text
    assert "faults that are enough" in text
    assert f"timeline of {told.failure.about[0]}" in text
    assert f"part={told.failure.about[1]} source={told.failure.about[0]}" in text


def test_an_exception_in_the_code_under_test_is_a_finding():
    outcome = run(Order("channel", 0, FaultLevel.HARSH, None, "no such mutation"))
    assert outcome.failure is not None
    assert outcome.failure.promise == "invariant"


def test_sim_command_prints_json():
    done = CliRunner().invoke(sim_command, ["channel", "--seeds", "3", "--faults", "mild", "--json"])
    assert done.exit_code == 0
    told = json.loads(done.output)
    assert told["scenario"] == "channel"
    assert told["seeds"] == 3
    assert told["failures"] == []
    assert told["events"] > 100
    assert told["virtual_s"] > 1.0


def test_the_command_fails_when_a_promise_breaks():
    arguments = ["channel", "--seeds", "2", "--mutation", "deliver-twice"]
    done = CliRunner().invoke(sim_command, [*arguments, "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["failures"][0]["promise"] == "P2"
    assert "2 of 2 played. seed 1, P2" in done.stderr
    done = CliRunner().invoke(sim_command, arguments)
    assert done.exit_code == 1
    assert "timeline of" in done.output
    assert CliRunner().invoke(sim_command, ["channel", "--mutation", "none such"]).exit_code == 2


@pytest.mark.once
def test_the_pool_changes_nothing():
    arguments = ["channel", "--seeds", "16", "--duration", "2", "--json", "--jobs"]
    one, two = (CliRunner().invoke(sim_command, [*arguments, jobs]).output for jobs in ("1", "2"))
    assert json.loads(one) == json.loads(two)
