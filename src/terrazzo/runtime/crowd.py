"""A crowd: walkers in several processes (`walkers.py`), and what they have seen together.

    Crowd(orders)  start() ─▶ every process runs ─▶ look() at any time ─▶ stop() ─▶ ended

`look` sums the newest samples of all processes. `Rates` compares two samples of each process, with the time that each
of them bears: processes do not send their samples at the same moment.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import msgspec

from terrazzo.errors import UsageError
from terrazzo.runtime.walkers import HARD_END_S, Sample, WalkersOrder


class Crowd:
    """Processes of walkers."""

    def __init__(self, orders: list[WalkersOrder]) -> None:
        self.pids: list[int] = []
        self._orders = orders
        self._processes: list[asyncio.subprocess.Process] = []
        self._samples: list[Sample] = [Sample() for _ in orders]
        self._gaps_ms: Counter[int] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts the processes; the walkers log in by and by."""
        for number, order in enumerate(self._orders):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "terrazzo.runtime.walkers",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._processes.append(process)
            self.pids.append(process.pid)
            self._tasks.append(asyncio.create_task(self._read(number, process)))

    async def _read(self, number: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            sample = self._samples[number] = msgspec.json.decode(line, type=Sample)
            self._gaps_ms.update(dict(sample.gaps_ms))

    def samples(self) -> list[Sample]:
        """The newest sample of each process; UsageError when one of them has failed."""
        failed = [each.pid for each in self._processes if each.returncode not in (None, 0)]
        if failed:
            raise UsageError(f"a process of walkers has failed (pid {failed[0]}): see what it wrote above")
        return list(self._samples)

    def look(self) -> Sample:
        """The sum of the newest samples."""
        return add_up(self.samples())

    def take_gaps(self) -> Counter[int]:
        """Milliseconds between two updates of a walker, and how often, since the last call."""
        gaps, self._gaps_ms = self._gaps_ms, Counter()
        return gaps

    async def stop(self) -> None:
        """All walkers leave; then the processes are gone."""
        for process in self._processes:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
        for process in self._processes:
            try:
                async with asyncio.timeout(HARD_END_S + 2):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def add_up(samples: list[Sample]) -> Sample:
    """The sum of samples; `at` is the latest."""
    total = Sample()
    why: Counter[str] = Counter()
    for each in samples:
        for field in _SUMS:
            setattr(total, field, getattr(total, field) + getattr(each, field))
        total.at = max(total.at, each.at)
        total.tally = total.tally.plus(each.tally)
        total.round_trips_ms = total.round_trips_ms + each.round_trips_ms
        why.update(each.why)
    total.why = dict(why.most_common(10))
    return total


_SUMS = ("cpu_s", "walking", "on_their_way", "out", "moves", "updates")


class Rates:
    """What happened between two samples of each of some processes."""

    def __init__(self, pairs: list[tuple[Sample, Sample]]) -> None:
        self._pairs = pairs

    def total(self, count: Callable[[Sample], int]) -> int:
        """How much a count has grown."""
        return sum(count(after) - count(before) for before, after in self._pairs)

    def per_s(self, count: Callable[[Sample], float]) -> float:
        """How much a count has grown a second, all processes together."""
        rate = 0.0
        for before, after in self._pairs:
            if after.at > before.at:
                rate += (count(after) - count(before)) / (after.at - before.at)
        return rate


def percentile(counts: list[tuple[int, int]], share: float) -> int | None:
    """The value below or at which this share of the counted values lies; None of none."""
    left = share * sum(count for _, count in counts)
    for value, count in counts:
        left -= count
        if left <= 0:
            return value
    return None
