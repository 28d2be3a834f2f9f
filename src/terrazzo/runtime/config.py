"""The settings of a cluster: one TOML file, typed; what is not known is an error and not silence.

The structs say what there is and what is taken when a file says nothing. DEFAULT_TOML says the same to people; a test
holds the two together. `terrazzo run --print-config` prints it.
"""

from __future__ import annotations

import tomllib
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec

from terrazzo.errors import UsageError

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]

DEFAULT_TOML = """\
# Terrazzo: the settings of a local cluster. Every line is optional; what stands here is what is taken without it.

tick_hz = 10.0               # how often each app works, and says what it has to say

[apps]                       # how many of each; the options of `terrazzo run` go before these
cells = 4
bases = 1
bots = 0                     # players without a person, who wander about

[listen]                     # where clients come in
host = "127.0.0.1"           # a numeric address of this machine; "0.0.0.0" for all of them
public_host = ""             # what clients are told to connect to; "" is `host`, or where they found the login
login_udp_port = 0           # 0 is the usual port, 7310; while another program has it, another one, and that is said
login_ws_port = 0            # 7310
base_udp_port = 0            # 7320, of the first BaseApp; the others take the ports after it
base_ws_port = 0             # 7320
console_port = 0             # 7300, of the web page

[console]                    # the web pages: /play for players, and the map for operators
host = "127.0.0.1"           # a numeric address; beyond this machine the map needs the token that `run` prints
names = []                   # names by which browsers may ask for the pages, such as "play.example.org"

[data]
folder = ""                  # the database, the key of the cluster, logs; "" is GAME-data, beside the game GAME

[login]
attempts_per_s = 1.0         # from one address, once its burst is used up
attempts_burst = 20
players_max = 10000          # who comes then is told that the game is full

[strangers]                  # connections and sessions without a login; IPv6 addresses count by their /64
total_max = 1024             # at one time, at each door; then the address that has the most loses its oldest one
address_max = 256            # of one address; then its own oldest one is closed
address_per_s = 100.0        # that one address may open, once its burst is used up
address_burst = 200
login_s = 10.0               # how long a connection may be without a login

[cell]
offload_margin_m = 3.0       # how far over a border a body may be before the next cell takes it; 0: at once
client_kbit_s = 20.0         # what is sent to one client in the long run; what is far away waits for what is near

[launch]
patience_s = 20.0            # if the world is not ready by then, it is said what is missing
"""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the file."""


class Apps(_Part, frozen=True, kw_only=True):
    """How many of each."""

    cells: Count = 4
    bases: Count = 1
    bots: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0


class Listen(_Part, frozen=True, kw_only=True):
    """Where clients come in."""

    host: str = "127.0.0.1"
    public_host: str = ""
    login_udp_port: Port = 0
    login_ws_port: Port = 0
    base_udp_port: Port = 0
    base_ws_port: Port = 0
    console_port: Port = 0

    @property
    def told_host(self) -> str:
        """What clients are told; empty: the address at which they found the login."""
        is_everywhere = self.host in ("0.0.0.0", "::", "")
        return self.public_host or ("" if is_everywhere else self.host)

    @property
    def near_host(self) -> str:
        """What reaches it from this machine."""
        return near_host(self.host)


class ConsolePart(_Part, frozen=True, kw_only=True):
    """The web pages."""

    host: str = "127.0.0.1"
    names: list[str] = []

    @property
    def needs_token(self) -> bool:
        """Whether others than this machine reach the map."""
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return True


class Data(_Part, frozen=True, kw_only=True):
    """What stays."""

    folder: str = ""


class Login(_Part, frozen=True, kw_only=True):
    """How often one address may try, and how many may be in."""

    attempts_per_s: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    attempts_burst: Annotated[int, msgspec.Meta(ge=1)] = 20
    players_max: Annotated[int, msgspec.Meta(ge=1)] = 10_000


class Strangers(_Part, frozen=True, kw_only=True):
    """What connections and sessions without a login may cost; players that are in do not count."""

    total_max: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1024
    address_max: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 256
    address_per_s: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    address_burst: Annotated[int, msgspec.Meta(ge=1)] = 200
    login_s: Annotated[float, msgspec.Meta(gt=0)] = 10.0


class CellPart(_Part, frozen=True, kw_only=True):
    """What CellApps are told."""

    offload_margin_m: Annotated[float, msgspec.Meta(ge=0)] = 3.0
    client_kbit_s: Annotated[float, msgspec.Meta(ge=1, le=100_000)] = 20.0


class Launch(_Part, frozen=True, kw_only=True):
    """How the cluster is started."""

    patience_s: Annotated[float, msgspec.Meta(gt=0)] = 20.0


class Config(_Part, frozen=True, kw_only=True):
    """Everything."""

    tick_hz: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 10.0
    apps: Apps = Apps()
    listen: Listen = Listen()
    console: ConsolePart = ConsolePart()
    data: Data = Data()
    login: Login = Login()
    strangers: Strangers = Strangers()
    cell: CellPart = CellPart()
    launch: Launch = Launch()

    @property
    def tick_s(self) -> float:
        """Seconds between two ticks."""
        return 1.0 / self.tick_hz


def near_host(host: str) -> str:
    """What reaches a listener from this machine."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


class _Loads(Protocol):
    def __call__(self, text: str, /) -> dict[str, Any]: ...


def read_config(path: Path | None) -> Config:
    """The settings of a file, or those without one; UsageError in one sentence for what is wrong."""
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
