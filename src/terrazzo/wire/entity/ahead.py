"""Fetches what the next turns of a loop will read into the processor's cache.

The channels of an app are many small objects all over its memory, and each is read once a tick: to wait for the memory
takes longer than all else. A loop calls this with the list that it goes through and its place there. It changes
nothing; the plain form does nothing at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from terrazzo.wire.entity.channel import Channel
    from terrazzo.wire.entity.mailbox import Mailbox


class Ahead:
    """What the loops of one app will read."""

    def speak(self, channels: list[Channel], at: int) -> None:
        """Channels that are to send something."""

    def take(self, boxes: list[Mailbox], at: int) -> None:
        """Mailboxes with messages that are to be taken."""
