"""Timing by turns: every contender gets many short rounds, one after the other, and its best round counts."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def best_of_rounds(
    contenders: dict[str, Callable[[], object]],
    *,
    rounds: int,
    calls: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds per call of each contender, in its best round."""
    best = dict.fromkeys(contenders, float("inf"))
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in contenders.items():
                started = clock()
                for _ in range(calls):
                    call()
                best[name] = min(best[name], (clock() - started) / calls)
            gc.collect()
    finally:
        if was_collecting:
            gc.enable()
    return best
