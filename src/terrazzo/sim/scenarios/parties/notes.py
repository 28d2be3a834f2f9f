"""The data of spaces in the parties scenario: which values were set, in which order, and what each observer gets.

Each value is set once in a world. The manager makes the order; an observer (a client in a space, or an entity in a
space) may miss values that were replaced soon, but gets no older value after a newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.schema.plaindata import decode_plain
from terrazzo.wire.pairs.cellmgr_cell import SpaceItem
from terrazzo.wire.pairs.spaces import SpaceChange, SpaceOutcome

Observer = tuple[object, ...]


class Notes:
    """All data of one world."""

    def __init__(self, check: Callable[..., None]) -> None:
        """`check` reports a violation: whether it holds, the promise, the words."""
        self._check = check
        self._order: dict[tuple[str, str], list[int]] = {}
        """By space and key: the values in the order in which the manager has set them."""
        self._seen: dict[tuple[Observer, str], int] = {}
        """By observer and key: the position of the last value."""
        self.count = 0
        """The values that observers have got."""

    def watch(self, manager: CellAppMgr) -> None:
        """Records what the manager sets."""
        make = manager._instances.make

        def made(change: SpaceChange) -> SpaceOutcome:
            outcome = make(change)
            for key, value in change.data if not outcome.problem else ():
                self._order.setdefault((outcome.space, key), []).append(decode_plain(value))
            return outcome

        manager._changes._make = made

    def read(self, observer: Observer, space: str, key: str, value: int) -> None:
        """An observer has got a value."""
        values = self._order.get((space, key), [])
        self._check(value in values, "data", f"{observer} gets {key} = {value} in {space}, which was never set there")
        at, before = values.index(value), self._seen.get((observer, key), -1)
        self._check(at >= before, "data", f"{observer} gets {key} = {value} in {space} after {values[before]}")
        self._seen[observer, key] = at
        self.count += 1

    def unrest(self, manager: CellAppMgr, apps: Iterable[CellApp]) -> Iterator[tuple[str, tuple[object, ...]]]:
        """CellApps with other data than the manager."""
        for app in apps:
            for space in manager.spaces:
                known = app.spaces.get(space.id)
                if known is not None and app.me in space.members and known.data != space.data:
                    yield f"{app.me} has {plain(known.data)} of {space.policy.name}, not {plain(space.data)}", (app.me,)


def plain(data: dict[str, SpaceItem]) -> dict[str, Any]:
    """The values."""
    return {key: decode_plain(item.value) for key, item in data.items()}
