"""The agenda of one CellApp: which entities have a timer that may be due, and which may have a controller that runs.

Most reals have neither in a tick, so the clockwork looks only at those that are named here. Timers and controllers
enter their entity: for a time, or for every tick. An entry may be out of date (the timer was cancelled, the controller
has ended, the real is gone), so the clockwork checks what it gets.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

BUCKETS_S = 16
"""Times are sorted by sixteenths of a second; within one of these the timers of the entity decide."""
FAR_S = 1e12


class Agenda:
    """What the entities of one app may have to do."""

    def __init__(self) -> None:
        self.running: set[int] = set()
        """The entities that have started a controller and were not found without one since."""
        self._buckets: dict[int, list[int]] = {}
        """Each entity with a timer is in the bucket of its next one, and perhaps in others."""
        self._coming: list[int] = []
        """The heap of the buckets."""

    def enter(self, due: float, entity: int) -> None:
        """The next timer of this entity is due then; inf: it has none."""
        if due == inf:
            return
        number = _bucket(due)
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [entity]
            heappush(self._coming, number)
        else:
            bucket.append(entity)

    def take(self, now: float) -> set[int]:
        """The entities that may have a timer that is due. Each must be entered again for its next one."""
        entities, last = set[int](), _bucket(now)
        while self._coming and self._coming[0] <= last:
            entities.update(self._buckets.pop(heappop(self._coming)))
        return entities


def _bucket(at: float) -> int:
    return int(min(at, FAR_S) * BUCKETS_S)
