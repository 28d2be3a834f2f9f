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

A field of a record may have a flag of its own, which can only take away: of a value each `Receiver` gets the fields
whose flag, as well as the property's, lets it hear (`schema/shares.py`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Never

from terrazzo.errors import UsageError


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

    def __or__(self, other: object) -> Never:
        raise UsageError("a property has one flag, which says all: see the table in docs/definitions.md")


class Receiver(Enum):
    """Those to whom a property is sent, each of whom may get less of it than there is."""

    GHOSTS = "ghosted"
    OWN_CLIENT = "own_client"
    OTHER_CLIENTS = "other_clients"

    def hears(self, flags: Flags) -> bool:
        """Whether a flag lets this one hear of changes."""
        return bool(getattr(flags.value, self.value))


BASE = Flags.BASE
BASE_AND_CLIENT = Flags.BASE_AND_CLIENT
CELL_PRIVATE = Flags.CELL_PRIVATE
CELL_PUBLIC = Flags.CELL_PUBLIC
CELL_PUBLIC_AND_OWN = Flags.CELL_PUBLIC_AND_OWN
OWN_CLIENT = Flags.OWN_CLIENT
OTHER_CLIENTS = Flags.OTHER_CLIENTS
ALL_CLIENTS = Flags.ALL_CLIENTS
EDITOR_ONLY = Flags.EDITOR_ONLY

FIELD_FLAGS = tuple(each for each in Flags if each is not EDITOR_ONLY)
"""Those that a field of a record may have. Where a value lives is for its property to say, so that BASE and
CELL_PRIVATE mean the same here, nobody, and BASE_AND_CLIENT means OWN_CLIENT."""
