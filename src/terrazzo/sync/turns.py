"""Turns: how a client tells a straggler about a former bearer of an alias from what is about the present one.

Reliable messages come in order, and so do unreliable ones among themselves; but between the two kinds nothing is
promised. An alias is given to somebody else when the client has said that it forgot the former bearer, and all aliases
begin anew with a new body. Something unreliable that was sent before may still be on its way then: in the network, or
in a queue that a slow connection empties less quickly than that of the reliable ones.

So the story of the aliases is cut into turns, which both ends count by the same reliable messages:

    leave, space, cell lost          somebody's name has ended
    announce, cell player            somebody's name begins; if one has ended since the last began, a new turn does
    rides, on nothing any more       as if this name ended and began again: its place is told, which nothing unreliable
                                     of another time may undo

The BaseApp marks what is unreliable with its turn at the time of sending, a client keeps for each entity the turn in
which its name began. What bears an earlier turn was sent before that, and so is about somebody else: it is passed over.
So is what bears a later turn than the client has counted: it has overtaken the message with which that turn began,
which may have been that all names are new (another body). What is passed over might have been lost anyway, and is told
again.

A turn is told in a byte, which stands for one of the last 128 turns, or for one that the client has not counted yet. In
a tick hardly ever more than one begins, so stragglers may be more than ten seconds late.
"""

from __future__ import annotations

from terrazzo.sync.protocol import ToClient


class Turns:
    """The turn of one client's story, at either end."""

    __slots__ = ("_has_ended", "now")

    def __init__(self) -> None:
        self.now = 0
        self._has_ended = False

    def end(self) -> None:
        """A name, or all of them, have ended."""
        self._has_ended = True

    def begin(self) -> int:
        """A name begins; gives its turn."""
        if self._has_ended:
            self._has_ended = False
            self.now += 1
        return self.now

    def begin_again(self) -> int:
        """A name ends and begins again, or somebody rides no longer; gives its turn."""
        self.end()
        return self.begin()

    def covers(self, told: int, begun: int) -> bool:
        """Whether what bears a turn, as it is told, is surely about a name that began in the turn `begun`."""
        ago = self.now - told & 255
        return ago < 128 and self.now - ago >= begun

    def mark(self, message: bytes) -> bytes:
        """An unreliable message, with the present turn. Places have a byte for it."""
        if message[0] == ToClient.PLACES:
            return bytes([ToClient.PLACES, self.now & 255]) + message[2:]
        return bytes([ToClient.LOOSE, self.now & 255]) + message
