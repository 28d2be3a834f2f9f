"""When each session must be polled although nothing comes for it.

The deadlines of most sessions change with every packet, and few ever pass. So a deadline is a number in a table that is
overwritten, and the table is looked through only when the earliest deadline may have passed: `next_at` is never later
than the earliest deadline, but may be earlier, when that deadline has moved since the last look.
"""

from __future__ import annotations

from math import inf


class Deadlines:
    """Deadlines by session id."""

    def __init__(self) -> None:
        self._due: dict[int, float] = {}
        self._bound = inf

    def __len__(self) -> int:
        return len(self._due)

    def set(self, session_id: int, due_at: float) -> None:
        """The deadline of this session, in place of the one that it has."""
        self._due[session_id] = due_at
        self._bound = min(self._bound, due_at)

    def forget(self, session_id: int) -> None:
        """This session has no deadline."""
        self._due.pop(session_id, None)

    def take_due(self, now: float) -> list[int]:
        """The sessions with a deadline that has passed, the earliest first; it is taken from them."""
        if now < self._bound:
            return []
        due = sorted((due_at, session_id) for session_id, due_at in self._due.items() if due_at <= now)
        for _, session_id in due:
            del self._due[session_id]
        self._bound = min(self._due.values(), default=inf)
        return [session_id for _, session_id in due]

    @property
    def next_at(self) -> float | None:
        """No later than the earliest deadline; None when there is none."""
        return self._bound if self._due else None
