"""Counts which transitions of which state machine the worlds of a run have taken.

Each group of state machines has a table of its transitions and a function that watches them (`cell_paths.py`,
`ghost_paths.py`, `base_paths.py`; `transitions.py` counts). The counters are removed at the end of the run:

    with counted(paths): ...        every world that runs here adds to `paths`

A transition that is in a table and is never taken over many seeds has not been tested by any judge; `terrazzo sim …
--coverage` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from terrazzo.sim import base_paths, cell_paths, ghost_paths
from terrazzo.sim.transitions import Paths, Watch


def all_paths() -> Paths:
    """The tables of all machines, with nothing counted."""
    return Paths({**cell_paths.TABLE, **ghost_paths.TABLE, **base_paths.TABLE})


@contextmanager
def counted(paths: Paths) -> Iterator[None]:
    """Counts the transitions of all worlds that run in this context."""
    watch = Watch(paths)
    try:
        cell_paths.watch(watch)
        ghost_paths.watch(watch)
        base_paths.watch(watch)
        yield
    finally:
        watch.end()


def summed(all_counts: list[dict[str, dict[str, int]]]) -> dict[str, dict[str, int]]:
    """The sum of the counts of several runs."""
    total = all_paths()
    for counts in all_counts:
        for machine, paths in counts.items():
            for path, count in paths.items():
                total.counts[machine, path] += count
    return total.plain()


def unreached() -> dict[str, str]:
    """The transitions that no world has taken so far, each with the reason."""
    return {**cell_paths.UNREACHED, **base_paths.UNREACHED}


def untaken(counts: dict[str, dict[str, int]]) -> list[str]:
    """The transitions that were never taken, without those listed as unreached."""
    never = (f"{machine}: {path}" for machine, paths in counts.items() for path, count in paths.items() if not count)
    known = unreached()
    return [path for path in never if path not in known]
