"""Changes and ends in the hooks of leaving and entering a cell.

A change in `on_entered_cell` is in no step yet: the next tick closes it. An entity that ends in `on_leaving_cell` does
not leave. Each of the two is left out of some worlds, and drawn from a stream of its own.
"""

from __future__ import annotations

from terrazzo.sim.world import World


class ChangesInHooks:
    """How often it happens in one world."""

    def __init__(self, world: World) -> None:
        taste = world.rng("thresholds")
        self._change, self._end = taste.choice([0.0, 0.3, 1.0]), taste.choice([0.0, 0.0, 0.02])
        self._rng = world.rng("on the threshold")

    def changes(self) -> bool:
        """Whether an entity that enters changes."""
        return self._rng.random() < self._change

    def ends(self) -> bool:
        """Whether an entity that leaves ends instead."""
        return self._rng.random() < self._end
