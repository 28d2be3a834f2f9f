"""The encoding of PYTHON values: plain data as tagged bytes, safe to read from anyone.

The first byte of our own encoding is 0xC1, which no pickle begins with; bytes that begin otherwise are foreign and stay
`Opaque`: kept, written back unchanged, never read and never unpickled. After it comes one value:

    N  T  F              None, True, False
    i  n bytes           integer: one length byte n, then n bytes, little-endian, two's complement
    d  8 bytes           float, little-endian
    s  b                 text (UTF-8), bytes: length, then that many bytes
    l  t  S              list, tuple, set: count, then the elements (a set's in the order of their encodings)
    m                    dict: count, then key and value in turn, in the dict's order

Lengths and counts are unsigned LEB128. Every element takes at least one byte, so a count larger than the bytes that are
left is refused before anything is allocated for it. Nesting is limited to DEPTH_MAX.
"""

from __future__ import annotations

import struct
from typing import Any

from terrazzo.errors import DecodeError, ValueRejected

MARK = 0xC1
DEPTH_MAX = 32
INT_BYTES_MAX = 255

_DOUBLE = struct.Struct("<d")


class Opaque(bytes):
    """Bytes that this process cannot interpret: they are stored and passed on as they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Opaque({bytes(self)!r})"


def encode_plain(value: Any) -> bytes:
    """The bytes of a PYTHON value."""
    if isinstance(value, Opaque):
        return bytes(value)
    out = bytearray([MARK])
    _write(out, value, DEPTH_MAX)
    return bytes(out)


def decode_plain(data: bytes) -> Any:
    """The value of such bytes; foreign ones come back as Opaque."""
    if not data or data[0] != MARK:
        return Opaque(data)
    value, at = _read(data, 1, DEPTH_MAX)
    if at != len(data):
        raise DecodeError(f"{len(data) - at} bytes too many after a PYTHON value", at)
    return value


def check_plain(value: Any) -> Any:
    """A copy of the value that shares nothing with it, or ValueRejected."""
    if isinstance(value, Opaque):
        return value
    return decode_plain(encode_plain(value))


def _write_count(out: bytearray, count: int) -> None:
    while count > 0x7F:
        out.append(count & 0x7F | 0x80)
        count >>= 7
    out.append(count)


def _write(out: bytearray, value: Any, depth: int) -> None:
    if depth == 0:
        raise ValueRejected(f"expected plain data nested at most {DEPTH_MAX} deep, got deeper")
    if value is None or isinstance(value, bool):
        out += b"N" if value is None else b"T" if value else b"F"
    elif isinstance(value, int):
        size = value.bit_length() // 8 + 1
        if size > INT_BYTES_MAX:
            raise ValueRejected(f"expected an integer of at most {INT_BYTES_MAX} bytes, got one of {size}")
        out += b"i"
        out.append(size)
        out += value.to_bytes(size, "little", signed=True)
    elif isinstance(value, float):
        out += b"d"
        out += _DOUBLE.pack(value)
    elif isinstance(value, (str, bytes, bytearray)):
        _write_bytes(out, value)
    else:
        _write_container(out, value, depth)


def _write_bytes(out: bytearray, value: str | bytes | bytearray) -> None:
    try:
        data = value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise ValueRejected(f"expected text without lone surrogates, got {value!r}") from None
    out += b"s" if isinstance(value, str) else b"b"
    _write_count(out, len(data))
    out += data


def _write_container(out: bytearray, value: Any, depth: int) -> None:
    if isinstance(value, (list, tuple)):
        out += b"l" if isinstance(value, list) else b"t"
        _write_count(out, len(value))
        for each in value:
            _write(out, each, depth - 1)
    elif isinstance(value, dict):
        out += b"m"
        _write_count(out, len(value))
        for key, each in value.items():
            _write(out, key, depth - 1)
            _write(out, each, depth - 1)
    elif isinstance(value, (set, frozenset)):
        out += b"S"
        _write_count(out, len(value))
        parts = []
        for each in value:
            part = bytearray()
            _write(part, each, depth - 1)
            parts.append(bytes(part))
        out += b"".join(sorted(parts))
    else:
        raise ValueRejected(
            "expected plain data (None, bool, int, float, str, bytes, list, tuple, dict, set), "
            f"got {type(value).__name__}"
        )


def _read_count(data: bytes, at: int) -> tuple[int, int]:
    count = shift = 0
    start = at
    while True:
        if at >= len(data):
            raise DecodeError("a PYTHON value ends inside a length", at)
        byte = data[at]
        at += 1
        count |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
        if shift > 28:
            raise DecodeError("a length of more than five bytes in a PYTHON value", start)
    if count > len(data) - at:
        raise DecodeError(f"a length of {count} with {len(data) - at} bytes left in a PYTHON value", start)
    return count, at


_WORDS: dict[int, Any] = {ord("N"): None, ord("T"): True, ord("F"): False}


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if at >= len(data) or depth == 0:
        raise DecodeError("a PYTHON value ends too early" if depth else "a PYTHON value is nested too deep", at)
    tag = data[at]
    at += 1
    if tag in _WORDS:
        return _WORDS[tag], at
    if tag == ord("i"):
        size = data[at] if at < len(data) else 0
        end = at + 1 + size
        if size == 0 or end > len(data):
            raise DecodeError("a PYTHON value ends inside an integer", at)
        return int.from_bytes(data[at + 1 : end], "little", signed=True), end
    if tag == ord("d"):
        if len(data) - at < 8:
            raise DecodeError("a PYTHON value ends inside a float", at)
        return _DOUBLE.unpack_from(data, at)[0], at + 8
    if tag in b"sb":
        count, at = _read_count(data, at)
        piece = data[at : at + count]
        try:
            return (piece.decode() if tag == ord("s") else piece), at + count
        except UnicodeDecodeError:
            raise DecodeError("text in a PYTHON value is not UTF-8", at) from None
    if tag in b"ltSm":
        return _read_container(data, at, depth, tag)
    raise DecodeError(f"no PYTHON value begins with byte {tag:#04x}", at - 1)


def _read_container(data: bytes, at: int, depth: int, tag: int) -> tuple[Any, int]:
    start = at
    count, at = _read_count(data, at)
    items = []
    for _ in range(2 * count if tag == ord("m") else count):
        item, at = _read(data, at, depth - 1)
        items.append(item)
    if tag == ord("l"):
        return items, at
    if tag == ord("t"):
        return tuple(items), at
    try:
        return (set(items) if tag == ord("S") else dict(zip(items[::2], items[1::2], strict=True))), at
    except TypeError:
        raise DecodeError("a list, dict or set as a key in a PYTHON value", start) from None
