"""The ports of a world that its settings leave open: the same at each start, so that pages and clients find it again.

A setting of 0 means the usual port. If another program has that one, the world takes the port STRIDE further on, and so
on, TRIES times; then any free port. So a second world on the same machine also keeps its ports. A port other than the
usual one is printed at the start (`cluster.py`). If a setting names a port, only that port is tried.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CONSOLE = 7300
LOGIN = 7310
BASE = 7320
"""The port of the first BaseApp; the others have the ports after it."""

STRIDE = 100
TRIES = 10


def candidates(setting: int, usual: int) -> list[int]:
    """The ports to be tried, in order."""
    if setting:
        return [setting]
    return [*(usual + STRIDE * number for number in range(TRIES)), 0]


def first_free(ports: list[int], listen: Callable[[int], T]) -> T:
    """The result of `listen` for the first port that no other program has; raises the OSError of the last one."""
    for port in ports[:-1]:
        try:
            return listen(port)
        except OSError as problem:
            if not is_taken(problem):
                raise
    return listen(ports[-1])


def is_taken(problem: OSError) -> bool:
    """Whether the problem is of this port, so that another one may work."""
    return problem.errno in (errno.EADDRINUSE, errno.EACCES)
