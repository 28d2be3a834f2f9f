"""The load of this process, measured: the share of one core that it has used; and the time that another has used.

All threads count, so a DBApp that hashes passwords on a second core can be above 1. With `terrazzo run --single` all
apps share one process, and each of them reports the load of that process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from terrazzo.errors import UsageError

WINDOW_S = 0.5
"""The shortest time over which the load is measured; a shorter one would show noise."""


LATE_WEIGHT = 0.1
"""Of the last tick in the smoothed lateness."""


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


def used_s(pid: int) -> float:
    """The processor seconds of all threads of a process."""
    folder = Path(f"/proc/{pid}/task")
    try:
        return sum(int((each / "schedstat").read_text().split()[0]) for each in folder.iterdir()) / 1e9
    except (OSError, IndexError, ValueError):
        pass
    fields = _stat(pid)
    if fields is None:
        raise UsageError(f"cannot read the processor time of process {pid}: it is gone")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def used_s_with_children(pid: int) -> float:
    """The processor seconds of a process, of its children that live, and of those that have ended."""
    own_s, fields = used_s(pid), _stat(pid) or ["0"] * 15
    ended_s = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    pids = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    children = [each for each in pids if (found := _stat(each)) is not None and int(found[1]) == pid]
    return own_s + ended_s + sum(map(used_s, children))


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name; None of a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


class Lateness:
    """How late ticks begin, in ticks, smoothed over some of them."""

    def __init__(self) -> None:
        self.ticks = 0.0

    def note(self, late: float) -> None:
        """A tick has begun so much after it was due."""
        self.ticks += (max(late, 0.0) - self.ticks) * LATE_WEIGHT
