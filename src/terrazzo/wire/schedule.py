"""A schedule of items that are due later; its size is bounded by the number of items that are still needed.

Most items are over before their time comes: a request is answered, an alarm is cancelled. Such an item stays in the
heap, and the heap is swept when it has twice as many items as were needed at the last sweep, and OLD_MAX more. So an
app that schedules and cancels all the time has at most about twice as many items in the heap as it needs.

Items of the same time come in the order in which they were added.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")

OLD_MAX = 64


class Schedule(Generic[T]):
    """Items by the time at which they are due."""

    def __init__(self, is_over: Callable[[T], bool]) -> None:
        """`is_over`: whether an item is not needed any more."""
        self._is_over = is_over
        self._heap: list[tuple[float, int, T]] = []
        self._serial = 0
        self._swept_at = OLD_MAX

    def __len__(self) -> int:
        """The number of items, including those that are over and not yet swept."""
        return len(self._heap)

    def add(self, at: float, item: T) -> None:
        """Adds an item that is due at this time."""
        if len(self._heap) >= self._swept_at:
            self._heap = [entry for entry in self._heap if not self._is_over(entry[2])]
            heapify(self._heap)
            self._swept_at = 2 * len(self._heap) + OLD_MAX
        self._serial += 1
        heappush(self._heap, (at, self._serial, item))

    def take(self, now: float) -> list[T]:
        """The items that are due by now and not over, in order; each is given once."""
        due = []
        while self._heap and self._heap[0][0] <= now:
            item = heappop(self._heap)[2]
            if not self._is_over(item):
                due.append(item)
        return due
