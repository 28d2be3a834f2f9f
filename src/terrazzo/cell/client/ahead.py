"""Fetches what the next turns of a loop over witnesses will read into the processor's cache.

What a CellApp has of a client is some twenty objects all over its memory, each of which is read once a tick: to wait
for the memory takes longer than all else. A loop calls this with the list that it goes through and its place there. It
changes nothing; the plain form does nothing at all. `wire/entity/ahead.py` is the same for loops over channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from terrazzo.cell.client.witness import Witness


class Ahead:
    """What the loops of one app will read."""

    def serve(self, witnesses: list[Witness], at: int) -> None:
        """Witnesses whose clients are served; the first one follows the last."""
