"""The two halves of an entity channel: the state that the sender and the receiver of a stream keep.

`channel.py` has the rules by which they change; this module has the state and its packed form.
"""

from __future__ import annotations

from terrazzo.wire.entity.messages import PackedIncoming, PackedOutgoing


class OutStream:
    """The sending half."""

    __slots__ = ("born", "buffer", "first", "generation", "is_last", "sent", "size")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.first = 0
        self.born = 0
        self.sent = 0
        self.is_last = False
        self.buffer: list[bytes] = []
        self.size = 0
        """Bytes in the buffer."""

    @property
    def next(self) -> int:
        """The number of the next payload."""
        return self.first + len(self.buffer)

    def pack(self) -> PackedOutgoing:
        """The packed form."""
        buffer = tuple(self.buffer)
        return PackedOutgoing(self.generation, self.first, self.born, self.sent, self.is_last, buffer)

    @classmethod
    def unpack(cls, packed: PackedOutgoing) -> OutStream:
        """The stream, continued from its packed form."""
        stream = cls(packed.generation)
        _, stream.first, stream.born, stream.sent, stream.is_last, buffer = packed
        stream.buffer = list(buffer)
        stream.size = sum(map(len, buffer))
        return stream


class InStream:
    """The receiving half."""

    __slots__ = ("expected", "generation", "held", "is_resuming", "untaken")

    def __init__(self, generation: int, expected: int) -> None:
        self.generation = generation
        self.expected = expected
        self.held: dict[int, bytes] = {}
        self.untaken = 0
        self.is_resuming = False

    def pack(self) -> PackedIncoming:
        """The packed form."""
        return PackedIncoming(self.generation, self.expected, self.untaken, self.is_resuming, self.held)

    @classmethod
    def unpack(cls, packed: PackedIncoming) -> InStream:
        """The stream, continued from its packed form."""
        stream = cls(packed.generation, packed.expected)
        stream.untaken, stream.is_resuming, stream.held = packed.untaken, packed.is_resuming, dict(packed.held)
        return stream
