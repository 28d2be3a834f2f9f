"""The hot leaves of the client channel: packet bodies, messages, acknowledgement bits, packet numbers.

`docs/wire.md` is the standard; this module is its bytes. A packet's body is a row of frames, each opened by
a byte that names its kind. Integers are little-endian.

    ACK        01 | newest number u32 | delay u16 (100 µs) | stream offset u32 | n u8 | n bytes of bits
    STREAM     02 | offset u32 | length u16 | bytes of the reliable stream
    MESSAGE    03 | packed length | one unreliable message
    PING       04
    END        05 | final stream offset u32
    CLOSE      06 | reason u8
    CHALLENGE  07 | 8 bytes
    ANSWER     08 | the 8 bytes of the challenge

A packed length is one byte for 0..254, or FF and three bytes for more; a longer form than needed is
malformed, so that every body has one encoding. Inside the reliable stream each message is its packed length
and its bytes; where a packet begins or ends has no meaning there, so a message larger than a packet needs
no other rule.

Numbers and offsets count up for ever inside (64 bits) and travel as their low 32 bits; `expand` finds the
full value nearest to the one that is expected.

What cannot be parsed raises DecodeError: the bytes are the peer's fault, and the channel ends with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple, TypeVar

from terrazzo.errors import DecodeError

ACK = 1
STREAM = 2
MESSAGE = 3
PING = 4
END = 5
CLOSE = 6
CHALLENGE = 7
ANSWER = 8

ACK_HEAD_BYTES = 12
ACK_BITS_BYTES_MAX = 32
STREAM_HEAD_BYTES = 7
CHALLENGE_BYTES = 8
NUMBER_WINDOW = 1024

_LOW = 0xFFFFFFFF
_HALF = 1 << 31
_ACK = Struct("<BIHIB")
_STREAM = Struct("<BIH")
_U32 = Struct("<I")

T = TypeVar("T")


class Ack(NamedTuple):
    """An ACK frame: bit i of `bits` stands for packet `newest - 1 - i`."""

    newest: int
    delay: int
    received: int
    bits: bytes


class Body(NamedTuple):
    """A parsed packet body; -1 and None mean that the frame is not there."""

    eliciting: bool
    ack: Ack | None
    chunks: list[tuple[int, bytes]]
    messages: list[bytes]
    end: int
    close: int
    challenge: bytes | None
    answer: bytes | None


def expand(low: int, near: int) -> int:
    """The full value with the low 32 bits `low` that is nearest to `near`; never negative."""
    value = (near & ~_LOW) | low
    if value > near + _HALF and value > _LOW:
        return value - _LOW - 1
    if value + _HALF < near:
        return value + _LOW + 1
    return value


def append_messages(stream: bytearray, messages: Sequence[bytes], limit: int) -> None:
    """Append each message with its packed length; all of them, or none and a ValueError."""
    for message in messages:
        if len(message) > limit:
            raise ValueError(f"a message of {len(message)} bytes is over the limit of {limit}")
    for message in messages:
        stream += _packed(len(message))
        stream += message


def take_messages(stream: bytearray, limit: int) -> list[bytes]:
    """Take every complete message off the front of the stream; what is not complete yet stays."""
    messages: list[bytes] = []
    at = 0
    end = len(stream)
    while at < end:
        head = 1
        size = stream[at]
        if size == 255:
            head = 4
            if end - at < head:
                break
            size = int.from_bytes(stream[at + 1 : at + 4], "little")
            if size < 255:
                raise DecodeError("a packed length is longer than it need be", at)
        if size > limit:
            raise DecodeError(f"a message of {size} bytes is over the limit of {limit}", at)
        if end - at < head + size:
            break
        at += head
        messages.append(bytes(stream[at : at + size]))
        at += size
    del stream[:at]
    return messages


def fit_messages(queue: deque[bytes], room: int, share: int) -> list[bytes]:
    """Take from the queue what fits as MESSAGE frames: the first within `room`, the others within `share`."""
    fitting: list[bytes] = []
    used = 0
    while queue:
        size = len(queue[0])
        used += size + (2 if size < 255 else 5)
        if used > room or (fitting and used > share):
            break
        fitting.append(queue.popleft())
    return fitting


def encode_body(
    ack: tuple[int, int, int, bytes] | None,
    control: bytes,
    stream: bytearray,
    base: int,
    spans: Sequence[tuple[int, int]],
    messages: Sequence[bytes],
) -> bytes:
    """One body: ACK, the control frames as given, a STREAM frame per span of the stream, a MESSAGE frame
    per message.

    Spans are full stream offsets (start, stop); `stream` holds the bytes from offset `base` on.
    """
    out = bytearray()
    if ack is not None:
        newest, delay, received, bits = ack
        out += _ACK.pack(ACK, newest & _LOW, delay, received & _LOW, len(bits))
        out += bits
    out += control
    for start, stop in spans:
        out += _STREAM.pack(STREAM, start & _LOW, stop - start)
        out += stream[start - base : stop - base]
    for message in messages:
        out.append(MESSAGE)
        out += _packed(len(message))
        out += message
    return bytes(out)


def decode_body(body: bytes) -> Body:
    """Parse a whole body, or raise DecodeError."""
    ack: Ack | None = None
    chunks: list[tuple[int, bytes]] = []
    messages: list[bytes] = []
    end = close = -1
    challenge: bytes | None = None
    answer: bytes | None = None
    eliciting = False
    at = 0
    if not body:
        raise DecodeError("an empty body", 0)
    while at < len(body):
        kind = body[at]
        if kind != ACK and kind != CLOSE and kind != ANSWER:
            eliciting = True
        if kind == STREAM:
            start, stop = at + STREAM_HEAD_BYTES, 0
            if start < len(body):
                _, offset, size = _STREAM.unpack_from(body, at)
                stop = start + size if size else 0
            at = _within(body, at, stop)
            chunks.append((offset, body[start:stop]))
        elif kind == MESSAGE:
            start, stop = _message_span(body, at + 1)
            at = _within(body, at, stop)
            messages.append(body[start:stop])
        elif kind == ACK and ack is None:
            start, stop = at + ACK_HEAD_BYTES, 0
            if start <= len(body):
                _, newest, delay, received, size = _ACK.unpack_from(body, at)
                stop = start + size if size <= ACK_BITS_BYTES_MAX else 0
            at = _within(body, at, stop)
            ack = Ack(newest, delay, received, body[start:stop])
        elif kind == PING:
            at += 1
        elif kind == END and end < 0:
            start, at = at + 1, _within(body, at, at + 5)
            end = _U32.unpack_from(body, start)[0]
        elif kind == CLOSE and close < 0:
            start, at = at + 1, _within(body, at, at + 2)
            close = body[start]
        elif kind == CHALLENGE and challenge is None:
            start, at = at + 1, _within(body, at, at + 1 + CHALLENGE_BYTES)
            challenge = body[start:at]
        elif kind == ANSWER and answer is None:
            start, at = at + 1, _within(body, at, at + 1 + CHALLENGE_BYTES)
            answer = body[start:at]
        else:
            raise DecodeError("a frame that is unknown or may not come twice", at)
    return Body(eliciting, ack, chunks, messages, end, close, challenge, answer)


def take_acked(in_flight: dict[int, T], newest: int, bits: bytes) -> list[T]:
    """Remove from `in_flight` every packet that the acknowledgement names; the newest first."""
    acked: list[T] = []
    sent = in_flight.pop(newest, None)
    if sent is not None:
        acked.append(sent)
    number = newest
    for byte in bits:
        for bit in range(8):
            number -= 1
            if byte >> bit & 1:
                sent = in_flight.pop(number, None)
                if sent is not None:
                    acked.append(sent)
    return acked


class Window:
    """Which packet numbers have come: drops what comes twice, and is where acknowledgements are read from.

    It remembers the newest number and NUMBER_WINDOW numbers back from it; anything older counts as seen.
    """

    __slots__ = ("_seen", "newest")

    def __init__(self) -> None:
        self.newest = -1
        self._seen = 0  # bit i stands for number `newest - i`

    def fresh(self, number: int) -> bool:
        """Whether this number has not come yet, and is not too old for the window."""
        age = self.newest - number
        return age < 0 or (age < NUMBER_WINDOW and not self._seen >> age & 1)

    def mark(self, number: int) -> None:
        """This number has come."""
        age = self.newest - number
        if age >= 0:
            self._seen |= (1 << age) & ((1 << NUMBER_WINDOW) - 1)
            return
        ahead = min(-age, NUMBER_WINDOW)
        self._seen = (self._seen << ahead | 1) & ((1 << NUMBER_WINDOW) - 1)
        self.newest = number

    def bits(self, size: int) -> bytes:
        """The acknowledgement bits: bit i (low bit of the first byte first) stands for `newest - 1 - i`."""
        return (self._seen >> 1 & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _packed(size: int) -> bytes:
    if size < 255:
        return bytes((size,))
    return b"\xff" + size.to_bytes(3, "little")


def _message_span(body: bytes, at: int) -> tuple[int, int]:
    """Where the message behind the packed length at `at` starts and stops; a stop of 0 is malformed."""
    if at >= len(body):
        return at, 0
    if body[at] < 255:
        return at + 1, at + 1 + body[at]
    size = int.from_bytes(body[at + 1 : at + 4], "little")
    if at + 4 > len(body) or size < 255:
        return at, 0
    return at + 4, at + 4 + size


def _within(body: bytes, at: int, stop: int) -> int:
    """`stop` if the frame at `at` ends there properly; otherwise DecodeError."""
    if not at < stop <= len(body):
        raise DecodeError("a frame that is cut short or has a length it may not have", at)
    return stop
