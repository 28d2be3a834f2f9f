"""The bandwidth account: how many bytes each entity type costs, by property and method, and by receiver.

A row of the account is an entity type, a subject and a receiver. It counts messages and bytes since the app started:

    what       a property     hp, health.mana        its changes
               a method       wave(), health.heal()  its calls
               (places)       where it is: PLACES and events of place; to ghosts also the heads of their steps
               (rides)        what it stands on
               (descriptions) all of it at once: to a client that begins to see it, to the own client, to a new ghost
               (coming and going)  announcements and leaves; to ghosts, their deletions
    to         ghosts         from the real to other CellApps, once for each ghost
               own client     the client of the entity itself
               other clients  from the cell of a client that sees it, real or ghost, once for each client

Bytes are counted where a message is encoded: for a client without the heads of packets and without what the BaseApp
adds; for ghosts as it is written to the link. A message for several entities is divided so that the sum is right: the
first entity of a message of PLACES pays for its head. When a client loses sight of an entity that has no body here any
more, the type is not known; that row is `(gone)`.

Nothing is looked up while bytes are written: an event has the number of its row, and the counters are plain numbers
that compiled code adds to (`_speed/tally`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypedDict

from terrazzo._speed.tally import Tally
from terrazzo.cell.core.history import PLACE, RIDE
from terrazzo.schema.model import EntitySchema

DESCRIPTION = RIDE + 1
PRESENCE = RIDE + 2
"""Subjects of the account, beside those of events (`cell/core/history.py`)."""

_NAMES = {PLACE: "(places)", RIDE: "(rides)", DESCRIPTION: "(descriptions)", PRESENCE: "(coming and going)"}
_GONE = "(gone)"


class To(Enum):
    """The receiver."""

    GHOSTS = "ghosts"
    OWN_CLIENT = "own client"
    OTHER_CLIENTS = "other clients"


class AccountRow(TypedDict):
    """A row, for people."""

    type: str
    what: str
    to: str
    messages: int
    bytes: int


class SentAccount:
    """The account of one CellApp."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._rows: dict[tuple[str, str, To], int] = {}

    def row(self, type: str, what: str, to: To) -> int:
        """The number of a row; it begins when it is first asked for."""
        key = (type, what, to)
        if key not in self._rows:
            self._rows[key] = self.tally.new_row()
        return self._rows[key]

    def add(self, row: int, messages: int, size: int) -> None:
        """So many more messages, of so many bytes together."""
        self.tally.add(row, messages, size)

    def leave_of_the_gone(self) -> int:
        """The row of leaves of what has no body here."""
        return self.row(_GONE, _NAMES[PRESENCE], To.OTHER_CLIENTS)

    def lines(self) -> list[AccountRow]:
        """All rows in which something was counted, most bytes first."""
        lines = []
        for (type, what, to), row in self._rows.items():
            messages, size = self.tally.get(row)
            if messages:
                lines.append(AccountRow(type=type, what=what, to=to.value, messages=messages, bytes=size))
        return sorted(lines, key=lambda line: (-line["bytes"], line["type"], line["what"], line["to"]))


class Page:
    """The rows of one entity type, by subject. Those of events are there from the start: all apps make the pages of all
    types in the same order, so an event bears the same row everywhere."""

    def __init__(self, account: SentAccount, schema: EntitySchema) -> None:
        def rows(to: To) -> _Rows:
            return _Rows(lambda subject: account.row(schema.name, name_of(schema, subject), to))

        self.ghosts = rows(To.GHOSTS)
        self.own = rows(To.OWN_CLIENT)
        self.others = rows(To.OTHER_CLIENTS)
        calls = (~index for index in range(len(schema.client_methods)))
        self.others.begin((*range(len(schema.cell_layout)), *calls, PLACE, RIDE))


class _Rows(dict[int, int]):
    """Subject → row; found out when first asked for."""

    def __init__(self, find: Callable[[int], int]) -> None:
        super().__init__()
        self._find = find

    def begin(self, subjects: Iterable[int]) -> None:
        """Finds out these, in this order."""
        for subject in subjects:
            self[subject] = self._find(subject)

    def __missing__(self, subject: int) -> int:
        row = self[subject] = self._find(subject)
        return row


def name_of(schema: EntitySchema, subject: int) -> str:
    """What people call a subject of an entity type; what it has not is named by its number."""
    if subject in _NAMES:
        return _NAMES[subject]
    if subject >= 0:
        names = schema.cell_layout.names
        return names[subject] if subject < len(names) else f"property {subject}"
    methods = schema.client_methods
    if ~subject >= len(methods):
        return f"method {~subject}()"
    method = methods[~subject]
    return f"{method.component}.{method.name}()" if method.component else f"{method.name}()"
