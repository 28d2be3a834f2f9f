"""A part's mailbox: its end of all its channels, and its inbox. It moves when the part moves.

A move or a backup carries the mailbox as a `PackedPart` in bytes: the inbox, the channels with all that is not
acknowledged, where the peers were last known to live, and the version under which the mailbox is continued.

An `ending` mailbox takes no more messages. It is `open` as long as some of its peers have not noted the end; the peers
of its pinned channels are notified when all others have (`channel.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.messages import PackedPart
from terrazzo.wire.ids import AppId, PartId, Version

if TYPE_CHECKING:
    from terrazzo.wire.entity.limits import ChannelLimits

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(PackedPart)

Letter = tuple[PartId, int, bytes]
"""The source, the generation of its stream, and the payload."""


class Mailbox:
    """One part's end of all its channels, and its inbox."""

    __slots__ = (
        "channels", "entity", "generation", "horizon", "inbox", "inbox_bytes", "is_ending", "is_here", "kind", "open",
        "owner", "part", "recent", "strays", "version",
    )  # fmt: skip

    def __init__(self, part: PartId, version: int = 0) -> None:
        self.part = part
        self.entity, self.kind = part
        self.version = Version(version)
        self.generation = 0
        self.horizon = 0
        self.inbox: list[Letter] = []  # admitted and not yet taken
        self.inbox_bytes = 0
        self.channels: dict[PartId, Channel] = {}
        self.recent: Channel | None = None
        """The channel of those that was looked for last (`PartRegistry.find`)."""
        self.owner: Any = None
        """Whatever the app keeps for its part here."""
        self.is_here = False
        """Whether the app has it: False before it is registered, and when the part has left or ended."""
        self.is_ending = False
        self.open: set[PartId] = set()
        """While the part is ending: the peers that must note it before those of the pinned channels are notified."""
        self.strays: dict[AppId, None] = {}
        """While the part is ending: the apps that strangers' frames came from, and the strangers' homes; they get
        Astray when the part has ended."""

    def is_full(self, limits: ChannelLimits) -> bool:
        """Whether no message is admitted until one was taken."""
        return len(self.inbox) >= limits.inbox_max or self.inbox_bytes >= limits.inbox_bytes

    def admit_held(self, limits: ChannelLimits) -> None:
        """Admits what the channels held back while the inbox was full."""
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
        self.inbox.clear()  # not acknowledged, so the peers report these messages as undelivered

    def is_closed_by(self, peer: PartId) -> bool:
        """Records that the channel with `peer` is removed. Returns whether the part is ending and only pinned channels
        are left now."""
        if peer not in self.open:
            return False
        self.open.discard(peer)
        return not self.open


def pack_mailbox(box: Mailbox, version: int) -> bytes:
    """The whole mailbox in bytes, under the version it will have where it is continued."""
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
    """Decodes what `pack_mailbox` made."""
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
