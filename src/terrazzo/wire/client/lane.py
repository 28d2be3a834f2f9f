"""Ways past the events: for messages that come or go for thousands of sessions in every tick.

A *lane* is for one kind of unreliable message of one size, such as a player's move. A session that has one does not
deliver such a message in an event. It becomes a row of the endpoint's `Rows`, and the owner takes all rows at once:

    row    tag u32 | the message without its first byte

The tag is the owner's number for the session. A session has one row at most between two takes, the newest: an older
place of a player is worth nothing. A session may have so many rows a second; a message over that rate is dropped,
counted. A message that replaces the row of its session is always taken: when the owner stood still, the messages of
seconds come at once, and the newest of them must not be the one that is dropped.

The other way, `parse_parcels` reads a buffer with messages for many sessions:

    parcel    session id u32 | size u16 | message

A session can be *muted* for some kinds of messages, by their first bytes: they are counted in its `SessionTally` and
dropped. That is for programs that play many clients at once and look at a few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from terrazzo.wire.client.limits import Drop, Drops
from terrazzo.wire.rates import Bucket

TAG = Struct("<I")
PARCEL = Struct("<IH")

GAP_S = 0.25
"""A longer time between two muted unreliable messages counts as a gap."""


class Rows:
    """The rows of one endpoint."""

    def __init__(self) -> None:
        self.message_bytes = 0  # of all lanes; 0 before the first
        self._rows: dict[int, bytes] = {}

    def open(self, message_bytes: int) -> None:
        """A lane for messages of this size begins; ValueError when another lane has another size."""
        if message_bytes < 1:
            raise ValueError("a message in a lane has one byte at least")
        if self.message_bytes not in (0, message_bytes):
            raise ValueError(f"the lanes of this endpoint have messages of {self.message_bytes} bytes")
        self.message_bytes = message_bytes

    def put(self, session_id: int, row: bytes) -> None:
        """A row of a session, in place of the one that it has."""
        self._rows[session_id] = row

    def has(self, session_id: int) -> bool:
        """Whether the session has a row that was not taken yet."""
        return session_id in self._rows

    def take(self) -> bytes:
        """All rows, in the order in which their sessions sent the first of them; none is left."""
        rows, self._rows = self._rows, {}
        return b"".join(rows.values())


class Lane:
    """The lane of one session."""

    __slots__ = ("_bucket", "_first", "_rows", "_session_id", "_size", "_tag")

    def __init__(self, rows: Rows, session_id: int, first_byte: int, size: int, tag: int, per_s: float) -> None:
        rows.open(size)
        self._rows = rows
        self._session_id = session_id
        self._first = bytes((first_byte,))
        self._size = size
        self._tag = TAG.pack(tag)
        self._bucket = Bucket(per_s=per_s)

    def take(self, messages: list[bytes], now: float, drops: Drops) -> list[bytes]:
        """Takes the messages that belong into the lane; gives the others."""
        others: list[bytes] = []
        for message in messages:
            if len(message) != self._size or message[:1] != self._first:
                others.append(message)
            elif self._rows.has(self._session_id) or self._bucket.take(now):
                self._rows.put(self._session_id, self._tag + message[1:])
            else:
                drops[Drop.LANE_RATE] += 1
        return others


class SessionTally(NamedTuple):
    """What one session, or several, have counted."""

    packets_sent: int = 0
    packets_received: int = 0
    packets_missed: int = 0
    """Numbers that have not come, and are older than the newest that has."""
    bytes_sent: int = 0
    bytes_received: int = 0
    resent_bytes: int = 0
    muted: int = 0
    muted_bytes: int = 0
    gaps: int = 0
    gap_max_s: float = 0.0
    """Between two muted unreliable messages."""

    def plus(self, other: SessionTally) -> SessionTally:
        """Of both together."""
        sums = [mine + others for mine, others in zip(self[:-1], other[:-1], strict=True)]
        return SessionTally._make([*sums, max(self.gap_max_s, other.gap_max_s)])


class Muting:
    """Drops the messages of one session that begin with certain bytes, and counts them."""

    __slots__ = ("_kinds", "_last_at", "gap_max_s", "gaps", "muted", "muted_bytes")

    def __init__(self) -> None:
        self._kinds = b""
        self._last_at: float | None = None
        self.muted = self.muted_bytes = self.gaps = 0
        self.gap_max_s = 0.0

    def set(self, kinds: bytes) -> None:
        """From now on, messages that begin with one of these bytes."""
        self._kinds = bytes(kinds)

    def take(self, messages: list[bytes], now: float, *, reliable: bool) -> list[bytes]:
        """Takes the muted messages; gives the others."""
        if not self._kinds:
            return messages
        others: list[bytes] = []
        for message in messages:
            if message and message[0] in self._kinds:
                self.muted += 1
                self.muted_bytes += len(message)
                if not reliable:
                    self._note_gap(now)
            else:
                others.append(message)
        return others

    def _note_gap(self, now: float) -> None:
        if self._last_at is not None:
            gap_s = now - self._last_at
            self.gap_max_s = max(self.gap_max_s, gap_s)
            self.gaps += gap_s > GAP_S
        self._last_at = now


def parse_parcels(parcels: bytes | bytearray | memoryview) -> Iterator[tuple[int, int, int]]:
    """Session id, start and stop of each message in a buffer; ValueError, before the first, if it is malformed."""
    view = memoryview(parcels).cast("B")
    found: list[tuple[int, int, int]] = []
    at = 0
    while at < len(view):
        if len(view) - at < PARCEL.size:
            raise ValueError("a parcel that is cut short")
        session_id, size = PARCEL.unpack_from(view, at)
        at += PARCEL.size + size
        if at > len(view):
            raise ValueError("a parcel that is cut short")
        found.append((session_id, at - size, at))
    return iter(found)
