"""The flags of an entry in the send table of a client (`_speed/sight`, `cell/client/sent.py`).

The tables hold them as plain integers. Code that runs for each client and tick, checks of each entry included, takes
the values into constants of its own (`GONE = EntryFlag.GONE.value`), which are C integers where that code is compiled:
an operation of the enum takes as long as twenty of integers. All other code uses the enum.
"""

from __future__ import annotations

from enum import IntFlag


class EntryFlag(IntFlag):
    """What holds for an entity that a client has, or is to get. The first two are all that `_speed/sight` looks at."""

    DESCRIBED = 8
    """The client was sent the description: steps and places follow."""
    WITHHELD = 16
    """The game withholds the entity from the client."""
    IN_AREA = 32
    """A reason to have an entry: the entity is near."""
    MANUAL = 64
    """A reason to have an entry: the game has added it to the area."""
    WANTED = 128
    """The description is due: the client asked for it, or did not answer the announcement in time."""
    GONE = 256
    """No reason is left: the client loses the entity with the next update, and the entry ends."""
    PARTED = 512
    """For the game the entity has left, since its watcher jumps. The client is sent that where the jump ends, or not at
    all if the jump fails."""
