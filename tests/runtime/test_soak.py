"""A soak of real processes: rows of memory, slopes, and a non-zero exit code for a world that ended early."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from terrazzo.runtime.soak import Soaked, resident_kib, slope

PLAZA = Path(__file__).parents[2] / "examples" / "plaza"


def test_slope_is_that_of_the_line_through_the_points():
    assert slope([(0, 10), (1, 13), (2, 16), (3, 19)]) == pytest.approx(3.0)
    assert slope([(0, 10), (1, 13)]) is None


def test_slope_leaves_out_the_first_minutes():
    soaked = Soaked()
    for minute, kib in enumerate([0, 500, 900, 1000, 1000, 1000]):
        soaked.add(minute, {"cell_app-0": kib})
    assert soaked.slopes(3.0) == {"cell_app-0": 0.0}
    assert soaked.slopes(4.0) == {"cell_app-0": None}


def test_process_that_came_later_has_the_minutes_of_its_own_samples():
    soaked = Soaked()
    soaked.add(0, {"cell_app-0": 1})
    for minute in (1, 2, 3):
        soaked.add(minute, {"cell_app-0": 1, "bots-0": 10 * minute})
    assert soaked.slopes(0.0) == {"cell_app-0": 0.0, "bots-0": pytest.approx(10.0)}


def test_memory_of_this_process_is_read():
    assert resident_kib(os.getpid()) > 1000


def test_soak_of_a_real_cluster_has_a_row_for_each_look_and_a_slope_for_each_process():
    words = ["soak", str(PLAZA), "--minutes", "0.05", "--every", "1", "--skip", "0", "--cells", "1", "--bases", "1"]
    outcome = CliRunner().invoke(main, [*words, "--bots", "2", "--json"])
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    assert found["figures"]["rows"] == len(found["minutes"]) == 4
    assert {"cell_app-0", "base_app-0", "db_app-0", "login_app-0"} <= found["processes"].keys()
    assert all(min(each["kib"]) > 1000 for name, each in found["processes"].items() if name != "bots-0")
    assert found["processes"]["cell_app-0"]["slope_kib_min"] is not None
