"""The order in which the workers run the tests: no test is lost, and half of the workers begin with what waits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tools.dealing import WAITING, deal, file_of, rank

ROOT = Path(__file__).parent.parent


class Collected(NamedTuple):
    nodeid: str


def several(file: str, count: int) -> list[Collected]:
    return [Collected(f"{file}::test_{number}") for number in range(count)]


COLLECTED = [
    *several("tests/base/test_saving.py", 30),
    *several("tests/browser/test_plaza.py", 4),
    *several("tests/browser/test_return.py", 2),
    *several("tests/cell/test_cell_app.py", 51),
    *several("tests/cli/test_run.py", 7),
    *several("tests/runtime/test_cluster.py", 3),
    *several("tests/speed/test_install.py", 1),
    *several("tests/speed/test_sight.py", 3),
]


def parts(tests: list[Collected], workers: int) -> list[list[Collected]]:
    """As `worksteal` gives them out at first."""
    found, at = [], 0
    for worker in range(workers):
        size = (len(tests) - at) // (workers - worker)
        found.append(tests[at : at + size])
        at += size
    return found


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 200])
def test_every_test_is_dealt_once(workers: int) -> None:
    assert sorted(deal(COLLECTED, workers)) == sorted(COLLECTED)


@pytest.mark.parametrize("workers", [2, 4, 5])
def test_half_of_the_workers_begin_with_tests_that_wait_and_the_others_have_none(workers: int) -> None:
    for worker, part in enumerate(parts(deal(COLLECTED, workers), workers)):
        waits = [rank(file_of(test)) < len(WAITING) for test in part]
        assert any(waits) == (worker < workers // 2)
        assert waits == sorted(waits, reverse=True), "what waits comes first"


def test_tests_of_a_file_that_waits_stay_together_in_their_order() -> None:
    first, second, *_ = parts(deal(COLLECTED, 4), 4)
    assert first[:11] == COLLECTED[30:34] + several("tests/cli/test_run.py", 7)
    assert second[:5] == COLLECTED[34:36] + several("tests/runtime/test_cluster.py", 3)
    assert first[11] == several("tests/speed/test_install.py", 1)[0]


@pytest.mark.parametrize("place", WAITING)
def test_place_where_tests_wait_exists(place: str) -> None:
    assert (ROOT / place).exists()
