"""Mail in bulk: the rows of a `Frames` message (`wire/entity/messages.py`), and `ToClient` payloads without objects.

A **row** is one plain frame of an entity channel (`wire/entity/channel.py`): what a `Frame` has in the steady state,
and nothing else. It is at home at the app that sends it, was not forwarded, and neither asks, ends, closes nor renews.

    row     = flags, the entity of `to` (int32), [the entity of the source (int32)], version, `heard`, [stream], [ack]
    flags   = 1 `to` is a cell part   2 the source is a cell part   4 the source is of another entity, which follows
              8 has a stream   16 has an acknowledgement   32 the stream's `born` is not 0, and follows
    version = life, moves
    stream  = generation, first, [born], number - first, how many payloads, of each its length and its bytes
    ack     = generation, number

Integers without a size are varints: seven bits a byte, the lowest first, the high bit set in all but the last byte.

A **ToClient** payload (`_speed/updates` writes it) is read by `read_to_client` without an object for it: the witness
and the messages. That reads msgpack as any encoder writes it: `[91, [witness, [message, …]]]`. Where it finds anything
else it gives None, and the table of messages (`wire/messages.py`) decides what the payload is, or why it is none.

What comes in is checked against the length before it is read. A number of NUMBER_MAX or more, a life or a count of
moves that does not fit a version, an unknown flag and a length beyond the end are malformed: the reader stops there.
"""

from __future__ import annotations

NUMBER_MAX = 1 << 62
LIFE_MAX = 1 << 30
MOVES_BITS = 32
ENTITY_MAX = 1 << 31

_TO_CELL = 1
_FROM_CELL = 2
_OTHER_ENTITY = 4
_STREAM = 8
_ACK = 16
_BORN = 32
_ALL_FLAGS = 63


def _put(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


class _Malformed(Exception):
    """The bytes are no rows."""


class _Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.data)

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise _Malformed
        self.at += size
        return taken

    def number(self, limit: int = NUMBER_MAX) -> int:
        number = 0
        for shift in range(0, 63, 7):
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                if number >= limit:
                    raise _Malformed
                return number
        raise _Malformed

    def entity(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def version(self) -> int:
        return self.number(LIFE_MAX) << MOVES_BITS | self.number(1 << MOVES_BITS)


class RowWriter:
    """Collects rows."""

    def __init__(self) -> None:
        self._out = bytearray()

    def __len__(self) -> int:
        return len(self._out)

    def add(
        self,
        to: int,
        to_part: int,
        source: int,
        source_part: int,
        version: int,
        heard: int,
        ack_generation: int,
        acked: int,
        generation: int,
        first: int,
        born: int,
        number: int,
        payloads: list[bytes],
        start: int,
        end: int,
    ) -> bool:
        """Adds a row; a generation of -1 stands for no acknowledgement, or no stream. The payloads of the stream are
        `payloads[start:end]`. False: something in it does not fit a row, and nothing was added."""
        has_ack, has_stream = ack_generation != -1, generation != -1
        if not (_is_entity(to) and _is_entity(source) and to_part in (0, 1) and source_part in (0, 1)):
            return False
        if not (_is_version(version) and _is_version(heard)):
            return False
        if has_ack and not (_is_number(ack_generation) and _is_number(acked)):
            return False
        if has_stream:
            if not (_is_number(generation) and _is_number(first) and _is_number(born) and _is_number(number)):
                return False
            if number < first or not 0 <= start <= end <= len(payloads):
                return False
        flags = to_part * _TO_CELL | source_part * _FROM_CELL | (source != to) * _OTHER_ENTITY
        flags |= has_stream * _STREAM | has_ack * _ACK | (has_stream and born > 0) * _BORN
        out = self._out
        out.append(flags)
        out += to.to_bytes(4, "little", signed=True)
        if source != to:
            out += source.to_bytes(4, "little", signed=True)
        for each in (version, heard):
            _put(out, each >> MOVES_BITS)
            _put(out, each & (1 << MOVES_BITS) - 1)
        if has_stream:
            _put(out, generation)
            _put(out, first)
            if born:
                _put(out, born)
            _put(out, number - first)
            _put(out, end - start)
            for payload in payloads[start:end]:
                _put(out, len(payload))
                out += payload
        if has_ack:
            _put(out, ack_generation)
            _put(out, acked)
        return True

    def take(self) -> bytes:
        """All rows; the writer is empty afterwards."""
        rows = bytes(self._out)
        self._out.clear()
        return rows


class RowReader:
    """Reads rows, one after another: the fields are those of the row that `next` has read."""

    def __init__(self, rows: bytes) -> None:
        self._rows = _Bytes(rows)
        self.is_malformed = False
        self.to = self.to_part = self.source = self.source_part = 0
        self.version = self.heard = 0
        self.ack_generation = self.acked = -1
        """-1: the row has no acknowledgement."""
        self.generation = -1
        """-1: the row has no stream."""
        self.first = self.born = self.number = 0
        self.payloads: list[bytes] = []

    def next(self) -> bool:
        """Reads the next row. False: there is none, or it is malformed (`is_malformed`), and so is the rest."""
        if self.is_malformed or self._rows.is_at_end:
            return False
        try:
            self._read(self._rows)
        except _Malformed:
            self.is_malformed = True
            return False
        return True

    def _read(self, rows: _Bytes) -> None:
        flags = rows.take(1)[0]
        if flags > _ALL_FLAGS or flags & (_STREAM | _BORN) == _BORN:
            raise _Malformed
        self.to_part, self.source_part = flags & 1, flags >> 1 & 1
        self.to = self.source = rows.entity()
        if flags & _OTHER_ENTITY:
            self.source = rows.entity()
        self.version, self.heard = rows.version(), rows.version()
        self.ack_generation = self.acked = self.generation = -1
        self.first = self.born = self.number = 0
        self.payloads = []
        if flags & _STREAM:
            self.generation, self.first = rows.number(), rows.number()
            if flags & _BORN:
                self.born = rows.number()
            self.number = self.first + rows.number()
            if self.number >= NUMBER_MAX:
                raise _Malformed
            for _ in range(rows.number()):
                self.payloads.append(rows.take(rows.number()))
        if flags & _ACK:
            self.ack_generation, self.acked = rows.number(), rows.number()


def _is_number(number: int) -> bool:
    return 0 <= number < NUMBER_MAX


def _is_version(version: int) -> bool:
    return 0 <= version < LIFE_MAX << MOVES_BITS


def _is_entity(entity: int) -> bool:
    return -ENTITY_MAX <= entity < ENTITY_MAX


_TO_CLIENT = b"\x92\x5b\x92"


def read_to_client(payload: bytes) -> tuple[int, list[bytes]] | None:
    """The witness and the messages of a ToClient; None: it is another payload, or in a form that is not read here."""
    if payload[:3] != _TO_CLIENT:
        return None
    rest = _Bytes(payload, 3)
    try:
        witness = _witness(rest)
        messages = [rest.take(_size_of_bytes(rest)) for _ in range(_count(rest))]
    except _Malformed:
        return None
    return (witness, messages) if rest.is_at_end else None


def _big(rest: _Bytes, size: int) -> int:
    return int.from_bytes(rest.take(size), "big")


def _witness(rest: _Bytes) -> int:
    mark = rest.take(1)[0]
    if mark < 0x80:
        return mark
    if not 0xCC <= mark <= 0xCF:
        raise _Malformed
    witness = _big(rest, 1 << mark - 0xCC)
    if witness >= NUMBER_MAX:
        raise _Malformed
    return witness


def _count(rest: _Bytes) -> int:
    mark = rest.take(1)[0]
    if mark & 0xF0 == 0x90:
        return mark & 15
    if mark not in (0xDC, 0xDD):
        raise _Malformed
    return _big(rest, 2 << mark - 0xDC)


def _size_of_bytes(rest: _Bytes) -> int:
    mark = rest.take(1)[0]
    if not 0xC4 <= mark <= 0xC6:
        raise _Malformed
    return _big(rest, 1 << mark - 0xC4)
