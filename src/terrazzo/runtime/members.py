"""The members of a cluster: each app with everything around it (driver, doors, store), from its start to its end.

    start() ── doors open, app made, ticking ──▶ WAITING for others ──▶ READY ── stop() ──▶ ending ──▶ run() returns

A member reports every change of its progress (`ProgressReport`): in words, what it waits for, until it has what it
needs to work. How it ends depends on what other members need of it:

    BaseApp       logs its clients off, ends cell parts, saves everything; then it ends
    LoginApp      ends at once: clients repeat their requests at another one
    CellApps, managers, DBApp
                  end when no BaseApp is linked with them any more, since BaseApps still save; DBApp also waits until
                  everything is written
    all           within END_S, even if the others do not end; a member that is not done by then fails, and reports
                  what is not done. Then sessions and links close, so a member is gone after GONE_S at the latest

While it ends, it reports what it waits for (Step.ENDING): a launcher that ends it by force can name that.

So the order of an end is right even when all processes are stopped at the same moment, as happens when the launcher
is killed. A member is the same in a process of its own and in one with all the others. The members with doors for
clients are in `entrances.py`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

from terrazzo.cell.cellapp import CellApp
from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.db.bots import BotsDatabase
from terrazzo.db.dbapp import DBApp
from terrazzo.db.migration import settle
from terrazzo.db.passwords import Hasher
from terrazzo.db.store import Database
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.managers.cellapp_mgr import CellAppMgr, ManagerState
from terrazzo.runtime.collector import Aside
from terrazzo.runtime.databases import open_database
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.driver import Driver
from terrazzo.runtime.leftovers import set_reserve_aside, take_in
from terrazzo.runtime.orders import OnReport, Order, Progress, ProgressReport
from terrazzo.runtime.storethreads import StoreThreads
from terrazzo.wire.environment import Log
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.log_events import LogEvent

if TYPE_CHECKING:  # its own imports take longer than all others
    from terrazzo.runtime.doors import Doors

END_S = 3.8
"""How long an end in order may take; what is not done by then is reported."""
GONE_S = 10.0
"""How long a member may take in all until its process is gone, on a busy machine, too: END_S; then its links close, for
which a busy peer may need their CLOSE_S, then its sessions, then its connections. A member that takes longer is killed.
"""
TOKEN_BYTES = 3
"""Of the token in the names of instances."""


class Member(Protocol):
    """A member of a cluster; made with an order, the game, a log and the receiver of its reports."""

    async def start(self) -> None:
        """Begins; when that fails, releases everything and raises: a UsageError if one sentence explains it."""

    def stop(self) -> None:
        """Asks the member to end in order."""

    async def run(self) -> None:
        """Waits until the end; raises what broke the member."""


class AppMember:
    """The common part of all apps."""

    def __init__(self, order: Order, game: LoadedGame, log: Log, on_report: OnReport) -> None:
        self.order = order
        self.config = order.config
        self.game = game
        self.log = log
        self.doors: Doors | None = None
        self.driver: Driver | None = None
        self._on_report = on_report
        self._waits_for: str | None = None
        self._has_started = False
        self._end_by: float | None = None
        self._ending = ""
        """What it waits for at its end, as last reported."""
        self._undone: str | None = None
        """What was not done when the time for an end in order was over."""

    async def start(self) -> None:
        """See Member."""
        try:
            await self._start()
        except BaseException:
            if self.driver is not None:
                self.driver.stop()
            await self.run()
            raise
        if self._end_by is not None and self.driver is not None:
            self.driver.call(self._begin_end)  # stop() came before it had begun

    async def _start(self) -> None:
        await self._open()
        seed = int.from_bytes(os.urandom(8), "little")
        id, tick_s = self.order.id, self.config.tick_s
        self.driver = Driver(
            id,
            self._make,
            tick_s=tick_s,
            turn_s=self.config.turn_s,
            places=self.order.place_of,
            seed=seed,
            log=self.log,
            after_tick=self._on_ticked,
            after_turn=self._on_turned,
        )
        if self.doors is not None:
            self.doors.call_when_used(self.driver.turn_soon)
            self.driver.unsent_outside = self.doors.unsent_bytes
        await self.driver.start([self.order.place_of(id)])
        await self._open_more()
        doors = self.doors
        ports = (self.config.listen.announced_host, doors.udp_port, doors.ws_port) if doors is not None else ("", 0, 0)
        self._has_started = True
        self._on_report(ProgressReport(Progress.STARTED, self._words(), *ports))

    def stop(self) -> None:
        """See Member."""
        if self._end_by is None:
            self._end_by = time.monotonic() + END_S
            self.log(LogEvent.STOPPING)
            if self.driver is not None:
                self.driver.call(self._begin_end)

    async def run(self) -> None:
        """See Member."""
        try:
            if self.driver is not None:
                await self.driver.run()
        finally:
            if self.doors is not None:
                self._report_ending("its sessions and connections to close")
                await self.doors.close()
            await self._close()
        if self._undone is not None:
            raise UsageError(self._undone)

    def _on_ticked(self) -> None:
        assert self.driver is not None
        if self.doors is not None:
            self.doors.flush()
        if self._end_by is not None:
            self._end_if_done(self._end_by)
        elif self._has_started:
            self._look_around()

    def _end_if_done(self, end_by: float) -> None:
        assert self.driver is not None
        if self._may_end():
            self._stop_driver()
        elif time.monotonic() < end_by:
            self._report_ending(self._waits_to_end_for())
        elif self._undone is None:
            self._undone = self._left_undone()
            self.log(LogEvent.ENDED_EARLY, error=f"after {END_S:g} s: {self._undone}")
            self._stop_driver()

    def _stop_driver(self) -> None:
        assert self.driver is not None
        self._report_ending(f"links to close: {', '.join(sorted(map(str, self.driver.links.peers)))}")
        self.driver.stop()

    def _report_ending(self, text: str) -> None:
        if self._end_by is not None and text != self._ending:
            self._ending = text
            self._on_report(ProgressReport(Progress.ENDING, text))

    def _on_turned(self) -> None:
        if self.doors is not None:
            self.doors.flush()

    def _look_around(self) -> None:
        if self._waits_for == "":
            return
        waits_for = self._missing()
        if waits_for != self._waits_for:
            self._waits_for = waits_for
            self._on_report(
                ProgressReport(Progress.WAITING, waits_for) if waits_for else ProgressReport(Progress.READY)
            )

    def _base_apps(self) -> list[AppId]:
        """The BaseApps that it is linked with."""
        assert self.driver is not None
        return sorted(peer for peer in self.driver.links.peers if peer.kind is AppKind.BASE_APP)

    # Overridden by each kind of app.

    async def _open(self) -> None:
        """Opens what the app needs before it is made."""

    def _make(self, host: Host) -> ClusterApp:
        """The app."""
        raise NotImplementedError

    def _words(self) -> str:
        """A text for people, once it has started."""
        return ""

    def _missing(self) -> str:
        """What it waits for before it can work; empty: it is ready."""
        return ""

    def _begin_end(self) -> None:
        """Begins the end of the app."""

    def _may_end(self) -> bool:
        """Whether nothing would be lost."""
        return not self._base_apps()

    def _waits_to_end_for(self) -> str:
        """What is left to be done at its end."""
        return f"the end of {', '.join(map(str, self._base_apps()))}"

    def _left_undone(self) -> str:
        """What is not as it should be when its time is over."""
        return f"it still waited for {self._waits_to_end_for()}"

    async def _open_more(self) -> None:
        """What needs the app to be there."""

    async def _close(self) -> None:
        """What was opened, as far as it was."""


class DBMember(AppMember):
    """DBApp, its database and the threads that work for it."""

    _threads: StoreThreads | None = None

    async def _open(self) -> None:
        stored = await asyncio.to_thread(self._open_database)  # it may run an event loop of its own
        self._threads = StoreThreads(BotsDatabase(stored), self._make_hasher())

    def _make_hasher(self) -> Hasher:
        return Hasher(os.urandom)

    def _open_database(self) -> Database:
        folder = DataFolder(self.order.data)
        stored = open_database(self.config.store.url, folder)
        try:
            take_in(folder.root, stored, self.log)  # written by the last run: it has the layout of the records
            for change in settle(stored, self.game.schema, self._migrate_command()):
                self.log(LogEvent.SAVED_LAYOUT, change=change.kind.value, what=change.what)
            set_reserve_aside(folder.root)
        except UsageError:
            stored.close()
            raise
        return stored

    def _migrate_command(self) -> str:
        words = ["terrazzo", "migrate", self.order.game, "--data", self.order.data]
        return shlex.join(words) + (" --config FILE" if self.config.store.url else "")

    def _make(self, host: Host) -> ClusterApp:
        assert self._threads is not None
        self.app = DBApp(
            self.order.id,
            host,
            schema=self.game.schema,
            player_type_id=self.game.player.type_id,
            allow_new_players=self.game.policy.allow_new_players,
            store=self._threads.store,
        )
        return self.app

    async def _open_more(self) -> None:
        assert self._threads is not None
        assert self.driver is not None
        self._threads.on_done = partial(asyncio.get_running_loop().call_soon_threadsafe, self.driver.turn_soon)

    def _missing(self) -> str:
        return "" if self.app.log_ons.manager is not None else "a link with BaseAppMgr"

    def _on_ticked(self) -> None:
        assert self._threads is not None
        error = self._threads.error
        if isinstance(error, UsageError):
            raise error
        assert error is None, f"a thread of the store has failed: {error!r}"
        super()._on_ticked()

    def _may_end(self) -> bool:
        return super()._may_end() and not self.app.is_busy

    def _waits_to_end_for(self) -> str:
        assert self._threads is not None
        store = self._threads.store
        if self._base_apps():
            return super()._waits_to_end_for()
        if store.away:
            return f"the database, which is out of reach ({store.away}), to write {len(store)} operations"
        return "the database to write"

    async def _close(self) -> None:
        if self._threads is not None:
            await asyncio.to_thread(self._threads.close)


class BaseMgrMember(AppMember):
    """BaseAppMgr."""

    def _make(self, host: Host) -> ClusterApp:
        self.app = BaseAppMgr(self.order.id, host, players_max=self.config.login.players_max)
        return self.app

    def _missing(self) -> str:
        view = self.app.view()
        if not view["are_spaces_ready"]:
            return "the spaces"
        return "" if len(view["apps"]) >= self.config.apps.bases and view["bootstrapped"] else "BaseApps"


class CellMgrMember(AppMember):
    """CellAppMgr."""

    def _make(self, host: Host) -> ClusterApp:
        token = os.urandom(TOKEN_BYTES).hex()
        self.app = CellAppMgr(self.order.id, host, self.game.policy.spaces, self.config.apps.cells, token=token)
        return self.app

    def _missing(self) -> str:
        return "" if self.app.state is ManagerState.READY else f"the cells: {self.app.view()['progress']}"


class CellMember(AppMember):
    """CellApp."""

    def _on_ticked(self) -> None:
        super()._on_ticked()
        self._aside.set_aside(time.monotonic())

    def _make(self, host: Host) -> ClusterApp:
        self._aside = Aside(time.monotonic())
        self.app = CellApp(
            self.order.id,
            host,
            self.game,
            offload_margin_m=self.config.cell.offload_margin_m,
            tick_s=self.config.tick_s,
            client_bits_s=self.config.cell.client_kbit_s * 1000,
            cpu_s=time.process_time,
        )
        return self.app

    def _missing(self) -> str:
        if self.app.links.manager is None:
            return "a link with CellAppMgr"
        return "" if self.app.spaces else "its cells"
