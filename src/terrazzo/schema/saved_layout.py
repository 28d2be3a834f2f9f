"""What a game saves, as text that is stored beside the records and compared with a later version of the game.

    {"Avatar": {"gold": "INT32", "name": "UNICODE_STRING[32]", "bag": "ARRAY(FIXED_DICT(item:INT32,count:UINT16))"}}

The forms of types, in which aliases are replaced by what they stand for:

    INT32, BLOB, …                           the types without parameters
    STRING[20], UNICODE_STRING[20]           at most so many bytes or characters (`database_length`)
    ARRAY(form), TUPLE[3](form)              a sequence; with the number of its elements if that is fixed
    FIXED_DICT(name:form,…)                  a record; OPTIONAL_FIXED_DICT(…) if it may be None
    USER_TYPE(name)                          a class of the game

Two types with the same form have the same encoding. `read_form` makes a type that decodes what was stored with a form.
"""

from __future__ import annotations

import re

from terrazzo.errors import DecodeError
from terrazzo.schema.model import EntitySchema, Schema
from terrazzo.schema.record import saved_properties
from terrazzo.schema.types import BUILT_IN, BytesType, DataType, Field, RecordType, SequenceType, TextType, UserType

SavedLayout = dict[str, dict[str, str]]
"""Entity type → saved property → form."""

_OPTIONAL = "OPTIONAL_"
_TOKEN = re.compile(r"[()\[\]:,]|[^()\[\]:,]+")


def is_saved(entity: EntitySchema) -> bool:
    """Whether there may be records of an entity type."""
    return entity.persistent and not entity.cell_only


def saved_layout(schema: Schema) -> SavedLayout:
    """What this game saves."""
    return {
        entity.name: {each.name: saved_form(each.type, each.database_length) for each in saved_properties(entity)}
        for entity in schema.entities
        if is_saved(entity)
    }


def saved_form(data_type: DataType, length: int | None = None) -> str:
    """The form of a type; `length` is the limit of text and bytes."""
    if isinstance(data_type, TextType | BytesType):
        return data_type.structure() + (f"[{length}]" if length is not None else "")
    if isinstance(data_type, SequenceType):
        word, size = "TUPLE" if data_type.is_tuple else "ARRAY", data_type.size
        inner = saved_form(data_type.of, length if isinstance(data_type.of, TextType | BytesType) else None)
        return f"{word}{'' if size is None else f'[{size}]'}({inner})"
    if isinstance(data_type, RecordType):
        fields = ",".join(f"{each.name}:{saved_form(each.type, each.database_length)}" for each in data_type.fields)
        return f"{_OPTIONAL if data_type.allow_none else ''}FIXED_DICT({fields})"
    if isinstance(data_type, UserType):
        return f"USER_TYPE({data_type.implemented_by})"
    return data_type.structure()


def read_form(form: str) -> DataType:
    """A type with this form, without its limits of text and bytes. Raises DecodeError for what is no form."""
    reader = _Reader(_TOKEN.findall(form))
    found = reader.form()
    if reader.tokens:
        raise DecodeError(f"{form!r} is no type")
    return found


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def form(self) -> DataType:
        word = self._take()
        number = self._number()
        if word in ("ARRAY", "TUPLE"):
            self._expect("(")
            of = self.form()
            self._expect(")")
            return SequenceType(of, number, is_tuple=word == "TUPLE")
        if word.removeprefix(_OPTIONAL) == "FIXED_DICT":
            return RecordType(tuple(self._fields()), allow_none=word.startswith(_OPTIONAL))
        if word == "USER_TYPE":
            self._expect("(")
            name = self._take()
            self._expect(")")
            return UserType(name)
        if word not in BUILT_IN:
            raise DecodeError(f"{word!r} is no type")
        return BUILT_IN[word]

    def _fields(self) -> list[Field]:
        self._expect("(")
        fields: list[Field] = []
        while self.tokens[:1] != [")"]:
            if fields:
                self._expect(",")
            name = self._take()
            self._expect(":")
            fields.append(Field(name, self.form()))
        self._expect(")")
        return fields

    def _number(self) -> int | None:
        if self.tokens[:1] != ["["]:
            return None
        self._expect("[")
        number = self._take()
        self._expect("]")
        if not number.isdecimal():
            raise DecodeError(f"{number!r} is no number")
        return int(number)

    def _take(self) -> str:
        if not self.tokens:
            raise DecodeError("the type ends too early")
        return self.tokens.pop(0)

    def _expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise DecodeError(f"expected {token!r}, found {found!r}")
