"""The settings of a cluster: one TOML file, typed; an unknown setting is an error.

The structs define the settings and their defaults. DEFAULT_TOML has the same with explanations; a test compares the
two. `terrazzo run --print-config` prints it.
"""

from __future__ import annotations

import tomllib
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec

from terrazzo.errors import UsageError

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
AppCount = Annotated[int, msgspec.Meta(ge=1, le=1000)]

DEFAULT_TOML = """\
# Terrazzo: the settings of a local cluster. Every line is optional; the values here are the defaults.

tick_hz = 10.0               # ticks a second of a CellApp; in all apps, the pace of timers and reports
turn_ms = 3.0                # milliseconds: the shortest time between two answers of the other apps

[apps]                       # how many of each; the options of `terrazzo run` override these
cells = 4
bases = 1
bots = 0                     # players without a person, which wander about

[listen]                     # the addresses for clients
host = "127.0.0.1"           # a numeric address of this machine; "0.0.0.0" for all of them
public_host = ""             # the address that clients connect to; "" is `host`, or the address of their login
login_udp_port = 0           # 0: the usual port, 7310; if another program has it, another port is taken and printed
login_ws_port = 0            # 7310
base_udp_port = 0            # 7320, of the first BaseApp; the others take the ports after it
base_ws_port = 0             # 7320
console_port = 0             # 7300, of the web page
udp_buffer_kib = 32768       # what the system keeps for a busy app; without root no more than net.core.rmem_max

[console]                    # the web pages: /play for players, and the map for operators
host = "127.0.0.1"           # a numeric address; beyond this machine the map needs the token that `run` prints
names = []                   # names by which browsers may ask for the pages, such as "play.example.org"

[data]
folder = ""                  # the database, the key of the cluster, logs; "" is GAME-data, beside the game GAME

[store]
url = ""                     # "postgresql://USER@HOST/NAME" for PostgreSQL; "" is SQLite, in the data folder
archive_s = 300.0            # each entity that the game has saved is saved again within so many seconds; 0: it is not

[login]
attempts_per_s = 1.0         # from one address, once its burst is used up
attempts_burst = 20
total_per_s = 500.0          # from all addresses together; those from which players have come have as much again
players_max = 10000          # further players wait, or are refused: the game is full

[queue]                      # where clients wait while the game is full or busy, if they ask for it
waiting_max = 2000           # at one time; from addresses of former players as many again. 0: no client waits
address_max = 8              # of one address; IPv6 addresses count by their /64
return_s = 30.0              # how long a client whose connection is lost keeps its place
let_in_per_s = 50.0          # the most that leave the queue, so that a game that opens again is not flooded

[admission]                  # bounds on loads, in shares of a core; above one, logins are refused. 0: no bound
login_app = 0.0
db_app = 0.0                 # may use more than one core: passwords are hashed on another
base_app = 0.0               # of the least loaded BaseApp
cell_app = 0.0               # of the most loaded CellApp
cell_mean = 0.0              # of all CellApps with a cell
tolerance_s = 5.0            # a load above its bound refuses no login before that time has passed,
tolerance_logins = 10        # or so many logins have come

[strangers]                  # connections and sessions without a login; IPv6 addresses count by their /64
total_max = 1024             # at one time, at each door; above that, the address with the most loses its oldest one
address_max = 256            # of one address; above that, its own oldest one is closed
address_per_s = 100.0        # new ones of one address, once its burst is used up
address_burst = 200
login_s = 10.0               # how long a connection may be without a login

[cell]
offload_margin_m = 3.0       # how far over a border a body may be before the next cell takes it; 0: at once
client_kbit_s = 20.0         # the most that is sent to one client in the long run; near entities come first

[launch]
patience_s = 20.0            # if the world is not ready by then, a line with what is missing is printed
"""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the file."""


class Apps(_Part, frozen=True, kw_only=True):
    """How many apps of each kind."""

    cells: AppCount = 4
    bases: AppCount = 1
    bots: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0


class Listen(_Part, frozen=True, kw_only=True):
    """The addresses for clients."""

    host: str = "127.0.0.1"
    public_host: str = ""
    login_udp_port: Port = 0
    login_ws_port: Port = 0
    base_udp_port: Port = 0
    base_ws_port: Port = 0
    console_port: Port = 0
    udp_buffer_kib: Annotated[int, msgspec.Meta(ge=64, le=1 << 20)] = 32768

    @property
    def announced_host(self) -> str:
        """The address that clients get; empty: the address of their login."""
        is_everywhere = self.host in ("0.0.0.0", "::", "")
        return self.public_host or ("" if is_everywhere else self.host)

    @property
    def near_host(self) -> str:
        """The address by which this machine reaches the listener."""
        return near_host(self.host)


class ConsolePart(_Part, frozen=True, kw_only=True):
    """The web pages."""

    host: str = "127.0.0.1"
    names: list[str] = []

    @property
    def needs_token(self) -> bool:
        """Whether other machines can reach the map."""
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return True


class Data(_Part, frozen=True, kw_only=True):
    """The data folder."""

    folder: str = ""


class StorePart(_Part, frozen=True, kw_only=True):
    """The database."""

    url: str = ""
    archive_s: Annotated[float, msgspec.Meta(ge=0)] = 300.0


class LoginSettings(_Part, frozen=True, kw_only=True):
    """The rate of attempts of one address, and the number of players."""

    attempts_per_s: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    attempts_burst: Annotated[int, msgspec.Meta(ge=1)] = 20
    total_per_s: Annotated[float, msgspec.Meta(gt=0)] = 500.0
    players_max: Annotated[int, msgspec.Meta(ge=1)] = 10_000


class QueueSettings(_Part, frozen=True, kw_only=True):
    """The queue of clients that wait for room."""

    waiting_max: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 2000
    address_max: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 8
    return_s: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    let_in_per_s: Annotated[float, msgspec.Meta(gt=0)] = 50.0


LoadBound = Annotated[float, msgspec.Meta(ge=0)]


class AdmissionSettings(_Part, frozen=True, kw_only=True):
    """The bounds on loads above which logins are refused; 0: none."""

    login_app: LoadBound = 0.0
    db_app: LoadBound = 0.0
    base_app: LoadBound = 0.0
    cell_app: LoadBound = 0.0
    cell_mean: LoadBound = 0.0
    tolerance_s: Annotated[float, msgspec.Meta(ge=0)] = 5.0
    tolerance_logins: Annotated[int, msgspec.Meta(ge=0)] = 10


class StrangerSettings(_Part, frozen=True, kw_only=True):
    """The limits of connections and sessions without a login; players that have logged in do not count."""

    total_max: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1024
    address_max: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 256
    address_per_s: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    address_burst: Annotated[int, msgspec.Meta(ge=1)] = 200
    login_s: Annotated[float, msgspec.Meta(gt=0)] = 10.0


class CellSettings(_Part, frozen=True, kw_only=True):
    """The settings of CellApps."""

    offload_margin_m: Annotated[float, msgspec.Meta(ge=0)] = 3.0
    client_kbit_s: Annotated[float, msgspec.Meta(ge=1, le=100_000)] = 20.0


class Launch(_Part, frozen=True, kw_only=True):
    """How the cluster is started."""

    patience_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0


class Config(_Part, frozen=True, kw_only=True):
    """All settings."""

    tick_hz: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 10.0
    turn_ms: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 3.0
    apps: Apps = Apps()
    listen: Listen = Listen()
    console: ConsolePart = ConsolePart()
    data: Data = Data()
    store: StorePart = StorePart()
    login: LoginSettings = LoginSettings()
    queue: QueueSettings = QueueSettings()
    admission: AdmissionSettings = AdmissionSettings()
    strangers: StrangerSettings = StrangerSettings()
    cell: CellSettings = CellSettings()
    launch: Launch = Launch()

    @property
    def tick_s(self) -> float:
        """Seconds between two ticks."""
        return 1.0 / self.tick_hz

    @property
    def turn_s(self) -> float:
        """The shortest time between two turns."""
        return self.turn_ms / 1000.0


def near_host(host: str) -> str:
    """The address by which this machine reaches a listener."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


class _Loads(Protocol):
    def __call__(self, text: str, /) -> dict[str, Any]: ...


def read_config(path: Path | None) -> Config:
    """The settings of a file, or the defaults without one; UsageError in one sentence for a mistake."""
    if path is None:
        return Config()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read the settings in {path}: {why}") from None
    return parse_config(text, str(path))


def parse_config(text: str, file: str, loads: _Loads = tomllib.loads) -> Config:
    """The settings in a text; `file` names it in errors."""
    try:
        found = loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{file} is not TOML: {problem}") from None
    _check_keys(found, Config, file, "")
    try:
        return msgspec.convert(found, Config)
    except msgspec.ValidationError as problem:
        raise UsageError(f"{file}: {problem}".replace("`$.", "`")) from None


def _check_keys(found: dict[str, Any], struct: type[msgspec.Struct], file: str, prefix: str) -> None:
    fields = {each.name: each.type for each in msgspec.structs.fields(struct)}
    for key, value in found.items():
        if key not in fields:
            raise UsageError(
                f"{file} has an unknown key {prefix}{key}; known are {', '.join(prefix + f for f in fields)}"
            )
        part = fields[key]
        if isinstance(value, dict) and isinstance(part, type) and issubclass(part, msgspec.Struct):
            _check_keys(value, part, file, f"{prefix}{key}.")
