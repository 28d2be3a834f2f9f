"""The messages between a launcher, the processes that it starts, and other tools.

launcher ── Order (one JSON line) ──▶ stdin of the process; the end of stdin asks the process to stop
launcher ◀── Report (JSON lines) ──── stdout of the process
launcher ── ClusterFile ──▶ run/cluster.json in the data folder, for the console, bots and tests
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from terrazzo.runtime.config import Config
from terrazzo.runtime.links import UnixPlace
from terrazzo.wire.ids import AppId, AppKind

BOTS = "bots"
CONSOLE = "console"
WS_PATH = "/play"
"""The path of the WebSockets of LoginApps and BaseApps."""


class Bots(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the bots and the door that they use; a number is added to `name`."""

    count: int
    host: str
    udp_port: int
    public_key: str
    name: str = "bot"
    first: int = 1
    """The number of the first bot."""
    password: str


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The description of one process."""

    kind: str
    """An AppKind in small letters, or BOTS."""
    index: int
    incarnation: int = 1
    game: str
    config: Config
    data: str
    sockets: str
    """The folder of the sockets of all apps."""
    json_log: bool = False
    bots: Bots | None = None
    login_url: str = ""
    """The address at which a page logs in, for the console."""

    @property
    def name(self) -> str:
        """Its name for people."""
        return f"{self.kind}-{self.index}"

    @property
    def id(self) -> AppId:
        """Its id for its peers."""
        return AppId(AppKind[self.kind.upper()], self.index, self.incarnation)

    def place_of(self, peer: AppId) -> UnixPlace:
        """The socket of a peer."""
        return place_in(self.sockets, peer)


def place_in(sockets: str, app: AppId) -> UnixPlace:
    """The socket of an app, in the folder of a cluster's sockets."""
    return UnixPlace(f"{sockets}/{app.kind.name.lower()}-{app.index}")


class Progress(Enum):
    """The progress of a process."""

    STARTED = "started"
    WAITING = "waiting"
    READY = "ready"
    ENDING = "ending"
    FAILED = "failed"


class ProgressReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """A report of a process on its progress."""

    step: Progress
    text: str = ""
    """What it waits for until it is ready or has ended, why it failed, or (console) the address of its page."""
    host: str = ""
    udp_port: int = 0
    ws_port: int = 0
    is_populated: bool = False
    """READY, of a BaseApp: it has run the game's `on_ready`."""


OnReport = Callable[[ProgressReport], None]


class RunningApp(msgspec.Struct, frozen=True):
    """One process of a running cluster; ports are 0 where no client may come in."""

    name: str
    pid: int
    host: str = ""
    udp_port: int = 0
    ws_port: int = 0
    text: str = ""


class ClusterFile(msgspec.Struct, frozen=True):
    """A running cluster, for other tools."""

    game: str
    pid: int
    public_key: str
    digest: str
    sockets: str
    is_ready: bool
    apps: list[RunningApp]

    @property
    def login(self) -> RunningApp:
        """The LoginApp."""
        return next(each for each in self.apps if each.name.startswith("login_app-"))
