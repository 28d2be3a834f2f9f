"""Reads the golden fixtures: their hex strings, their JSON values, the tree they belong to."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from terrazzo.schema.deffiles import load_aliases, load_tree, parse_type
from terrazzo.schema.model import Schema
from terrazzo.schema.plaindata import Opaque
from terrazzo.schema.refs import Component, Ref
from terrazzo.schema.types import (
    BoolType,
    BytesType,
    DataType,
    PythonType,
    RecordType,
    RefType,
    SequenceType,
    TextType,
    UserType,
)

GOLDEN = Path(__file__).parent.parent / "golden"


def read(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


@cache
def tree() -> Schema:
    return load_tree(GOLDEN / "defs").checked()


@cache
def aliases() -> dict[str, DataType]:
    return load_aliases(GOLDEN / "defs")


def type_of(text: str) -> DataType:
    return parse_type(text, aliases())


def unhex(text: str) -> bytes:
    """Blanks separate parts; `61*300` is the byte 61 three hundred times."""
    out = b""
    for part in text.split():
        digits, _, times = part.partition("*")
        out += bytes.fromhex(digits) * int(times or 1)
    return out


def value_of(data_type: DataType, given: Any) -> Any:
    """The plain Python value that a JSON value of the fixtures stands for."""
    if isinstance(given, dict) and "repeat_item" in given:
        given = [given["repeat_item"]] * given["count"]
    if isinstance(given, dict) and "repeat" in given:
        given = given["repeat"] * given["count"]
    if isinstance(given, dict) and "float" in given:
        return float(given["float"])
    if isinstance(data_type, (BytesType, PythonType, UserType)):
        data = unhex(given["hex"]) if isinstance(given, dict) else given.encode()
        return data if isinstance(data_type, BytesType) else Opaque(data)
    if isinstance(data_type, TextType):
        return given
    if isinstance(data_type, RefType):
        return given and Ref(given["id"], Component[given["component"]], given["type_id"], given["ip"], given["port"])
    if isinstance(data_type, SequenceType):
        items = [value_of(data_type.of, item) for item in given]
        return tuple(items) if data_type.is_tuple else items
    if isinstance(data_type, RecordType) and given is not None:
        return {each.name: value_of(each.type, given[each.name]) for each in data_type.fields}
    if isinstance(data_type, BoolType):
        return bool(given)
    return tuple(given) if isinstance(given, list) else given
