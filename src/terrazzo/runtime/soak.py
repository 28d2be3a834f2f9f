"""A soak: a cluster with bots runs for a while, and the memory of each of its processes is written down.

    start the cluster ─▶ ready ─▶ every `every_s`: a row of samples ─▶ after `minutes`: stop ─▶ slopes

The slope of a process is that of the straight line through its samples (least squares), in KiB a minute; samples of the
first `skip_minutes` do not count, since a process that has just started fills its caches. A slope needs three samples.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from terrazzo.errors import UsageError
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.datafolder import DataFolder

READY_LOOK_S = 0.2
SAMPLES_MIN = 3


@dataclass(frozen=True)
class Plan:
    """The length of a soak, and the time between two samples of memory."""

    minutes: float
    every_s: float = 60.0
    skip_minutes: float = 5.0


@dataclass
class Soaked:
    """The samples: the minute of each row, and the resident KiB of each process in it."""

    minutes: list[float] = field(default_factory=list)
    kib: dict[str, list[int]] = field(default_factory=dict)
    exit_code: int = 0

    def add(self, minute: float, row: dict[str, int]) -> None:
        """Adds one row; a process that was started later has fewer samples, the last of which is of this row."""
        self.minutes.append(round(minute, 3))
        for name, kib in row.items():
            self.kib.setdefault(name, []).append(kib)

    def slopes(self, skip_minutes: float) -> dict[str, float | None]:
        """KiB a minute by process; None where there are too few samples."""
        found = {}
        for name, kib in self.kib.items():
            points = zip(self.minutes[-len(kib) :], kib, strict=True)
            found[name] = slope([(minute, size) for minute, size in points if minute >= skip_minutes])
        return found


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the straight line through the points (least squares); None where they are too few for one."""
    count = len(points)
    if count < SAMPLES_MIN:
        return None
    mean_x, mean_y = (sum(each) / count for each in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else None


def resident_kib(pid: int) -> int:
    """The resident memory of a process; 0 when there is no such process any more."""
    statm = Path(f"/proc/{pid}/statm")
    try:
        if statm.parent.parent.joinpath("self").exists():
            return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
        return int(subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True).stdout or 0)
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as problem:
        raise UsageError(f"cannot read the memory of process {pid}: {problem}") from None


async def soak(
    cluster: Cluster, folder: DataFolder, plan: Plan, on_row: Callable[[float, dict[str, int]], None]
) -> Soaked:
    """Runs a cluster that has not been started yet; `on_row` is called with each row."""
    soaked = Soaked()
    running = asyncio.create_task(cluster.run())
    try:
        while not cluster.is_ready and not running.done():
            await asyncio.wait([running], timeout=READY_LOOK_S)
        rows = int(plan.minutes * 60 / plan.every_s)
        began_at = asyncio.get_running_loop().time()
        for number in range(rows + 1):
            left_s = began_at + number * plan.every_s - asyncio.get_running_loop().time()
            await asyncio.wait([running], timeout=max(left_s, 0.0))
            if running.done():
                break
            row = {app.name: resident_kib(app.pid) for app in folder.read_cluster().apps}
            soaked.add(number * plan.every_s / 60, row)
            on_row(soaked.minutes[-1], row)
    finally:
        is_early = running.done()
        if not is_early:
            cluster.stop()
        soaked.exit_code = await running
    if is_early:
        soaked.exit_code = soaked.exit_code or 1
    return soaked
