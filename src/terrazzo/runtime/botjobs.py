"""Bots in several processes: `python -m terrazzo.runtime.botjobs` is one of them, `BotJobs` starts them.

    BotJob (one JSON line) ──▶ stdin; its end is the word to leave

A process with only refused bots ends with exit code 1 and the reason on stderr. The others go on; when no process
is left, `run` raises a UsageError.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress

import msgspec

from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.bots import BotCrowd
from terrazzo.runtime.collector import calm_collector
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.orders import Bots

END_S = 5.0


class BotJob(msgspec.Struct, frozen=True, kw_only=True):
    """The order of one process."""

    bots: Bots
    game: str
    tick_s: float = 0.1


def share_out(bots: Bots, jobs: int) -> list[Bots]:
    """The bots of each process; numbers go on from one to the next."""
    jobs = min(max(jobs, 1), bots.count)
    parts = [bots.count // jobs + (number < bots.count % jobs) for number in range(jobs)]
    firsts = [bots.first + sum(parts[:number]) for number in range(jobs)]
    return [msgspec.structs.replace(bots, count=part, first=first) for part, first in zip(parts, firsts, strict=True)]


class BotJobs:
    """Processes of bots."""

    def __init__(self, jobs: list[BotJob]) -> None:
        self.pids: list[int] = []
        self._jobs = jobs
        self._processes: list[asyncio.subprocess.Process] = []
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Starts the processes; the bots log in by and by."""
        for job in self._jobs:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "terrazzo.runtime.botjobs",
                stdin=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            self._processes.append(process)
            self.pids.append(process.pid)

    def stop(self) -> None:
        """Asks all bots to leave."""
        self._stopping.set()

    async def run(self) -> None:
        """Until they are to leave, and have left; UsageError when all processes have failed before that. A process that
        has not left END_S after it was asked to is killed."""
        stopping = asyncio.create_task(self._stopping.wait())
        ends = [asyncio.create_task(process.wait()) for process in self._processes]
        left = set(ends)
        while left and not stopping.done():
            done, _ = await asyncio.wait({stopping, *left}, return_when=asyncio.FIRST_COMPLETED)
            left -= done
        stopping.cancel()
        ended_by_themselves = not left
        for process in self._processes:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
        if left:
            await asyncio.wait(left, timeout=END_S)
        for process in self._processes:
            if process.returncode is None:
                process.kill()
        codes = await asyncio.gather(*ends)
        if ended_by_themselves and all(codes):
            raise UsageError("no process of bots could go on: the reasons are above")


def main() -> int:
    """Reads the job, and does it until the end of stdin."""
    with open(0, "rb", buffering=0, closefd=False) as stdin:  # unbuffered: what follows the line stays unread
        job = msgspec.json.decode(stdin.readline(), type=BotJob)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the starter gets it, and ends this process in order
    calm_collector()
    try:
        run_loop(_run(job))
    except UsageError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


async def _run(job: BotJob) -> None:
    crowd = BotCrowd(job.bots, load_game(job.game), _quiet, tick_s=job.tick_s)
    loop = asyncio.get_running_loop()

    def watch() -> None:
        while os.read(0, 1024):
            pass
        with suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(crowd.stop)

    threading.Thread(target=watch, daemon=True, name="starter").start()
    await crowd.run()


def _quiet(event: str, /, **facts: object) -> None:
    """Bots of a job keep no log."""


if __name__ == "__main__":
    sys.exit(main())
