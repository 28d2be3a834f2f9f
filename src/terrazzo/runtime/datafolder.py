"""The folder of a cluster's data: its files, its lock, and the key of the cluster.

It belongs to one game, and without --data it lies beside that game's package (`default_folder`).

world.sqlite        everything that is saved
cluster.key         the private key by which clients recognise the cluster, hex; only its owner may read it
console.token       gives access to the console's map from other machines; only its owner may read it
lock                held by the launcher that runs with this folder, until its process ends
bans.json           banned addresses (`bans.py`)
game                the name of the game that this world belongs to
logs/NAME.log       of each app
run/cluster.json    the addresses of the running cluster, for other tools (`orders.ClusterFile`); valid while `lock` is
                    held
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from pathlib import Path

import msgspec

from terrazzo.errors import UsageError
from terrazzo.runtime.orders import ClusterFile
from terrazzo.runtime.privacy import tighten
from terrazzo.wire.client import public_key

KEY_BYTES = 32
TOKEN_CHARS = 32


def name_of(game: str | Path) -> str:
    """The name of the game at a path: of its package, folder or file."""
    path = Path(game).resolve()
    return path.stem if path.suffix == ".py" else path.name


def default_folder(game: str | Path) -> Path:
    """The data folder of a game, unless another one is named: beside the game."""
    return Path(game).resolve().with_name(f"{name_of(game)}-data")


class DataFolder:
    """One folder."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self.database = self.root / "world.sqlite"
        self.key_file = self.root / "cluster.key"
        self.token_file = self.root / "console.token"
        self.logs = self.root / "logs"
        self.cluster_file = self.root / "run" / "cluster.json"
        self._game_file = self.root / "game"
        self._lock: int | None = None

    def prepare(self) -> None:
        """Makes what is missing and takes the lock for this process."""
        try:
            for folder in (self.root, self.logs, self.cluster_file.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise UsageError(f"cannot use the data folder {self.root}: {problem.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise UsageError(
                f"another cluster is running with the data folder {self.root}: stop it, or give another with --data"
            ) from None
        self._lock = lock

    def belong_to(self, game: str | Path) -> None:
        """Notes the game at the first start; UsageError when the folder belongs to another game."""
        name = name_of(game)
        try:
            owner = self._game_file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            owner = name
            self._game_file.write_text(f"{name}\n", encoding="utf-8")
        if owner != name:
            raise UsageError(
                f"the data folder {self.root} holds the world of the game {owner}, not of {name}: give another one "
                f"with --data, or, if {owner} is called {name} now, write {name} into {self._game_file}"
            )

    def tighten(self) -> str:
        """Removes access of other users; returns a sentence if there was any, or if it cannot be removed."""
        try:
            changed = tighten(self.root)
        except OSError as problem:
            return f"Others may read {problem.filename}, and it cannot be closed to them: {problem.strerror}."
        names = ", ".join(str(each.relative_to(self.root)) for each in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        return f"Others could read in {self.root}: {names}{more}. Now they cannot." if changed else ""

    def release(self) -> None:
        """Releases the lock."""
        self.cluster_file.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def make_key(self) -> bytes:
        """The private key of the cluster; made at the first start."""
        try:
            made = os.open(self.key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return self.read_key()
        with os.fdopen(made, "w") as file:
            file.write(os.urandom(KEY_BYTES).hex() + "\n")
        return self.read_key()

    def read_key(self) -> bytes:
        """The private key of the cluster."""
        try:
            key = bytes.fromhex(self.key_file.read_text().strip())
        except (OSError, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise UsageError(
                f"{self.key_file} does not hold a key: put the right one back, or delete it (clients need the new one)"
            )
        return key

    def console_token(self) -> str:
        """The token for the console's map from other machines; made when it is needed first."""
        try:
            made = os.open(self.token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token = self.token_file.read_text().strip()
            if len(token) < TOKEN_CHARS:
                raise UsageError(f"{self.token_file} holds no token: delete it, and a new one is made") from None
            return token
        with os.fdopen(made, "w") as file:
            file.write(os.urandom(TOKEN_CHARS // 2).hex() + "\n")
        return self.console_token()

    def public_key(self) -> str:
        """The public key that clients need, hex."""
        return public_key(self.read_key()).hex()

    def bots_password(self) -> str:
        """The password of this cluster's bots: it is derived from the key, which only the folder's owner can read."""
        return sha256(b"bots " + self.read_key()).hexdigest()

    def write_cluster(self, cluster: ClusterFile) -> None:
        """Writes the file for other tools; they read the old file or the new one, never half of one."""
        fresh = self.cluster_file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(cluster), indent=1))
        fresh.replace(self.cluster_file)

    def read_cluster(self) -> ClusterFile:
        """The cluster that runs with this folder."""
        try:
            cluster = msgspec.json.decode(self.cluster_file.read_bytes(), type=ClusterFile)
        except (OSError, msgspec.DecodeError):
            problem = f"no cluster is running with the data folder {self.root}"
            raise UsageError(f"{problem}: start one, or name its folder with --data") from None
        if not self.is_in_use():
            raise UsageError(
                f"the cluster of the data folder {self.root} is dead: its launcher (pid {cluster.pid}) ended without "
                f"stopping it; start it again"
            )
        return cluster

    def forget_dead_cluster(self) -> None:
        """Removes the file of a launcher that was killed, unless another one is running meanwhile."""
        if not self.is_in_use():
            self.cluster_file.unlink(missing_ok=True)

    def is_in_use(self) -> bool:
        """Whether a launcher holds the lock; it is released whenever its process ends."""
        try:
            lock = os.open(self.root / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            return False
        finally:
            os.close(lock)
