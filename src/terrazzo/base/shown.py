"""What a client was sent of the entities around it, read off the messages on their way to it.

    announce ──▶ HELD ──leave, space──▶ RESTING ──released──▶ free                 an alias, while one witness lasts
                  └───────── cell lost ─────┴───▶ OWED ──released──▶ free          its witness is over

- A `want` is passed on once for each announcement. An honest client may send one for an entity that is not held: the
  entity left while the want was on its way.
- A `released` is passed on when the alias rests. The client sends it exactly once for the end of each alias, in the
  order in which these ends reached it. So a release that is OWED for an earlier witness is distinguished from one that
  the present witness waits for. A client that sends any other is not honest.

So whatever a client sends, its cell part gets at most two messages for each announcement.

The turns of `sync.turns` are counted here as well: each unreliable message carries the present one (`mark`), and a
reliable change of a property that was sent unreliably before follows a `renew` (`note` returns it).
"""

from __future__ import annotations

from terrazzo.errors import DecodeError
from terrazzo.sync.protocol import SHORT_MAX, ToClient, take_alias, take_entity
from terrazzo.sync.riding import decode_ride
from terrazzo.sync.turns import LooseSent, Turns

_ANNOUNCE, _LEAVE, _SPACE = int(ToClient.ANNOUNCE), int(ToClient.LEAVE), int(ToClient.SPACE)
_CELL_PLAYER, _CELL_LOST, _RIDES = int(ToClient.CELL_PLAYER), int(ToClient.CELL_LOST), int(ToClient.RIDES)
_SHORT_MAX = SHORT_MAX
_IS_NOTED = bytes(number in (_ANNOUNCE, _LEAVE, _SPACE, _CELL_PLAYER, _CELL_LOST, _RIDES) for number in range(256))
"""By the number of a message: whether it carries more than a property or a call."""


class Shown:
    """What one client was sent."""

    __slots__ = (
        "_held", "_loose", "_owed", "_released", "_resting", "_types", "_unwanted", "_wants", "has_body", "turns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.has_body = False
        self.turns = Turns()
        self._loose = LooseSent(self.turns)
        self._held: dict[int, int] = {}  # alias, entity
        self._types: dict[int, int] = {}  # entity, type
        self._unwanted: set[int] = set()
        self._resting: set[int] = set()
        self._owed: dict[int, int] = {}  # alias, how often
        self._wants: dict[int, int] = {}
        self._released: list[int] = []

    def has_to_wait(self, message: bytes) -> bool:
        """Whether an unreliable message has to be sent reliably, behind an older value of its property."""
        return self._loose.has_to_wait(message)

    def mark(self, message: bytes) -> bytes:
        """An unreliable message goes to the client; gives it with its turn."""
        self._loose.add(message)
        return self.turns.mark(message)

    def note(self, message: bytes) -> bytes:
        """A reliable message of the cell part goes to the client; gives what must be sent before it, or nothing."""
        if message and not _IS_NOTED[message[0]]:
            return self._loose.before(message)
        kind = message[0] if message else -1
        if kind == _ANNOUNCE:
            self._note_announce(message)
        elif kind == _LEAVE:
            alias = message[1] if len(message) > 1 else _SHORT_MAX + 1
            self._rest(alias if alias <= _SHORT_MAX else take_alias(message[1:])[0])
            self.turns.end()
        elif kind >= 0:
            self._note_rare(kind, message[1:])
        else:
            raise DecodeError("an empty message", 0)
        return self._loose.before(message)

    def _note_announce(self, message: bytes) -> None:
        at, alias = 6, message[5] if len(message) > 5 else _SHORT_MAX + 1
        if alias > _SHORT_MAX:
            alias, rest = take_alias(take_entity(message[1:])[1])
            at = len(message) - len(rest)
        entity = message[1] | message[2] << 8 | message[3] << 16 | message[4] << 24
        entity -= (entity & 1 << 31) << 1
        self._held[alias] = entity
        self._types[entity] = int.from_bytes(message[at : at + 2], "little")
        self._unwanted.add(entity)
        self.turns.begin()

    def _note_rare(self, kind: int, body: bytes) -> None:
        if kind == _SPACE:
            self.turns.end()
            for alias in list(self._held):
                self._rest(alias)
        elif kind == _CELL_PLAYER:
            self.has_body = True
            self.turns.begin()
        elif kind == _CELL_LOST:
            self.turns.end()
            self.end()
        elif kind == _RIDES:
            alias, ride = take_alias(body)
            if alias in self._held and not decode_ride(ride).vehicle:
                self.turns.begin_again()

    def _rest(self, alias: int) -> None:
        self._loose.end(alias)
        entity = self._held.pop(alias, None)
        if entity is not None:
            self._resting.add(alias)
            del self._types[entity]
            self._unwanted.discard(entity)
            self._wants.pop(entity, None)

    def end(self) -> None:
        """The witness has ended: what the client still sends about its aliases is not passed on."""
        self.has_body = False
        self._loose.clear()
        for alias in (*self._held, *self._resting):
            self._owed[alias] = self._owed.get(alias, 0) + 1
        for each in (self._held, self._types, self._unwanted, self._resting, self._wants, self._released):
            each.clear()

    def type_of(self, entity: int) -> int | None:
        """The type of an entity that the client was sent."""
        return self._types.get(entity)

    def want(self, entity: int, number: int) -> bool:
        """The client wants an entity described; False when that is not passed on."""
        if entity not in self._unwanted:
            return False
        self._unwanted.discard(entity)
        self._wants[entity] = number
        return True

    def release(self, alias: int) -> bool:
        """The client has released an alias; False when that is not passed on."""
        if alias in self._owed:
            self._owed[alias] -= 1
            if not self._owed[alias]:
                del self._owed[alias]
            return False
        if alias not in self._resting:
            raise DecodeError(f"alias {alias} is released, but did not end", 0)
        self._resting.discard(alias)
        self._released.append(alias)
        return True

    def take(self) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
        """Takes what is to be passed on: wants, and released aliases."""
        wants, self._wants = tuple(self._wants.items()), {}
        released, self._released = tuple(self._released), []
        return wants, released

    def put_back(self, wants: tuple[tuple[int, int], ...], released: tuple[int, ...]) -> None:
        """What was taken could not be passed on: the next `take` returns it first."""
        self._wants = {**dict(wants), **self._wants}
        self._released[:0] = released
