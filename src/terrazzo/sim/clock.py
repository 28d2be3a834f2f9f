"""Virtual time: a heap of scheduled calls, taken in order of their time.

Two calls at the same time happen in the order in which they were scheduled, so a run repeats exactly. Nothing waits:
the clock jumps to the time of the next call.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Act = Callable[..., None]


class Clock:
    """The time of one run, and its scheduled calls."""

    __slots__ = ("_heap", "_serial", "events", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self._serial = 0
        self._heap: list[tuple[float, int, Act, tuple[Any, ...]]] = []

    def at(self, time: float, act: Act, *args: Any) -> None:
        """Calls `act(*args)` at `time`, or next if that is past."""
        self._serial += 1
        heappush(self._heap, (time if time > self.now else self.now, self._serial, act, args))

    def after(self, delay: float, act: Act, *args: Any) -> None:
        """Calls `act(*args)` once `delay` seconds have passed."""
        self.at(self.now + delay, act, *args)

    def run_until(self, time: float) -> None:
        """Makes all calls that are due by `time`."""
        heap = self._heap
        while heap and heap[0][0] <= time:
            self.now, _, act, args = heappop(heap)
            self.events += 1
            act(*args)
        self.now = time
