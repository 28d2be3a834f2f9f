"""The end of a part as its app tells it: to those who note it, and to those who call when it is over.

A destroyed part has a last mailbox, which tells each of its peers (`channel.py`, **The end**). When all of them have
noted it, nothing is left of it but its last version, remembered here for a while. A part may be made again, in a later
life, and anywhere; so an end is about one life, and there are rules of who hears of it:

    a peer of the part that ends              its channel says that it is over, until that is noted
    the other part of the same entity         the same, in the end from memory: it counts the lives
    who has nothing that must be delivered    the same: it only wants to be done
    who is ending itself                      the same, while the other peers of the part do not all know: two that end
                                              together must not wait for each other
    a stranger with something to deliver      no answer: perhaps it is for a later life. It hears that its frame went
                                              astray (if the part is ending: when that is over), and asks
    who has heard of a later life             likewise: it knows more than is known here
    a former life of a part, that ends        a note, and nothing else: nobody listens to it, so nobody waits for it.
                                              If it notes the end of the part here, nobody else is to be told

A note answers a last word, and with nothing that needs an answer: so two that have ended do not go on talking.
"""

from __future__ import annotations

from terrazzo.wire.entity.channel import Channel, ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import Frame
from terrazzo.wire.ids import AppId, PartId, Version, life_of


def is_answered(frame: Frame, version: int, box: Mailbox | None) -> bool:
    """Whether this frame is answered with the end of its part: of one that has ended, or is ending (`box`)."""
    stream = frame.stream
    is_stranger = stream is not None and not stream.is_last and frame.source.entity != frame.to.entity
    if box is not None and box.open and frame.is_over:
        is_stranger = False  # there is no later life as long as its own base has not heard of the end
    return life_of(frame.heard) <= life_of(version) and not is_stranger


class EndedParts:
    """The parts that have ended at one app not long ago, and what is answered for them."""

    def __init__(self, me: AppId, channel_type: type[Channel]) -> None:
        self._me = me
        self._channel_type = channel_type
        self._ended: dict[PartId, tuple[Version, float]] = {}

    def remember(self, box: Mailbox, until: float) -> None:
        """The part has ended: all of its peers know."""
        self._ended[box.part] = (box.version, until)

    def version_of(self, part: PartId) -> Version | None:
        """With which version it has ended here; None: it has not, as far as is remembered."""
        return self._ended[part][0] if part in self._ended else None

    def forget_old(self, now: float) -> list[tuple[PartId, Version]]:
        """Those that are remembered no longer, with the version with which each has ended."""
        old = [(part, version) for part, (version, until) in self._ended.items() if until <= now]
        for part, _ in old:
            del self._ended[part]
        return old

    def repeat(self, frame: Frame, version: int, now: float, limits: ChannelLimits) -> Frame | None:
        """What a part that has ended answers: once more that it is over, as its mailbox said it."""
        if frame.is_noted:
            return self.note(frame, version)
        box = Mailbox(frame.to, version)
        box.is_ending = True
        channel = self._channel_type(box, frame.source, pinned=False, now=now)
        channel.on_frame(frame, now, limits)
        return channel.frame(self._me, limits) if channel.owes_frame else None

    def note(self, frame: Frame, version: int) -> Frame | None:
        """The note that answers a last word."""
        if not frame.is_over:
            return None
        return Frame(frame.source, frame.to, self._me, version, frame.version, 0, is_noted=True)
