"""BaseApp ↔ CellApp, and the two parts of one entity (80–99).

Some are messages of the apps; most are payloads: messages between the base and the cell part of an entity, over their
entity channel (`wire/entity/switchboard.py`), so that they arrive once and in order wherever either part has moved.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo._speed.updates import decode_updates, encode_updates
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import AliasNumber, CountNumber, IndexNumber, Int32, Life

Position = tuple[float, float, float]
"""x, y (height), z; kept as 32-bit floats."""
Direction = tuple[float, float, float]
"""yaw, pitch, roll in radians; kept as 32-bit floats."""


# Between the apps.


@message(80)
class CreateReal(Message, frozen=True):
    """Request, BaseApp → CellApp: give this entity a cell part. Answered by RealCreated; refused, it has none.

    `life` is counted by the base: each cell part that it asks for has a higher one, so that the mailbox of a new cell
    part is newer than any message of the former.
    """

    entity: Int32
    type_id: IndexNumber
    space: IndexNumber
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout."""
    dbid: int
    life: Life


@message(81, max_size=256)
class RealCreated(Message, frozen=True):
    """The cell part exists."""


@message(82)
class Moves(Message, frozen=True):
    """BaseApp → CellApp: the latest move of each client with its real there, by the BaseApp's record.

    Rows of `_speed.movers` (entity, number, position, direction). The number counts a client's moves: one that was
    forwarded by a former cell must not undo a newer one. A CellApp with only a ghost passes the row to the real; one
    with neither drops it: the next row comes soon.
    """

    rows: bytes


class ClientUpdate(NamedTuple):
    """Unreliable messages for one client, and the last reliable message that its cell part had sent to its base part
    before (`Switchboard.sent_up_to`): the client must get that one first."""

    entity: Int32
    witness: CountNumber
    messages: tuple[bytes, ...]
    after: tuple[CountNumber, CountNumber] = (0, 0)


@message(83)
class ClientUpdates(Message, frozen=True):
    """CellApp → BaseApp, once per tick: unreliable messages for clients (positions).

    Rows of `_speed/updates`, one for each client, little-endian:

        row       entity i32 | size u32 | witness i64 | generation i64 | number i64 | messages, `size` bytes
        message   size u16 | that many bytes

    Generation and number are `after` of ClientUpdate; these and the witness are Counts, from -1 to 2^62 - 1. The
    messages fill `size` exactly. The rows are checked when they are read: malformed ones are refused as a whole.
    """

    rows: bytes

    @classmethod
    def of(cls, *updates: ClientUpdate) -> ClientUpdates:
        """The message with these rows."""
        return cls(encode_updates(updates))

    def read(self) -> list[ClientUpdate]:
        """The rows; raises DecodeError if any of them is malformed."""
        return list(map(ClientUpdate._make, decode_updates(self.rows)))


# Payloads from the base part to the cell part.


@message(84)
class CallCell(Message, frozen=True):
    """Call a cell method by its internal index. `caller`: the client's own entity if a client calls, else 0.

    With a `question` its result is wanted: the called part sends it with an Answer, to the part that called."""

    method: IndexNumber
    args: bytes
    caller: Int32 = 0
    question: int = 0


@message(85, max_size=256)
class SetWitness(Message, frozen=True):
    """The entity has a client (or none any more): begin (or end) its witness. `witness` grows with each client.

    Every message for a client has the number of its witness, so that a later client never gets the mail of an earlier
    one.
    """

    witness: CountNumber
    is_on: bool


@message(86, max_size=256)
class DestroyReal(Message, frozen=True):
    """End the cell part; it answers with CellData(is_last=True)."""


@message(87, max_size=256)
class WantCellData(Message, frozen=True):
    """Send CellData: for saving, or for a backup."""


@message(88)
class ClientWants(Message, frozen=True):
    """The answers of the client about the entities around it: describe these, and these aliases are free again.

    It has the number of its witness; a message for an older witness is ignored.
    """

    witness: CountNumber
    wants: tuple[tuple[Int32, CountNumber], ...]
    """(entity, number of the last step of it that the client remembers; 0: nothing)."""
    released: tuple[AliasNumber, ...]


@message(89, max_size=256)
class WhereAreYou(Message, frozen=True):
    """A real teleports beside this one: answered by IAmHere, to the cell part that asked."""

    question: int


@message(93, max_size=1024)
class IAmHere(Message, frozen=True):
    """The present place of the entity."""

    question: int
    space: str
    position: Position


@message(94)
class Answer(Message, frozen=True):
    """From any part to any part: the result of a call with a question."""

    question: int
    values: bytes
    """The return values, if there is no error."""
    error: str | None = None


# Payloads from the cell part to the base part.


@message(90)
class CallBase(Message, frozen=True):
    """Call a base method by its internal index; `question` as in CallCell."""

    method: IndexNumber
    args: bytes
    question: int = 0


@message(91)
class ToClient(Message, frozen=True):
    """Reliable messages for the client, of one tick, in order (`sync.protocol`)."""

    witness: CountNumber
    messages: tuple[bytes, ...]


@message(92)
class CellData(Message, frozen=True):
    """The present state of the cell part: everything that is needed to save it or to make it again."""

    space: str
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout. Empty: they are too large to be sent, and the base keeps what it has."""
    is_last: bool
    """The cell part is gone: destroyed by the game or on request."""


@message(95, max_size=1024)
class SendAway(Message, frozen=True):
    """The client of this witness cannot be served any more: a message is too large, or too much waits for it. Its view
    would be incomplete, so it is sent away."""

    witness: CountNumber
    reason: str
