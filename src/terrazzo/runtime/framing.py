"""Frames in a stream of bytes: each is its length (u32, little-endian) and its bytes.

    0  u32  length
    4  …    the frame

The first frame of a connection, a greeting, has a smaller limit, so that a peer that is not accepted yet can occupy
little memory. A length over the limit is refused before any of the frame's bytes are stored.
"""

from __future__ import annotations

from terrazzo.errors import DecodeError
from terrazzo.wire.messages import BUNDLE_MAX

HEADER_BYTES = 4
GREETING_BYTES_MAX = 1024


def frame_header(size: int) -> bytes:
    """The header of a frame of this size."""
    return size.to_bytes(HEADER_BYTES, "little")


class FrameCutter:
    """Cuts the bytes of one connection into frames."""

    def __init__(self, first_bytes_max: int = GREETING_BYTES_MAX, bytes_max: int = BUNDLE_MAX) -> None:
        self.held_bytes = 0
        self._limit = first_bytes_max
        self._bytes_max = bytes_max
        self._held: list[bytes] = []  # the beginning of a frame; joined once, when it is complete
        self._wanted = 0

    def cut(self, data: bytes) -> list[bytes]:
        """The frames that are complete now; DecodeError for one that is too long."""
        if self._held:
            self._hold(data)
            if self.held_bytes < self._wanted:
                return []
            data = b"".join(self._held)
            self._held.clear()
            self.held_bytes = 0
        frames: list[bytes] = []
        at, end = 0, len(data)
        while True:
            start = at + HEADER_BYTES
            if start > end:
                self._wanted = HEADER_BYTES
                break
            size = int.from_bytes(data[at:start], "little")
            if size > self._limit:
                raise DecodeError(f"a frame of {size} bytes is over the limit of {self._limit}", at)
            if end - start < size:
                self._wanted = HEADER_BYTES + size
                break
            at = start + size
            frames.append(data[start:at])
            self._limit = self._bytes_max
        if at < end:
            self._hold(data[at:])
        return frames

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self.held_bytes += len(data)
