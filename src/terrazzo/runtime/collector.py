"""The garbage collector of a process that ticks.

Nearly all objects of a tick are freed by reference counts when it ends; the collector is for the few cycles that remain
(an entity and its parts, when it is destroyed). By default it scans the young objects after every 700 allocations, many
times in a tick, and now and then all objects, which takes longer than a tick: with 3000 clients a sixth of all time.
Here it scans seldom: when more objects were made and not freed than a whole tick makes; and it never scans the objects
that existed at the start (the game's code, the schema).

With thousands of clients even one scan of the objects of some seconds would make a tick late. So a CellApp sets the
objects left of each tick aside (`set_aside`), which scans nothing and takes no time, and scans all of them every
WHOLE_S. That may make one tick late. Objects that are freed by reference counts are not affected.
"""

from __future__ import annotations

import gc

YOUNG = 100_000
"""Objects made and not freed since the last scan, at which the young are scanned."""
MIDDLE = 20
"""Scans of the young, for one scan of those that survived one."""
OLD = 20
"""Scans of these, for one scan of everything."""
WHOLE_S = 300.0


def calm_collector() -> None:
    """Sets these numbers for the rest of this process's life."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


class Aside:
    """The objects that the ticks of one process have left."""

    def __init__(self, now: float) -> None:
        self._whole_at = now + WHOLE_S

    def set_aside(self, now: float) -> None:
        """Called after a tick, when all that it does not need any more is freed."""
        if now >= self._whole_at:
            self._whole_at = now + WHOLE_S
            gc.unfreeze()
            gc.collect()
        gc.freeze()
