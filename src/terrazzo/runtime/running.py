"""The worlds that run on this machine: how `terrazzo bots` and `terrazzo account` find one without an option.

A launcher notes the data folder of its world in a folder of the user, one small file for each world, and removes the
file at its end. A note is only a hint: a world runs if its data folder has a cluster.json and a process holds its lock.
The first reader removes the note of a launcher that was killed.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from terrazzo.errors import UsageError
from terrazzo.runtime.datafolder import DataFolder, default_folder


def find_world(data: Path | None, game: Path | None = None) -> DataFolder:
    """The data folder to use: the one named, that of the game, or that of the only world that runs."""
    if data is not None:
        return DataFolder(data)
    found = [each for each, its_game in running() if game is None or its_game == game.resolve()]
    if not found and game is not None:
        if not game.exists():
            raise UsageError(f"there is no game at {game}: name the folder of its package")
        return DataFolder(default_folder(game))
    if not found:
        raise UsageError("no world runs here: start one with terrazzo run, or name its folder with --data")
    if len(found) > 1:
        folders = ", ".join(str(each.root) for each in found)
        raise UsageError(f"{len(found)} worlds run here: choose one with --data ({folders})")
    return found[0]


def running() -> list[tuple[DataFolder, Path]]:
    """The data folders of the worlds that are ready, and the game of each."""
    found = []
    for note in sorted(_notes().glob("*.world")) if _is_ours(_notes()) else ():
        with suppress(OSError, UnicodeDecodeError):
            folder = DataFolder(note.read_text(encoding="utf-8"))
            if not folder.is_in_use():
                note.unlink(missing_ok=True)
                continue
            with suppress(UsageError):  # it is starting, and has no cluster.json yet
                found.append((folder, Path(folder.read_cluster().game)))
    return found


@contextmanager
def noted(folder: DataFolder) -> Iterator[None]:
    """Keeps the note while the context lasts. If it cannot be written, tools need --data to find the world."""
    note = _notes() / f"{sha256(str(folder.root).encode()).hexdigest()[:32]}.world"
    with suppress(OSError):
        note.parent.mkdir(mode=0o700, exist_ok=True)
        if _is_ours(note.parent):
            note.write_text(str(folder.root), encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)


def _notes() -> Path:
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"terrazzo-{os.getuid()}"


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user alone: other users may write into the folder around it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
