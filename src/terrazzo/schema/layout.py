"""A layout: some properties of an entity type in a fixed order, and everything that is derived once from that order.

An entity type has four layouts for storing values (see `EntitySchema`): cell, ghost (a prefix of the cell's), base and
client; and two for the messages that create the base part and the cell part at the own client. A Change names a
property by its place in a layout.

A layout for a receiver has the values as that receiver gets them: fields that are not for it take no bytes, and have
their default (`schema/shares.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from terrazzo._speed.codec import RowCodec
from terrazzo.errors import DecodeError
from terrazzo.schema.shares import share_of_value

if TYPE_CHECKING:
    from terrazzo.schema.flags import Receiver
    from terrazzo.schema.model import Property


class Layout:
    """Properties in order, with their places by name and the codec of all of them in a row."""

    __slots__ = ("codecs", "index", "label", "names", "properties", "row")

    def __init__(self, label: str, properties: tuple[Property, ...], receiver: Receiver | None = None) -> None:
        self.label = label
        """The name of the entity type, for messages."""
        self.properties = properties
        self.names = tuple(each.name for each in properties)
        self.index = {name: place for place, name in enumerate(self.names)}
        self.codecs = tuple(each.codec if receiver is None else each.codec_for(receiver) for each in properties)
        self.row = RowCodec(self.names, self.codecs)

    def __len__(self) -> int:
        return len(self.properties)

    def new_values(self) -> list[Any]:
        """New default values, in order."""
        return self.shares_of([each.new_default() for each in self.properties])

    def shares_of(self, values: list[Any]) -> list[Any]:
        """The shares that the receiver gets of whole values of these properties."""
        return [
            value if codec is each.codec else share_of_value(value, codec)
            for value, each, codec in zip(values, self.properties, self.codecs, strict=True)
        ]

    def encode_some(self, values: dict[int, Any]) -> bytes:
        """Some values by place, for an entity that appears or comes closer: uint8 count, then uint8 place and value."""
        out = bytearray([len(values)])
        for place, value in values.items():
            out.append(place)
            out += self.codecs[place].encode(value)
        return bytes(out)

    def decode_some(self, data: bytes) -> dict[int, Any]:
        """The values of such a stream, which is the whole of the data."""
        data = bytes(data)
        if not data:
            raise DecodeError("a list of properties begins with their number", 0)
        at = 1
        values: dict[int, Any] = {}
        for _ in range(data[0]):
            place = data[at] if at < len(data) else -1
            if not 0 <= place < len(self.codecs) or place in values:
                raise DecodeError(f"{self.label} has no property of index {place}, or has had it already", at)
            values[place], at = self.codecs[place].decode_from(data, at + 1)
        if at != len(data):
            raise DecodeError(f"{len(data) - at} bytes too many after the last property", at)
        return values
