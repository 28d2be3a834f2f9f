"""What a CellApp writes for clients: rows of unreliable messages for a BaseApp, and the reliable words of one client.

**Updates** are the unreliable messages of one tick, for the clients of one BaseApp (`ClientUpdates`). They are rows,
one after the other, little-endian:

    row       entity i32 | size u32 | witness i64 | generation i64 | number i64 | messages, `size` bytes
    message   size u16 | that many bytes

    entity                  the client's own entity
    witness                 its witness number
    generation, number      `after`: how much the cell part had sent to its base part before (`Switchboard.said`)

The three counters are as wide as `Count` (`wire/numbers.py`): -1 to 2^62 - 1. A row is 32 bytes and its messages, which
fill it exactly. A message has 65,535 bytes at most, a row as many messages as fit in `size`.

`UpdateRows` collects rows: a row is begun, messages are put into it, and it is ended with the values of its
head, which are not known before. `decode_updates` checks every size and every range before it gives anything: rows that
are cut off, messages that do not fill their row, and counters out of range are refused as a whole.

**Words** are the reliable messages of one client and tick, in order, as the payload of `ToClient` that its base part
gets: msgpack, `[91, [witness, [message, …]]]`. Where all of them have more than `most` bytes together there are several
payloads; a single message that is longer has one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

import msgspec

from terrazzo.errors import DecodeError, UsageError

HEAD = Struct("<iIqqq")
SIZE = Struct("<H")
MESSAGE_MAX = 0xFFFF
COUNT_MAX = (1 << 62) - 1
WORDS_NUMBER = 91
"""The number of `ToClient` (`wire/pairs/base_cell.py`)."""

Row = tuple[int, int, tuple[bytes, ...], tuple[int, int]]
"""Entity, witness, messages, and (generation, number)."""


class UpdateRows:
    """The rows for one BaseApp."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []
        self._messages: list[bytes] = []

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, message: bytes) -> None:
        """One more message of the row that is begun."""
        if len(message) > MESSAGE_MAX:
            raise UsageError(f"a message of {len(message)} bytes that may be lost; {MESSAGE_MAX} is the limit")
        self._messages.append(message)

    def is_begun(self) -> bool:
        """Whether a message was put into a row that has not ended."""
        return bool(self._messages)

    def drop(self) -> None:
        """The row that is begun is not sent."""
        self._messages = []

    def end(self, entity: int, witness: int, generation: int, number: int, most: int) -> int:
        """The row that is begun is done; without a message there is none. Only the last `most` messages are kept;
        gives how many were dropped."""
        messages, self._messages = self._messages, []
        kept = messages[-most:]
        if kept:
            data = b"".join(SIZE.pack(len(each)) + each for each in kept)
            self._rows.append(HEAD.pack(entity, len(data), witness, generation, number) + data)
        return len(messages) - len(kept)

    def extend(self, rows: bytes) -> None:
        """More rows, as `take` gives them."""
        for entity, witness, messages, after in decode_updates(rows):
            self._messages = list(messages)
            self.end(entity, witness, *after, len(messages))

    def take(self, most: int, bytes_most: int) -> list[bytes]:
        """All rows, in parts of so many rows at most; a part ends with the row that brings it to `bytes_most` bytes."""
        rows, self._rows = self._rows, []
        parts: list[list[bytes]] = []
        size = bytes_most
        for row in rows:
            if size >= bytes_most or len(parts[-1]) >= most:
                parts.append([])
                size = 0
            parts[-1].append(row)
            size += len(row)
        return [b"".join(part) for part in parts]


def encode_updates(updates: Iterable[Row]) -> bytes:
    """Rows for these clients, in this order."""
    rows = UpdateRows()
    for entity, witness, messages, after in updates:
        for message in messages:
            rows.put(message)
        rows.end(entity, witness, *after, max(len(messages), 1))
    return b"".join(rows.take(1 << 30, 1 << 30))


def decode_updates(rows: bytes) -> list[Row]:
    """The rows of one message; raises DecodeError if anything is wrong with one of them."""
    found: list[Row] = []
    at = 0
    while at < len(rows):
        if len(rows) - at < HEAD.size:
            raise DecodeError("a row of updates is cut off", at)
        entity, size, *counts = HEAD.unpack_from(rows, at)
        witness, generation, number = counts
        if not all(-1 <= each <= COUNT_MAX for each in counts):
            raise DecodeError("a counter of a row of updates is out of range", at)
        at += HEAD.size
        if size > len(rows) - at:
            raise DecodeError("the messages of a row of updates are cut off", at)
        found.append((entity, witness, _messages(rows, at, at + size), (generation, number)))
        at += size
    return found


def _messages(rows: bytes, at: int, end: int) -> tuple[bytes, ...]:
    messages = []
    while at < end:
        size = SIZE.unpack_from(rows, at)[0] if end - at >= SIZE.size else MESSAGE_MAX
        if size > end - at - SIZE.size:
            raise DecodeError("the messages of a row of updates do not fill it", at)
        at += SIZE.size + size
        messages.append(rows[at - size : at])
    return tuple(messages)


class UpdateReader:
    """Reads the rows of one message one by one, without an object for each. DecodeError as `decode_updates`."""

    def __init__(self, rows: bytes) -> None:
        self.entity = self.witness = self.generation = self.number = 0
        self._left = iter(decode_updates(rows))
        self._messages: tuple[bytes, ...] = ()
        self._unread: Iterator[bytes] = iter(())

    def next(self) -> bool:
        """Goes on to the next row; False: there is none."""
        row = next(self._left, None)
        if row is None:
            return False
        self.entity, self.witness, self._messages, (self.generation, self.number) = row
        self._unread = iter(self._messages)
        return True

    def next_message(self, kind: int, turn: int) -> bytes | None:
        """The next message of the row, or None; in one of this kind the second byte is replaced."""
        message = next(self._unread, None)
        if message is not None and len(message) > 1 and message[0] == kind:
            return message[:1] + bytes((turn,)) + message[2:]
        return message

    def row(self) -> Row:
        """The row as `decode_updates` gives it."""
        return self.entity, self.witness, self._messages, (self.generation, self.number)


class Words:
    """The reliable messages of one client; one object serves all clients, one after the other."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[list[bytes]] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def put(self, message: bytes) -> None:
        """One more, after those before."""
        if not self._parts or self._size + len(message) > self._most:
            self._parts.append([])
            self._size = 0
        self._parts[-1].append(message)
        self._size += len(message)

    def drop(self) -> None:
        """None of them is sent."""
        self._parts, self._size = [], 0

    def take(self, witness: int) -> list[bytes]:
        """The payloads for the client of this witness, in order."""
        parts = self._parts
        self.drop()
        return [msgspec.msgpack.encode((WORDS_NUMBER, (witness, part))) for part in parts]
