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
    renew                            the same, in the turn that it tells: a property is told reliably next that was told
                                     unreliably before (the BaseApp adds this message, see `LooseSent`)

The BaseApp marks what is unreliable with its turn at the time of sending, a client keeps for each entity the turn in
which its name began. What bears an earlier turn was sent before that, and so is about somebody else: it is passed over.
So is what bears a later turn than the client has counted: it has overtaken the message with which that turn began,
which may have been that all names are new (another body). What is passed over might have been lost anyway, and is told
again.

A turn is told in a byte, which stands for one of the last 128 turns, or for one that the client has not counted yet. In
a tick hardly ever more than one begins, so stragglers may be more than ten seconds late.
"""

from __future__ import annotations

from terrazzo.errors import DecodeError
from terrazzo.schema.indexes import PROPERTY_IDS
from terrazzo.sync.protocol import ToClient, encode_renew, take_alias


class Turns:
    """The turn of one client's story, at either end."""

    __slots__ = ("_has_ended", "now")

    def __init__(self) -> None:
        self.now = 0
        self._has_ended = False

    def renew(self, told: int) -> int:
        """A name goes on in this turn, as a message tells it: the present one, or the next; gives the turn."""
        ahead = told - self.now & 255
        if ahead > 1:
            raise DecodeError(f"the turn {told} is told, but the present one is {self.now & 255}", 0)
        self.now += ahead
        return self.now

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


_PROPERTIES = frozenset((ToClient.NESTED, *range(PROPERTY_IDS.first, PROPERTY_IDS.first + PROPERTY_IDS.slots)))


class LooseSent:
    """Which properties a client was sent in loose messages, and in which turn: at the BaseApp.

    A loose message may arrive after a reliable one that was sent later. If both tell the same property, the client
    would keep the older value. So before the reliable one the client is sent a `renew` of the entity's name, in a turn
    that is later than the one that the loose message bears.
    """

    __slots__ = ("_sent", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._sent: dict[int, dict[int, int]] = {}  # alias, message id, turn

    def add(self, message: bytes) -> None:
        """An unreliable message goes to the client."""
        if message[0] in _PROPERTIES:
            alias, _ = take_alias(message[1:])
            self._sent.setdefault(alias, {})[message[0]] = self._turns.now

    def end(self, alias: int) -> None:
        """The alias is nobody's any more."""
        self._sent.pop(alias, None)

    def clear(self) -> None:
        """All aliases are nobody's any more."""
        self._sent.clear()

    def before(self, message: bytes) -> bytes:
        """What the client must be sent before a reliable message about a property: `renew`, or nothing."""
        if not self._sent or message[0] not in _PROPERTIES:
            return b""
        alias, _ = take_alias(message[1:])
        turn = self._sent.get(alias, {}).get(message[0])
        if turn is None:
            return b""
        del self._sent[alias]
        now = self._turns.renew(max(turn + 1, self._turns.now) & 255)
        return encode_renew(alias, now & 255)
