"""The types of properties, arguments and fields, as plain frozen descriptions.

Types compare by meaning, not by spelling: an alias and the type that it stands for are equal, and so are a FIXED_DICT
of a definition file and the `Record` class that declares the same fields. Fields with `compare=False` are not compared:
the alias name, and the Python classes that hold the values.

`sort_size` orders the client-server indexes and is never sent (`VARIABLE` = no fixed size). `spell()` writes the type
as the inside of a `<Type>` section without blanks; an alias is written by its name. `codec` is the compiled object that
checks, encodes and decodes values of the type; it is built once per type object, on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from terrazzo._speed import codec as kernel
from terrazzo.schema import hooks
from terrazzo.schema.flags import Flags, Receiver
from terrazzo.schema.vectors import VECTORS

VARIABLE = 0xFFFF
"""The sort size of types without a fixed size in a stream; larger fixed sizes count as this."""

LENGTH_MAX = 0xFFFFFF
"""The longest text, blob or array a stream can carry (a packed length has three bytes)."""


@dataclass(frozen=True)
class DataType:
    """Common part of all types."""

    alias: str | None = field(default=None, compare=False, kw_only=True)
    preset: Any = field(default=None, compare=False, kw_only=True)
    """The default an alias gives to its values; a property's own default goes before it."""

    @property
    def sort_size(self) -> int:
        """Size in a stream, at most VARIABLE."""
        return VARIABLE

    def spell(self) -> str:
        """The type as it is written in a definition; an alias by its name."""
        return self.alias or self.structure()

    def structure(self) -> str:
        """The type written out at this level, whatever its alias."""
        raise NotImplementedError

    @cached_property
    def codec(self) -> kernel.Codec:
        """Checks, encodes and decodes values of this type."""
        return self._build_codec()

    def _build_codec(self) -> kernel.Codec:
        raise NotImplementedError

    @cached_property
    def known_shares(self) -> dict[Receiver, DataType]:
        """The shares that `schema/shares.py` has derived."""
        return {}

    def default(self) -> Any:
        """A new default value: the alias's, or the natural zero of the type."""
        return self.codec.default() if self.preset is None else self.codec.check(self.preset)


@dataclass(frozen=True)
class IntType(DataType):
    """INT8 … INT64, UINT8 … UINT64."""

    bits: int
    signed: bool

    @property
    def sort_size(self) -> int:
        return self.bits // 8

    def structure(self) -> str:
        return f"{'INT' if self.signed else 'UINT'}{self.bits}"

    def _build_codec(self) -> kernel.Codec:
        return kernel.IntCodec(self.spell(), self.bits, self.signed)


@dataclass(frozen=True)
class FloatType(DataType):
    """FLOAT32 (values are kept rounded to single precision, as every receiver will have them) and FLOAT64."""

    bits: int

    @property
    def sort_size(self) -> int:
        return self.bits // 8

    def structure(self) -> str:
        return f"FLOAT{self.bits}"

    def _build_codec(self) -> kernel.Codec:
        return kernel.FloatCodec(self.spell(), self.bits)


@dataclass(frozen=True)
class BoolType(DataType):
    """BOOL: one byte, 0 or 1. (Definition trees usually make BOOL an alias of UINT8; the alias then wins.)"""

    @property
    def sort_size(self) -> int:
        return 1

    def structure(self) -> str:
        return "BOOL"

    def _build_codec(self) -> kernel.Codec:
        return kernel.BoolCodec(self.spell())


@dataclass(frozen=True)
class VectorType(DataType):
    """VECTOR2, VECTOR3, VECTOR4: immutable tuples of single-precision numbers."""

    dimensions: int

    @property
    def sort_size(self) -> int:
        return 4 * self.dimensions

    def structure(self) -> str:
        return f"VECTOR{self.dimensions}"

    def _build_codec(self) -> kernel.Codec:
        return kernel.VectorCodec(self.spell(), self.dimensions, VECTORS[self.dimensions])


@dataclass(frozen=True)
class TextType(DataType):
    """UNICODE_STRING: a Python str, UTF-8 in streams."""

    def structure(self) -> str:
        return "UNICODE_STRING"

    def _build_codec(self) -> kernel.Codec:
        return kernel.TextCodec(self.spell())


@dataclass(frozen=True)
class BytesType(DataType):
    """STRING and BLOB: Python bytes. They differ only in name (and in the column a database gives them)."""

    name: str

    def structure(self) -> str:
        return self.name

    def _build_codec(self) -> kernel.Codec:
        return kernel.BytesCodec(self.spell())


@dataclass(frozen=True)
class PythonType(DataType):
    """PYTHON: plain data (None, bool, int, float, str, bytes, list, dict). Foreign bytes stay opaque, unread."""

    def structure(self) -> str:
        return "PYTHON"

    def _build_codec(self) -> kernel.Codec:
        return hooks.python_codec(self.spell())


@dataclass(frozen=True)
class RefType(DataType):
    """MAILBOX: a Ref, or None."""

    def structure(self) -> str:
        return "MAILBOX"

    def _build_codec(self) -> kernel.Codec:
        return hooks.ref_codec(self.spell())


@dataclass(frozen=True)
class GuidType(DataType):
    """UDO_REF: the sixteen bytes that name a user data object."""

    @property
    def sort_size(self) -> int:
        return 16

    def structure(self) -> str:
        return "UDO_REF"

    def _build_codec(self) -> kernel.Codec:
        return hooks.guid_codec(self.spell())


@dataclass(frozen=True)
class SequenceType(DataType):
    """ARRAY (a list that can be changed in place) and TUPLE (assigned whole), with or without a fixed size."""

    of: DataType
    size: int | None = None
    is_tuple: bool = False
    persist_as_blob: bool = field(default=False, kw_only=True)

    @property
    def sort_size(self) -> int:
        if self.size is None or self.of.sort_size >= VARIABLE:
            return VARIABLE
        return min(self.size * self.of.sort_size, VARIABLE)

    def structure(self) -> str:
        size = "" if self.size is None else f"<size>{self.size}</size>"
        blob = "<persistAsBlob>true</persistAsBlob>" if self.persist_as_blob else ""
        return f"{'TUPLE' if self.is_tuple else 'ARRAY'}<of>{self.of.spell()}</of>{size}{blob}"

    def _build_codec(self) -> kernel.Codec:
        return self.codec_with(self.of.codec)

    def codec_with(self, element: kernel.Codec) -> kernel.Codec:
        """The codec of such a sequence of elements that are checked by the given codec."""
        size = -1 if self.size is None else self.size
        return kernel.SequenceCodec(self.spell(), element, size, self.is_tuple, self.of.preset)


@dataclass(frozen=True)
class Field:
    """One field of a FIXED_DICT."""

    name: str
    type: DataType
    persistent: bool = True
    database_length: int | None = None
    default: Any = None
    """None: the default of its type."""
    to: Flags | None = None
    """The receivers of this field, among those of the property that it is in; None: all of them."""

    @property
    def plain_default(self) -> Any:
        """What a new value is made of; None: the natural zero of the type."""
        return self.type.preset if self.default is None else self.default


@dataclass(frozen=True)
class RecordType(DataType):
    """FIXED_DICT: named fields in declared order; with AllowNone the whole may be None."""

    fields: tuple[Field, ...]
    allow_none: bool = False
    implemented_by: str | None = field(default=None, compare=False)
    """The name a definition file gives to the class of its values. It does not change the stream."""
    record_class: type[Any] | None = field(default=None, compare=False)
    """The class of the values, where one is at hand; else plain records."""

    @property
    def sort_size(self) -> int:
        if self.allow_none:
            return VARIABLE
        return min(sum(each.type.sort_size for each in self.fields), VARIABLE)

    def structure(self) -> str:
        fields = "".join(
            f"<{each.name}><Type>{each.type.spell()}</Type>{_spell_flags(each.to)}</{each.name}>"
            for each in self.fields
        )
        none = "<AllowNone>true</AllowNone>" if self.allow_none else ""
        return f"FIXED_DICT<Properties>{fields}</Properties>{none}"

    def _build_codec(self) -> kernel.Codec:
        return kernel.RecordCodec(
            self.alias or "FIXED_DICT",
            tuple(each.name for each in self.fields),
            tuple(limited_codec(each.type, each.database_length) for each in self.fields),
            tuple(each.plain_default for each in self.fields),
            self.allow_none,
            self.record_class,
        )


def _spell_flags(flags: Flags | None) -> str:
    return "" if flags is None else f"<Flags>{flags.name}</Flags>"


@dataclass(frozen=True)
class HiddenType(DataType):
    """What a receiver may not see (`schema/shares.py`): it takes no bytes, and the receiver has the default there."""

    of: DataType

    @property
    def sort_size(self) -> int:
        return 0

    def structure(self) -> str:
        return f"HIDDEN<of>{self.of.spell()}</of>"

    def _build_codec(self) -> kernel.Codec:
        return kernel.HiddenCodec(self.of.codec, self.preset)


@dataclass(frozen=True)
class UserType(DataType):
    """USER_TYPE: a game's own class behind opaque bytes; without the class the values stay `Opaque`."""

    implemented_by: str
    value_class: type[Any] | None = field(default=None, compare=False)

    def structure(self) -> str:
        return f"USER_TYPE<implementedBy>{self.implemented_by}</implementedBy>"

    def _build_codec(self) -> kernel.Codec:
        return hooks.user_codec(self.spell(), self.value_class)


INT8 = IntType(8, True)
INT16 = IntType(16, True)
INT32 = IntType(32, True)
INT64 = IntType(64, True)
UINT8 = IntType(8, False)
UINT16 = IntType(16, False)
UINT32 = IntType(32, False)
UINT64 = IntType(64, False)
FLOAT32 = FloatType(32)
FLOAT64 = FloatType(64)
BOOL = BoolType()
VECTOR2 = VectorType(2)
VECTOR3 = VectorType(3)
VECTOR4 = VectorType(4)
STRING = BytesType("STRING")
BLOB = BytesType("BLOB")
UNICODE_STRING = TextType()
PYTHON = PythonType()
MAILBOX = RefType()
UDO_REF = GuidType()

BUILT_IN: dict[str, DataType] = {
    each.structure(): each
    for each in (
        INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT32, FLOAT64, BOOL, VECTOR2, VECTOR3, VECTOR4,
        STRING, BLOB, UNICODE_STRING, PYTHON, MAILBOX, UDO_REF,
    )
}  # fmt: skip
"""The types that need no children, by the name a definition gives them."""
BUILT_IN["FLOAT"] = FloatType(32, alias="FLOAT")


def limited_codec(data_type: DataType, database_length: int | None) -> kernel.Codec:
    """The codec of a type with text and bytes that must fit a database column (characters of text, bytes of the
    rest)."""
    if database_length is None:
        return data_type.codec
    if isinstance(data_type, TextType):
        return kernel.TextCodec(data_type.spell(), database_length)
    if isinstance(data_type, BytesType):
        return kernel.BytesCodec(data_type.spell(), database_length)
    if isinstance(data_type, SequenceType) and isinstance(data_type.of, (TextType, BytesType)):
        return data_type.codec_with(limited_codec(data_type.of, database_length))
    return data_type.codec


PARTS_MAX = 1 << 20
"""How many parts a new value of a type may have: no definition can fill the memory."""


def takes_no_bytes(data_type: DataType) -> bool:
    """True when some value of the type has an empty encoding."""
    if isinstance(data_type, HiddenType):
        return True
    if isinstance(data_type, SequenceType):
        return data_type.size == 0 or (data_type.size is not None and takes_no_bytes(data_type.of))
    if isinstance(data_type, RecordType):
        return not data_type.allow_none and all(takes_no_bytes(each.type) for each in data_type.fields)
    return False


def contains(outer: DataType, wanted: type[DataType]) -> bool:
    """True when `outer` is, or holds somewhere inside, a type of the wanted class."""
    if isinstance(outer, wanted):
        return True
    if isinstance(outer, SequenceType):
        return contains(outer.of, wanted)
    if isinstance(outer, RecordType):
        return any(contains(each.type, wanted) for each in outer.fields)
    return False
