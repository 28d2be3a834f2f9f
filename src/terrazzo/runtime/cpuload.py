"""The load of this process, measured: the share of one core that it has used.

All threads count, so a DBApp that hashes passwords on a second core can be above 1. With `terrazzo run --single` all
apps share one process, and each of them reports the load of that process.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WINDOW_S = 0.5
"""The shortest time over which the load is measured; a shorter one would show noise."""


class CpuLoad:
    """Called, it gives the share of one core used in the last complete window; None before the first window ends."""

    def __init__(
        self, used_s: Callable[[], float] = time.process_time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._used_s, self._clock = used_s, clock
        self._used, self._at = used_s(), clock()
        self._last: float | None = None

    def __call__(self) -> float | None:
        used, at = self._used_s(), self._clock()
        if at - self._at >= WINDOW_S:
            self._last = (used - self._used) / (at - self._at)
            self._used, self._at = used, at
        return self._last
