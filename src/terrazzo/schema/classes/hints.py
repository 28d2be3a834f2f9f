"""The names that a game writes as type hints: each is an ordinary Python type with the schema's type
attached.

A type checker reads `hp: Int16` as an int and `bag: Array[Item]` as a list of Items; the schema reads the
annotation:

    Int16                                      Annotated[int, types.INT16]
    Array[Item]  (the same as list[Item])      ARRAY <of> Item </of>
    Annotated[Array[UInt8], Size(4)]           … <size>4</size>
    tuple[UInt8, ...]                          TUPLE <of> UINT8 </of>
    tuple[UInt8, UInt8, UInt8]                 … <size>3</size>
    Item | None                                FIXED_DICT with <AllowNone>
    Annotated[UInt32, Alias("GOLD")]           UINT32 that a definition spells GOLD

Plain `int, float, bool, str, bytes` mean INT64, FLOAT64, BOOL, UNICODE_STRING and BLOB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from terrazzo.schema import types
from terrazzo.schema.refs import Ref
from terrazzo.schema.vectors import Vector2, Vector3, Vector4

Int8 = Annotated[int, types.INT8]
Int16 = Annotated[int, types.INT16]
Int32 = Annotated[int, types.INT32]
Int64 = Annotated[int, types.INT64]
UInt8 = Annotated[int, types.UINT8]
UInt16 = Annotated[int, types.UINT16]
UInt32 = Annotated[int, types.UINT32]
UInt64 = Annotated[int, types.UINT64]
Float32 = Annotated[float, types.FLOAT32]
Float64 = Annotated[float, types.FLOAT64]
Bool = Annotated[bool, types.BOOL]
Text = Annotated[str, types.UNICODE_STRING]
String = Annotated[bytes, types.STRING]
Blob = Annotated[bytes, types.BLOB]
PlainData = Annotated[Any, types.PYTHON]
Guid = Annotated[bytes, types.UDO_REF]
Array = list

PLAIN: dict[Any, types.DataType] = {
    int: types.INT64,
    float: types.FLOAT64,
    bool: types.BOOL,
    str: types.UNICODE_STRING,
    bytes: types.BLOB,
    Vector2: types.VECTOR2,
    Vector3: types.VECTOR3,
    Vector4: types.VECTOR4,
    Ref: types.MAILBOX,
}
"""The classes that are types by themselves."""


class Refinement:
    """Something in an Annotated that changes the type before it."""

    kind: ClassVar[str] = "unknown type"
    """The kind of problem when the type cannot be changed so."""

    def refine(self, given: types.DataType) -> types.DataType:
        """The changed type; raises ValueError with the reason if the type cannot be changed so."""
        raise NotImplementedError


@dataclass(frozen=True)
class Size(Refinement):
    """A fixed number of elements: `Annotated[Array[UInt8], Size(4)]`."""

    kind = "bad size"
    count: int

    def refine(self, given: types.DataType) -> types.DataType:
        if not isinstance(given, types.SequenceType):
            raise ValueError(f"only an Array or a tuple has a Size, {given.spell()} has none")
        if not (isinstance(self.count, int) and 0 <= self.count <= types.LENGTH_MAX):
            raise ValueError(f"a Size is a whole number from 0 to {types.LENGTH_MAX}, not {self.count!r}")
        return replace(given, size=self.count)


@dataclass(frozen=True)
class SavedAsBlob(Refinement):
    """The database keeps the sequence as one blob, not as rows: `Annotated[Array[UInt8], SavedAsBlob()]`."""

    def refine(self, given: types.DataType) -> types.DataType:
        if not isinstance(given, types.SequenceType):
            raise ValueError(f"only an Array or a tuple is saved as a blob, {given.spell()} is not")
        return replace(given, persist_as_blob=True)


@dataclass(frozen=True)
class Alias(Refinement):
    """The name that definitions give to the type, and a default for its values."""

    kind = "bad default"
    name: str
    default: Any = None

    def refine(self, given: types.DataType) -> types.DataType:
        if self.default is not None:
            given.codec.check(self.default)
        return replace(given, alias=self.name, preset=given.preset if self.default is None else self.default)


def alias(name: str, hint: Any, default: Any = None) -> Any:
    """`Gold = alias("GOLD", UInt32)`; type checkers only follow `Gold = Annotated[UInt32, Alias("GOLD")]`."""
    return Annotated[hint, Alias(name, default)]
