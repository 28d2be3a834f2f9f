"""Ref: a location-free handle of an entity, the value of MAILBOX.

Twelve bytes in a stream: int32 entity id; four bytes of IPv4 address and two of port, both in network order, as a hint
where the entity was last known; uint16 `component << 13 | type_id`. All zero is None: no entity.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from terrazzo.errors import DecodeError, ValueRejected, shown

REF_SIZE = 12

_REF = struct.Struct("<i4s2sH")
_NONE = bytes(REF_SIZE)


class Component(IntEnum):
    """Which part of the entity a ref reaches, and by which way."""

    CELL = 0
    BASE = 1
    CLIENT = 2
    BASE_VIA_CELL = 3
    CLIENT_VIA_CELL = 4
    CELL_VIA_BASE = 5
    CLIENT_VIA_BASE = 6
    SERVICE = 7


@dataclass(frozen=True, slots=True)
class Ref:
    """A handle of one part of one entity. The address is a hint; the entity may have moved since."""

    id: int
    component: Component = Component.CELL
    type_id: int = 0
    ip: str = "0.0.0.0"
    port: int = 0


def check_ref(value: object) -> Ref | None:
    """A Ref as every receiver will have it, or None."""
    if value is None:
        return None
    if not isinstance(value, Ref):
        raise ValueRejected(f"expected a Ref or None, got {type(value).__name__}")
    return decode_ref(encode_ref(value))


def encode_ref(value: Ref | None) -> bytes:
    """The twelve bytes of a ref."""
    if value is None:
        return _NONE
    try:
        ip = bytes(map(int, value.ip.split(".")))
        if len(ip) != 4 or not 0 <= value.type_id < 1 << 13 or isinstance(value.id, bool):
            raise ValueError
        return _REF.pack(value.id, ip, value.port.to_bytes(2, "big"), Component(value.component) << 13 | value.type_id)
    except (ValueError, TypeError, OverflowError, AttributeError, struct.error):
        raise ValueRejected(
            f"expected a Ref with a 32-bit id, an IPv4 address, a 16-bit port and a 13-bit type id, got {shown(value)}"
        ) from None


def decode_ref(data: bytes) -> Ref | None:
    """The ref of twelve bytes."""
    if len(data) != REF_SIZE:
        raise DecodeError(f"a ref has {REF_SIZE} bytes, not {len(data)}")
    if data == _NONE:
        return None
    entity_id, ip, port, salt = _REF.unpack(data)
    return Ref(entity_id, Component(salt >> 13), salt & 0x1FFF, ".".join(map(str, ip)), int.from_bytes(port, "big"))
