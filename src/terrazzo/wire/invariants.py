"""What holds for an app in every state: how it is checked, and what a broken one is.

Each app has a module `validate.py` beside its own, with one generator: it looks at the app between two events, changes
nothing, and gives a `BrokenInvariant` for each of the app's own invariants that does not hold. The simulator and the
tests run it; a cluster never does (`tests/test_invariants.py` holds that no process imports it).

To look at everything after each event would cost more than the event. So the simulator gives a `Share` of the entities
to each tick: each entity is looked at once in `of` ticks, and an invariant that stays broken is found within that many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class BrokenInvariant(NamedTuple):
    """An invariant that does not hold."""

    entity: int
    """The entity that it is about; 0: the app as a whole."""
    what: str
    """One sentence, which names the entity."""


Violations = Iterator[BrokenInvariant]


class Share(NamedTuple):
    """Which entities are looked at."""

    turn: int = 0
    of: int = 1

    def has(self, entity: int) -> bool:
        """Whether this entity is one of them."""
        return entity % self.of == self.turn

    @property
    def is_first(self) -> bool:
        """The one share that looks at what belongs to no entity."""
        return self.turn == 0


ALL = Share()
