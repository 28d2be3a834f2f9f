"""Whether the world has room for one more player, as far as the LoginApp can judge.

BaseAppMgr counts the players, and its figure comes once a second by way of the DBApp; it alone refuses a player for
want of room. The LoginApp adds what that figure cannot contain yet: the attempts in work, and the players that it has
let in within the last SETTLE_S. So it may count a player twice for a moment, and then a place stays empty that much
longer.
"""

from __future__ import annotations

from collections import deque

from terrazzo.wire.pairs.db_basemgr import WorldLoads

SETTLE_S = 3.0
"""After this time a player that was let in is in the figure of the BaseAppMgr."""


class Room:
    """The number of players, and how many there may be."""

    def __init__(self) -> None:
        self._world: WorldLoads | None = None
        self._is_full = False
        self._let_in: deque[float] = deque()

    def note(self, world: WorldLoads | None) -> None:
        """A new figure; None: the BaseAppMgr is out of reach."""
        self._world = world
        self._is_full = False

    def note_full(self) -> None:
        """A player was refused because the world is full: it counts as full until the next figure."""
        self._is_full = True

    def count_let_in(self, now: float) -> None:
        """A player was let in."""
        self._let_in.append(now)

    def is_full(self, in_work: int, now: float) -> bool:
        """Whether the world is full if all attempts in work succeed; False without a figure."""
        while self._let_in and self._let_in[0] + SETTLE_S <= now:
            self._let_in.popleft()
        if self._is_full:
            return True
        world = self._world
        return world is not None and world.players + in_work + len(self._let_in) >= world.players_max
