"""Launchers: they run the members of a cluster. `cluster.py` decides which members run and when they end.

    LocalLauncher     each member is a process of this machine (`process.py`)
    SingleLauncher    all members share this process and its event loop, for debugging

A launcher for many machines is a third class with the same two methods.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from typing import Protocol

import msgspec

from terrazzo.game import LoadedGame
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.logs import AppLog
from terrazzo.runtime.orders import OnReport, Order, ProgressReport
from terrazzo.runtime.process import live, make_member


class Launched(Protocol):
    """A member that was started."""

    @property
    def pid(self) -> int:
        """The id of its process."""

    def stop(self) -> None:
        """Asks the member to end in order."""

    def kill(self) -> None:
        """Ends the member at once."""

    async def wait(self) -> str:
        """Waits for its end; returns what went wrong, or nothing if it ended in order. May be called again."""


class Launcher(Protocol):
    """Starts members."""

    async def launch(self, order: Order, on_report: OnReport) -> Launched:
        """Starts a member; `on_report` is called with its reports, all of them before `wait` returns."""


class LocalProcess:
    """A member in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, on_report: OnReport) -> None:
        self._process = process
        self._reading = asyncio.create_task(self._read(on_report))

    @property
    def pid(self) -> int:
        """See Launched."""
        return self._process.pid

    def stop(self) -> None:
        """See Launched."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> None:
        """See Launched."""
        if self._process.returncode is None:
            self._process.kill()

    async def wait(self) -> str:
        """See Launched."""
        code = await self._process.wait()
        await asyncio.wait([self._reading], timeout=1.0)  # a grandchild of a game may hold the pipe open
        self._reading.cancel()
        self.stop()
        if code >= 0:
            return f"ended with exit code {code}" if code else ""
        return f"was ended by {signal.Signals(-code).name}"

    async def _read(self, on_report: OnReport) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            on_report(msgspec.json.decode(line, type=ProgressReport))


class LocalLauncher:
    """Processes of this machine. They are in sessions of their own, so that only the launcher gets Ctrl-C."""

    def __init__(self, modules: Mapping[str, str] | None = None) -> None:
        """`modules`: by kind, modules that run in place of `terrazzo.runtime.process` (stand-ins of benchmarks)."""
        self._modules = modules or {}

    async def launch(self, order: Order, on_report: OnReport) -> Launched:
        """See Launcher."""
        module = self._modules.get(order.kind, "terrazzo.runtime.process")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", module, order.name,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        return LocalProcess(process, on_report)


class SharedMember:
    """A member in this process."""

    def __init__(self, order: Order, game: LoadedGame, on_report: OnReport) -> None:
        self._log = AppLog(order.name, DataFolder(order.data).logs, as_json=order.json_log)
        self._member = make_member(order, game, self._log, on_report)
        self._task = asyncio.create_task(live(self._member, self._log, on_report))

    @property
    def pid(self) -> int:
        """See Launched."""
        return os.getpid()

    def stop(self) -> None:
        """See Launched."""
        self._member.stop()

    def kill(self) -> None:
        """See Launched."""
        self._task.cancel()

    async def wait(self) -> str:
        """See Launched."""
        await asyncio.wait([self._task])
        self._log.close()
        if self._task.cancelled():
            return "was cancelled"
        return "" if self._task.result() else "failed"


class SingleLauncher:
    """All members in this process, with the game loaded once."""

    def __init__(self, game: LoadedGame) -> None:
        self._game = game

    async def launch(self, order: Order, on_report: OnReport) -> Launched:
        """See Launcher."""
        return SharedMember(order, self._game, on_report)
