"""What the walkers of one process have seen and sent."""

from __future__ import annotations

from array import array

GAP_MS_MAX = 10_000
"""Longer times between two updates are counted as this long."""


class SightCounts:
    """Counts, since the start of the process."""

    def __init__(self) -> None:
        self.updates = 0
        """PLACES messages for the walkers that are sampled."""
        self.moves = 0
        self._gaps_ms = array("Q", bytes(8 * (GAP_MS_MAX + 1)))

    def note_update(self, last_at: float | None, now: float) -> None:
        """A walker has got an update, after one at `last_at`."""
        self.updates += 1
        if last_at is not None:
            self._gaps_ms[min(max(int((now - last_at) * 1000), 0), GAP_MS_MAX)] += 1

    def take_gaps(self) -> list[tuple[int, int]]:
        """How often two updates of one walker came so many milliseconds apart, since the last call: (milliseconds, how
        often), without what never happened."""
        found = [(ms, count) for ms, count in enumerate(self._gaps_ms) if count]
        self._gaps_ms = array("Q", bytes(8 * (GAP_MS_MAX + 1)))
        return found
