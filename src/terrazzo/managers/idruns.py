"""Runs of entity ids, and whether a number is in one of them. Runs that adjoin become one."""

from __future__ import annotations

from bisect import bisect_right, insort


class IdRuns:
    """A set of numbers that comes in runs."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int]] = []
        """First and end of each run, in order."""

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, first: int, count: int) -> None:
        """Adds a run; none of its numbers was added before."""
        at, end = bisect_right(self._runs, (first, first)), first + count
        if at < len(self._runs) and self._runs[at][0] == end:
            end = self._runs.pop(at)[1]
        if at > 0 and self._runs[at - 1][1] == first:
            first = self._runs.pop(at - 1)[0]
        insort(self._runs, (first, end))

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._runs, (number, number + 1))
        return (at > 0 and self._runs[at - 1][1] > number) or (at < len(self._runs) and self._runs[at][0] == number)
