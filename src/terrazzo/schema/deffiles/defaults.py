"""<Default> sections: the text of a definition as a plain Python value of the type.

    numbers        12, -3, 0x1F, true, false; 2.5 for floats; a whole float will do for an integer
    VECTOR2 …      numbers with blanks or commas between
    STRING         the text, as UTF-8 bytes; UNICODE_STRING the text; BLOB base64
    PYTHON         a Python literal
    ARRAY, TUPLE   <item> sections, one per element
    FIXED_DICT     a section per field, by name; a field that is not there has its own default
    MAILBOX, USER_TYPE, UDO_REF    cannot have one, and what is written is not read

The result holds numbers, text, lists and dicts only and has been checked against the type: it is kept in the
schema and made into a new value for every entity. An empty section leaves numbers and vectors at the type's
default.
"""

from __future__ import annotations

import ast
import base64
import re
from typing import Any

from terrazzo.errors import ValueRejected
from terrazzo.schema.deffiles.xmltree import Element
from terrazzo.schema.report import Report
from terrazzo.schema.types import (
    BoolType,
    BytesType,
    DataType,
    FloatType,
    GuidType,
    IntType,
    PythonType,
    RecordType,
    RefType,
    SequenceType,
    TextType,
    UserType,
    VectorType,
)

_COUNTS = {2: "two", 3: "three", 4: "four"}
_UNREADABLE = (RefType, UserType, GuidType)


class _BadDefault(Exception):
    """The text is no value of the type; the message has the reason."""


class _Unreadable(Exception):
    """The type has no values that can be written as text."""


def read_default(report: Report, data_type: DataType, section: Element) -> Any:
    """The plain value of a <Default>; None when it is empty, or wrong, which was then reported."""
    try:
        value = _plain(data_type, section)
        if value is not None:
            data_type.codec.check(value)
    except (_BadDefault, ValueRejected) as problem:
        report.error(section.place, "bad default", f"{problem}: correct it, or leave <Default> out")
        return None
    except _Unreadable:
        report.warn(
            section.place,
            "default passed over",
            f"{data_type.spell()} holds a value of a game's own class, which no text gives: "
            "the default of the type is used",
            tag=section.tag,
        )
        return None
    return value


def _plain(data_type: DataType, section: Element) -> Any:
    text = section.text
    if isinstance(data_type, _UNREADABLE):
        return None
    if isinstance(data_type, TextType):
        return text
    if isinstance(data_type, BytesType):
        return text.encode() if data_type.name == "STRING" else _blob(text)
    if isinstance(data_type, SequenceType):
        return _sequence(data_type, section)
    if isinstance(data_type, RecordType):
        return _record(data_type, section)
    if not text:
        return None
    if isinstance(data_type, (IntType, BoolType)):
        return _integer(data_type, text)
    if isinstance(data_type, FloatType):
        return _numbers(data_type, text, 1)[0]
    if isinstance(data_type, VectorType):
        return tuple(_numbers(data_type, text, data_type.dimensions))
    assert isinstance(data_type, PythonType)
    return _literal(text)


def _integer(data_type: DataType, text: str) -> int:
    word = text.lower()
    if word in ("true", "false"):
        return int(word == "true")
    try:
        return int(word, 16) if word.lstrip("+-").startswith("0x") else int(word)
    except ValueError:
        number = _numbers(data_type, text, 1)[0]
    if not number.is_integer():
        raise _BadDefault(f"{text!r} is not a whole number, which {data_type.spell()} needs")
    return int(number)


def _numbers(data_type: DataType, text: str, count: int) -> list[float]:
    words = [each for each in re.split(r"[\s,]+", text) if each]
    try:
        numbers = [float(each) for each in words]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        wanted = "a number" if count == 1 else f"{_COUNTS[count]} numbers"
        raise _BadDefault(f"a {data_type.spell()} default needs {wanted}, not {text!r}")
    return numbers


def _blob(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise _BadDefault("a BLOB default is written in base64, and this is not") from None


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _BadDefault(
            "a PYTHON default must be a literal (numbers, text, lists, dicts); nothing is evaluated"
        ) from None


def _sequence(data_type: SequenceType, section: Element) -> list[Any] | None:
    if not section.children:
        if section.text not in ("", "[]", "()"):
            raise _BadDefault(f"a {data_type.spell()} default is written with <item> sections, not as text")
        return [] if data_type.size is None else None
    strange = [each.tag for each in section.children if each.tag != "item"]
    if strange:
        raise _BadDefault(f"a {data_type.spell()} default is written with <item> sections, not <{strange[0]}>")
    return [_inner(data_type.of, None, each) for each in section.children]


def _record(data_type: RecordType, section: Element) -> dict[str, Any] | None:
    if not section.children:
        if section.text not in ("", "None"):
            raise _BadDefault(f"a {data_type.spell()} default has a section for each field, not text")
        return None
    names = [each.name for each in data_type.fields]
    strange = [each.tag for each in section.children if each.tag not in names]
    if strange:
        raise _BadDefault(f"{data_type.spell()} has no field {strange[0]}, only {', '.join(names) or 'none'}")
    return {each.name: _inner(each.type, each.default, section.child(each.name)) for each in data_type.fields}


def _inner(data_type: DataType, own_default: Any, section: Element | None) -> Any:
    """The value of a part: as written, or the default of the field, or that of its type."""
    value = None if section is None else _plain(data_type, section)
    if value is None:
        value = own_default
    return _natural(data_type) if value is None else value


def _natural(data_type: DataType) -> Any:
    """The default of a type as a plain value; `DataType.default` would return one that can have an owner."""
    if data_type.preset is not None:
        return data_type.preset
    if isinstance(data_type, SequenceType):
        return [_natural(data_type.of) for _ in range(data_type.size or 0)]
    if isinstance(data_type, RecordType):
        if data_type.allow_none:
            return None
        return {each.name: _inner(each.type, each.default, None) for each in data_type.fields}
    if isinstance(data_type, UserType) and data_type.value_class is not None:
        raise _Unreadable
    return data_type.codec.default()
