"""A part's mailbox: its end of all its channels, and its inbox. What moves when the part moves.

What it carries on a move, or leaves in a backup, is a `PackedPart` in bytes: the inbox, the channels with all that is
not acknowledged, where the peers were last known to live, and the version under which it is continued.

Where it is `ending` it takes nothing more, and is `open` as long as some of its peers do not know; those of its pinned
channels hear of it when all others have (`channel.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import AppId, PartId, Version

if TYPE_CHECKING:
    from terrazzo.wire.entity.channel import ChannelLimits

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(PackedPart)

Letter = tuple[PartId, int, bytes]
"""Who sent it, in which generation, and what."""


class Mailbox:
    """One part's end of all its channels; what moves when the part moves."""

    __slots__ = (
        "channels", "generation", "horizon", "inbox", "inbox_bytes", "is_ending", "open", "part", "strays", "version",
    )  # fmt: skip

    def __init__(self, part: PartId, version: int = 0) -> None:
        self.part = part
        self.version = Version(version)
        self.generation = 0
        self.horizon = 0
        self.inbox: list[Letter] = []  # admitted and not yet taken
        self.inbox_bytes = 0
        self.channels: dict[PartId, Channel] = {}
        self.is_ending = False
        self.open: set[PartId] = set()
        """While it is ending: peers to be done with before those of its pinned channels hear that it is over."""
        self.strays: dict[AppId, None] = {}
        """While it is ending: where frames of strangers came from, and their homes, to be told when it has ended."""

    def is_full(self, limits: ChannelLimits) -> bool:
        """Whether nothing more is let in until something was taken."""
        return len(self.inbox) >= limits.inbox_max or self.inbox_bytes >= limits.inbox_bytes

    def admit_held(self, limits: ChannelLimits) -> None:
        """What waited behind a full inbox comes in."""
        for channel in self.channels.values():
            channel.admit_held(limits)

    def draw_generation(self, now: float, above: int = 0) -> int:
        """A generation that this part has never used."""
        self.generation = max(int(now * 1000), self.generation + 1, above + 1)
        return self.generation

    def end(self) -> None:
        """The part is destroyed."""
        self.is_ending = True
        self.open.update(peer for peer, channel in self.channels.items() if not channel.pinned)
        self.inbox_bytes = 0
        self.inbox.clear()  # it was not acknowledged, so the peers find it among what is lost

    def is_closed_by(self, peer: PartId) -> bool:
        """Its channel with `peer` is no more. Whether, as it is ending, only those of the pinned channels are left."""
        if peer not in self.open:
            return False
        self.open.discard(peer)
        return not self.open


def pack_mailbox(box: Mailbox, version: int) -> bytes:
    """The whole mailbox at rest, under the version it will have where it is continued."""
    packed = PackedPart(
        box.part,
        version,
        box.generation,
        box.horizon,
        tuple(box.inbox),
        tuple(channel.pack() for channel in box.channels.values()),
    )
    return _ENCODER.encode(packed)


def read_packed(packed: bytes) -> PackedPart:
    """What `pack_mailbox` made."""
    return _DECODER.decode(packed)


def unpack_mailbox(packed: PackedPart, now: float, channel_type: type[Channel]) -> Mailbox:
    """The mailbox, continued."""
    box = Mailbox(packed.part, packed.version)
    box.generation, box.horizon = packed.generation, packed.horizon
    box.inbox.extend(packed.inbox)
    box.inbox_bytes = sum(len(payload) for _, _, payload in packed.inbox)
    for channel in packed.channels:
        box.channels[channel.peer] = channel_type.unpack(box, channel, now)
    return box
