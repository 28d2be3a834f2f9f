"""The messages between a BaseApp and its client, as bytes inside the messages of the client channel.

A message is one byte for its kind, then its body; the channel delivers its length. Little-endian. The numbers of entity
methods and properties, and of the two kinds of nested change, are those of `schema.indexes`; the others are below them.

    entity    int32
    place     float32 x, y, z, yaw, pitch, roll (radians); all finite
    alias     a short name for an entity at this one client: 0 its own, 1 … 254 in one byte, 255 … 65535 as the byte 255
              and a uint16
    number    uint64: the number of the last step of the entity that the message includes (`cell/core/history.py`)

    server → client
     4  cell lost       nothing                                       the own entity has no body; all others are gone
     5  base player     entity, uint16 type, the base player row      the client's own entity; first of all but session
     6  cell player     uint32 space, place, the cell player row      the own entity has a body now
     7  space           uint32 space, place                           its body is in another space; all others are gone
     8  announce        entity, alias, uint16 type                    another entity is in the area, by this alias
     9  describe        alias, number, place, some properties         its state: now the game gets the entity
    10  session         16 bytes, uint32 milliseconds                 the token to resume with, and for how long
    12  leave           alias                                         it is not in the area any more
    20  moved           place                                         the server has moved the own entity
    21  places          see `sync.places`           unreliable        the places of entities in the area
    22  place           alias, place                                  the place of one without a volatile position
    23  loose           uint8 turn, a message       unreliable        a change or a call that may be lost
    24  rides           alias, entity, place                          it rides on that entity, at this relative place;
                                                                      entity 0: it rides no longer, and is at this place
    25  renew           alias, uint8 turn                             loose messages about it of earlier turns are void
    26  space data      a PYTHON value: a dict                        these items of the data of its space
    54  logged off      uint8 reason, text                            the last message
    56  nested change   alias, external form
    57  slice change    alias, external form
    59… method          alias, [uint8 sub id], arguments
   158… property        alias, value

    client → server
     2  move            place                       unreliable        the place of the own entity
     3  want            (entity, number)*                             asks for descriptions; number: of the remembered
     one
     4  released        (uint16 alias)*                               these aliases may be given to other entities
     9  ready           nothing                                       base player was read: the server may send all
     others
    11  bye             nothing
    12… cell method     entity, [uint8 sub id], arguments
   134… base method     entity, [uint8 sub id], arguments

**The life of another entity at a client.** It is announced; the client wants it at once; it is described, and the game
gets it; it changes and is called; it leaves, and the client releases its alias. Until then the alias is given to no
other entity, since unreliable messages may come late. `space` and `cell lost` end all aliases at once; the client
releases each of them. After `space` an alias is not used until it is released; after `cell lost` all aliases are free
with the next cell player. An unreliable message that comes even later is recognised by its turn (`sync.turns`).

**Loose messages.** An unreliable message may also come too late, or too soon: about an entity that has left, or that is
not described yet. In a loose message that is no violation. It has one of 59… or 158… in it, or 56 for a whole property;
a change inside a value is never sent so, since its meaning depends on the changes before it.

A client may remember an entity that left: it wants it with the number of its last description, and then gets only the
properties that may have changed since. With 0 it remembers nothing, and gets all. The server may always send all.

A change or a call consists of a part that is the same for all clients (`EntityMessage`: message id and body) and of the
entity, which is put between the two: `with_alias` for a client, `with_entity` for a server.

**Resuming.** A client that lost its connection opens another one with the token of the last `session` message, and
`RESUMES` behind it, as its application data (`encode_resume`). It then gets everything from the beginning.

The login exchange with a LoginApp is JSON: `LoginRequest`, then `LoginReply`, several of them if the client waits.

Reading is total: any bytes give a message or a DecodeError.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from terrazzo._speed import wants
from terrazzo._speed.values import SLICE, WHOLE, Change
from terrazzo.errors import DecodeError
from terrazzo.schema.changes import encode_external
from terrazzo.schema.hooks import python_codec
from terrazzo.schema.indexes import (
    METHOD_IDS,
    NESTED_PROPERTY,
    PROPERTY_IDS,
    SLICE_PROPERTY,
    NumberedMethod,
    exposed_max,
    number_methods,
)
from terrazzo.schema.model import EntitySchema, Method, Schema, Side

Position = tuple[float, float, float]
Direction = tuple[float, float, float]
"""Yaw, pitch and roll."""


class ToClient(IntEnum):
    """The messages of a server."""

    CELL_LOST = 4
    BASE_PLAYER = 5
    CELL_PLAYER = 6
    SPACE = 7
    ANNOUNCE = 8
    DESCRIBE = 9
    SESSION = 10
    LEAVE = 12
    MOVED = 20
    PLACES = 21
    PLACE = 22
    LOOSE = 23
    RIDES = 24
    RENEW = 25
    SPACE_DATA = 26
    LOGGED_OFF = 54
    NESTED = NESTED_PROPERTY
    SLICE = SLICE_PROPERTY


class ToServer(IntEnum):
    """The messages of a client."""

    MOVE = 2
    WANT = 3
    RELEASED = 4
    READY = 9
    BYE = 11


class LoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Client → LoginApp."""

    name: str
    password: str
    digest: str
    attempt: str = ""
    """Chosen at random for each login: a request that is sent again has the same, and gets the same answer."""
    may_wait: bool = False
    """Whether the client waits in the queue if the world has no room."""


class LoginReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """LoginApp → client: an error in one sentence with its code (`wire.login_refusals`), or the address of a BaseApp
    and the key for it, or the client's place in the queue; another reply follows the last of these."""

    error: str = ""
    code: str = ""
    host: str = ""
    udp_port: int = 0
    ws_port: int = 0
    key: str = ""
    """Hex."""
    place: int = 0
    """1 for the first in the queue; 0: the client does not wait."""
    waiting: int = 0
    """How many wait in all."""


TOKEN_BYTES = 16
"""Of a session token."""
RESUMES = b"\xff"
"""Stands behind a token, where a login key has the attempt: a byte that is in no text."""
OWN = 0
"""The alias of the client's own entity."""
SHORT_MAX = 254
"""The highest alias of one byte."""
ALIAS_MAX = 0xFFFF
NUMBER_MAX = wants.STEP_MAX
"""The highest number of a step: numbers are stored as int64."""
WANTS_MAX = wants.WANTS_MAX
"""In one message, so that it fits into a packet."""
RELEASED_MAX = wants.RELEASED_MAX
"""In one message."""

_PLAIN = python_codec("space data")
_ENTITY = struct.Struct("<i")
_BASE_PLAYER = struct.Struct("<BiH")
_SPACE = struct.Struct("<BI6f")
_PLACE = struct.Struct("<6f")
_NUMBER = struct.Struct("<Q")
_SESSION = struct.Struct(f"<B{TOKEN_BYTES}sI")
_WANT = struct.Struct("<iQ")
_SHORT = [bytes([alias]) for alias in range(SHORT_MAX + 1)]
# By far the most aliases are short: these make such messages in one go.
_SHORT_ANNOUNCE = struct.Struct("<BiBH")
_SHORT_DESCRIBE = struct.Struct("<BBQ6f")
_SHORT_LEAVES = [bytes([ToClient.LEAVE, alias]) for alias in range(SHORT_MAX + 1)]
_ANNOUNCE, _DESCRIBE = int(ToClient.ANNOUNCE), int(ToClient.DESCRIBE)


class EntityMessage(NamedTuple):
    """A change or a call, without the entity: the same for every client."""

    message_id: int
    body: bytes


def encode_alias(alias: int) -> bytes:
    """An alias, in one byte if that is enough."""
    return _SHORT[alias] if alias <= SHORT_MAX else b"\xff" + alias.to_bytes(2, "little")


def take_alias(data: bytes) -> tuple[int, bytes]:
    """The alias that a body begins with, and what follows."""
    if not data:
        raise DecodeError("a body that should begin with an alias is empty", 0)
    if data[0] <= SHORT_MAX:
        return data[0], data[1:]
    alias = int.from_bytes(data[1:3], "little")
    if len(data) < 3 or alias <= SHORT_MAX:
        raise DecodeError("an alias of three bytes is 255 or more", len(data))
    return alias, data[3:]


def with_alias(alias: int, message: EntityMessage) -> bytes:
    """The message for a client at which the entity has this alias."""
    return bytes([message.message_id]) + encode_alias(alias) + message.body


def with_entity(entity: int, message: EntityMessage) -> bytes:
    """The message for a server."""
    return bytes([message.message_id]) + _ENTITY.pack(entity) + message.body


def encode_base_player(entity: int, schema: EntitySchema, values: list[Any]) -> bytes:
    """`values` in the order of the base player layout."""
    head = _BASE_PLAYER.pack(ToClient.BASE_PLAYER, entity, schema.type_id)
    return head + schema.base_player_layout.row.encode(values)


def encode_cell_player(
    schema: EntitySchema, space: int, position: Position, direction: Direction, values: list[Any]
) -> bytes:
    """`values` in the order of the cell player layout."""
    head = _SPACE.pack(ToClient.CELL_PLAYER, space, *position, *direction)
    return head + schema.cell_player_layout.row.encode(values)


def encode_cell_lost() -> bytes:
    """The own entity has no body any more."""
    return bytes([ToClient.CELL_LOST])


def encode_space(space: int, position: Position, direction: Direction) -> bytes:
    """The body of the own entity is in another space."""
    return _SPACE.pack(ToClient.SPACE, space, *position, *direction)


def encode_space_data(items: dict[str, Any]) -> bytes:
    """Items of the data of the space."""
    return bytes([ToClient.SPACE_DATA]) + _PLAIN.encode(items)


def decode_space_data(body: bytes) -> dict[str, Any]:
    """The items of a space data."""
    items = _PLAIN.decode(body)
    if not isinstance(items, dict) or not all(isinstance(key, str) for key in items):
        raise DecodeError("the data of a space is a dict with texts as keys", 0)
    return items


def encode_announce(entity: int, alias: int, schema: EntitySchema) -> bytes:
    """Another entity is in the area, by this alias."""
    if alias <= SHORT_MAX:
        return _SHORT_ANNOUNCE.pack(_ANNOUNCE, entity, alias, schema.type_id)
    return with_entity(
        entity, EntityMessage(ToClient.ANNOUNCE, encode_alias(alias) + schema.type_id.to_bytes(2, "little"))
    )


def encode_describe(alias: int, number: int, position: Position, direction: Direction, some: bytes) -> bytes:
    """`some`: properties, as `schema.other_client_layout.encode_some` gives them."""
    if alias <= SHORT_MAX:
        return _SHORT_DESCRIBE.pack(_DESCRIBE, alias, number, *position, *direction) + some
    body = _NUMBER.pack(number) + _PLACE.pack(*position, *direction) + some
    return with_alias(alias, EntityMessage(ToClient.DESCRIBE, body))


def encode_leave(alias: int) -> bytes:
    """An entity left the area."""
    return _SHORT_LEAVES[alias] if alias <= SHORT_MAX else with_alias(alias, EntityMessage(ToClient.LEAVE, b""))


def encode_renew(alias: int, turn: int) -> bytes:
    """Loose messages about an entity that bear an earlier turn are void from here on."""
    return with_alias(alias, EntityMessage(ToClient.RENEW, bytes([turn])))


def encode_moved(position: Position, direction: Direction) -> bytes:
    """The server has moved the own entity to this place."""
    return bytes([ToClient.MOVED]) + _PLACE.pack(*position, *direction)


def encode_place(position: Position, direction: Direction) -> EntityMessage:
    """The place of an entity without a volatile position."""
    return EntityMessage(ToClient.PLACE, _PLACE.pack(*position, *direction))


def encode_session(token: bytes, seconds: float) -> bytes:
    """The token with which the client can resume within so many seconds after it lost its connection."""
    return _SESSION.pack(ToClient.SESSION, token, round(1000 * seconds))


def decode_session(message: bytes) -> tuple[bytes, float]:
    """The token and the seconds of a `session` message."""
    if len(message) != _SESSION.size:
        raise DecodeError("session tells a token and a time", len(message))
    _, token, milliseconds = _SESSION.unpack(message)
    return token, milliseconds / 1000


def encode_resume(token: bytes) -> bytes:
    """What a client that resumes presents as its application data."""
    return token + RESUMES


def token_of(presented: bytes) -> bytes | None:
    """The token that a client presents; None: it presents a login key."""
    token, mark = presented[:TOKEN_BYTES], presented[TOKEN_BYTES:]
    return token if mark == RESUMES else None


def encode_logged_off(reason: int, text: str) -> bytes:
    """The last message to a client."""
    return bytes([ToClient.LOGGED_OFF, reason]) + text.encode()


def encode_change(change: Change, index: int, count: int) -> EntityMessage:
    """A change of the client property `index` of `count`: plain where it can be, else by its path."""
    if change.kind == WHOLE and index < PROPERTY_IDS.slots:
        return EntityMessage(PROPERTY_IDS.first + index, change.payload)
    kind = ToClient.SLICE if change.kind == SLICE else ToClient.NESTED
    return EntityMessage(kind, encode_external(change, index, count))


def encode_move(position: Position, direction: Direction) -> bytes:
    """The place of a client's own entity, as the client sends it."""
    return bytes([ToServer.MOVE]) + _PLACE.pack(*position, *direction)


def encode_want(pairs: Sequence[tuple[int, int]]) -> bytes:
    """(entity, number) each, at most WANTS_MAX."""
    return bytes([ToServer.WANT]) + b"".join(_WANT.pack(entity, number) for entity, number in pairs)


def encode_released(aliases: Sequence[int]) -> bytes:
    """At most RELEASED_MAX."""
    return bytes([ToServer.RELEASED]) + b"".join(alias.to_bytes(2, "little") for alias in aliases)


@dataclass(frozen=True)
class Call:
    """A method call that came over the wire, not yet decoded: its arguments are `data`."""

    numbered: NumberedMethod
    data: bytes

    @property
    def method(self) -> Method:
        """The method called."""
        return self.numbered.method


class MethodTable:
    """The message ids of all methods of a schema, in both directions. There is one table for each schema."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def _numbers(self) -> dict[tuple[str, Side], list[NumberedMethod]]:
        return {
            (entity.name, side): number_methods(self.schema, entity, side)
            for entity in self.schema.entities
            for side in Side
        }

    @cached_property
    def _by_name(self) -> dict[tuple[str, Side, str | None, str], NumberedMethod]:
        return {
            (name, side, each.method.component, each.method.name): each
            for (name, side), all_ in self._numbers.items()
            for each in all_
        }

    def encode_call(
        self, schema: EntitySchema, side: Side, name: str, args: bytes, *, component: str | None = None
    ) -> EntityMessage:
        """A call of an exposed method (of a client's, for Side.CLIENT) with encoded arguments."""
        numbered = self._by_name[schema.name, side, component, name]
        sub = b"" if numbered.sub_id is None else bytes([numbered.sub_id])
        return EntityMessage(numbered.message_id, sub + args)

    def find(self, schema: EntitySchema, side: Side, number: int, data: bytes) -> Call:
        """The call that a message of this number is; `data` is what follows its entity or alias."""
        ids = METHOD_IDS[side]
        slot = number - ids.first
        direct = ids.direct(exposed_max(self.schema, side))
        index = slot
        if slot >= direct:
            if not data:
                raise DecodeError("a call of this number has a sub id", 0)
            index = direct + (slot - direct) * 256 + data[0]
            data = data[1:]
        methods = self._numbers[schema.name, side]
        if not 0 <= index < len(methods):
            raise DecodeError(f"{schema.name} has no {side.value} method of exposed index {index}", 0)
        return Call(methods[index], data)


def split_message(message: bytes) -> tuple[int, bytes]:
    """The number of a message and its body."""
    if not message:
        raise DecodeError("an empty message", 0)
    return message[0], message[1:]


MOVE_BYTES = 1 + _PLACE.size
"""Of a whole `move`."""


def take_entity(data: bytes) -> tuple[int, bytes]:
    """The entity that a body begins with, and what follows."""
    if len(data) < 4:
        raise DecodeError("a body that should name an entity has less than four bytes", len(data))
    return int.from_bytes(data[:4], "little", signed=True), data[4:]


def take_number(data: bytes) -> tuple[int, bytes]:
    """The number of a step that a body begins with, and what follows."""
    if len(data) < _NUMBER.size:
        raise DecodeError("a body that should tell a number has less than eight bytes", len(data))
    number: int = _NUMBER.unpack_from(data)[0]
    if number > NUMBER_MAX:
        raise DecodeError("a number that no step has", 0)
    return number, data[_NUMBER.size :]


def take_place(data: bytes) -> tuple[Position, Direction, bytes]:
    """The position and direction that a body begins with, and what follows; both must be finite."""
    if len(data) < _PLACE.size:
        raise DecodeError("a body that should tell a place has less than twenty-four bytes", len(data))
    x, y, z, yaw, pitch, roll = place = _PLACE.unpack_from(data)
    if not all(map(isfinite, place)):
        raise DecodeError("a place that is not finite", 0)
    return (x, y, z), (yaw, pitch, roll), data[_PLACE.size :]


def decode_want(data: bytes) -> list[tuple[int, int]]:
    """The (entity, number) pairs of a want."""
    return wants.decode_want(data)


def decode_released(data: bytes) -> list[int]:
    """The aliases of a released."""
    return wants.decode_released(data)
