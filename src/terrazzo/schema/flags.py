"""Flags: which parts of an entity hold a property, and which receivers get its changes.

    flag                  on base  on cell  ghosted  own client  other clients
    BASE                     x
    BASE_AND_CLIENT          x                           x
    CELL_PRIVATE                      x
    CELL_PUBLIC                       x        x
    CELL_PUBLIC_AND_OWN               x        x         x
    OWN_CLIENT                        x                  x
    OTHER_CLIENTS                     x        x                      x
    ALL_CLIENTS                       x        x         x            x
    EDITOR_ONLY           nowhere: only tools read it, the server ignores it

Each row of the table is the value of a member of `Flags`, so that no second table has to agree with it.

A field of a record may have a flag of its own, which can only exclude receivers: a `Receiver` gets a field if both the
flag of the field and the flag of the property include it (`schema/shares.py`).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Never

from terrazzo.errors import UsageError


class Audience(NamedTuple):
    """The parts that hold a property, and the receivers of its changes."""

    base: bool = False
    cell: bool = False
    ghosted: bool = False
    own_client: bool = False
    other_clients: bool = False


class Flags(Enum):
    """The flag of a property in a definition: its holders and its receivers."""

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
        raise UsageError("a property has exactly one flag: see the table in docs/definitions.md")


class Receiver(Enum):
    """The receivers of a property; each of them may get less than the whole value."""

    GHOSTS = "ghosted"
    OWN_CLIENT = "own_client"
    OTHER_CLIENTS = "other_clients"

    def gets(self, flags: Flags) -> bool:
        """Whether this receiver gets the changes of a property or field with this flag."""
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
"""The flags that a field of a record may have. The part that holds a value depends on its property alone, so for a
field BASE and CELL_PRIVATE both mean that it has no receiver, and BASE_AND_CLIENT means the same as OWN_CLIENT."""
