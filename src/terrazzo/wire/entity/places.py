"""Where a part lives, as far as one app knows, and which news of it is believed.

A part lives at one app at a time. Each move gives it a higher version, and so does each life (`ids.py`); so of two
words about it the one with the higher version is the newer, whichever way they came. An app keeps a `Place` for every
part that it has to do with: the highest version it knows, and the app of that version, or none where it only knows that
it does not know.

    who says it                                                       is believed
    the part, in a frame (`follow`)                                   if newer; of the same version, too: it must know
    somebody else, a rumour (`learn`)                                 if newer; of the same version, if no app is known
    the part, which comes here with its mailbox (`is_arrival_of`)     if newer; of the same version, if it was elsewhere
    the part, which goes away from here (`leave`)                     always: it has the next version from now on
    the app where it was thought to be (`lose`)                       if that knows of this version, too: no app is
                                                                      known any more, but the version is
    the death of that app (`lose`)                                    always: likewise

What speaks for a part of which a later life is known is a former life (`is_former`): it is not heard at all.

**The stub.** The place that a part left behind leads on what still comes here for it (`onward`). No frame
goes back to the app it came from, unless the part itself has gone there from here since: on that link it is ahead.

**Who waits.** A place has the channels of parts of this app whose peer it is about. It is kept as long as it has some,
or its part lives here; after that until `expires_at`.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, life_of

if TYPE_CHECKING:
    from terrazzo.wire.entity.channel import Channel


class Place:
    """Where one part lives, as far as is known here."""

    __slots__ = ("app", "channels", "expires_at", "left", "locate_at", "version")

    def __init__(self, expires_at: float) -> None:
        self.version: int = NEVER_HEARD
        self.app: AppId | None = None
        self.left: int = NEVER_HEARD
        """The version with which it left for `app`, if it went there from here."""
        self.channels: dict[PartId, Channel] = {}
        """The channels that end there, by their part here."""
        self.locate_at = -inf
        """Nobody is asked for it before."""
        self.expires_at = expires_at

    # News.

    def learn(self, version: int, app: AppId) -> bool:
        """A rumour: it lives at `app` since `version`. Whether that is news."""
        if version < self.version or (version == self.version and self.app is not None):
            return False
        self.version, self.app = version, app
        return True

    def follow(self, version: int, home: AppId) -> bool:
        """Its own word. Whether who waits for it should speak again: what is under way to where it was before is passed
        on from there, but not to a later life."""
        if version < self.version or (version == self.version and home == self.app):
            return False
        is_found = self.app is None or life_of(version) > life_of(self.version)
        self.version, self.app, self.left = version, home, NEVER_HEARD
        self.locate_at = -inf
        return is_found

    def lose(self, locate_at: float) -> None:
        """It is not where it was thought to be: it may be asked for soon, even if it was just now."""
        self.app, self.left = None, NEVER_HEARD
        self.locate_at = min(self.locate_at, locate_at)

    def settle(self, version: int, me: AppId) -> None:
        """It lives here."""
        self.version, self.app = version, me

    def leave(self, version: int, to: AppId, expires_at: float) -> None:
        """It has gone from here to `to`."""
        self.app = to
        self.version = self.left = version
        self.expires_at = expires_at

    # What follows from it.

    def is_former(self, version: int) -> bool:
        """Whether this is a version of a former life."""
        return version < self.version and life_of(version) < life_of(self.version)

    def is_arrival_of(self, version: int, me: AppId) -> bool:
        """Whether what comes here with this version is the part, not a copy of what has been here before. Of the same
        version it may be one that was sent away and comes back, because it was refused."""
        if version == self.version:
            return self.app is not None and self.app != me
        return version > self.version

    def onward(self, via: AppId, me: AppId) -> AppId | None:
        """To whom a frame is passed on that came from `via`; None: nobody here knows."""
        is_ahead = self.app != via or self.version == self.left
        return self.app if is_ahead and self.app != me else None

    # Who waits for it.

    def hook(self, channel: Channel) -> None:
        """The place is kept as long as it has channels, so a channel may keep it, too."""
        channel.place = self
        self.channels[channel.box.part] = channel

    def has(self, channel: Channel) -> bool:
        """Whether the channel is kept here: neither forgotten, nor gone elsewhere with its part."""
        return self.channels.get(channel.box.part) is channel

    def unhook(self, channel: Channel, expires_at: float) -> None:
        """The channel is not kept here any more."""
        if self.has(channel):
            del self.channels[channel.box.part]
            self.expires_at = max(self.expires_at, expires_at)
