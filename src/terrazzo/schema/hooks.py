"""Codecs of values that are made by Python code: PYTHON, MAILBOX, UDO_REF and USER_TYPE.

All four are a HookCodec of the kernel: bytes with a packed length (or of a fixed size), and three functions that
check a value, turn it into bytes, and back. An exception of a game's `from_stream` on bytes from outside becomes a
DecodeError, an exception of its `to_stream` a ValueRejected.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from terrazzo._speed import codec as kernel
from terrazzo._speed.values import UserValue
from terrazzo.errors import UsageError, ValueRejected, shown
from terrazzo.schema.plaindata import Opaque, check_plain, decode_plain, encode_plain
from terrazzo.schema.refs import REF_SIZE, check_ref, decode_ref, encode_ref


def python_codec(name: str) -> kernel.HookCodec:
    """PYTHON."""
    return kernel.HookCodec(name, -1, check_plain, encode_plain, decode_plain, lambda: None, False)


def ref_codec(name: str) -> kernel.HookCodec:
    """MAILBOX."""
    return kernel.HookCodec(name, REF_SIZE, check_ref, encode_ref, decode_ref, lambda: None, False)


def guid_codec(name: str) -> kernel.HookCodec:
    """UDO_REF."""
    return kernel.HookCodec(name, 16, _check_guid, bytes, bytes, lambda: bytes(16), False)


def user_codec(name: str, value_class: type[Any] | None) -> kernel.HookCodec:
    """USER_TYPE, of the game's class or opaque."""
    if value_class is None:
        return kernel.HookCodec(name, -1, _check_opaque, bytes, Opaque, Opaque, False)
    if not issubclass(value_class, UserValue):
        raise UsageError(f"the class of {name} is {value_class.__name__}, which should derive from terrazzo.UserValue")

    def check(value: Any) -> Any:
        if not isinstance(value, value_class):
            raise ValueRejected(f"expected {value_class.__name__}, got {type(value).__name__}")
        return value

    return kernel.HookCodec(
        name,
        -1,
        check,
        partial(_to_stream, name),
        value_class.from_stream,
        value_class.new_default,
        True,
    )


def _to_stream(name: str, value: UserValue) -> Any:
    try:
        return value.to_stream()
    except Exception as problem:
        words = f"{type(problem).__name__}: {shown(problem)}"
        raise ValueRejected(f"{name} was not turned into bytes: its to_stream raised {words}") from problem


def _check_guid(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)) or len(value) != 16:
        raise ValueRejected(f"expected 16 bytes, got {value!r}")
    return bytes(value)


def _check_opaque(value: Any) -> Opaque:
    if not isinstance(value, (bytes, bytearray)):
        raise ValueRejected(f"expected bytes (the class of this USER_TYPE is not at hand), got {type(value).__name__}")
    return Opaque(value)
