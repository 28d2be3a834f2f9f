"""Messages of the entity channel, between any two apps that are home to parts of entities (10-11), and its packed form.

`channel.py` has the rules. Every field of a Frame is small; with one short payload a frame is about 40 bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.ids import AppId, PartId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import Count


class Outgoing(NamedTuple):
    """The sender's stream, in every frame while there is one, so that a frame never hides that it exists."""

    generation: Count
    first: Count  # lowest number not yet acknowledged
    born: Count  # number with which the sender's present life began; 0 in the first life
    number: Count  # of the first payload
    payloads: tuple[bytes, ...]
    is_last: bool  # everything is acknowledged and the stream is to be forgotten


@message(10)
class Frame(Message, frozen=True):
    """One step of a channel from one part to another."""

    to: PartId
    source: PartId
    home: AppId  # where `source` lives
    version: Count  # since which move it lives there
    heard: Count  # highest version of `to` that this channel has taken in
    hops: int
    stream: Outgoing | None = None
    ack: tuple[Count, Count] | None = None  # generation of the other's stream, next number not taken
    closed: Count | None = None  # generation of the other's stream that is forgotten now
    renew: tuple[Count, Count] | None = None  # generation that is not accepted, horizon that a new one must exceed
    asks: bool = False  # the receiver must answer, which confirms that it has this version
    is_over: bool = False  # `source` is destroyed: nothing beyond `ack` was or will be delivered
    is_noted: bool = False  # answers is_over


@message(11, max_size=256)
class Astray(Message, frozen=True):
    """A frame came for a part that does not live at the sender of this message, which has no place to forward it to."""

    part: PartId
    version: Count
    """The highest version of the part that the sender has learned of. If it is lower than the version that the receiver
    has for the sender, the part may be on its way there."""


class PackedOutgoing(NamedTuple):
    """The packed sending half of a channel."""

    generation: Count
    first: Count
    born: Count
    sent: Count
    is_last: bool
    buffer: tuple[bytes, ...]


class PackedIncoming(NamedTuple):
    """The packed receiving half of a channel."""

    generation: Count
    expected: Count
    untaken: Count
    is_resuming: bool
    held: dict[Count, bytes]


class PackedChannel(NamedTuple):
    """One packed channel."""

    peer: PartId
    pinned: bool
    heard: Count
    confirmed: Count
    place: tuple[Count, AppId | None]
    outgoing: PackedOutgoing | None
    incoming: PackedIncoming | None


class PackedPart(NamedTuple):
    """The whole mailbox of a part: what a move carries and a backup stores."""

    part: PartId
    version: Count
    generation: Count
    horizon: Count
    inbox: tuple[tuple[PartId, Count, bytes], ...]
    channels: tuple[PackedChannel, ...]
