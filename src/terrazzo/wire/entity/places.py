"""Where a part lives, as far as one app has learned, and which report of it counts.

A part lives at one app at a time. Each move gives it a higher version, and so does each life (`wire/ids.py`); so of two
reports the one with the higher version is newer, whichever way they came. An app keeps a `Place` for every part that it
deals with: the highest version that was reported, and the app of that version, or None where that app is not known.

    source of the report                                              it counts
    the part, in a frame (`follow`)                                   if newer; also of the same version, since the part
                                                                      is its own authority
    another party (`learn`)                                           if newer; of the same version, if no app is known
    the part, which arrives here with its mailbox (`is_arrival_of`)   if newer; of the same version, if it was elsewhere
    the part, which leaves from here (`leave`)                        always: it has the next version from now on
    the app of the place (`lose`)                                     if it has learned of this version, too: no app is
                                                                      known any more, but the version is
    the death of that app (`lose`)                                    always: likewise

A frame of an earlier life than that of the place is from a former life (`is_former`), and is ignored.

**The stub.** The place that a part left behind forwards frames that still come here for it (`onward`). A frame never
goes back to the app it came from, unless the part itself has gone there from here since: on that link it is ahead.

**Channels.** The place of a part has the channels with that part as a peer, of all parts of this app. It is kept as
long as it has channels, or its part lives here; after that until `expires_at`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, life_of

if TYPE_CHECKING:
    from terrazzo.wire.entity.channel import Channel


class Place:
    """Where one part lives, as far as this app has learned."""

    __slots__ = ("app", "channels", "expires_at", "left", "locate_at", "version")

    def __init__(self, expires_at: float) -> None:
        self.version: int = NEVER_HEARD
        self.app: AppId | None = None
        self.left: int = NEVER_HEARD
        """The version with which the part left for `app`, if it went there from here."""
        self.channels: dict[PartId, Channel] = {}
        """The channels with this part, by their part here."""
        self.locate_at = -inf
        """The resolver is not asked for the part before this time."""
        self.expires_at = expires_at

    # Reports.

    def learn(self, version: int, app: AppId) -> bool:
        """Another party reports that the part lives at `app` since `version`. Returns whether that counts."""
        if version < self.version or (version == self.version and self.app is not None):
            return False
        self.version, self.app = version, app
        return True

    def follow(self, version: int, home: AppId) -> bool:
        """The part itself reports its home. Returns whether channels that wait for it should send again: frames on
        their way to the former home are forwarded from there, but not to a later life."""
        if version < self.version or (version == self.version and home == self.app):
            return False
        is_found = self.app is None or life_of(version) > life_of(self.version)
        self.version, self.app, self.left = version, home, NEVER_HEARD
        self.locate_at = -inf
        return is_found

    def lose(self, locate_at: float) -> None:
        """The part is not at `app`. The resolver may be asked at `locate_at`, even if the last question was just
        now."""
        self.app, self.left = None, NEVER_HEARD
        self.locate_at = min(self.locate_at, locate_at)

    def set_here(self, version: int, me: AppId) -> None:
        """The part lives here."""
        self.version, self.app = version, me

    def leave(self, version: int, to: AppId, expires_at: float) -> None:
        """The part has gone from here to `to`."""
        self.app = to
        self.version = self.left = version
        self.expires_at = expires_at

    # What follows from the place.

    def is_former(self, version: int) -> bool:
        """Whether this is a version of a former life."""
        return version < self.version and life_of(version) < life_of(self.version)

    def is_arrival_of(self, version: int, me: AppId) -> bool:
        """Whether a mailbox of this version is a new arrival of the part, not a copy of an earlier one. Of the same
        version it may be a part that was sent away, was refused there, and comes back."""
        if version == self.version:
            return self.app is not None and self.app != me
        return version > self.version

    def onward(self, via: AppId, me: AppId) -> AppId | None:
        """The app to which a frame that came from `via` is forwarded; None: there is none."""
        is_ahead = self.app != via or self.version == self.left
        return self.app if is_ahead and self.app != me else None

    # The channels that wait for the part.

    def hook(self, channel: Channel) -> None:
        """Adds a channel. The place is kept as long as it has channels, so the channel may refer to it."""
        former = self.channels.get(channel.box.part)
        if former is not None:
            former.is_hooked = False
        channel.place = self
        channel.is_hooked = True
        self.channels[channel.box.part] = channel

    def has(self, channel: Channel) -> bool:
        """Whether the channel is still registered: neither removed, nor gone elsewhere with its part."""
        return channel.is_hooked and channel.place is self

    def unhook(self, channel: Channel, expires_at: float) -> None:
        """Removes a channel, if it is still registered."""
        if self.has(channel):
            channel.is_hooked = False
            del self.channels[channel.box.part]
            self.expires_at = max(self.expires_at, expires_at)
