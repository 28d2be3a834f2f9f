"""Messages of the entity channel, between any two apps that are home to parts of entities (10-12), and its packed form.

`channel.py` has the rules. A frame of a channel travels in one of two encodings. In the steady state it is a row of
`Frames`, of which an app sends one to each peer and tick; its rows are written and read in compiled code
(`_speed/rows.py`), and have about 25 bytes beside their payloads. Any other frame is a `Frame`: one of a part that has
moved and is not confirmed yet, ends, renews, closes or asks, and one that is forwarded. `frame_of_row` makes the Frame
that a row stands for.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo._speed.rows import RowReader
from terrazzo.wire.ids import AppId, EntityId, Part, PartId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import CountNumber

PARTS = tuple(Part)


class Outgoing(NamedTuple):
    """The sender's stream, in every frame while there is one, so that a frame never hides that it exists."""

    generation: CountNumber
    first: CountNumber  # lowest number not yet acknowledged
    born: CountNumber  # number with which the sender's present life began; 0 in the first life
    number: CountNumber  # of the first payload
    payloads: tuple[bytes, ...]
    is_last: bool  # everything is acknowledged and the stream is to be removed


@message(10)
class Frame(Message, frozen=True):
    """One step of a channel from one part to another."""

    to: PartId
    source: PartId
    home: AppId  # where `source` lives
    version: CountNumber  # since which move it lives there
    heard: CountNumber  # highest version of `to` that this channel has taken in
    hops: int
    stream: Outgoing | None = None
    ack: tuple[CountNumber, CountNumber] | None = None  # generation of the other's stream, next number not taken
    closed: CountNumber | None = None  # generation of the other's stream that is removed now
    renew: tuple[CountNumber, CountNumber] | None = (
        None  # generation that is not accepted, horizon that a new one must exceed
    )
    asks: bool = False  # the receiver must answer, which confirms that it has this version
    is_over: bool = False  # `source` is destroyed: nothing beyond `ack` was or will be delivered
    is_noted: bool = False  # answers is_over


@message(11, max_size=256)
class Astray(Message, frozen=True):
    """A frame came for a part that does not live at the sender of this message, which has no place to forward it to."""

    part: PartId
    version: CountNumber
    """The highest version of the part that the sender has learned of. If it is lower than the version that the receiver
    has for the sender, the part may be on its way there."""


@message(12)
class Frames(Message, frozen=True):
    """Plain frames of many channels, in the order in which they were sent. The app that sends them is the home of their
    sources."""

    rows: bytes


def frame_of_row(row: RowReader, home: AppId) -> Frame:
    """The frame that a row stands for."""
    stream = ack = None
    if row.generation >= 0:
        stream = Outgoing(row.generation, row.first, row.born, row.number, tuple(row.payloads), False)
    if row.ack_generation >= 0:
        ack = row.ack_generation, row.acked
    to, source = PartId(EntityId(row.to), PARTS[row.to_part]), PartId(EntityId(row.source), PARTS[row.source_part])
    return Frame(to, source, home, row.version, row.heard, 0, stream, ack)


def frames_of(message: Frames, home: AppId) -> list[Frame]:
    """All frames of a message that `home` has sent, up to the first that is malformed."""
    rows, frames = RowReader(message.rows), list[Frame]()
    while rows.next():
        frames.append(frame_of_row(rows, home))
    return frames


class PackedOutgoing(NamedTuple):
    """The packed sending half of a channel."""

    generation: CountNumber
    first: CountNumber
    born: CountNumber
    sent: CountNumber
    is_last: bool
    buffer: tuple[bytes, ...]


class PackedIncoming(NamedTuple):
    """The packed receiving half of a channel."""

    generation: CountNumber
    expected: CountNumber
    untaken: CountNumber
    is_resuming: bool
    held: dict[CountNumber, bytes]


class PackedChannel(NamedTuple):
    """One packed channel."""

    peer: PartId
    pinned: bool
    heard: CountNumber
    confirmed: CountNumber
    place: tuple[CountNumber, AppId | None]
    outgoing: PackedOutgoing | None
    incoming: PackedIncoming | None


class PackedPart(NamedTuple):
    """The whole mailbox of a part: what a move carries and a backup stores."""

    part: PartId
    version: CountNumber
    generation: CountNumber
    horizon: CountNumber
    inbox: tuple[tuple[PartId, CountNumber, bytes], ...]
    channels: tuple[PackedChannel, ...]
