"""The console as a member of a cluster: `ConsoleApp` driven like any app, and its web server beside it."""

from __future__ import annotations

from pathlib import Path

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.console.consoleapp import ConsoleApp
from terrazzo.console.guard import Guard
from terrazzo.console.server import ClusterInfo, make_web_app
from terrazzo.runtime import ports
from terrazzo.runtime.config import near_host
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.doors import HttpServer, serve_http
from terrazzo.runtime.members import AppMember
from terrazzo.runtime.ports import candidates
from terrazzo.wire.sentences import describe_refusals


class ConsoleMember(AppMember):
    """See the module."""

    _runner: HttpServer | None = None
    _page = ""

    def _make(self, host: Host) -> ClusterApp:
        apps = self.config.apps
        self.app = ConsoleApp(self.order.id, host, cells=range(apps.cells), bases=range(apps.bases))
        return self.app

    async def _open_more(self) -> None:
        info = ClusterInfo(
            name=Path(self.order.game).stem,
            game=self.game,
            public_key=DataFolder(self.order.data).public_key(),
            login_url=lambda: self.order.login_url,
        )
        console = self.config.console
        token = DataFolder(self.order.data).console_token() if console.needs_token else ""
        guard = Guard(token=token, names=console.names)
        application = make_web_app(self.app, cluster_info=info, guard=guard)
        usual = candidates(self.config.listen.console_port, ports.CONSOLE)
        self._runner, port = await serve_http(application, console.host, usual)
        refused = self._runner.gate.refused
        self.app.refused_outside = lambda: describe_refusals("connections", refused)
        near = near_host(console.host)
        host = f"[{near}]" if ":" in near else near
        self._page = f"http://{host}:{port}/"

    def _words(self) -> str:
        return self._page

    def _may_end(self) -> bool:
        return True

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
