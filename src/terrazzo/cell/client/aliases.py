"""Aliases: the short names by which one client has the entities around it.

    free ──take──▶ in use ──rest──▶ resting ──release──▶ free

An alias belongs to the witness and travels with it, so a migration renames nothing. When an entity leaves, its alias
rests until the client has confirmed the leave: a message that is still on its way to the client can then not be
mistaken for one about another entity (race 22). The lowest free alias is taken first: 254 of them need one byte, all
others three.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from terrazzo.sync.protocol import ALIAS_MAX


class Aliases:
    """The aliases of one witness; 0 is its own entity's."""

    __slots__ = ("_free", "_next", "resting")

    def __init__(self, used: Iterable[int] = (), resting: Iterable[int] = ()) -> None:
        self.resting = set(resting)
        taken = {*used, *self.resting}
        self._next = max(taken, default=0) + 1
        self._free = [alias for alias in range(1, self._next) if alias not in taken]
        heapify(self._free)

    def take(self) -> int:
        """The lowest free alias; 0: there is none, the client has to give some back first."""
        if self._free:
            return heappop(self._free)
        if self._next > ALIAS_MAX:
            return 0
        self._next += 1
        return self._next - 1

    def rest(self, alias: int) -> None:
        """It names nothing any more, but the client has not confirmed that yet."""
        self.resting.add(alias)

    def release(self, alias: int) -> bool:
        """The client has confirmed that; False: the alias does not rest."""
        if alias not in self.resting:
            return False
        self.resting.remove(alias)
        heappush(self._free, alias)
        return True
