"""Which transitions of which state machine the worlds of a run have taken.

A state machine has a table of its transitions (`cell_paths.py`, `ghost_paths.py`, `base_paths.py`). While a run is
counted, the methods that take them are wrapped, or the attribute that holds the state is watched; nothing of the core
counts anything, and a run that is not counted costs nothing. All of it ends with the run:

    with counted(paths): ...        every world that runs here adds to `paths`

What is taken and stands in no table is a mistake in the table, and raises. What stands in a table and is never taken
over many seeds is a path that no judge has ever looked at: `terrazzo sim … --coverage` names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

Table = dict[str, tuple[str, ...]]
"""The transitions of each state machine, by the name of the machine."""
Wrapper = Callable[..., Any]
"""What runs in place of a method: it gets the method itself first, then the object and the arguments."""


class Paths:
    """How often each transition was taken."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.counts: Counter[tuple[str, str]] = Counter()

    def take(self, machine: str, path: str) -> None:
        """One more time."""
        assert path in self.table[machine], f"the table of {machine} has no transition {path!r}"
        self.counts[machine, path] += 1

    def plain(self) -> dict[str, dict[str, int]]:
        """For people and programs: every transition of every machine, those that were never taken with 0."""
        return {name: {path: self.counts[name, path] for path in paths} for name, paths in self.table.items()}


class Watch:
    """What is put in place of methods and attributes of classes, for as long as a run is counted."""

    def __init__(self, paths: Paths) -> None:
        self.take = paths.take
        self._before: list[tuple[type, str, Any]] = []

    def method(self, of: type, name: str, wrapper: Wrapper) -> None:
        """`wrapper(method, self, ...)` runs in place of a method."""
        method = getattr(of, name)

        def wrapped(self: Any, *args: Any, **named: Any) -> Any:
            return wrapper(method, self, *args, **named)

        self._put(of, name, wrapped)

    def state(self, of: type, name: str, machine: str) -> None:
        """Each change of an attribute that holds an Enum is a transition: `before → after`."""
        take, kept = self.take, f"_watched_{name}"

        def get(thing: Any) -> Any:
            return vars(thing)[kept]

        def put(thing: Any, value: Enum) -> None:
            before = vars(thing).get(kept)
            vars(thing)[kept] = value
            if before is not None and before is not value:
                take(machine, f"{before.value} → {value.value}")

        self._put(of, name, property(get, put))

    def _put(self, of: type, name: str, value: Any) -> None:
        self._before.append((of, name, vars(of).get(name)))
        setattr(of, name, value)

    def end(self) -> None:
        """Everything is as it was."""
        for of, name, before in reversed(self._before):
            if before is None:
                delattr(of, name)
            else:
                setattr(of, name, before)


def all_paths() -> Paths:
    """The tables of all machines, with nothing counted."""
    from terrazzo.sim import base_paths, cell_paths, ghost_paths

    return Paths({**cell_paths.TABLE, **ghost_paths.TABLE, **base_paths.TABLE})


@contextmanager
def counted(paths: Paths) -> Iterator[None]:
    """The worlds that run meanwhile are counted."""
    from terrazzo.sim import base_paths, cell_paths, ghost_paths

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
    from terrazzo.sim import base_paths, cell_paths

    return {**cell_paths.UNREACHED, **base_paths.UNREACHED}


def untaken(counts: dict[str, dict[str, int]]) -> list[str]:
    """The transitions that were never taken, and should have been."""
    never = (f"{machine}: {path}" for machine, paths in counts.items() for path, count in paths.items() if not count)
    known = unreached()
    return [path for path in never if path not in known]
