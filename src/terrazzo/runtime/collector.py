"""The garbage collector of a process that ticks.

Nearly all that a tick makes is gone when it ends, freed by reference counts; the collector is for the few cycles that
remain (an entity and its parts, when it is destroyed). As it comes, it looks at what is young after every 700 objects,
many times in a tick, and now and then at everything there is, which takes longer than a tick: with 3000 clients a sixth
of all time. Here it looks seldom: when more objects were made and not freed than a whole tick makes; and never at what
was there from the start (the game's code, the schema).

With thousands of clients even one look at all that has gathered in some seconds would make a tick late. So a CellApp
sets aside what is left of each tick (`set_aside`), which takes no time as no object is looked at, and looks at all of
it every WHOLE_S. That may make one tick late; what is freed by reference counts is not concerned.
"""

from __future__ import annotations

import gc

YOUNG = 100_000
"""Objects made and not freed since the last look."""
MIDDLE = 20
"""Looks at the young, for one at those that survived one."""
OLD = 20
"""Looks at those, for one at everything."""
WHOLE_S = 300.0


def calm_collector() -> None:
    """For the rest of this process's life."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


class Aside:
    """What the ticks of one process have left."""

    def __init__(self, now: float) -> None:
        self._whole_at = now + WHOLE_S

    def set_aside(self, now: float) -> None:
        """After a tick, when all that it does not need any more is freed."""
        if now >= self._whole_at:
            self._whole_at = now + WHOLE_S
            gc.unfreeze()
            gc.collect()
        gc.freeze()
