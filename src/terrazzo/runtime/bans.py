"""The bans of a world: a file in its data folder, which commands write and every app with doors reads again when it has
changed. So a ban outlasts the cluster, and can be made while none runs.

    terrazzo ban ──▶ bans.json ──(looked at once a second)──▶ LoginApp, BaseApps: `BanWatch`

A ban ends by itself. A file that cannot be read leaves the bans as they were, and is reported once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from terrazzo.errors import UsageError
from terrazzo.wire.banned import Banned, read_network

BANS_MAX = 100_000
LOOK_S = 1.0


class Ban(msgspec.Struct, frozen=True):
    """One banned network."""

    network: str
    until: float | None = None
    """Seconds since 1970; None: until it is taken back."""
    why: str = ""


class _File(msgspec.Struct, frozen=True):
    bans: Annotated[list[Ban], msgspec.Meta(max_length=BANS_MAX)] = []


class BanFile:
    """The bans in a data folder."""

    def __init__(self, root: Path) -> None:
        self.path = root / "bans.json"

    def read(self, now: float) -> list[Ban]:
        """The bans that hold now, in the order in which they were made."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise UsageError(f"{self.path} cannot be read: {problem.strerror}") from None
        try:
            bans = msgspec.json.decode(data, type=_File).bans
            for each in bans:
                read_network(each.network)
        except (msgspec.DecodeError, ValueError) as problem:
            raise UsageError(f"{self.path} does not hold bans: {problem}; correct it, or delete it") from None
        return [each for each in bans if each.until is None or each.until > now]

    def ban(self, address: str, *, now: float, for_s: float | None, why: str = "") -> Ban:
        """Bans a network, or changes the end of its ban."""
        ban = Ban(_network(address), None if for_s is None else now + for_s, why)
        with self._locked():
            left = [each for each in self.read(now) if each.network != ban.network]
            if len(left) >= BANS_MAX:
                raise UsageError(f"there are {BANS_MAX} bans already: ban larger networks instead (192.0.2.0/24)")
            self._write([*left, ban])
        return ban

    def unban(self, address: str, *, now: float) -> str:
        """Takes the ban of a network back; the network, or UsageError if it is not banned."""
        network = _network(address)
        with self._locked():
            bans = self.read(now)
            left = [each for each in bans if each.network != network]
            if len(left) == len(bans):
                wider = [each.network for each in bans if _is_within(network, each.network)]
                hint = f"; it is within {wider[0]}, which is" if wider else ""
                raise UsageError(f"{network} is not banned{hint}")
            self._write(left)
        return network

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise UsageError(f"cannot write bans into {self.path.parent}: {problem.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, bans: list[Ban]) -> None:
        fresh = self.path.with_suffix(".new")
        made = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(made, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(_File(bans)), indent=1))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)


def _network(address: str) -> str:
    try:
        return str(read_network(address))
    except ValueError as problem:
        what = "an address or a network (192.0.2.7, 192.0.2.0/24, 2001:db8::/48)"
        raise UsageError(f"expected {what}: {problem}") from None


def _is_within(network: str, other: str) -> bool:
    return Banned([read_network(other)]).has(str(read_network(network).network_address))


class BanWatch:
    """The bans of a running app."""

    def __init__(self, file: BanFile, report: Callable[[str], None]) -> None:
        self.banned = Banned()
        self._file = file
        self._report = report
        self._look_at = 0.0
        self._seen: tuple[int, int, int] | None = None
        self._expires: float | None = None

    def look(self, now: float) -> bool:
        """Looks at the file, at most once a second of `now` (wall-clock time). Whether the bans have changed."""
        if now < self._look_at:
            return False
        self._look_at = now + LOOK_S
        seen = self._stat()
        if seen == self._seen and (self._expires is None or now < self._expires):
            return False
        self._seen = seen
        try:
            bans = self._file.read(now)
        except UsageError as problem:
            self._report(str(problem))
            return False
        self._expires = min((each.until for each in bans if each.until is not None), default=None)
        self.banned = Banned(read_network(each.network) for each in bans)
        return True

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
