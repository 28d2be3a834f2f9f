"""What a cluster writes is for its owner only: folders 0700, files 0600.

New files get that from the umask, which `terrazzo run` sets and its processes inherit. A data folder that an older
version made, or that was copied carelessly, is tightened at each start: it holds password hashes and what players said.
Only what a cluster makes itself is touched, since a data folder may lie in a folder with other things; links are left
alone.
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
    """What this process and its children make is for their owner only."""
    os.umask(UMASK)


def tighten(root: Path) -> list[Path]:
    """Closes what others may read or write; what was changed. Raises OSError when that cannot be done."""
    found = {each for pattern in OURS for each in ([root] if pattern == "." else root.glob(pattern))}
    changed = []
    for path in sorted(found):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & UMASK:
            path.chmod(stat.S_IMODE(mode) & ~UMASK)
            changed.append(path)
    return changed
