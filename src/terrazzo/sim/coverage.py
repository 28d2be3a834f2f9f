"""Which transitions of which state machine the worlds of a run have taken.

    with counted(paths): ...        every world that runs here adds to `paths`

Each state machine has a table of its transitions (`cell_paths.py`, `ghost_paths.py`, `base_paths.py`), and
`watching.py` counts them. A transition that is in no table is a mistake in the table, and raises. A transition that is
in a table and is never taken over many seeds is a path that no judge has ever checked: `terrazzo sim … --coverage`
names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from terrazzo.sim import base_paths, cell_paths, ghost_paths
from terrazzo.sim.watching import Paths, Watch


def all_paths() -> Paths:
    """The tables of all machines, with nothing counted."""
    return Paths({**cell_paths.TABLE, **ghost_paths.TABLE, **base_paths.TABLE})


@contextmanager
def counted(paths: Paths) -> Iterator[None]:
    """The worlds that run meanwhile are counted."""
    watch = Watch(paths)
    try:
        cell_paths.watch(watch)
        ghost_paths.watch(watch)
        base_paths.watch(watch)
        yield
    finally:
        watch.end()


def summed(all_counts: list[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """Of several runs."""
    total = all_paths()
    for counts in all_counts:
        for machine, paths in counts.items():
            for path, count in paths.items():
                total.counts[machine, path] += count
    return total.plain()


def unreached() -> dict[str, str]:
    """The transitions that no world takes so far, and why."""
    return {**cell_paths.UNREACHED, **base_paths.UNREACHED}


def untaken(counts: dict[str, dict[str, int]]) -> list[str]:
    """The transitions that were never taken, and should have been."""
    never = (f"{machine}: {path}" for machine, paths in counts.items() for path, count in paths.items() if not count)
    known = unreached()
    return [path for path in never if path not in known]
