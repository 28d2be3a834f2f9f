"""How a change of a property is sent: two encodings, and how the receiver of each applies it.

Internal, from a real to its ghosts. `place` is the property's place in the cell layout (ghosted properties first):

    uint8 flags (1 slice, 2 nested)
    nested:     uint8 depth, then an int32 per step: the property's place, then indexes down to the changed container
    then        int32 leaf (the child's index; without `nested` the property's place), or uint32 start and end (slice)
    then        the new value, or the new elements to the end

External, to clients. Indexes take as few bits as the number of children allows, most significant bit first:

    0 index                                  the whole property `index` (of the client-server list)
    1 index (1 index)* 0 leaf                one child of the container that the indexes lead to
    1 index (1 index)* 0 start end           a slice of the array that they lead to
    then                                     padding to a byte, then the new value, or the new elements to the end

An index among n children takes ceil(log2(n)) bits, a slice bound ceil(log2(n + 1)) bits, n counted before the change:
both sides must hold the same state. The message that carries a change tells nested and slice forms apart.

Applying is total: any bytes give an Applied or a DecodeError, and after a DecodeError nothing has changed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from terrazzo._speed.codec import LENGTH_MAX, HiddenCodec, RecordCodec, SequenceCodec
from terrazzo._speed.values import (
    NESTED,
    SLICE,
    WHOLE,
    Change,
    RecordValue,
    Slots,
    TrackedList,
    freeze,
    install_element,
    install_field,
    install_slice,
)
from terrazzo.errors import DecodeError, ValueRejected

FLAG_SLICE = 1
FLAG_NESTED = 2

_INT32 = struct.Struct("<i")
_UINT32_PAIR = struct.Struct("<II")


@dataclass(frozen=True)
class Applied:
    """What an applied change did: enough for the callbacks of the receiver.

    `path` leads from the property's value to what changed: field names and list indexes, the last one being the changed
    child (NESTED) or the pair `(start, end)` of the new elements' present position (SLICE).
    """

    kind: int
    prop: int
    path: tuple[Any, ...]
    old: Any

    def callback(self, name: str) -> tuple[str, tuple[Any, ...]]:
        """The name and arguments of the receiver's callback for a property of this name."""
        if self.kind == WHOLE:
            return f"set_{name}", (self.old,)
        return f"set_{'nested' if self.kind == NESTED else 'slice'}_{name}", (list(self.path), self.old)


def encode_internal(change: Change, place: int) -> bytes:
    """The form for ghosts."""
    if change.kind == WHOLE:
        return b"\0" + _INT32.pack(place) + change.payload
    steps = struct.pack(f"<B{len(change.path) + 1}i", len(change.path) + 1, place, *change.path)
    if change.kind == NESTED:
        return bytes([FLAG_NESTED]) + steps + _INT32.pack(change.start) + change.payload
    return bytes([FLAG_NESTED | FLAG_SLICE]) + steps + _UINT32_PAIR.pack(change.start, change.end) + change.payload


def index_bits(count: int) -> int:
    """How many bits an index among so many children takes."""
    return (count - 1).bit_length() if count > 1 else 0


def encode_external(change: Change, index: int, count: int) -> bytes:
    """The form for clients: `index` is the property's, among `count` client properties."""
    bits = index
    width = 1 + index_bits(count)
    if change.kind != WHOLE:
        bits |= 1 << width - 1
        for step, children in zip(change.path, change.counts, strict=False):
            step_bits = index_bits(children)
            bits = (bits << 1 | 1) << step_bits | step
            width += 1 + step_bits
        children = change.counts[-1]
        if change.kind == NESTED:
            leaf_bits = index_bits(children)
            bits = bits << 1 + leaf_bits | change.start
            width += 1 + leaf_bits
        else:
            bound_bits = children.bit_length()
            bits = (bits << 1 + bound_bits | change.start) << bound_bits | change.end
            width += 1 + 2 * bound_bits
    size = (width + 7) // 8
    return (bits << size * 8 - width).to_bytes(size, "big") + change.payload


class BitReader:
    """Reads indexes from the front of an external change."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def read(self, width: int) -> int:
        """The next `width` bits as a number."""
        end = self.at + width
        if end > 8 * len(self.data):
            raise DecodeError("a change ends inside its path", len(self.data))
        piece = int.from_bytes(self.data[self.at >> 3 : (end + 7) >> 3], "big")
        self.at = end
        return piece >> (-end & 7) & (1 << width) - 1

    @property
    def byte(self) -> int:
        """The first whole byte not yet read."""
        return (self.at + 7) // 8


class _Walk:
    """The path from the properties down to the value that is to be changed."""

    __slots__ = ("codec", "names", "slots", "trail", "value")

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.trail: list[tuple[Any, int]] = []
        self.names: list[Any] = []
        self.value: Any = slots
        self.codec: Any = None

    def count(self, offset: int) -> int:
        """How many children the present value has."""
        if self.value is self.slots:
            return len(self.slots.values)
        if isinstance(self.value, RecordValue):
            return len(self.value._codec.names)
        if isinstance(self.codec, SequenceCodec):
            return len(self.value)
        raise DecodeError(f"a change goes inside {self.describe()}, which has nothing inside", offset)

    def describe(self) -> str:
        return "the properties" if self.codec is None else f"a value of type {self.codec.name}"

    def down(self, index: int, offset: int) -> None:
        """Go on to a child."""
        if not 0 <= index < self.count(offset):
            raise DecodeError(f"a change names child {index} of {self.describe()}, which has none such", offset)
        self.trail.append((self.value, index))
        if self.value is self.slots:
            self.codec = self.slots.codecs[index]
            self.value = self.slots.values[index]
        elif isinstance(self.codec, RecordCodec):
            self.names.append(self.codec.names[index])
            self.codec = self.codec.codecs[index]
            self.value = self.value._values[index]
        else:
            self.names.append(index)
            self.codec = self.codec.element
            self.value = self.value[index]
        if isinstance(self.codec, HiddenCodec):
            raise DecodeError(f"a change of {self.describe()} that is hidden here", offset)

    def new_value(self, data: bytes, offset: int) -> Any:
        """The value that the rest of the data encodes, for the present value's place."""
        value, end = self.codec.decode_from(data, offset)
        if end != len(data):
            raise DecodeError(f"{len(data) - end} bytes too many after a change", end)
        return value

    def replace(self, data: bytes, offset: int) -> Applied:
        """Give the present value's place its new value."""
        value = self.new_value(data, offset)
        kind = WHOLE if len(self.trail) == 1 else NESTED
        return Applied(kind, self.trail[0][1], tuple(self.names), self._put(value))

    def _put(self, value: Any) -> Any:
        container, index = self.trail.pop()
        if container is self.slots:
            return self.slots.install(index, value)
        if isinstance(container, RecordValue):
            return install_field(container, index, value)
        if isinstance(container, TrackedList):
            return install_element(container, index, value)
        freeze(value)  # A TUPLE is replaced by a new one; our own side never sends this, older servers might.
        self._put((*container[:index], value, *container[index + 1 :]))
        return container[index]

    def new_elements(self, start: int, end: int, data: bytes, offset: int) -> list[Any]:
        """The elements that the rest of the data encodes, for a slice of the present value."""
        codec, array = self.codec, self.value
        if not isinstance(array, TrackedList):
            raise DecodeError(f"a slice of {self.describe()}, which is no list", offset)
        if not start <= end <= len(array):
            raise DecodeError(f"a slice from {start} to {end} of {len(array)} elements", offset)
        most = LENGTH_MAX if codec.size < 0 else end - start
        new: list[Any] = codec.decode_elements(data, offset, most)
        try:
            codec.check_count(len(array) - (end - start) + len(new))
        except ValueRejected as problem:
            raise DecodeError(str(problem), offset) from None
        return new

    def splice(self, start: int, end: int, data: bytes, offset: int) -> Applied:
        """Replace a slice of the present value."""
        new = self.new_elements(start, end, data, offset)
        old = install_slice(self.value, start, end, new)
        return Applied(SLICE, self.trail[0][1], (*self.names, (start, start + len(new))), old)


@dataclass(frozen=True)
class _Found:
    """Where a change leads: to a value that is replaced, or (with bounds) to a list of which a slice is."""

    walk: _Walk
    bounds: tuple[int, int] | None
    offset: int
    """Where the new value, or the new elements, begin."""

    def change(self, data: bytes) -> Change:
        """The change itself, its value decoded and encoded again."""
        if self.bounds is None:
            payload = self.walk.codec.encode(self.walk.new_value(data, self.offset))
        else:
            new = self.walk.new_elements(*self.bounds, data, self.offset)
            payload = self.walk.codec.encode_elements(new)
        (_, prop), *steps = self.walk.trail
        counts = tuple(len(container) for container, _ in steps)
        indexes = tuple(index for _, index in steps)
        if self.bounds is not None:
            return Change(SLICE, prop, indexes, (*counts, len(self.walk.value)), *self.bounds, payload)
        if not steps:
            return Change(WHOLE, prop, (), (), 0, 0, payload)
        return Change(NESTED, prop, indexes[:-1], counts, indexes[-1], 0, payload)


def _find_internal(slots: Slots, data: bytes) -> _Found:
    if not data or data[0] not in (0, FLAG_NESTED, FLAG_NESTED | FLAG_SLICE):
        raise DecodeError("a change begins with 0 (whole), 2 (nested) or 3 (slice)", 0)
    walk = _Walk(slots)
    at = 1
    try:
        if data[0]:
            depth = data[1] if len(data) > 1 else 0
            if depth == 0:
                raise DecodeError("a nested change without steps", 1)
            for at in range(2, 2 + 4 * depth, 4):
                walk.down(_INT32.unpack_from(data, at)[0], at)
            at += 4
        if data[0] & FLAG_SLICE:
            return _Found(walk, _UINT32_PAIR.unpack_from(data, at), at + 8)
        walk.down(_INT32.unpack_from(data, at)[0], at)
    except struct.error:
        raise DecodeError("a change ends inside its path", len(data)) from None
    return _Found(walk, None, at + 4)


def _find_external(slots: Slots, data: bytes, is_slice: bool) -> _Found:
    bits = BitReader(data)
    walk = _Walk(slots)
    while bits.read(1):
        walk.down(bits.read(index_bits(walk.count(bits.byte))), bits.byte)
    count = walk.count(bits.byte)
    if is_slice:
        width = count.bit_length()
        start, end = bits.read(width), bits.read(width)
        return _Found(walk, (start, end), bits.byte)
    walk.down(bits.read(index_bits(count)), bits.byte)
    return _Found(walk, None, bits.byte)


def _apply(found: _Found, data: bytes) -> Applied:
    if found.bounds is None:
        return found.walk.replace(data, found.offset)
    return found.walk.splice(*found.bounds, data, found.offset)


def apply_internal(slots: Slots, data: bytes) -> Applied:
    """Apply a change in the form for ghosts."""
    data = bytes(data)
    return _apply(_find_internal(slots, data), data)


def apply_external(slots: Slots, data: bytes, *, is_slice: bool) -> Applied:
    """Apply a change in the form for clients; whether it is a slice is known from the message that it came in."""
    data = bytes(data)
    return _apply(_find_external(slots, data, is_slice), data)


def decode_internal(slots: Slots, data: bytes) -> Change:
    """What a change in the form for ghosts would do to these values; nothing is changed."""
    data = bytes(data)
    return _find_internal(slots, data).change(data)


def decode_external(slots: Slots, data: bytes, *, is_slice: bool) -> Change:
    """What a change in the form for clients would do to these values; nothing is changed."""
    data = bytes(data)
    return _find_external(slots, data, is_slice).change(data)
