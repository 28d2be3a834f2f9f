"""The ports of a world that its settings leave open: the same at each start, so that pages and clients find it again.

A setting of 0 means the usual port. While another program has that one, the world takes the port STRIDE further on, and
so on, TRIES times; then any that is free. So a second world on the same machine has ports of its own that stay the
same, too. What was taken instead is told at the start (`cluster.py`). A port that a setting names is taken, or nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CONSOLE = 7300
LOGIN = 7310
BASE = 7320
"""Of the first BaseApp; the others have the ports after it."""

STRIDE = 100
TRIES = 10


def candidates(setting: int, usual: int) -> list[int]:
    """The ports to be tried, in order."""
    if setting:
        return [setting]
    return [*(usual + STRIDE * number for number in range(TRIES)), 0]


def first_free(ports: list[int], listen: Callable[[int], T]) -> T:
    """What `listen` gives for the first port that no other program has; raises the OSError of the last one."""
    for port in ports[:-1]:
        try:
            return listen(port)
        except OSError as problem:
            if not is_taken(problem):
                raise
    return listen(ports[-1])


def is_taken(problem: OSError) -> bool:
    """Whether another port may do where this one does not."""
    return problem.errno in (errno.EADDRINUSE, errno.EACCES)
