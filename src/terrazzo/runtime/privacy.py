"""Only the owner may read the files of a cluster: folders are 0700, files 0600.

New files get these modes from the umask, which `terrazzo run` sets and its processes inherit. A data folder of an older
version, or a careless copy, is corrected at each start: it has password hashes, and chat of players in its logs. Only
files that a cluster makes itself are changed, since a data folder may lie in a folder with other things; links are not
followed.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

UMASK = 0o077
OURS = (
    ".", "logs", "logs/*", "run", "run/*", "world.sqlite*", "unsaved-*", "*.key", "*.token", "lock", "reserve", "game",
)  # fmt: skip


def set_umask() -> None:
    """New files of this process and its children are for their owner only."""
    os.umask(UMASK)


def tighten(root: Path) -> list[Path]:
    """Removes the access of other users; returns what was changed. Raises OSError when that cannot be done."""
    found = {each for pattern in OURS for each in ([root] if pattern == "." else root.glob(pattern))}
    changed = []
    for path in sorted(found):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & UMASK:
            path.chmod(stat.S_IMODE(mode) & ~UMASK)
            changed.append(path)
    return changed
