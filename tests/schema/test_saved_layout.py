"""The forms in which the types of saved properties are stored beside the records."""

from __future__ import annotations

import pytest

from terrazzo.errors import DecodeError
from terrazzo.schema.flags import Flags
from terrazzo.schema.model import EntitySchema, Property, Schema
from terrazzo.schema.saved_layout import read_form, saved_form, saved_layout
from terrazzo.schema.types import BUILT_IN, INT16, INT32, STRING, UNICODE_STRING, Field, RecordType, SequenceType

ITEM = RecordType((Field("item", INT32), Field("note", UNICODE_STRING, database_length=9)), alias="Item")


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_type_without_parameters_is_its_name(name):
    form = saved_form(BUILT_IN[name])
    assert saved_form(read_form(form)) == form


@pytest.mark.parametrize(
    ("data_type", "length", "form"),
    [
        (UNICODE_STRING, 32, "UNICODE_STRING[32]"),
        (SequenceType(STRING), 5, "ARRAY(STRING[5])"),
        (SequenceType(INT32, 3, is_tuple=True), None, "TUPLE[3](INT32)"),
        (ITEM, None, "FIXED_DICT(item:INT32,note:UNICODE_STRING[9])"),
        (RecordType((Field("at", INT16),), allow_none=True), None, "OPTIONAL_FIXED_DICT(at:INT16)"),
        (RecordType(()), None, "FIXED_DICT()"),
        (SequenceType(SequenceType(ITEM)), None, "ARRAY(ARRAY(FIXED_DICT(item:INT32,note:UNICODE_STRING[9])))"),
    ],
)
def test_form_names_the_parameters_and_reads_back_without_limits(data_type, length, form):
    assert saved_form(data_type, length) == form
    again = read_form(form)
    assert again.codec.encode(again.default()) == data_type.codec.encode(data_type.default())


def test_user_type_is_named_by_its_class_and_reads_back_as_opaque_bytes():
    again = read_form("ARRAY(USER_TYPE(game.Wallet))")
    assert again.codec.encode(again.codec.decode(b"\x01\x02ab")) == b"\x01\x02ab"
    assert saved_form(again) == "ARRAY(USER_TYPE(game.Wallet))"


@pytest.mark.parametrize("form", ["", "INT33", "ARRAY", "ARRAY(INT32", "FIXED_DICT(a)", "INT32)", "TUPLE[x](INT32)"])
def test_text_that_is_no_form_is_refused(form):
    with pytest.raises(DecodeError):
        read_form(form)


def test_layout_has_the_saved_properties_of_types_with_records():
    saved = Property("gold", INT32, Flags.BASE, persistent=True)
    entities = (
        EntitySchema("Avatar", 1, (saved, Property("mood", INT32, Flags.BASE))),
        EntitySchema("Guard", 2, (Property("mood", INT32, Flags.BASE),)),
        EntitySchema("Tool", 3, (saved,), persistent=False),
        EntitySchema("Dart", 4, (saved,), cell_only=True),
    )
    assert saved_layout(Schema(entities)) == {"Avatar": {"gold": "INT32"}, "Guard": {}}
