"""The messages between a BaseApp and its client, as bytes inside the messages of the client channel.

A message is one byte that says what it is, then its body; its length is known from the channel. Little-endian. The
numbers of entity methods and properties, and of the two kinds of nested change, are those of `schema.indexes`; the rest
are small ones of our own. `entity` is an int32, `place` is float32 x, y, z and yaw (radians).

    server → client
     5  base player     entity, uint16 type, the base player row          the client's own entity, first of all
     6  cell player     uint32 space, place, the cell player row          it has a body now
     4  cell lost       nothing                                           it has none any more; all others are gone, too
     8  enter           entity, uint16 type, place, some properties       another entity came into the area
    12  leave           entity
    20  moved           place                                             the server put the own entity somewhere
    21  places          (entity, place)*            unreliable            where entities in the area are
    54  logged off      uint8 reason, text                                the last word
    56  nested change   entity, external form
    57  slice change    entity, external form
    59… method          entity, [uint8 sub id], arguments
   158… property        entity, value

    client → server
     2  move            place                       unreliable            where the own entity is
     9  ready           nothing                                           base player was understood: let the world in
    11  bye             nothing
    12… cell method     entity, [uint8 sub id], arguments
   134… base method     entity, [uint8 sub id], arguments

The login exchange with a LoginApp is JSON, one message each way: `LoginRequest` and `LoginReply`.

Reading is total: any bytes give a message or a DecodeError.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from terrazzo._speed.values import SLICE, WHOLE, Change
from terrazzo.errors import DecodeError
from terrazzo.schema.changes import encode_external
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


class ToClient(IntEnum):
    """What a server says."""

    CELL_LOST = 4
    BASE_PLAYER = 5
    CELL_PLAYER = 6
    ENTER = 8
    LEAVE = 12
    MOVED = 20
    PLACES = 21
    LOGGED_OFF = 54
    NESTED = NESTED_PROPERTY
    SLICE = SLICE_PROPERTY


class ToServer(IntEnum):
    """What a client says."""

    MOVE = 2
    READY = 9
    BYE = 11


class LoginRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Client → LoginApp."""

    name: str
    password: str
    digest: str


class LoginReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """LoginApp → client: an error in one sentence, or where to go and what to show there."""

    error: str = ""
    host: str = ""
    udp_port: int = 0
    ws_port: int = 0
    key: str = ""
    """Hex."""


PLACES_MAX = 48
"""Places in one message: an unreliable message has at most 1024 bytes."""

_ENTITY = struct.Struct("<Bi")
_BASE_PLAYER = struct.Struct("<BiH")
_CELL_PLAYER = struct.Struct("<BI4f")
_ENTER = struct.Struct("<BiH4f")
_PLACE = struct.Struct("<B4f")
_ONE_PLACE = struct.Struct("<i4f")


class Place(NamedTuple):
    """Where an entity is."""

    entity: int
    position: Position
    yaw: float


def encode_base_player(entity: int, schema: EntitySchema, values: list[Any]) -> bytes:
    """`values` in the order of the base player layout."""
    head = _BASE_PLAYER.pack(ToClient.BASE_PLAYER, entity, schema.type_id)
    return head + schema.base_player_layout.row.encode(values)


def encode_cell_player(schema: EntitySchema, space: int, position: Position, yaw: float, values: list[Any]) -> bytes:
    """`values` in the order of the cell player layout."""
    head = _CELL_PLAYER.pack(ToClient.CELL_PLAYER, space, *position, yaw)
    return head + schema.cell_player_layout.row.encode(values)


def encode_cell_lost() -> bytes:
    """The own entity has no body any more."""
    return bytes([ToClient.CELL_LOST])


def encode_enter(entity: int, schema: EntitySchema, position: Position, yaw: float, some: dict[int, Any]) -> bytes:
    """`some`: properties by client-server index."""
    head = _ENTER.pack(ToClient.ENTER, entity, schema.type_id, *position, yaw)
    return head + schema.client_layout.encode_some(some)


def encode_leave(entity: int) -> bytes:
    """An entity left the area."""
    return _ENTITY.pack(ToClient.LEAVE, entity)


def encode_moved(position: Position, yaw: float) -> bytes:
    """The server put the own entity here."""
    return _PLACE.pack(ToClient.MOVED, *position, yaw)


def encode_places(places: list[Place]) -> list[bytes]:
    """Where entities are, as unreliable messages."""
    packed = [_ONE_PLACE.pack(each.entity, *each.position, each.yaw) for each in places]
    head = bytes([ToClient.PLACES])
    return [head + b"".join(packed[at : at + PLACES_MAX]) for at in range(0, len(packed), PLACES_MAX)]


def encode_logged_off(reason: int, text: str) -> bytes:
    """The last word to a client."""
    return bytes([ToClient.LOGGED_OFF, reason]) + text.encode()


def encode_change(entity: int, change: Change, index: int, count: int) -> bytes:
    """A change of the client property `index` of `count`: plain where it can be, else by its path."""
    if change.kind == WHOLE and index < PROPERTY_IDS.slots:
        return _ENTITY.pack(PROPERTY_IDS.first + index, entity) + change.payload
    kind = ToClient.SLICE if change.kind == SLICE else ToClient.NESTED
    return _ENTITY.pack(kind, entity) + encode_external(change, index, count)


def encode_move(position: Position, yaw: float) -> bytes:
    """A client's word on where it is."""
    return _PLACE.pack(ToServer.MOVE, *position, yaw)


@dataclass(frozen=True)
class Call:
    """A method call that came over the wire, not yet decoded: its arguments are `data`."""

    entity: int
    numbered: NumberedMethod
    data: bytes

    @property
    def method(self) -> Method:
        """The method called."""
        return self.numbered.method


class MethodTable:
    """The message ids of all methods of a schema, both ways. One for each schema, shared by everybody."""

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
    def _by_name(self) -> dict[tuple[str, Side, str], NumberedMethod]:
        return {(name, side, each.method.name): each for (name, side), all_ in self._numbers.items() for each in all_}

    def encode_call(self, entity: int, schema: EntitySchema, side: Side, name: str, args: bytes) -> bytes:
        """A call of an exposed method (of a client's, for Side.CLIENT) with encoded arguments."""
        numbered = self._by_name[schema.name, side, name]
        sub = b"" if numbered.sub_id is None else bytes([numbered.sub_id])
        return _ENTITY.pack(numbered.message_id, entity) + sub + args

    def find(self, schema: EntitySchema, side: Side, number: int, data: bytes) -> Call:
        """The call that a message of this number with this data (entity and what follows) is."""
        if len(data) < 4:
            raise DecodeError("a call names its entity in four bytes", len(data))
        entity = int.from_bytes(data[:4], "little", signed=True)
        ids = METHOD_IDS[side]
        slot = number - ids.first
        direct = ids.direct(exposed_max(self.schema, side))
        index = slot
        at = 4
        if slot >= direct:
            if len(data) < 5:
                raise DecodeError("a call of this number has a sub id", len(data))
            index = direct + (slot - direct) * 256 + data[4]
            at = 5
        methods = self._numbers[schema.name, side]
        if not 0 <= index < len(methods):
            raise DecodeError(f"{schema.name} has no {side.value} method of exposed index {index}", 0)
        return Call(entity, methods[index], data[at:])


def split_message(message: bytes) -> tuple[int, bytes]:
    """The number of a message and its body."""
    if not message:
        raise DecodeError("an empty message", 0)
    return message[0], message[1:]


def take_entity(data: bytes) -> tuple[int, bytes]:
    """The entity that a body begins with, and what follows."""
    if len(data) < 4:
        raise DecodeError("a body that should name an entity has less than four bytes", len(data))
    return int.from_bytes(data[:4], "little", signed=True), data[4:]


def take_place(data: bytes) -> tuple[Position, float, bytes]:
    """The position and yaw that a body begins with, and what follows; both must be finite."""
    if len(data) < 16:
        raise DecodeError("a body that should tell a place has less than sixteen bytes", len(data))
    x, y, z, yaw = struct.unpack_from("<4f", data)
    if not all(map(isfinite, (x, y, z, yaw))):
        raise DecodeError("a place that is not finite", 0)
    return (x, y, z), yaw, data[16:]


def decode_places(data: bytes) -> list[Place]:
    """The places of a PLACES message's body."""
    if len(data) % _ONE_PLACE.size:
        raise DecodeError("places have twenty bytes each", len(data))
    places = [Place(entity, (x, y, z), yaw) for entity, x, y, z, yaw in _ONE_PLACE.iter_unpack(data)]
    if not all(isfinite(each.yaw) and all(map(isfinite, each.position)) for each in places):
        raise DecodeError("a place that is not finite", 0)
    return places
