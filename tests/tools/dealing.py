"""In which order the workers of xdist run the tests, so that no processor is idle.

Tests of real processes and browsers wait most of their time: for processes to start, for players to walk. Every other
test computes. With two workers for each processor (`make test`), half of the workers begin with what waits, file by
file, and the other half with what computes. No long test is left for the end. `--dist worksteal` gives each worker one
equal, contiguous part of the list, in the order of the workers; afterwards an idle worker takes the second half of the
longest queue that is left. A file of tests that wait stays with one worker, since its tests share a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Protocol, TypeVar

WAITING = ("tests/browser", "tests/cli", "tests/runtime", "tests/console", "tests/bench", "tests/speed/test_install.py")
"""Where tests start processes, those first that take longest."""


class Located(Protocol):
    """What pytest has collected, as far as it is needed here."""

    @property
    def nodeid(self) -> str: ...


Item = TypeVar("Item", bound=Located)


def file_of(item: Located) -> str:
    return item.nodeid.partition("::")[0]


def rank(file: str) -> int:
    """The place of a file among those that wait; after all of them, if its tests compute."""
    parts = PurePath(file).parts
    found = (at for at, name in enumerate(WAITING) if parts[: len(PurePath(name).parts)] == PurePath(name).parts)
    return next(found, len(WAITING))


def deal(items: Sequence[Item], workers: int) -> list[Item]:
    """The same tests: the equal parts of this list begin with what waits for half of the workers."""
    files = [list(group) for _, group in groupby(sorted(items, key=lambda item: rank(file_of(item))), key=file_of)]
    waiting = [tests for tests in files if rank(file_of(tests[0])) < len(WAITING)]
    rest = [test for tests in files[len(waiting) :] for test in tests]
    dealers = max(workers // 2, 1)
    dealt: list[Item] = []
    for worker in range(workers):
        size = (len(items) - len(dealt)) // (workers - worker)
        first = [test for tests in waiting[worker::dealers] for test in tests] if worker < dealers else []
        filled = max(size - len(first), 0)
        dealt += first + rest[:filled]
        del rest[:filled]
    return dealt + rest
