"""Takes the messages of a part out of its inbox, one by one.

A message counts as taken, and is acknowledged, when it is handed over. So the app may stop at any message: the rest
stays in the inbox, moves with the part, or is reported to its senders if the part is destroyed.
"""

from __future__ import annotations

from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.ids import PartId


class Letters:
    """The messages that were in the inbox of a part when this began, in order, each with its source."""

    __slots__ = ("_box", "_left", "_now", "_registry", "_was_full")

    def __init__(self, registry: PartRegistry, box: Mailbox | None, now: float) -> None:
        self._registry = registry
        self._box = box
        self._now = now
        self._left, self._was_full = 0, False
        if self._box is not None:
            self._left = len(self._box.inbox)
            self._was_full = self._box.is_full(self._registry.limits)

    def __iter__(self) -> Letters:
        return self

    def __next__(self) -> tuple[PartId, bytes]:
        letter = self.next_one()
        if letter is None:
            raise StopIteration
        return letter

    def next_one(self) -> tuple[PartId, bytes] | None:
        """The next message; None: that was the last."""
        box, registry = self._box, self._registry
        if box is None:
            return None
        if self._left == 0:
            self._end(box)
            return None
        if not box.inbox or not box.is_here:
            self._box = None  # the handler of the last message has sent the part away, or destroyed it
            return None
        self._left -= 1
        letter = box.inbox.pop(0)
        source, payload = letter[0], letter[2]
        box.inbox_bytes -= len(payload)
        channel = registry.find(box, source)
        if channel is not None and channel.incoming is not None and channel.incoming.generation == letter[1]:
            if channel.takes(channel.incoming, registry.limits):
                registry.schedule.mark(channel)
            else:
                registry.schedule.owe_ack(channel, self._now, registry.limits)
        return source, payload

    def _end(self, box: Mailbox) -> None:
        """All were handed over."""
        self._box = None
        if self._was_full:
            box.admit_held(self._registry.limits)
        if not box.inbox:
            self._registry.mailed.pop(box, None)
