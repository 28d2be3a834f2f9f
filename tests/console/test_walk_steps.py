"""Steps after a click on the play page: to a place, beside a body, after a body that walks on (walk.js, in Node)."""

from __future__ import annotations

import json
import subprocess
from math import hypot
from pathlib import Path
from typing import Any

import pytest

from terrazzo import console
from tests.web.node import needs_node

pytestmark = needs_node
SCRIPT = Path(console.__file__).parent / "static" / "walk.js"
SPEED = 10.0


@pytest.fixture(scope="module")
def ends() -> dict[str, dict[str, Any]]:
    """How each of the walks of walk.mjs ended."""
    command = ["node", str(Path(__file__).parent / "walk.mjs"), str(SCRIPT)]
    ended: dict[str, dict[str, Any]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert all(each["isOver"] for each in ended.values()), "who is there, or has no goal any more, stands still"
    return ended


def test_a_place_is_reached(ends):
    end = ends["place"]
    assert (end["x"], end["z"]) == pytest.approx((6.0, 8.0))
    assert end["isReached"]
    assert end["seconds"] == pytest.approx(10.0 / SPEED, abs=0.11)


def test_beside_a_friend(ends):
    end = ends["friend"]
    assert hypot(6.0 - end["x"], 8.0 - end["z"]) == pytest.approx(2.0, abs=0.02)
    assert end["isReached"]


def test_moving_target_is_caught_up_with(ends):
    end = ends["walker"]
    assert end["isReached"]
    assert end["seconds"] == pytest.approx((10.0 - 3.0) / (SPEED - 3.0), abs=0.2)
    assert end["x"] > 9.0


def test_missing_target_is_given_up(ends):
    end = ends["gone"]
    assert not end["isReached"]
    assert end["x"] == pytest.approx(SPEED * 0.5, abs=0.6)


def test_target_that_is_near_enough_is_reached_without_a_step(ends):
    end = ends["near"]
    assert end["isReached"]
    assert (end["x"], end["z"]) == (0.0, 0.0)
