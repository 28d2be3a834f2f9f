"""A run of a cluster: starts its members, follows their progress, ends them in order.

    start all apps ──▶ every one READY, and the game's on_ready has run: the world is ready ──▶ bots ──▶ … ──▶ stop()
                 │                                                                             └─▶ ended, exit code 0
                 └── not yet after patience_s: prints what is missing, and waits on
      any member ends by itself, or fails ─────────────────────────────────────▶ named, with the end of its log;
                                                                                 the rest ends in order; exit code 1
      bots end by themselves, or fail ─────────────────────────────────────────▶ named; the world goes on without them

The order of an end, each stage when the one before is gone or has had its time (then it is killed):

    1  bots                                   they log off by themselves
    2  console, LoginApps, BaseApps           no client gets in any more; the BaseApps save everything
    3  CellApps
    4  managers
    5  DBApp                                  last, when everything is written

`members.py` describes how each member ends. A second stop() kills the members that are left.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from terrazzo.game import LoadedGame
from terrazzo.runtime import ports
from terrazzo.runtime.config import Config
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.launcher import Launched, Launcher
from terrazzo.runtime.logs import last_lines
from terrazzo.runtime.members import GONE_S
from terrazzo.runtime.orders import (
    BOTS,
    CONSOLE,
    WS_PATH,
    Bots,
    ClusterFile,
    Order,
    Progress,
    ProgressReport,
    RunningApp,
)
from terrazzo.schema.digest import digest

Say = Callable[[str], None]

STAGES = (
    (BOTS,),
    (CONSOLE, "login_app", "base_app"),
    ("cell_app",),
    ("cell_app_mgr", "base_app_mgr"),
    ("db_app",),
)
STAGE_S = GONE_S
"""A member must end within this time; otherwise it is killed."""


@dataclass(eq=False)
class _Running:
    """One member."""

    order: Order
    launched: Launched | None = None
    report: ProgressReport | None = None
    step: Progress | None = None
    text: str = ""
    end: asyncio.Task[str] | None = None

    @property
    def is_up(self) -> bool:
        return self.end is not None and not self.end.done()

    @property
    def has_fallen(self) -> bool:
        """Whether it has failed, or ended by itself."""
        return self.step is Progress.FAILED or not self.is_up


class Cluster:
    """One run of a cluster."""

    def __init__(
        self,
        game_path: str | Path,
        game: LoadedGame,
        config: Config,
        data: DataFolder,
        launcher: Launcher,
        *,
        say: Say,
        complain: Say,
        json_log: bool = False,
        with_console: bool = False,
    ) -> None:
        """`say` prints lines for people, `complain` prints failures."""
        self.is_ready = False
        self._game_path = str(Path(game_path).resolve())
        self._game = game
        self._config = config
        self._data = data
        self._launcher = launcher
        self._say = say
        self._complain = complain
        self._json_log = json_log
        self._with_console = with_console
        self._members: list[_Running] = []
        self._stops = 0
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._failed = False
        self._is_populated = False
        self._fallen: list[_Running] = []
        self._began_at = time.monotonic()

    def stop(self) -> None:
        """Ends the cluster in order; a second call ends it at once."""
        self._stops += 1
        self._stopping.set()
        self._changed.set()
        if self._stops > 1:
            for member in self._members:
                if member.launched is not None and member.is_up:
                    member.launched.kill()

    async def run(self) -> int:
        """Runs the cluster from start to end; returns the exit code."""
        self._data.make_key()
        with tempfile.TemporaryDirectory(prefix="terrazzo-") as sockets:
            try:
                await self._start_apps(sockets)
                await self._watch(sockets)
            finally:
                await self._end()
        return 1 if self._failed else 0

    # The start.

    async def _start_apps(self, sockets: str) -> None:
        apps = self._config.apps
        singles = ("db_app", "cell_app_mgr", "base_app_mgr", "login_app")
        names = [(kind, 0) for kind in singles]
        names += [("cell_app", index) for index in range(apps.cells)]
        names += [("base_app", index) for index in range(apps.bases)]
        for kind, index in names:
            if self._stopping.is_set():
                return
            await self._launch(self._order(kind, index, sockets))

    def _order(self, kind: str, index: int, sockets: str, bots: Bots | None = None) -> Order:
        return Order(
            kind=kind, index=index, game=self._game_path, config=self._config, data=str(self._data.root),
            sockets=sockets, json_log=self._json_log, bots=bots,
        )  # fmt: skip

    async def _launch(self, order: Order) -> None:
        member = _Running(order)
        self._members.append(member)
        launched = member.launched = await self._launcher.launch(order, lambda report: self._on_report(member, report))
        member.end = asyncio.create_task(launched.wait())
        member.end.add_done_callback(lambda _: self._changed.set())

    def _on_report(self, member: _Running, report: ProgressReport) -> None:
        member.step, member.text = report.step, report.text
        self._is_populated = self._is_populated or report.is_populated
        if report.step is Progress.STARTED:
            member.report = report
            if not self._failed and not self._stopping.is_set():
                self._say(self._line(member))
        self._changed.set()

    def _line(self, member: _Running) -> str:
        report, pid = member.report, member.launched.pid if member.launched is not None else 0
        assert report is not None
        words = f"  {member.order.name:<16} pid {pid}"
        if report.udp_port:
            host = self._config.listen.near_host
            words += f"  udp {host}:{report.udp_port}  ws {host}:{report.ws_port}"
        return f"{words}  {report.text}".rstrip()

    # The life.

    async def _watch(self, sockets: str) -> None:
        """Waits until the cluster is to end, by request or because a member has ended."""
        patience = asyncio.get_running_loop().call_later(self._config.launch.patience_s, self._say_what_is_missing)
        try:
            while not self._stopping.is_set():
                await self._changed.wait()
                self._changed.clear()
                await self._part_with_bots()
                fallen = [each for each in self._members if each.has_fallen]
                if fallen and not self._stopping.is_set():
                    await self._report_fallen(fallen)
                    return
                if self._with_console and all(each.report is not None for each in self._members):
                    self._with_console = False
                    await self._launch_console(sockets)
                if (
                    not self.is_ready
                    and self._is_populated
                    and all(each.step is Progress.READY for each in self._members)
                ):
                    await self._become_ready(sockets)
        finally:
            patience.cancel()

    async def _launch_console(self, sockets: str) -> None:
        host = self._config.listen.near_host
        place = f"[{host}]" if ":" in host else host
        url = f"ws://{place}:{self._login().ws_port}{WS_PATH}"
        await self._launch(msgspec.structs.replace(self._order(CONSOLE, 0, sockets), login_url=url))

    def _login(self) -> ProgressReport:
        login = next(each.report for each in self._members if each.order.kind == "login_app")
        assert login is not None
        return login

    async def _become_ready(self, sockets: str) -> None:
        self.is_ready = True
        self._write_file(sockets)
        self._say(f"The world is ready after {time.monotonic() - self._began_at:.1f} s.")
        for console in [each.report for each in self._members if each.order.kind == CONSOLE]:
            if console is not None:
                token = f"?token={self._data.console_token()}" if self._config.console.needs_token else ""
                self._say(f"Look at it: {console.text}{token}  Play: {console.text}play  End it: Ctrl-C")
        self._say_other_ports()
        if self._config.apps.bots:
            await self._launch(self._order(BOTS, 0, sockets, self._bots()))
            self._write_file(sockets)

    def _say_other_ports(self) -> None:
        """Prints the ports that were taken instead of usual ports that other programs have."""
        listen, login = self._config.listen, self._login()
        pages = [each.report.text for each in self._members if each.order.kind == CONSOLE and each.report is not None]
        found = [
            ("login_udp_port", ports.LOGIN, login.udp_port),
            ("login_ws_port", ports.LOGIN, login.ws_port),
            *(("console_port", ports.CONSOLE, urlsplit(page).port or 0) for page in pages),
        ]
        others = [each for each in found if getattr(listen, each[0]) == 0 and each[2] not in (0, each[1])]
        if others:
            taken = ", ".join(str(usual) for usual in dict.fromkeys(usual for _, usual, _ in others))
            instead = ", ".join(f"{setting} = {port}" for setting, _, port in others)
            self._say(f"Another program has the usual ports ({taken}), so the world has others this time: {instead}.")

    def _bots(self) -> Bots:
        return Bots(
            count=self._config.apps.bots, host=self._config.listen.near_host, udp_port=self._login().udp_port,
            public_key=self._data.public_key(), password=self._data.bots_password(),
        )  # fmt: skip

    def _write_file(self, sockets: str) -> None:
        host = self._config.listen.near_host
        apps = []
        for each in self._members:
            pid = each.launched.pid if each.launched is not None else 0
            report = each.report or ProgressReport(Progress.STARTED)
            place = host if report.udp_port else ""
            apps.append(RunningApp(each.order.name, pid, place, report.udp_port, report.ws_port, report.text))
        self._data.write_cluster(
            ClusterFile(
                self._game_path,
                os.getpid(),
                self._data.public_key(),
                digest(self._game.schema),
                sockets,
                self.is_ready,
                apps,
            )
        )

    def _say_what_is_missing(self) -> None:
        if self.is_ready:
            return
        self._complain(f"The world is not ready after {self._config.launch.patience_s:g} s:")
        for each in self._members:
            if each.step is Progress.WAITING:
                self._complain(f"  {each.order.name} waits for {each.text}")
            elif each.step is None:
                self._complain(f"  {each.order.name} has not started yet")
        if not self._is_populated and all(each.step is Progress.READY for each in self._members):
            self._complain("  the game's on_ready has not returned yet")

    # The end.

    async def _part_with_bots(self) -> None:
        """Reports the failure of bots; the world goes on without them."""
        if self._stopping.is_set():
            return
        for member in [each for each in self._members if each.order.kind == BOTS and each.has_fallen]:
            await self._report(member, "the world goes on")
            self._fallen.append(member)
            await self._end_one(member)
            self._members.remove(member)
            self._complain("The world goes on without these bots.")

    async def _report_fallen(self, fallen: list[_Running]) -> None:
        self._failed = True
        self._fallen = fallen
        for member in fallen:
            await self._report(member, "the cluster ends")

    async def _report(self, member: _Running, outcome: str) -> None:
        assert member.end is not None
        name = member.order.name
        if member.step is Progress.FAILED:
            self._complain(f"{name}: {member.text}")
            return
        how = await member.end
        pid = member.launched.pid if member.launched is not None else 0
        self._complain(f"{name} (pid {pid}) {how or 'ended by itself'}; {outcome}. Its last words:")
        for line in last_lines(self._data.logs / f"{name}.log"):
            self._complain(f"  {line}")

    async def _end(self) -> None:
        self._stopping.set()
        began_at = time.monotonic()
        if self.is_ready:
            self._say("Stopping.")
        for kinds in STAGES:
            stage = [each for each in self._members if each.order.kind in kinds and each.launched is not None]
            await asyncio.gather(*(self._end_one(each) for each in stage))
        if self.is_ready and not self._failed:
            self._say(f"Everything has ended after {time.monotonic() - began_at:.1f} s.")

    async def _end_one(self, member: _Running) -> None:
        assert member.launched is not None
        if member.end is None:
            member.end = asyncio.create_task(member.launched.wait())
        if not member.end.done():
            member.launched.stop()
            done, _ = await asyncio.wait([member.end], timeout=STAGE_S)
            if not done:
                waited = f"; it waited for {member.text}" if member.step is Progress.ENDING else ""
                self._fail(member, f"did not end within {STAGE_S:g} s and was killed{waited}.")
                member.launched.kill()
                await member.end
                return
        how = await member.end
        if how and member.step is Progress.FAILED and member not in self._fallen:
            self._fail(member, member.text, separator=": ")
        elif how and not self._failed and member.step is not Progress.FAILED:
            self._fail(member, f"{how} while the cluster was ending.")

    def _fail(self, member: _Running, what: str, *, separator: str = " ") -> None:
        """Reports that a member has not ended in order; except for bots, that is a failure of the cluster."""
        self._complain(f"{member.order.name}{separator}{what}")
        self._failed = self._failed or member.order.kind != BOTS
