"""Many seeds on all cores. Each seed is a world of its own, so the order of the runs changes no outcome."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator

from terrazzo.sim.runner import Order, Outcome, run, run_counted

_POOL_FROM = 16
"""The least number of seeds for which processes are started."""


def run_many(orders: list[Order], jobs: int | None = None, *, is_counted: bool = False) -> Iterator[Outcome]:
    """Runs every order; outcomes come in the order of `orders`. `is_counted`: with their `paths`."""
    workers = jobs or os.cpu_count() or 1
    play = run_counted if is_counted else run
    if workers == 1 or len(orders) < _POOL_FROM:
        yield from map(play, orders)
        return
    with multiprocessing.get_context("spawn").Pool(workers, initializer=_prepare) as pool:
        yield from pool.imap(play, orders, chunksize=4)


def _prepare() -> None:
    import terrazzo.sim.scenarios  # noqa: F401  # registers the scenarios in the worker
