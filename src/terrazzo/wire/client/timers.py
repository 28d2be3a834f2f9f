"""Who must be polled when, for many sessions whose deadlines change all the time.

A deadline that moves later costs nothing: the earlier one rings, finds nothing due, and is set anew. A
deadline that moves earlier is added before those that are set. So the deadlines of one session form a stack
with the earliest on top, and the heap stays small.
"""

from __future__ import annotations

import heapq


class Timers:
    """Deadlines by session id."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._set: dict[int, list[float]] = {}

    def set(self, session_id: int, due_at: float) -> None:
        """Ring for this session at this time at the latest."""
        stack = self._set.setdefault(session_id, [])
        if not stack or due_at < stack[-1]:
            stack.append(due_at)
            heapq.heappush(self._heap, (due_at, session_id))

    def forget(self, session_id: int) -> None:
        """Ring for this session no more."""
        self._set.pop(session_id, None)

    def take_due(self, now: float) -> list[int]:
        """The sessions whose time has come."""
        due: list[int] = []
        while self._heap and self._heap[0][0] <= now:
            due_at, session_id = heapq.heappop(self._heap)
            stack = self._set.get(session_id)
            if stack and stack[-1] == due_at:
                stack.pop()
                due.append(session_id)
        return due

    @property
    def next_at(self) -> float | None:
        """The earliest deadline."""
        return self._heap[0][0] if self._heap else None
