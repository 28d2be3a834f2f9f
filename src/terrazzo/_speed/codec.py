"""Codecs: how a value is checked, becomes bytes, and comes back. The plain-Python form; `codec.pyx` is its twin.

One codec object per type, built once from the schema; a type that holds others holds their codecs. The encoding is
BigWorld's: little-endian, no alignment, and

    packed length    one byte 0 … 254, or 0xFF and three bytes, little-endian
    text, bytes      packed length, then the bytes
    ARRAY, TUPLE     packed count, then the elements; with a fixed size the elements alone
    FIXED_DICT       the fields in declared order; with AllowNone first a byte, 0 for None and 1 for fields
    hooks            packed length and bytes, or a fixed number of bytes, given to functions
    hidden           nothing; the reader has the default

What every codec keeps:
- `check(value)` gives the canonical form of an acceptable value or raises ValueRejected; `encode` accepts what `check`
  accepts, and refuses what it refuses (but for `longest`, which bounds what may be assigned, not what may be sent).
- `decode` is total: any bytes give a value or a DecodeError with the offset. Work and memory are bounded by the
  length of the data: a count is compared with the bytes that are left before anything is allocated (`least` is the
  smallest encoding of an element, never zero in an array without fixed size).
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

from terrazzo._speed.values import RecordValue, TrackedList, freeze, new_record, refuse_second_owner
from terrazzo.errors import DecodeError, UsageError, ValueRejected, shown

LENGTH_MAX = 0xFFFFFF


def rejected(expected: str, value: Any) -> ValueRejected:
    """The error for a value that is not what was expected."""
    return ValueRejected(f"expected {expected}, got {shown(value)} ({type(value).__name__})")


def too_short(data: bytes, pos: int, wanted: int, name: str) -> DecodeError:
    """The error for bytes that end too early."""
    return DecodeError(f"{name} needs {wanted} more bytes, {len(data) - pos} are left", pos)


def write_length(out: bytearray, length: int) -> None:
    """Append a packed length."""
    if length < 255:
        out.append(length)
    else:
        out.append(255)
        out += length.to_bytes(3, "little")


def read_length(data: bytes, pos: int, name: str) -> tuple[int, int]:
    """Read a packed length."""
    if pos >= len(data):
        raise too_short(data, pos, 1, name)
    length = data[pos]
    if length < 255:
        return length, pos + 1
    if pos + 4 > len(data):
        raise too_short(data, pos, 4, name)
    return int.from_bytes(data[pos + 1 : pos + 4], "little"), pos + 4


class Codec:
    """What all codecs have."""

    __slots__ = ("fixed", "holds", "least", "name")

    def __init__(self, name: str, fixed: int, least: int, holds: bool) -> None:
        self.name = name
        self.fixed = fixed
        """Size in a stream, or -1."""
        self.least = least
        """Size of the shortest encoding."""
        self.holds = holds
        """True when values are lists, records or user values, which have a link to their owner."""

    def check(self, value: Any) -> Any:
        """The canonical form of an acceptable value, or ValueRejected."""
        raise NotImplementedError

    def default(self) -> Any:
        """A new default value."""
        raise NotImplementedError

    def copy(self, value: Any) -> Any:
        """A free copy of a value; what cannot change is its own copy."""
        return value

    def write(self, out: bytearray, value: Any) -> None:
        """Append the encoding of a value."""
        raise NotImplementedError

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        """The value at `pos` and the position behind it."""
        raise NotImplementedError

    def encode(self, value: Any) -> bytes:
        """The encoding of a value."""
        out = bytearray()
        self.write(out, value)
        return bytes(out)

    def decode(self, data: bytes) -> Any:
        """The value that these bytes, all of them, encode."""
        data = bytes(data)
        value, pos = self.read(data, 0)
        if pos != len(data):
            raise DecodeError(f"{len(data) - pos} bytes too many after {self.name}", pos)
        return value

    def decode_from(self, data: bytes, pos: int) -> tuple[Any, int]:
        """The value at `pos` of the bytes and the position behind it."""
        data = bytes(data)
        if not 0 <= pos <= len(data):
            raise DecodeError("position outside the data", pos)
        return self.read(data, pos)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class IntCodec(Codec):
    """INT8 … UINT64."""

    __slots__ = ("high", "low", "signed")

    def __init__(self, name: str, bits: int, signed: bool) -> None:
        super().__init__(name, bits // 8, bits // 8, False)
        self.signed = signed
        self.low = -(1 << bits - 1) if signed else 0
        self.high = (1 << bits - 1) - 1 if signed else (1 << bits) - 1

    def check(self, value: Any) -> int:
        try:
            number = int(operator.index(value))
        except TypeError:
            number = self.high + 1
        if not self.low <= number <= self.high:
            raise rejected(f"{self.name} ({self.low} … {self.high})", value)
        return number

    def default(self) -> int:
        return 0

    def write(self, out: bytearray, value: Any) -> None:
        out += self.check(value).to_bytes(self.fixed, "little", signed=self.signed)

    def read(self, data: bytes, pos: int) -> tuple[int, int]:
        end = pos + self.fixed
        if end > len(data):
            raise too_short(data, pos, self.fixed, self.name)
        return int.from_bytes(data[pos:end], "little", signed=self.signed), end


class BoolCodec(Codec):
    """BOOL."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name, 1, 1, False)

    def check(self, value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if type(value) is int and value in (0, 1):
            return value == 1
        raise rejected(f"{self.name} (True or False)", value)

    def default(self) -> bool:
        return False

    def write(self, out: bytearray, value: Any) -> None:
        out.append(self.check(value))

    def read(self, data: bytes, pos: int) -> tuple[bool, int]:
        if pos >= len(data):
            raise too_short(data, pos, 1, self.name)
        if data[pos] > 1:
            raise DecodeError(f"{self.name} is 0 or 1, not {data[pos]}", pos)
        return data[pos] == 1, pos + 1


def to_single(value: Any, name: str) -> float:
    """A number rounded to single precision, as every receiver will have it."""
    number = to_double(value, name)
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise rejected(f"{name} (at most 3.4e38)", value) from None


def to_double(value: Any, name: str) -> float:
    """A number as a float; text is not a number."""
    if type(value) is float:
        return value
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise rejected(f"{name} (a number)", value)


class FloatCodec(Codec):
    """FLOAT32 and FLOAT64."""

    __slots__ = ("pack",)

    def __init__(self, name: str, bits: int) -> None:
        super().__init__(name, bits // 8, bits // 8, False)
        self.pack = struct.Struct("<f" if bits == 32 else "<d")

    def check(self, value: Any) -> float:
        return to_single(value, self.name) if self.fixed == 4 else to_double(value, self.name)

    def default(self) -> float:
        return 0.0

    def write(self, out: bytearray, value: Any) -> None:
        out += self.pack.pack(self.check(value))

    def read(self, data: bytes, pos: int) -> tuple[float, int]:
        end = pos + self.fixed
        if end > len(data):
            raise too_short(data, pos, self.fixed, self.name)
        return self.pack.unpack_from(data, pos)[0], end


class VectorCodec(Codec):
    """VECTOR2, VECTOR3, VECTOR4; `cls` is the tuple class of the values."""

    __slots__ = ("cls", "dimensions", "pack")

    def __init__(self, name: str, dimensions: int, cls: type[Any]) -> None:
        super().__init__(name, 4 * dimensions, 4 * dimensions, False)
        self.dimensions = dimensions
        self.cls = cls
        self.pack = struct.Struct(f"<{dimensions}f")

    def check(self, value: Any) -> Any:
        if isinstance(value, (str, bytes, bytearray)) or not isinstance(value, Sequence):
            raise rejected(f"{self.name} ({self.dimensions} numbers)", value)
        if len(value) != self.dimensions:
            raise rejected(f"{self.name} ({self.dimensions} numbers)", value)
        return tuple.__new__(self.cls, [to_single(part, self.name) for part in value])

    def default(self) -> Any:
        return tuple.__new__(self.cls, (0.0,) * self.dimensions)

    def write(self, out: bytearray, value: Any) -> None:
        out += self.pack.pack(*self.check(value))

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        end = pos + self.fixed
        if end > len(data):
            raise too_short(data, pos, self.fixed, self.name)
        return tuple.__new__(self.cls, self.pack.unpack_from(data, pos)), end


class BytesCodec(Codec):
    """STRING and BLOB; at most `longest` bytes may be assigned."""

    __slots__ = ("longest",)

    def __init__(self, name: str, longest: int = LENGTH_MAX) -> None:
        super().__init__(name, -1, 1, False)
        self.longest = longest

    def check(self, value: Any) -> bytes:
        return self._plain(value, self.longest)

    def _plain(self, value: Any, longest: int) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            hint = " (for text declare UNICODE_STRING)" if isinstance(value, str) else ""
            raise rejected(f"{self.name}, which is bytes{hint}", value)
        if len(value) > longest:
            raise ValueRejected(f"expected {self.name} of at most {longest} bytes, got {len(value)} bytes")
        return bytes(value)

    def default(self) -> bytes:
        return b""

    def write(self, out: bytearray, value: Any) -> None:
        data = self._plain(value, LENGTH_MAX)
        write_length(out, len(data))
        out += data

    def read(self, data: bytes, pos: int) -> tuple[bytes, int]:
        length, pos = read_length(data, pos, self.name)
        if length > len(data) - pos:
            raise too_short(data, pos, length, self.name)
        return data[pos : pos + length], pos + length


class TextCodec(Codec):
    """UNICODE_STRING; at most `longest` characters may be assigned."""

    __slots__ = ("longest",)

    def __init__(self, name: str, longest: int = LENGTH_MAX) -> None:
        super().__init__(name, -1, 1, False)
        self.longest = longest

    def check(self, value: Any) -> str:
        self._encoded(value)
        if len(value) > self.longest:
            raise ValueRejected(f"expected {self.name} of at most {self.longest} characters, got {len(value)}")
        return str.__str__(value)

    def _encoded(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise rejected(f"{self.name}, which is text (str)", value)
        try:
            data = str.encode(value)
        except UnicodeEncodeError:
            raise rejected(f"{self.name} without lone surrogates", value) from None
        if len(data) > LENGTH_MAX:
            raise ValueRejected(f"expected {self.name} of at most {LENGTH_MAX} bytes, got {len(data)} bytes")
        return data

    def default(self) -> str:
        return ""

    def write(self, out: bytearray, value: Any) -> None:
        data = self._encoded(value)
        write_length(out, len(data))
        out += data

    def read(self, data: bytes, pos: int) -> tuple[str, int]:
        length, pos = read_length(data, pos, self.name)
        if length > len(data) - pos:
            raise too_short(data, pos, length, self.name)
        try:
            return data[pos : pos + length].decode(), pos + length
        except UnicodeDecodeError as problem:
            raise DecodeError(f"{self.name} is not UTF-8", pos + problem.start) from None


class HookCodec(Codec):
    """Bytes given to functions: a fixed number of them, or with a packed length (`fixed` is -1)."""

    __slots__ = ("checker", "from_bytes", "maker", "to_bytes")

    def __init__(
        self,
        name: str,
        fixed: int,
        checker: Callable[[Any], Any],
        to_bytes: Callable[[Any], bytes],
        from_bytes: Callable[[bytes], Any],
        maker: Callable[[], Any],
        holds: bool,
    ) -> None:
        super().__init__(name, fixed, 1 if fixed < 0 else fixed, holds)
        self.checker = checker
        self.to_bytes = to_bytes
        self.from_bytes = from_bytes
        self.maker = maker

    def check(self, value: Any) -> Any:
        value = self.checker(value)
        self._encoded(value)
        return value

    def _encoded(self, value: Any) -> bytes:
        data = self.to_bytes(value)
        if not isinstance(data, bytes):
            raise UsageError(f"the stream of {self.name} must be bytes, got {type(data).__name__}")
        if (len(data) > LENGTH_MAX) if self.fixed < 0 else (len(data) != self.fixed):
            limit = f"at most {LENGTH_MAX}" if self.fixed < 0 else f"{self.fixed}"
            raise ValueRejected(f"expected {self.name} of {limit} bytes, got {len(data)} bytes")
        return data

    def default(self) -> Any:
        return self.maker()

    def copy(self, value: Any) -> Any:
        return value.copy() if self.holds else value

    def write(self, out: bytearray, value: Any) -> None:
        data = self._encoded(self.checker(value))
        if self.fixed < 0:
            write_length(out, len(data))
        out += data

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        if self.fixed < 0:
            length, pos = read_length(data, pos, self.name)
        else:
            length = self.fixed
        if length > len(data) - pos:
            raise too_short(data, pos, length, self.name)
        try:
            return self.from_bytes(data[pos : pos + length]), pos + length
        except DecodeError as problem:
            raise DecodeError(f"{self.name}: {problem}", pos) from None
        except Exception as problem:
            raise DecodeError(f"{self.name} was refused: {type(problem).__name__}: {problem}", pos) from None


class SequenceCodec(Codec):
    """ARRAY (a TrackedList) and TUPLE (a tuple).

    `size` is the fixed number of elements, or -1; `preset` the plain default of an element, or None.
    """

    __slots__ = ("element", "is_tuple", "preset", "size")

    def __init__(self, name: str, element: Codec, size: int, is_tuple: bool, preset: Any = None) -> None:
        fixed = size * element.fixed if size >= 0 and element.fixed >= 0 else -1
        super().__init__(name, fixed, 1 if size < 0 else size * element.least, not is_tuple)
        if size < 0 and element.least == 0:
            raise UsageError(f"{name}: an element that can take no bytes at all needs an array of fixed size")
        self.element = element
        self.size = size
        self.is_tuple = is_tuple
        self.preset = preset

    def check_count(self, count: int) -> None:
        """Refuse a number of elements that the type or the stream does not allow."""
        if count > LENGTH_MAX if self.size < 0 else count != self.size:
            limit = f"at most {LENGTH_MAX}" if self.size < 0 else f"{self.size}"
            raise ValueRejected(f"expected {self.name} of {limit} elements, got {count}")

    def check(self, value: Any) -> Any:
        if type(value) is TrackedList:
            if value._codec is self or self._is_like(value._codec):
                return value
            if value._owner is not None:
                refuse_second_owner(value)
        items = self._items(value)
        checked = []
        check = self.element.check
        for index, item in enumerate(items):
            try:
                checked.append(check(item))
            except ValueRejected as problem:
                raise problem.inside(f"[{index}]") from None
        return self._freeze(checked) if self.is_tuple else TrackedList(self, checked)

    def _is_like(self, other: SequenceCodec) -> bool:
        """True when values of the other codec, of the same type written elsewhere, are values of this one."""
        return other.element is self.element and other.size == self.size

    def _items(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise rejected(f"{self.name}, which is a list", value)
        self.check_count(len(value))
        return value

    def _freeze(self, items: list[Any]) -> tuple[Any, ...]:
        """What goes into a TUPLE is copied and may not change any more."""
        if self.element.holds:
            items = [self.element.copy(item) for item in items]
            for item in items:
                freeze(item)
        return tuple(items)

    def default(self) -> Any:
        items = [self._new_element() for _ in range(max(self.size, 0))]
        return self._freeze(items) if self.is_tuple else TrackedList(self, items)

    def _new_element(self) -> Any:
        return self.element.default() if self.preset is None else self.element.check(self.preset)

    def copy(self, value: Any) -> Any:
        if self.is_tuple:
            return value
        return TrackedList(self, [self.element.copy(item) for item in value])

    def write(self, out: bytearray, value: Any) -> None:
        items = self._items(value)
        if self.size < 0:
            write_length(out, len(items))
        self._write_elements(out, items)

    def _write_elements(self, out: bytearray, items: Any) -> None:
        write = self.element.write
        for index, item in enumerate(items):
            try:
                write(out, item)
            except ValueRejected as problem:
                raise problem.inside(f"[{index}]") from None

    def encode_elements(self, items: Any) -> bytes:
        """The elements one after the other, without a count: the payload of a slice."""
        out = bytearray()
        self._write_elements(out, items)
        return bytes(out)

    def decode_elements(self, data: bytes, pos: int, most: int) -> list[Any]:
        """The elements that the rest of the data is made of, at most so many: the payload of a slice."""
        data = bytes(data)
        items: list[Any] = []
        while pos < len(data):
            if len(items) == most:
                raise DecodeError(f"more than {most} new elements for {self.name}", pos)
            item, pos = self.element.read(data, pos)
            items.append(item)
        return items

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        count = self.size
        if count < 0:
            start = pos
            count, pos = read_length(data, pos, self.name)
            if count > (len(data) - pos) // self.element.least:
                raise DecodeError(f"{self.name} of {count} elements in {len(data) - pos} bytes", start)
        elif self.least > len(data) - pos:
            raise too_short(data, pos, self.least, self.name)
        items = []
        read = self.element.read
        for _ in range(count):
            item, pos = read(data, pos)
            items.append(item)
        return (self._freeze(items) if self.is_tuple else TrackedList(self, items)), pos


class RecordCodec(Codec):
    """FIXED_DICT; `cls` is the class of the values (a RecordValue), `defaults` plain values or None per field."""

    __slots__ = ("allow_none", "cls", "codecs", "defaults", "holders", "names", "places")

    def __init__(
        self,
        name: str,
        names: tuple[str, ...],
        codecs: tuple[Codec, ...],
        defaults: tuple[Any, ...],
        allow_none: bool,
        cls: type[Any] | None,
    ) -> None:
        fixed = -1 if allow_none or any(each.fixed < 0 for each in codecs) else sum(each.fixed for each in codecs)
        super().__init__(name, fixed, 1 if allow_none else sum(each.least for each in codecs), True)
        self.names = names
        self.codecs = codecs
        self.defaults = defaults
        self.allow_none = allow_none
        self.cls = RecordValue if cls is None else cls
        self.places = {each: index for index, each in enumerate(names)}
        self.holders = tuple(index for index, each in enumerate(codecs) if each.holds)

    def check(self, value: Any) -> Any:
        if isinstance(value, RecordValue):
            if value._codec is self or self._is_like(value):
                return value
            if value._owner is not None:
                refuse_second_owner(value)
        if value is None and self.allow_none:
            return None
        return new_record(self.cls, self, self._check_all(self._values(value)))

    def _is_like(self, value: RecordValue) -> bool:
        """True for a value of the same type written elsewhere, or of the one that may not be None."""
        other = value._codec
        return type(value) is self.cls and other.codecs == self.codecs and other.names == self.names

    def _check_all(self, values: Sequence[Any]) -> tuple[Any, ...]:
        checked = []
        for name, codec, item in zip(self.names, self.codecs, values, strict=True):
            try:
                checked.append(codec.check(item))
            except ValueRejected as problem:
                raise problem.inside(f".{name}") from None
        return tuple(checked)

    def _values(self, value: Any) -> Sequence[Any]:
        """The field values, in order, of a record or a dict with exactly these fields."""
        if isinstance(value, RecordValue):
            if value._codec.names == self.names:
                return value._values
        elif isinstance(value, dict) and len(value) == len(self.names):
            try:
                return [value[name] for name in self.names]
            except KeyError:
                pass
        none = " or None" if self.allow_none else ""
        raise rejected(f"{self.name} with the fields {', '.join(self.names)}{none}", value)

    def make(self, given: dict[str, Any]) -> Any:
        """A new record from some of the fields; the others get their defaults."""
        unknown = [name for name in given if name not in self.places]
        if unknown:
            fields = ", ".join(self.names) or "none"
            raise ValueRejected(f"expected the fields {fields}, got {', '.join(map(repr, unknown))} as well", self.name)
        values = []
        for index, (name, codec) in enumerate(zip(self.names, self.codecs, strict=True)):
            if name not in given:
                values.append(self._default_of(index))
                continue
            try:
                values.append(codec.check(given[name]))
            except ValueRejected as problem:
                raise problem.inside(f"{self.name}.{name}") from None
        return new_record(self.cls, self, tuple(values))

    def _default_of(self, index: int) -> Any:
        plain = self.defaults[index]
        codec = self.codecs[index]
        return codec.default() if plain is None else codec.check(plain)

    def default(self) -> Any:
        if self.allow_none:
            return None
        return new_record(self.cls, self, tuple(map(self._default_of, range(len(self.names)))))

    def copy(self, value: Any) -> Any:
        if value is None:
            return None
        values = tuple(codec.copy(item) for codec, item in zip(self.codecs, value._values, strict=True))
        return new_record(self.cls, self, values)

    def write(self, out: bytearray, value: Any) -> None:
        if self.allow_none:
            out.append(value is not None)
            if value is None:
                return
        for name, codec, item in zip(self.names, self.codecs, self._values(value), strict=True):
            try:
                codec.write(out, item)
            except ValueRejected as problem:
                raise problem.inside(f".{name}") from None

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        if self.allow_none:
            if pos >= len(data):
                raise too_short(data, pos, 1, self.name)
            if data[pos] > 1:
                raise DecodeError(f"{self.name} begins with 0 (None) or 1, not {data[pos]}", pos)
            pos += 1
            if data[pos - 1] == 0:
                return None, pos
        values = []
        for codec in self.codecs:
            item, pos = codec.read(data, pos)
            values.append(item)
        return new_record(self.cls, self, tuple(values)), pos


class HiddenCodec(Codec):
    """A value that the reader may not see: nothing of it is written, and the default is read. `preset` is the plain
    default, or None for the one of the type."""

    __slots__ = ("inner", "preset")

    def __init__(self, inner: Codec, preset: Any) -> None:
        super().__init__(inner.name, 0, 0, inner.holds)
        self.inner = inner
        self.preset = preset

    def check(self, value: Any) -> Any:
        return self.inner.check(value)

    def default(self) -> Any:
        return self.inner.default() if self.preset is None else self.inner.check(self.preset)

    def copy(self, value: Any) -> Any:
        return self.inner.copy(value)

    def write(self, out: bytearray, value: Any) -> None:
        pass

    def read(self, data: bytes, pos: int) -> tuple[Any, int]:
        return self.default(), pos


class RowCodec:
    """Several values one after the other, without names or counts: arguments, or a part of an entity's properties."""

    __slots__ = ("codecs", "names")

    def __init__(self, names: tuple[str, ...], codecs: tuple[Codec, ...]) -> None:
        self.names = names
        self.codecs = codecs

    def encode(self, values: Sequence[Any]) -> bytes:
        """The encoding of exactly these values."""
        if len(values) != len(self.codecs):
            raise ValueRejected(f"expected {len(self.codecs)} values, got {len(values)}")
        out = bytearray()
        for name, codec, value in zip(self.names, self.codecs, values, strict=True):
            try:
                codec.write(out, value)
            except ValueRejected as problem:
                raise problem.inside(name) from None
        return bytes(out)

    def decode(self, data: bytes) -> list[Any]:
        """The values that these bytes, all of them, encode."""
        data = bytes(data)
        values, pos = self._read(data)
        if pos != len(data):
            raise DecodeError(f"{len(data) - pos} bytes too many after the last value", pos)
        return values

    def _read(self, data: bytes) -> tuple[list[Any], int]:
        values = []
        pos = 0
        for codec in self.codecs:
            value, pos = codec.read(data, pos)
            values.append(value)
        return values, pos
