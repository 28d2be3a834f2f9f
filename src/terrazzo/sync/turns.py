"""Turns: by its turn a client recognises a late unreliable message about the former entity of an alias.

Reliable messages come in order, and so do unreliable ones among themselves; between the two kinds no order is promised.
An alias is given to another entity when the client has released it, and all aliases are free with a new body. An
unreliable message that was sent before may still be on its way then: in the network, or in a queue that a slow
connection empties later than that of reliable messages.

So time is divided into turns, which both ends count by the same reliable messages:

    leave, space, cell lost          an alias has ended
    announce, cell player            an alias begins; if another has ended since the last began, a new turn begins
    rides, on nothing any more       as if this alias ended and began again: the message has a place, which no earlier
                                     unreliable message may undo
    renew                            the same, in the turn that it has: the next message has a property reliably that
                                     was sent unreliably before (the BaseApp adds `renew`, see `LooseSent`)

The BaseApp marks an unreliable message with its turn at the time of sending; a client keeps for each entity the turn in
which its alias began. A message with an earlier turn was sent before that, and so is about another entity: the client
skips it. A message with a later turn than the client has counted is skipped, too: it has overtaken the message with
which that turn began, and may be about another body's aliases. Skipped messages might have been lost anyway; what they
have is sent again.

A turn is sent in one byte, which stands for one of the last 128 turns, or for one that the client has not counted yet.
Hardly ever does more than one turn begin in a tick, so a message may be more than ten seconds late.
"""

from __future__ import annotations

from terrazzo.errors import DecodeError
from terrazzo.schema.indexes import PROPERTY_IDS
from terrazzo.sync.protocol import ToClient, encode_renew, take_alias

_PLACES = int(ToClient.PLACES)
_PLACES_HEADS = [bytes([_PLACES, turn]) for turn in range(256)]
_LOOSE_HEADS = [bytes([ToClient.LOOSE, turn]) for turn in range(256)]
_IS_PROPERTY = bytes(
    number == ToClient.NESTED or 0 <= number - PROPERTY_IDS.first < PROPERTY_IDS.slots for number in range(256)
)
"""By the number of a message: whether it has a property."""


class Turns:
    """The present turn of one client, at either end."""

    __slots__ = ("has_ended", "now")

    def __init__(self) -> None:
        self.now = 0
        self.has_ended = False
        """Whether an alias has ended since the last one began."""

    def renew(self, sent: int) -> int:
        """An alias goes on in the turn of a renew message: the present one, or the next; returns the turn."""
        ahead = sent - self.now & 255
        if ahead > 1:
            raise DecodeError(f"the turn {sent} is sent, but the present one is {self.now & 255}", 0)
        self.now += ahead
        return self.now

    def end(self) -> None:
        """An alias has ended, or all have."""
        self.has_ended = True

    def begin(self) -> int:
        """An alias begins; returns its turn."""
        if self.has_ended:
            self.has_ended = False
            self.now += 1
        return self.now

    def begin_again(self) -> int:
        """An alias ends and begins again, or its entity rides no longer; returns its turn."""
        self.end()
        return self.begin()

    def covers(self, sent: int, begun: int) -> bool:
        """Whether a message with this turn is surely about the alias that began in the turn `begun`."""
        ago = self.now - sent & 255
        return ago < 128 and self.now - ago >= begun

    def mark(self, message: bytes) -> bytes:
        """An unreliable message, with the present turn. Places have a byte for it."""
        turn = self.now & 255
        if message[0] == _PLACES:
            return _PLACES_HEADS[turn] + message[2:]
        return _LOOSE_HEADS[turn] + message


class LooseSent:
    """The BaseApp's record of the properties that a client was sent in loose and in reliable messages, with their
    turns. A loose message and a reliable one may arrive in either order, and the client keeps the newer value:

        loose, then reliable     before the reliable message the BaseApp sends a `renew` of the entity's alias, in a
                                 turn that is later than that of the loose one: if that arrives late, it is skipped
        reliable, then loose     in the same turn the second one is sent reliably, too, so that it stays behind the
                                 first; in a later turn the client skips a loose one that arrives before the reliable

    Only properties that were sent loosely before are recorded by alias, the others by their message id alone.
    """

    __slots__ = ("_ids", "_sent", "_sure", "_turns")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._ids: set[int] = set()
        """The message ids of properties that were sent in a loose message."""
        self._sent: dict[int, dict[int, int]] = {}
        """Loose messages: alias, message id, turn."""
        self._sure: dict[int, int] = {}
        """Reliable messages: `_key`, turn."""

    def has_to_wait(self, message: bytes) -> bool:
        """Whether a loose message must be sent reliably: an older value of its property may still be under way."""
        kind = message[0]
        if not self._sure or not _IS_PROPERTY[kind]:
            return False
        alias, _ = take_alias(message[1:])
        return self._sure.get(self._key(alias, kind), -1) == self._turns.now

    def add(self, message: bytes) -> None:
        """An unreliable message goes to the client."""
        kind = message[0]
        if _IS_PROPERTY[kind]:
            alias, _ = take_alias(message[1:])
            self._ids.add(kind)
            self._sent.setdefault(alias, {})[kind] = self._turns.now

    def end(self, alias: int) -> None:
        """The alias is free."""
        self._sent.pop(alias, None)
        for kind in self._ids:
            self._sure.pop(self._key(alias, kind), None)

    def clear(self) -> None:
        """All aliases are free."""
        self._sent.clear()
        self._sure.clear()

    def before(self, message: bytes) -> bytes:
        """A reliable message goes to the client; gives the message to send before it: `renew`, or an empty one."""
        kind, before = message[0], b""
        if not _IS_PROPERTY[kind]:
            return before
        if kind not in self._ids:
            self._sure[kind] = self._turns.now
            return before
        alias, _ = take_alias(message[1:])
        turn = self._sent.get(alias, {}).get(kind)
        if turn is not None:
            del self._sent[alias]
            before = encode_renew(alias, self._turns.renew(max(turn + 1, self._turns.now) & 255) & 255)
        self._sure[self._key(alias, kind)] = self._turns.now
        return before

    def _key(self, alias: int, kind: int) -> int:
        return kind | alias + 1 << 8 if kind in self._ids else kind
