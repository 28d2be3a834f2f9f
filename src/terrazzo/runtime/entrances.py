"""The members with doors for clients: LoginApp and BaseApp. The common part of all members, and the other ones, are in
`members.py`."""

from __future__ import annotations

import os
import time

from terrazzo.base.baseapp import BaseApp
from terrazzo.base.services import ClientPorts
from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.errors import UsageError
from terrazzo.login.admission import AdmissionLimits, Overload
from terrazzo.login.limits import LoginLimits
from terrazzo.login.loginapp import LoginApp
from terrazzo.login.queue import QueueLimits
from terrazzo.runtime import ports
from terrazzo.runtime.bans import BanFile, BanWatch
from terrazzo.runtime.config import AdmissionSettings, QueueSettings
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.doors import Doors
from terrazzo.runtime.leftovers import keep_unsaved
from terrazzo.runtime.members import AppMember
from terrazzo.runtime.orders import Progress, ProgressReport
from terrazzo.runtime.ports import candidates
from terrazzo.schema.digest import digest
from terrazzo.wire.client import SessionEvent
from terrazzo.wire.ids import AppKind
from terrazzo.wire.log_events import LogEvent


class EntranceMember(AppMember):
    """An app with doors."""

    async def _open_doors(self, udp_ports: list[int], ws_ports: list[int]) -> Doors:
        asked = self.config.listen.udp_buffer_kib << 10
        self.doors = Doors(DataFolder(self.order.data).read_key(), self.config.strangers, buffer_bytes=asked)
        await self.doors.open(self.config.listen.host, udp_ports, ws_ports)
        self._bans = BanWatch(BanFile(DataFolder(self.order.data).root), self._report_bans)
        self._look_at_bans()
        reached = self.doors.buffer_bytes
        if reached < asked:
            note = "packets of clients are lost sooner when the app is busy: raise the system's net.core.rmem_max"
            self.log(LogEvent.UDP_BUFFER_SMALL, kib=reached >> 10, asked_kib=asked >> 10, note=note)
        return self.doors

    def _on_ticked(self) -> None:
        self._look_at_bans()
        super()._on_ticked()

    def _look_at_bans(self) -> None:
        if self.doors is not None and self._bans.look(time.time()):
            self.doors.ban(self._bans.banned.has)
            self.log(LogEvent.BANS_READ, networks=len(self._bans.banned))

    def _report_bans(self, problem: str) -> None:
        self.log(LogEvent.BANS_UNREADABLE, problem=problem)


class LoginMember(EntranceMember):
    """LoginApp."""

    async def _open(self) -> None:
        listen = self.config.listen
        udp, ws = (candidates(port, ports.LOGIN) for port in (listen.login_udp_port, listen.login_ws_port))
        await self._open_doors(udp, ws)

    def _make(self, host: Host) -> ClusterApp:
        assert self.doors is not None
        doors, login = self.doors, self.config.login
        limits = LoginLimits(
            attempts_per_s=login.attempts_per_s,
            attempts_burst=login.attempts_burst,
            total_per_s=login.total_per_s,
            admission=admission_limits(self.config.admission),
            queue=queue_limits(self.config.queue),
        )
        self.app = LoginApp(
            self.order.id,
            host,
            endpoint=_Both(doors),
            digest=digest(self.game.schema),
            bots_password=DataFolder(self.order.data).bots_password(),
            limits=limits,
            host_of=doors.host_of,
        )
        self.app.refused_outside = doors.refusals
        return self.app

    def _missing(self) -> str:
        return "" if self.app.view()["has_database"] else "a link with DBApp"

    def _may_end(self) -> bool:
        return True


def admission_limits(settings: AdmissionSettings) -> AdmissionLimits:
    """The bounds of the settings."""
    load_max = {each: getattr(settings, each.value) for each in Overload}
    return AdmissionLimits(load_max, settings.tolerance_s, settings.tolerance_logins)


def queue_limits(settings: QueueSettings) -> QueueLimits:
    """The limits of the settings."""
    return QueueLimits(
        settings.waiting_max, settings.address_max, settings.return_s, let_in_per_s=settings.let_in_per_s
    )


class _Both:
    """Two doors as one endpoint."""

    def __init__(self, doors: Doors) -> None:
        self._boxes = (doors.by_udp, doors.by_ws)

    def events(self) -> list[SessionEvent]:
        """The events of both."""
        return [event for box in self._boxes for event in box.events()]


class BaseMember(EntranceMember):
    """BaseApp. One of them runs the game's `on_ready`, and reports when that is done."""

    _has_populated = False

    async def _open(self) -> None:
        listen, offset = self.config.listen, self.order.index
        first = (listen.base_udp_port, listen.base_ws_port)
        udp, ws = (candidates(port + offset if port else 0, ports.BASE + offset) for port in first)
        await self._open_doors(udp, ws)

    def _make(self, host: Host) -> ClusterApp:
        assert self.doors is not None
        doors = self.doors
        address = ClientPorts(self.config.listen.announced_host, doors.udp_port, doors.ws_port)
        endpoints = [doors.by_udp, doors.by_ws]
        self.app = BaseApp(
            self.order.id,
            host,
            self.game,
            endpoints,
            entropy=os.urandom,
            address=address,
            archive_s=self.config.store.archive_s,
        )
        self.app.refused_outside = doors.refusals
        return self.app

    def _missing(self) -> str:
        needed = {AppKind.BASE_APP_MGR: "BaseAppMgr", AppKind.DB_APP: "DBApp", AppKind.CELL_APP_MGR: "CellAppMgr"}
        missing = [name for kind, name in needed.items() if kind not in self.app.peers]
        if missing:
            return f"links with {' and '.join(missing)}"
        return "" if self.app.spaces_ready else "the spaces"

    def _look_around(self) -> None:
        super()._look_around()
        error = self.app.on_ready_error
        if error:
            log = DataFolder(self.order.data).logs / f"{self.order.name}.log"
            raise UsageError(f"the game's on_ready raised {error}. Where, is in {log}")
        if error is not None and self._waits_for == "" and not self._has_populated:
            self._has_populated = True
            self._on_report(ProgressReport(Progress.READY, is_populated=True))

    def _begin_end(self) -> None:
        self.app.stop()

    def _may_end(self) -> bool:
        return self.app.is_stopped

    def _waits_to_end_for(self) -> str:
        return self.app.words_of_end()

    def _left_undone(self) -> str:
        unsaved = self.app.unsaved()
        if not unsaved:
            return super()._left_undone()
        return keep_unsaved(DataFolder(self.order.data).root, self.order.name, unsaved)
