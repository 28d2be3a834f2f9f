"""The receiving side of the reliable stream: pieces in any order in, messages in order out.

Bytes up to `expected` have come without a gap. What came beyond a gap is held, by offset, until the gap
closes: at most STREAM_WINDOW_BYTES and HELD_RANGES_MAX pieces. A packet that would break this is refused as
a whole before it is acknowledged, as if it had been lost. The piece that closes the gap is never refused,
so the stream always goes on.

A stranger's stream (`confine`) is held to STRANGER_STREAM_BYTES_MAX in all: what is beyond is refused in the same way,
and comes again when the peer has logged in (`set_free`).
"""

from __future__ import annotations

from bisect import bisect_left

from terrazzo._speed import packet
from terrazzo.errors import DecodeError
from terrazzo.wire.client import limits

Chunk = tuple[int, bytes]


class Assembly:
    """Puts the stream together again."""

    def __init__(self, message_bytes_max: int) -> None:
        self.expected = 0
        self.held_bytes = 0
        self._held: list[Chunk] = []
        self._partial = bytearray()
        self._message_bytes_max = message_bytes_max
        self._free_message_bytes_max = message_bytes_max
        self._ranges_max = limits.HELD_RANGES_MAX
        self._stream_end_max: int | None = None

    def confine(self) -> None:
        """The peer has not logged in."""
        self._message_bytes_max = min(limits.STRANGER_MESSAGE_BYTES_MAX, self._free_message_bytes_max)
        self._ranges_max = limits.STRANGER_RANGES_MAX
        self._stream_end_max = limits.STRANGER_STREAM_BYTES_MAX

    def set_free(self) -> None:
        """The peer has logged in."""
        self._message_bytes_max = self._free_message_bytes_max
        self._ranges_max = limits.HELD_RANGES_MAX
        self._stream_end_max = None

    def is_early(self, placed: list[Chunk]) -> bool:
        """Whether a chunk is beyond what a peer may send before it has logged in."""
        end_max = self._stream_end_max
        return end_max is not None and any(start + len(data) > end_max for start, data in placed)

    def place(self, chunks: list[Chunk]) -> list[Chunk]:
        """The chunks of a packet with full offsets; DecodeError for one that no sender may send."""
        placed: list[Chunk] = []
        for low, data in chunks:
            start = packet.expand(low, self.expected)
            if start + len(data) > self.expected + limits.STREAM_WINDOW_BYTES:
                raise DecodeError("a piece of the stream beyond the window")
            placed.append((start, data))
        return placed

    def admits(self, placed: list[Chunk]) -> bool:
        """Whether there is room for every chunk that must be held."""
        early = [len(data) for start, data in placed if start > self.expected]
        return not early or (
            self.held_bytes + sum(early) <= limits.STREAM_WINDOW_BYTES
            and len(self._held) + len(early) <= self._ranges_max
        )

    def add(self, placed: list[Chunk]) -> list[bytes]:
        """Take the chunks in; gives the messages that are complete now, in order."""
        before = self.expected
        for chunk in placed:
            if chunk[0] <= self.expected:
                self._extend(chunk)
            else:
                self._hold(chunk)
        if self.expected == before:
            return []
        while self._held and self._held[0][0] <= self.expected:
            chunk = self._held.pop(0)
            self.held_bytes -= len(chunk[1])
            self._extend(chunk)
        return packet.take_messages(self._partial, self._message_bytes_max)

    def _extend(self, chunk: Chunk) -> None:
        start, data = chunk
        known = self.expected - start
        if known < len(data):
            self._partial += data[known:] if known else data
            self.expected = start + len(data)

    def _hold(self, chunk: Chunk) -> None:
        at = bisect_left(self._held, chunk)
        if self._held[at : at + 1] != [chunk]:
            self._held.insert(at, chunk)
            self.held_bytes += len(chunk[1])
