"""The end of a part: which frames its app answers with the end, and what it answers for parts that have ended.

The last mailbox of a destroyed part notifies each of its peers (`channel.py`, **The end**). When all of them have noted
it, only the last version of the part is left, kept here for a while. A part may be made again, in a later life and at
any app; so an end is about one life, and these rules decide which frames are answered with it:

    of a peer of the part that ends           the channel sends the end until the peer has noted it
    of the other part of the same entity      the same, in the end from the record here: that part counts the lives
    without anything to deliver               the same: the sender only needs to finish
    of a part that is ending itself           the same, until all other peers of the part have noted its end: two parts
                                              that end together must not wait for each other
    of a stranger with something to deliver   no answer: perhaps the frame is for a later life. The stranger gets Astray
                                              (if the part is ending: when it has ended), and asks the resolver
    of a sender with a later life of the      likewise: the sender has learned more than this app
    part
    of a former life that ends                a note, and nothing else: its frames are ignored, so no part waits for it.
                                              If it notes the end of the part here, its successor is not notified

A note answers the frame that announces an end, and needs no answer itself: so two parts that have ended do not go on
sending.
"""

from __future__ import annotations

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import Frame
from terrazzo.wire.ids import AppId, PartId, Version, life_of


def is_answered(frame: Frame, version: int, box: Mailbox | None) -> bool:
    """Whether this frame is answered with the end of the part that it is for: a part that has ended, or is ending
    (`box`)."""
    stream = frame.stream
    is_stranger = stream is not None and not stream.is_last and frame.source.entity != frame.to.entity
    if box is not None and box.open and frame.is_over:
        is_stranger = False  # there is no later life as long as its own base has not noted the end
    return life_of(frame.heard) <= life_of(version) and not is_stranger


class EndedParts:
    """The parts that have ended at one app not long ago, and the answers for them."""

    def __init__(self, me: AppId, channel_type: type[Channel]) -> None:
        self._me = me
        self._channel_type = channel_type
        self._ended: dict[PartId, tuple[Version, float]] = {}

    def remember(self, box: Mailbox, until: float) -> None:
        """Records a part that has ended: all of its peers have noted it."""
        self._ended[box.part] = (box.version, until)

    def version_of(self, part: PartId) -> Version | None:
        """The version with which a part has ended here; None: there is no record of that."""
        return self._ended[part][0] if part in self._ended else None

    def forget_old(self, now: float) -> list[tuple[PartId, Version]]:
        """Removes the expired records; returns their parts, each with the version with which it has ended."""
        old = [(part, version) for part, (version, until) in self._ended.items() if until <= now]
        for part, _ in old:
            del self._ended[part]
        return old

    def repeat(self, frame: Frame, version: int, now: float, limits: ChannelLimits) -> Frame | None:
        """The answer of a part that has ended: the end once more, as its mailbox would send it."""
        if frame.is_noted:
            return self.note(frame, version)
        box = Mailbox(frame.to, version)
        box.is_ending = True
        channel = self._channel_type(box, frame.source, pinned=False, now=now)
        channel.on_frame(frame, now, limits)
        return channel.frame(self._me, limits) if channel.owes_frame else None

    def note(self, frame: Frame, version: int) -> Frame | None:
        """The note that answers a frame which announces an end; None for other frames."""
        if not frame.is_over:
            return None
        return Frame(frame.source, frame.to, self._me, version, frame.version, 0, is_noted=True)
