"""The registry of one app: the mailboxes of the parts that live here, and the places of all parts it deals with.

The switchboard and the router share it. The switchboard adds and removes mailboxes, the router carries frames between
them. A channel is in the registry as long as its mailbox has it and the place of its peer refers to it: `channel` makes
both entries, `forget` and `unhook` remove them.
"""

from __future__ import annotations

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.places import Place
from terrazzo.wire.entity.resend_schedule import ResendSchedule
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import PartId


class PartRegistry:
    """Mailboxes, places and channels of one app, with the schedule of the channels."""

    __slots__ = ("_host", "boxes", "channel_type", "limits", "mailed", "places", "schedule")

    def __init__(self, host: Environment, limits: ChannelLimits, channel_type: type[Channel]) -> None:
        self.limits = limits
        self.boxes: dict[PartId, Mailbox] = {}
        """The mailboxes of the parts that live here, those of ending parts included."""
        self.places: dict[PartId, Place] = {}
        self.schedule = ResendSchedule()
        self.mailed: dict[Mailbox, None] = {}
        """The mailboxes with messages in their inbox, perhaps with none any more, in the order of arrival."""
        self.channel_type = channel_type
        self._host = host

    def place(self, part: PartId) -> Place:
        """The place of a part; a new one where there was none."""
        place = self.places.get(part)
        if place is None:
            place = self.places[part] = Place(self._host.now + self.limits.stub_s)
        return place

    def channel(self, box: Mailbox, peer: PartId) -> Channel:
        """The channel of a mailbox with `peer`; a new one where there was none."""
        channel = self.find(box, peer)
        if channel is None:
            channel = self.channel_type(box, peer, pinned=False, now=self._host.now)
            box.channels[peer] = channel
            self.place(peer).hook(channel)
        return channel

    def find(self, box: Mailbox, peer: PartId) -> Channel | None:
        """The channel of a mailbox with `peer`, if there is one."""
        return self.find_by_number(box, peer[0], peer[1])

    def find_by_number(self, box: Mailbox, entity: int, kind: int) -> Channel | None:
        """The channel of a mailbox with a part. Mostly it is the one that was looked for last."""
        channel: Channel | None = box.recent
        if channel is not None and channel.peer_entity == entity and channel.peer_part == kind:
            return channel
        # A tuple is found where an equal PartId is, and is made faster.
        channel = box.channels.get((entity, kind))  # type: ignore[call-overload]
        if channel is not None:
            box.recent = channel
        return channel

    def forget(self, channel: Channel) -> None:
        """Removes a channel. If its part is ending and only pinned channels are left, those announce the end now."""
        box = channel.box
        box.channels.pop(channel.peer, None)
        box.recent = None
        self.unhook(channel)
        if box.is_closed_by(channel.peer):
            for last in box.channels.values():
                self.schedule.urge(last)

    def unhook(self, channel: Channel) -> None:
        """Removes a channel from the schedule and from the place of its peer; its mailbox still has it."""
        self.schedule.forget(channel)
        channel.place.unhook(channel, self._host.now + self.limits.stub_s)

    def sweep(self, now: float) -> None:
        """Removes the places that have expired, without channels, of parts that do not live here."""
        for part in [part for part, place in self.places.items() if place.expires_at <= now]:
            if not self.places[part].channels and part not in self.boxes:
                del self.places[part]
