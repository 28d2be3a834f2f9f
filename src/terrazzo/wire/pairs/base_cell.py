"""BaseApp ↔ CellApp, and the two parts of one entity (80–99).

Some pass between the apps; most pass between the base and the cell part of an entity, over their entity channel
(`wire/entity/switchboard.py`), so that they arrive once and in order wherever either part has moved. Those are the
payloads.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo._speed.updates import decode_updates, encode_updates
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Alias, Count, Index, Int32, Life

Position = tuple[float, float, float]
"""x, y (height), z; kept as 32-bit floats."""
Direction = tuple[float, float, float]
"""yaw, pitch, roll in radians; kept as 32-bit floats."""


# Between the apps.


@message(80)
class CreateReal(Message, frozen=True):
    """Request, BaseApp → CellApp: give this entity a cell part. Answered by RealCreated; refused, it has none.

    `life` is counted by the base: each cell part it asks for has a higher one, so that the mailbox of a new one beats
    every trace of the former.
    """

    entity: Int32
    type_id: Index
    space: Index
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout."""
    dbid: int
    life: Life


@message(81, max_size=256)
class RealCreated(Message, frozen=True):
    """The cell part is there."""


@message(82)
class Moves(Message, frozen=True):
    """BaseApp → CellApp, once per tick: the latest word of each client whose real is thought to be there.

    Rows of `_speed.movers` (entity, number, position, direction). The number counts a client's moves: one that was
    forwarded by a former cell must not undo a newer one. Who has only a ghost passes the row to the real; who has
    neither drops it: the next one is due in a tick.
    """

    rows: bytes


class ClientUpdate(NamedTuple):
    """Unreliable messages for one client, and up to where its cell part had told its base part something before
    (`Switchboard.said`): they are not for a client that does not know that yet."""

    entity: Int32
    witness: Count
    messages: tuple[bytes, ...]
    after: tuple[Count, Count] = (0, 0)


@message(83)
class ClientUpdates(Message, frozen=True):
    """CellApp → BaseApp, once per tick: what may be lost on the way to the clients (positions).

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

    With a `question` its result is wanted: the called part says it with an Answer, to the part that called."""

    method: Index
    args: bytes
    caller: Int32 = 0
    question: int = 0


@message(85, max_size=256)
class SetWitness(Message, frozen=True):
    """A client is there (or not): begin (or end) to tell it what is around. `witness` grows with each client that
    comes.

    Everything meant for a client carries the number of its witness, so that a later client never gets the mail of an
    earlier one.
    """

    witness: Count
    is_on: bool


@message(86, max_size=256)
class DestroyReal(Message, frozen=True):
    """Take the cell part down; it answers with CellData(is_last=True)."""


@message(87, max_size=256)
class WantCellData(Message, frozen=True):
    """Send CellData: for saving, or for a backup."""


@message(88)
class ClientWants(Message, frozen=True):
    """What the client says about the entities around it: describe these, and these aliases are free again.

    Bears the number of the witness it answers to; what is for an older one means nothing.
    """

    witness: Count
    wants: tuple[tuple[Int32, Count], ...]
    """(entity, number of the last step of it that the client remembers; 0: nothing)."""
    released: tuple[Alias, ...]


@message(89, max_size=256)
class WhereAreYou(Message, frozen=True):
    """A real wants to be put beside this one: answered by IAmHere, to the cell part that asked."""

    question: int


@message(93, max_size=1024)
class IAmHere(Message, frozen=True):
    """Where the entity is now."""

    question: int
    space: str
    position: Position


@message(94)
class Answer(Message, frozen=True):
    """From any part to any part: what a call that was made with a question has come to."""

    question: int
    values: bytes
    """The return values, if there is no error."""
    error: str | None = None


# Payloads from the cell part to the base part.


@message(90)
class CallBase(Message, frozen=True):
    """Call a base method by its internal index; `question` as in CallCell."""

    method: Index
    args: bytes
    question: int = 0


@message(91)
class ToClient(Message, frozen=True):
    """Reliable messages for the client, of one tick, in order (`sync.protocol`)."""

    witness: Count
    messages: tuple[bytes, ...]


@message(92)
class CellData(Message, frozen=True):
    """The cell part as it is: everything that is needed to save it or to make it again."""

    space: str
    position: Position
    direction: Direction
    properties: bytes
    """The whole cell layout. Empty: they are too large to be sent, and the base keeps what it has."""
    is_last: bool
    """The cell part is gone: destroyed by the game or on request."""


@message(95, max_size=1024)
class SendAway(Message, frozen=True):
    """The client of this witness cannot be told any more: what it has to hear is too large, or too much waits for it.
    Its view would have a hole, so it has to go."""

    witness: Count
    reason: str
