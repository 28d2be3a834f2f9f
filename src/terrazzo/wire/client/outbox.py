"""What waits to be sent: the reliable stream and the unreliable messages.

The reliable stream is one row of bytes, each message with its length before it. Offsets count from its
beginning:

    base            sent            end
     |  in flight    |  waiting      |
     |  or held      |               |

Bytes before `base` are acknowledged and gone. Spans of lost packets lie in `_resend` until a packet takes
them; they go before new bytes. The stream is sent at most STREAM_WINDOW_BYTES beyond `base`, for that is
what a receiver holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from terrazzo._speed import packet
from terrazzo.wire.client import limits

Span = tuple[int, int]


class StreamOutbox:
    """The sending side of both kinds of messages."""

    def __init__(self) -> None:
        self.stream = bytearray()
        self.base = 0
        self.sent = 0
        self.unreliable: deque[bytes] = deque()
        self.unreliable_bytes = 0
        self.resent_bytes = 0
        self._resend: deque[Span] = deque()

    @property
    def end(self) -> int:
        """The offset behind the last byte that was given to the stream."""
        return self.base + len(self.stream)

    @property
    def stream_waits(self) -> bool:
        """Whether the stream has bytes that may go out now."""
        return bool(self._resend) or self.sent < min(self.end, self.base + limits.STREAM_WINDOW_BYTES)

    @property
    def all_sent(self) -> bool:
        """Whether every byte has been sent and none is known to be lost."""
        return self.sent == self.end and not self._resend

    def add(self, messages: Sequence[bytes], limit: int) -> None:
        """Append messages to the stream."""
        packet.append_messages(self.stream, messages, limit)

    def add_unreliable(self, messages: Sequence[bytes], bytes_max: int) -> int:
        """Queue unreliable messages; over the limit the oldest give way. Gives how many did."""
        self.unreliable.extend(messages)
        self.unreliable_bytes += sum(map(len, messages))
        dropped = 0
        while self.unreliable_bytes > bytes_max:
            self.drop_unreliable()
            dropped += 1
        return dropped

    def drop_unreliable(self) -> None:
        """The oldest unreliable message will not be sent."""
        self.unreliable_bytes -= len(self.unreliable.popleft())

    def acknowledge(self, offset: int) -> None:
        """The peer has every byte before this offset."""
        if offset > self.base:
            del self.stream[: offset - self.base]
            self.base = offset

    def send_again(self, spans: Sequence[Span]) -> None:
        """These spans were in a packet that is lost."""
        for start, stop in spans:
            if stop <= self.base:
                continue
            if self._resend and self._resend[-1][1] == start:
                start = self._resend.pop()[0]
            self._resend.append((start, stop))

    def take(self, room: int) -> tuple[list[Span], list[bytes]]:
        """What shall go into a packet with so much room.

        While the stream waits, unreliable messages get half of the room, or one that is larger: neither
        starves.
        """
        messages: list[bytes] = []
        if self.unreliable:
            share = room // 2 if self.stream_waits else room
            messages = packet.fit_messages(self.unreliable, room, share)
            for message in messages:
                size = len(message)
                self.unreliable_bytes -= size
                room -= size + (2 if size < 255 else 5)
        return self._take_spans(room), messages

    def _take_spans(self, room: int) -> list[Span]:
        spans: list[Span] = []
        room -= packet.STREAM_HEAD_BYTES
        while room > 0:
            if self._resend:
                start, lost_stop = self._resend.popleft()
                start = max(start, self.base)
                stop = min(lost_stop, start + room)
                if stop < lost_stop:
                    self._resend.appendleft((stop, lost_stop))
                if stop <= start:
                    continue
                self.resent_bytes += stop - start
            else:
                start = self.sent
                stop = min(self.end, start + room, self.base + limits.STREAM_WINDOW_BYTES)
                if stop <= start:
                    break
                self.sent = stop
            spans.append((start, stop))
            room -= stop - start + packet.STREAM_HEAD_BYTES
        return spans
