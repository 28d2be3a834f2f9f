"""Narrowed limits of CellApps: in some worlds the limits are so small that they are reached all the time.

The limits are constants of modules: they are changed for one run, and restored after it. What is drawn:

    at a time     offloads, ghosts made, ghosts deleted in a tick: 1, 3, or as many as usual
    history       steps that are kept, and those that are sent with a new ghost: few, in a quarter of the worlds of a
                  scenario that can judge which clients have missed something (`seamless`, `sync`)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from terrazzo.cell.core import history
from terrazzo.cell.ghosts import placement
from terrazzo.cell.migration import offload

FEW = 3
AT_A_TIME = ((offload, "OFFLOADS_MAX"), (placement, "CREATED_MAX"), (placement, "DELETED_MAX"))
STEPS, PACKED_STEPS = 6, 3


@contextmanager
def narrowed(rng: Random, *, has_gaps: bool) -> Iterator[None]:
    """Narrows the limits for one run."""
    changed = [(module, name, most) for module, name in AT_A_TIME if (most := rng.choice([0, 0, 1, FEW]))]
    if rng.random() < 0.25 and has_gaps:
        changed += [(history, "STEPS_MAX", STEPS), (history, "PACKED_STEPS_MAX", PACKED_STEPS)]
    before = [(module, name, vars(module)[name]) for module, name, _ in changed]
    try:
        for module, name, most in changed:
            vars(module)[name] = most
        yield
    finally:
        for module, name, most in before:
            vars(module)[name] = most
