"""The receiver's side of acknowledgement: which numbers have come, and when that is sent to the peer.

Every packet that wants an acknowledgement gets one: with the next packet that goes out anyway, or by itself,
at once for every eighth packet and whenever a number is missing or late (for the peer's loss detection), and
after a short delay otherwise. Packets with nothing but an acknowledgement are not acknowledged.
"""

from __future__ import annotations

from terrazzo._speed import packet
from terrazzo.wire.client import limits


class Acks:
    """What has come and has to be acknowledged."""

    def __init__(self, now: float) -> None:
        self.received = packet.Window()
        self.due_at: float | None = None
        self.waiting = 0  # packets that want an acknowledgement and have not got it
        self._acked_newest = -1
        self._newest_at = now

    def note(self, number: int, *, eliciting: bool, now: float) -> None:
        """A packet with this number has come for the first time."""
        newest = self.received.newest
        self.received.mark(number)
        if number > newest:
            self._newest_at = now
        if not eliciting:
            return
        self.waiting += 1
        if self.waiting >= limits.ACK_EVERY_PACKETS or number != newest + 1:
            self.due_at = now
        elif self.due_at is None:
            self.due_at = now + limits.ACK_DELAY_S

    def make(self, stream_offset: int, room: int, now: float) -> tuple[int, int, int, bytes] | None:
        """The fields of an ACK frame, if one is wanted and fits.

        Its bits cover everything since the last one, and some packets before, in case that one was lost.
        """
        if not self.waiting:
            return None
        newest = self.received.newest
        size = (newest - self._acked_newest + limits.ACK_OVERLAP_PACKETS + 7) // 8
        size = min(max(size, limits.ACK_BITS_BYTES_MIN), packet.ACK_BITS_BYTES_MAX)
        if room < packet.ACK_HEAD_BYTES + size:
            return None
        delay = min(int((now - self._newest_at) / limits.ACK_DELAY_UNIT_S), 0xFFFF)
        return newest, max(delay, 0), stream_offset, self.received.bits(size)

    def on_sent(self) -> None:
        """The frame that `make` gave has gone out."""
        self.waiting = 0
        self.due_at = None
        self._acked_newest = self.received.newest
