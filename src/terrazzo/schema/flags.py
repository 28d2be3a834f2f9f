"""Who holds a property and who hears of its changes: one word, `Flags`.

    flag                  on base  on cell  ghosted  own client  other clients
    BASE                     x
    BASE_AND_CLIENT          x                           x
    CELL_PRIVATE                      x
    CELL_PUBLIC                       x        x
    CELL_PUBLIC_AND_OWN               x        x         x
    OWN_CLIENT                        x                  x
    OTHER_CLIENTS                     x        x                      x
    ALL_CLIENTS                       x        x         x            x
    EDITOR_ONLY           nowhere: tools read it, the server passes over it

The table is the value of each member, so that there is nothing to keep in step.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Audience(NamedTuple):
    """Where a property lives and who hears of it."""

    base: bool = False
    cell: bool = False
    ghosted: bool = False
    own_client: bool = False
    other_clients: bool = False


class Flags(Enum):
    """The word in a definition that says who holds a property and who hears of its changes."""

    BASE = Audience(base=True)
    BASE_AND_CLIENT = Audience(base=True, own_client=True)
    CELL_PRIVATE = Audience(cell=True)
    CELL_PUBLIC = Audience(cell=True, ghosted=True)
    CELL_PUBLIC_AND_OWN = Audience(cell=True, ghosted=True, own_client=True)
    OWN_CLIENT = Audience(cell=True, own_client=True)
    OTHER_CLIENTS = Audience(cell=True, ghosted=True, other_clients=True)
    ALL_CLIENTS = Audience(cell=True, ghosted=True, own_client=True, other_clients=True)
    EDITOR_ONLY = Audience()

    @property
    def on_client(self) -> bool:
        """True when any client ever gets the property: it then has a client-server index."""
        return self.value.own_client or self.value.other_clients


BASE = Flags.BASE
BASE_AND_CLIENT = Flags.BASE_AND_CLIENT
CELL_PRIVATE = Flags.CELL_PRIVATE
CELL_PUBLIC = Flags.CELL_PUBLIC
CELL_PUBLIC_AND_OWN = Flags.CELL_PUBLIC_AND_OWN
OWN_CLIENT = Flags.OWN_CLIENT
OTHER_CLIENTS = Flags.OTHER_CLIENTS
ALL_CLIENTS = Flags.ALL_CLIENTS
EDITOR_ONLY = Flags.EDITOR_ONLY
