"""One process of a cluster: `python -m terrazzo.runtime.process NAME`, started by a launcher only.

Its order is the first line on its stdin; the end of stdin asks it to stop, as SIGTERM does. So a process never outlives
its launcher, however that ended: a thread waits for the end of stdin, and if the process has not ended GONE_S later
(a game's code that never returns), the thread ends it. Reports go to the stdout of the process; what a game prints goes
to stderr.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

import msgspec

from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.runtime.collector import calm_collector
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.logs import AppLog
from terrazzo.runtime.loop import run
from terrazzo.runtime.members import GONE_S, Member
from terrazzo.runtime.orders import OnReport, Order, Progress, ProgressReport
from terrazzo.wire.environment import Log
from terrazzo.wire.log_events import LogEvent

MEMBERS = {
    "login_app": "terrazzo.runtime.entrances:LoginMember",
    "db_app": "terrazzo.runtime.members:DBMember",
    "base_app_mgr": "terrazzo.runtime.members:BaseMgrMember",
    "base_app": "terrazzo.runtime.entrances:BaseMember",
    "cell_app_mgr": "terrazzo.runtime.members:CellMgrMember",
    "cell_app": "terrazzo.runtime.members:CellMember",
    "bots": "terrazzo.runtime.bots:BotsMember",
    "console": "terrazzo.console.member:ConsoleMember",
}
"""Kind → module and class of its member; imported when needed."""


def make_member(order: Order, game: LoadedGame, log: Log, on_report: OnReport) -> Member:
    """The member that an order asks for."""
    module, _, name = MEMBERS[order.kind].partition(":")
    made: Callable[[Order, LoadedGame, Log, OnReport], Member] = getattr(importlib.import_module(module), name)
    return made(order, game, log, on_report)


async def live(member: Member, log: Log, on_report: OnReport) -> bool:
    """Runs a member from start to end; False, with a report, when it did not end in order."""
    try:
        await member.start()
        await member.run()
    except UsageError as problem:
        on_report(ProgressReport(Progress.FAILED, str(problem)))
        log(LogEvent.APP_FAILED, why=str(problem))
        return False
    except Exception as problem:
        on_report(ProgressReport(Progress.FAILED, f"{type(problem).__name__}: {problem}"))
        log(LogEvent.APP_FAILED, error=repr(problem), trace=traceback.format_exc())
        return False
    return True


def main() -> int:
    """Reads the order and runs its member; returns the exit code."""
    with open(0, "rb", buffering=0, closefd=False) as stdin:  # unbuffered: only the line is read
        order = msgspec.json.decode(stdin.readline(), type=Order)
    launcher = os.getppid()
    reports = os.dup(1)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher gets it, and stops its members in order

    def on_report(report: ProgressReport) -> None:
        with suppress(OSError):  # the launcher is gone: stdin ends as well
            os.write(reports, msgspec.json.encode(report) + b"\n")

    log = AppLog(order.name, DataFolder(order.data).logs, as_json=order.json_log)
    try:
        game = load_game(order.game)
    except UsageError as problem:
        on_report(ProgressReport(Progress.FAILED, str(problem)))
        return 1
    calm_collector()
    is_well = run(_live_until_stopped(order, game, log, on_report))
    if os.getppid() != launcher:
        with suppress(OSError):  # without its launcher, the last process removes the folder, when it is empty
            DataFolder(order.data).forget_dead_cluster()
            os.rmdir(order.sockets)
    return 0 if is_well else 1


async def _live_until_stopped(order: Order, game: LoadedGame, log: Log, on_report: OnReport) -> bool:
    member = make_member(order, game, log, on_report)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, member.stop)
    threading.Thread(target=_watch_launcher, args=(loop, member.stop), daemon=True, name="launcher").start()
    return await live(member, log, on_report)


def _watch_launcher(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    while os.read(0, 1024):
        pass
    try:
        loop.call_soon_threadsafe(stop)
    except RuntimeError:
        return  # the loop has ended by itself
    time.sleep(GONE_S)
    os._exit(3)


if __name__ == "__main__":
    sys.exit(main())
