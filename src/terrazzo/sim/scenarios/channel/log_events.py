"""What the apps of this scenario log."""

from __future__ import annotations

from terrazzo.wire.log_events import EventName


class ChannelEvent(EventName):
    """What happens to the parts of the scenario."""

    SENT = "sent", "A part sent a message."
    GOT = "got", "A part received a message."
    MOVES = "moves", "A part leaves for another home."
    ARRIVED = "arrived", "A part has arrived at its next home."
    DESTROYED = "destroyed", "A part has ended."
    DECLARED_DEAD = "declared dead", "The directory fenced an app."
    RESTORED = "restored", "A part begins a new life from its backup or from a copy."
    PART_LOST = "lost", "No copy of a part is left."
