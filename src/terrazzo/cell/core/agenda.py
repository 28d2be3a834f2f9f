"""The agenda of one CellApp: which reals have a timer that is due, and which have a controller that runs.

Most reals have neither in a tick, so the clockwork does not look at them at all. Timers and controllers enter their
real here when it may have something to do: for a time, or for every tick. An entry may be out of date (the timer was
cancelled, the controller has ended, the real is gone); it is checked when it comes up. What comes up is given in the
order in which the reals began here.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from terrazzo.cell.core.real import Real


BUCKETS_S = 16
"""Times are sorted by sixteenths of a second; within one of these the entity's own timers decide."""
FAR_S = 1e12


class Agenda:
    """What the reals of one app have to do, by their entities."""

    def __init__(self, reals: dict[int, Real]) -> None:
        self._reals = reals
        self._began = 0
        self._buckets: dict[int, list[int]] = {}
        """Each real with a timer is in the bucket of its next one, and perhaps in others."""
        self._coming: list[int] = []
        """The heap of the buckets."""
        self._running: set[int] = set()

    def begin(self, real: Real) -> None:
        """A real begins here, perhaps with timers and controllers of its former home."""
        self._began += 1
        real.began = self._began
        self.enter(real.timers.next_due, real.body.id)
        self.run(real.body.id)

    def enter(self, due: float, entity: int) -> None:
        """This entity has a timer that is due then; inf: it has none."""
        if due == inf:
            return
        number = _bucket(due)
        bucket = self._buckets.get(number)
        if bucket is None:
            self._buckets[number] = [entity]
            heappush(self._coming, number)
        else:
            bucket.append(entity)

    def run(self, entity: int) -> None:
        """This entity has a controller, until it is found to have none."""
        self._running.add(entity)

    def running(self) -> list[Real]:
        """The reals with controllers."""
        reals = [real for real in self._in_order(self._running) if real.controllers.running]
        if len(reals) < len(self._running):
            self._running = {real.body.id for real in reals}
        return reals

    def due(self, now: float) -> list[Real]:
        """The reals with a timer that is due; each must be entered again for its next one."""
        entities, due, last = set[int](), [], _bucket(now)
        while self._coming and self._coming[0] <= last:
            entities.update(self._buckets.pop(heappop(self._coming)))
        for real in self._in_order(entities):
            if real.timers.next_due <= now:
                due.append(real)
            elif _bucket(real.timers.next_due) == last:
                self.enter(real.timers.next_due, real.body.id)
        return due

    def _in_order(self, entities: Iterable[int]) -> list[Real]:
        reals = [self._reals[entity] for entity in entities if entity in self._reals]
        reals.sort(key=lambda real: real.began)
        return reals


def _bucket(at: float) -> int:
    return int(min(at, FAR_S) * BUCKETS_S)
