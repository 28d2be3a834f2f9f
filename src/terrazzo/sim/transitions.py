"""Counts the transitions of state machines: a table of them, a counter, and wrappers around the methods that take them.

While a run is counted, the methods that take transitions are wrapped, or the attribute that holds the state is watched.
The core counts nothing, and a run that is not counted costs nothing. A transition that is taken and is in no table is a
mistake in the table, and raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any

Table = dict[str, tuple[str, ...]]
"""The transitions of each state machine, by the name of the machine."""
Wrapper = Callable[..., Any]
"""Runs in place of a method: it gets the method itself first, then the object and the arguments."""


class Paths:
    """How often each transition was taken."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.counts: Counter[tuple[str, str]] = Counter()

    def take(self, machine: str, path: str) -> None:
        """Counts a transition that was taken."""
        assert path in self.table[machine], f"the table of {machine} has no transition {path!r}"
        self.counts[machine, path] += 1

    def plain(self) -> dict[str, dict[str, int]]:
        """Every transition of every machine with its count; a transition that was never taken has 0."""
        return {name: {path: self.counts[name, path] for path in paths} for name, paths in self.table.items()}


class Watch:
    """Replaces methods and attributes of classes while a run is counted."""

    def __init__(self, paths: Paths) -> None:
        self.take = paths.take
        self._before: list[tuple[Any, str, Any]] = []

    def method(self, of: type, name: str, wrapper: Wrapper) -> None:
        """`wrapper(method, self, ...)` runs in place of a method."""
        method = getattr(of, name)

        def wrapped(self: Any, *args: Any, **named: Any) -> Any:
            return wrapper(method, self, *args, **named)

        self.replace(of, name, wrapped)

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

        self.replace(of, name, property(get, put))

    def replace(self, of: Any, name: str, value: Any) -> None:
        """Gives a class or a module another attribute."""
        self._before.append((of, name, vars(of).get(name)))
        setattr(of, name, value)

    def end(self) -> None:
        """Puts the original methods and attributes back."""
        for of, name, before in reversed(self._before):
            if before is None:
                delattr(of, name)
            else:
                setattr(of, name, before)
