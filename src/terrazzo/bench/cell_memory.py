"""How much memory one client takes in a CellApp, measured in a process of its own (`kib_per_client`).

There every object of Python is an allocation of the C library, which counts what is in use. A world is made and
settled, then its CellApp is dropped: what is freed was the CellApp's, with the bodies, histories, witnesses and
channels of all its clients. What is shared by all (code, the game) stays.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys

from terrazzo.bench.cell_world import World

CLIENTS = 400
SETTLE_TICKS = 50


class _Mallinfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def kib_per_client() -> float | str:
    """KiB for each client; or why that cannot be measured here."""
    done = subprocess.run(
        [sys.executable, "-m", "terrazzo.bench.cell_memory"],
        env={**os.environ, "PYTHONMALLOC": "malloc"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        return float(done.stdout)
    except ValueError:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the process gave no figure"


def _in_use() -> int:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        raise SystemExit("this C library does not count what is in use (mallinfo2)")
    library.mallinfo2.restype = _Mallinfo
    info = library.mallinfo2()
    return int(info.uordblks + info.hblkhd)


def main() -> None:
    """Prints the figure."""
    _in_use()
    world = World(CLIENTS, is_limited=False)
    world.settle(SETTLE_TICKS)
    gc.unfreeze()
    gc.collect()
    before = _in_use()
    world.forget_cells()
    gc.collect()
    print((before - _in_use()) / CLIENTS / 1024)


if __name__ == "__main__":
    main()
