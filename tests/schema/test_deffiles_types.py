"""Type sections of definition files: aliases, defaults, limits; and that no bytes make the loader raise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrazzo._speed.values import UserValue
from terrazzo.errors import DefinitionError
from terrazzo.schema import types
from terrazzo.schema.deffiles import load_aliases, load_tree, parse_type
from terrazzo.schema.flags import Flags
from terrazzo.schema.types import Field, RecordType, SequenceType, UserType

GOLDEN = Path(__file__).parent.parent / "golden"


def write(root: Path, alias: str = "", alias_ext: str = "", barrel: str = "<root/>") -> Path:
    defs = root / "entity_defs"
    defs.mkdir(exist_ok=True)
    (root / "entities.xml").write_text("<root><Barrel/></root>")
    (defs / "Barrel.def").write_text(barrel)
    for name, inside in (("alias.xml", alias), ("alias_ext.xml", alias_ext)):
        if inside:
            (defs / name).write_text(f"<root>{inside}</root>")
    return root


def kinds(text: str, aliases: dict[str, types.DataType] | None = None) -> list[str]:
    with pytest.raises(DefinitionError) as caught:
        parse_type(text, aliases)
    return [each.kind for each in caught.value.problems]


# --- aliases --------------------------------------------------------------------------------------


def test_aliases_of_aliases_keep_the_outermost_name(tmp_path):
    found = load_aliases(write(tmp_path, "<A>B</A><B>C</B><C>UINT32</C>"))
    assert {name: each.spell() for name, each in found.items()} == {"A": "A", "B": "B", "C": "C"}
    assert found["A"] == types.UINT32
    assert parse_type("ARRAY<of> A </of>", found).spell() == "ARRAY<of>A</of>"


def test_an_alias_wins_over_a_built_in_name_also_its_own(tmp_path):
    found = load_aliases(write(tmp_path, "<BOOL>UINT8</BOOL><STRING>STRING</STRING><CLASS>CLASS</CLASS>"))
    assert parse_type("BOOL", found) == types.UINT8
    assert parse_type("BOOL") == types.BOOL
    assert parse_type("STRING", found) == types.STRING
    assert parse_type("CLASS", found) == RecordType(())


def test_alias_ext_adds_and_replaces(tmp_path):
    write(tmp_path, "<A>UINT8</A><B>A</B>", "<A>UINT16</A><C>B</C>")
    assert load_tree(tmp_path).warnings == []
    assert load_aliases(tmp_path)["C"] == types.UINT16


def test_an_alias_declared_twice_in_one_file(tmp_path):
    loaded = load_tree(write(tmp_path, "<A>UINT8</A>\n<A>UINT16</A>"))
    assert [(each.line, each.kind) for each in loaded.warnings] == [(2, "duplicate alias")]
    assert load_aliases(tmp_path)["A"] == types.UINT16


def test_ring_through_a_record_is_reported_once_and_not_for_its_users(tmp_path):
    alias = "<USER>NODE</USER>\n<NODE>FIXED_DICT<Properties><next><Type>NODES</Type></next></Properties></NODE>\n"
    loaded = load_tree(write(tmp_path, alias + "<NODES>ARRAY<of>NODE</of></NODES><FINE>UINT8</FINE>"))
    assert [(each.line, each.kind) for each in loaded.errors] == [(2, "circular alias")]
    assert list(load_aliases(tmp_path)) == ["FINE"]


def test_a_broken_alias_file_does_not_make_every_type_unknown(tmp_path):
    barrel = "<root><Properties><a><Type>COIN</Type><Flags>BASE</Flags></a></Properties></root>"
    loaded = load_tree(write(tmp_path, "<COIN>UINT8</GOLD>", barrel=barrel))
    assert [(each.file, each.kind) for each in loaded.errors] == [("entity_defs/alias.xml", "malformed XML")]
    assert loaded.schema["Barrel"].properties == ()


def test_a_default_in_an_alias(tmp_path):
    found = load_aliases(
        write(tmp_path, "<HP>UINT8<Default>7</Default></HP><LIFE>HP</LIFE><MUCH>HP<Default>9</Default></MUCH>")
    )
    assert [found[name].default() for name in ("HP", "LIFE", "MUCH")] == [7, 7, 9]
    loaded = load_tree(write(tmp_path, "<HP>UINT8\n<Default>700</Default></HP>"))
    assert [(each.line, each.kind) for each in loaded.errors] == [(2, "bad default")]
    assert load_aliases(tmp_path)["HP"].default() == 0


# --- the content of sections ----------------------------------------------------------------------


def test_records():
    found = parse_type(
        "FIXED_DICT<Properties><a><Type>UINT8</Type><Default>3</Default><Persistent>false</Persistent></a>"
        "<b><Type>STRING</Type><DatabaseLength>20</DatabaseLength></b></Properties>"
        "<AllowNone> TRUE </AllowNone><implementedBy> Bags.bag </implementedBy><TypeName>Bag</TypeName>"
    )
    fields = (
        Field("a", types.UINT8, persistent=False, default=3),
        Field("b", types.STRING, database_length=20),
    )
    assert found == RecordType(fields, allow_none=True)
    assert isinstance(found, RecordType)
    assert found.implemented_by == "Bags.bag"
    assert parse_type("CLASS<AllowNone>1</AllowNone>").default() is not None


def test_fields_for_fewer_receivers(tmp_path):
    section = "FIXED_DICT<Properties><a><Type>UINT8</Type></a><b><Type>UINT8</Type>{}</b></Properties>"
    found = parse_type(section.format("<Flags> OWN_CLIENT </Flags>"))
    assert found == RecordType((Field("a", types.UINT8), Field("b", types.UINT8, to=Flags.OWN_CLIENT)))
    assert parse_type(found.spell()) == found
    assert parse_type(section.format("<Flags/>")) == parse_type(section.format(""))
    for wrong in ("OWN", "EDITOR_ONLY"):
        assert kinds(section.format(f"<Flags>{wrong}</Flags>")) == ["unknown flag"]


def test_a_mailbox_or_python_in_a_field_that_no_client_gets_is_no_mistake(tmp_path):
    inside = "".join(f"<{name}><Type>{name}</Type><Flags>{{}}</Flags></{name}>" for name in ("MAILBOX", "PYTHON"))
    alias = f"<DEAL>FIXED_DICT<Properties><a><Type>UINT8</Type></a>{inside}</Properties></DEAL>"
    barrel = (
        "<root><Properties><deal><Type>DEAL</Type><Flags>ALL_CLIENTS</Flags></deal></Properties>"
        "<ClientMethods><on_deal><Arg>DEAL</Arg></on_deal></ClientMethods></root>"
    )
    loaded = load_tree(write(tmp_path, alias.format("CELL_PUBLIC", "BASE"), barrel=barrel))
    assert loaded.errors == []
    assert [each.kind for each in loaded.warnings] == ["mailbox in client data", "whole record in client call"]
    loaded = load_tree(write(tmp_path, alias.format("OWN_CLIENT", "BASE"), barrel=barrel))
    assert [each.kind for each in loaded.errors] == ["mailbox in client data"]


def test_a_record_may_redefine_a_field_of_its_parent(tmp_path):
    one = "<{0}>FIXED_DICT{1}<Properties>{2}</Properties></{0}>"
    base = one.format("BASE", "", "<a><Type>UINT8</Type></a><b><Type>UINT8</Type></b>")
    heir = one.format("HEIR", "<Parent> BASE </Parent>", "<c><Type>INT8</Type></c><a><Type>STRING</Type></a>")
    found = load_aliases(write(tmp_path, heir + base))["HEIR"]
    assert isinstance(found, RecordType)
    assert [(each.name, each.type.spell()) for each in found.fields] == [
        ("a", "STRING"),
        ("b", "UINT8"),
        ("c", "INT8"),
    ]


def test_sequences():
    assert parse_type("ARRAY<of>UINT8</of><persistAsBlob>true</persistAsBlob>") == SequenceType(
        types.UINT8, persist_as_blob=True
    )
    assert parse_type("TUPLE<size>0</size><of>UINT8</of>") == SequenceType(types.UINT8, 0, is_tuple=True)


def test_classes_come_from_the_caller_and_nothing_is_imported():
    class Bag(UserValue):
        pass

    text = "USER_TYPE<Type>NOT_LOOKED_AT</Type><implementedBy>os.system</implementedBy>"
    assert parse_type(text) == UserType("os.system", None)
    found = parse_type(text, classes={"os.system": Bag})
    assert isinstance(found, UserType)
    assert found.value_class is Bag
    record = parse_type("FIXED_DICT<implementedBy>m.c</implementedBy>", classes={"m.c": Bag})
    assert isinstance(record, RecordType)
    assert record.record_class is Bag


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "missing type"),
        ("<of>UINT8</of>", "missing type"),
        ("</Type>", "malformed XML"),
        ("UINT", "unknown type"),
        ("ARRAY<of/>", "array without of"),
        ("ARRAY<of>ARRAY</of>", "array without of"),
        ("ARRAY<of>UINT8</of><size>many</size>", "bad size"),
        ("ARRAY<of>UINT8</of><size/>", "bad size"),
        ("ARRAY<of>UINT8</of><size>16777216</size>", "bad size"),
        ("USER_TYPE", "user type without implementedBy"),
        ("FIXED_DICT<Parent>UINT8</Parent>", "bad parent type"),
        ("FIXED_DICT<Properties><a/></Properties>", "field without type"),
        ("FIXED_DICT<Properties><a.b><Type>UINT8</Type></a.b></Properties>", "bad name"),
        ("TUPLE<of>FIXED_DICT</of>", "empty element type"),
        ("ARRAY<of>ARRAY<of>STRING</of><size>0</size></of>", "empty element type"),
        ("ARRAY<of>TUPLE<of>FIXED_DICT</of><size>2</size></of>", "empty element type"),
        ("ARRAY<of>ARRAY<of>UINT8</of><size>2000</size></of><size>2000</size>", "type too large"),
    ],
)
def test_wrong_sections(text, kind):
    assert kinds(text)[0] == kind


@pytest.mark.parametrize(
    "text",
    [
        "ARRAY<of>FIXED_DICT<AllowNone>true</AllowNone></of>",
        "ARRAY<of>FIXED_DICT</of><size>2</size>",
        "ARRAY<of>ARRAY<of>STRING</of></of>",
    ],
)
def test_elements_that_take_a_byte_or_are_counted_beforehand(text):
    parse_type(text)


def nested(depth: int) -> str:
    return "ARRAY<of>" * (depth - 1) + "UINT8" + "</of>" * (depth - 1)


def test_types_have_a_greatest_depth():
    assert parse_type(nested(64)).sort_size == types.VARIABLE
    assert kinds(nested(65)) == ["type nested too deeply"]
    assert kinds(nested(250)) == ["type nested too deeply"]
    # Also when the depth comes from an alias that is itself within the limit.
    assert kinds("ARRAY<of>A</of>", {"A": parse_type(nested(64))}) == ["type nested too deeply"]


def test_records_that_double_are_stopped(tmp_path):
    alias = "<T0>UINT8</T0>" + "".join(
        f"<T{n + 1}>FIXED_DICT<Properties><a><Type>T{n}</Type></a><b><Type>T{n}</Type></b></Properties></T{n + 1}>"
        for n in range(60)
    )
    loaded = load_tree(write(tmp_path, alias))
    assert [each.kind for each in loaded.errors] == ["type too large"]


# --- defaults -------------------------------------------------------------------------------------

PAIR = "FIXED_DICT<Properties><a><Type>UINT8</Type><Default>5</Default></a><b><Type>WORDS</Type></b></Properties>"
WORDS = SequenceType(types.UNICODE_STRING, alias="WORDS")


def default_of(text: str, default: str) -> Any:
    found = parse_type(f"{text}<Default>{default}</Default>", {"WORDS": WORDS})
    assert replace(found, preset=None) == parse_type(text, {"WORDS": WORDS})
    return found.preset


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("UINT8", "\t12 ", 12),
        ("UINT8", "true", 1),
        ("INT8", "-0x10", -16),
        ("INT8", "3.0", 3),
        ("INT8", "007", 7),
        ("UINT8", "", None),
        ("BOOL", "True", True),
        ("FLOAT", "-.5", -0.5),
        ("VECTOR2", "1, -2", (1.0, -2.0)),
        ("STRING", "a b", b"a b"),
        ("STRING", "", b""),
        ("STRING", "é", "é".encode()),
        ("BLOB", "AQ\nID", b"\x01\x02\x03"),
        ("PYTHON", "{'a': [1, None, b'x']}", {"a": [1, None, b"x"]}),
        ("ARRAY<of>UINT8</of>", "<item>1</item><item/>", [1, 0]),
        ("ARRAY<of>UINT8</of>", "[]", []),
        ("ARRAY<of>UINT8</of><size>2</size>", "", None),
        ("ARRAY<of>WORDS</of>", "<item><item>x</item></item><item/>", [["x"], []]),
        (PAIR, "", None),
        (PAIR, "<b><item>x</item></b>", {"a": 5, "b": ["x"]}),
        (PAIR, "<a>9</a>", {"a": 9, "b": []}),
        ("MAILBOX", "whatever", None),
        ("USER_TYPE<implementedBy>m.c</implementedBy>", "whatever", None),
        (
            "FIXED_DICT<Properties><a><Type>UINT8</Type></a></Properties><AllowNone>true</AllowNone>",
            "None",
            None,
        ),
    ],
)
def test_defaults(text, default, expected):
    assert default_of(text, default) == expected


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("UINT8", "-1"),
        ("UINT8", "1.5"),
        ("UINT8", "0xZZ"),
        ("UINT8", "9" * 5000),
        ("BOOL", "2"),
        ("FLOAT", "warm"),
        ("FLOAT", "1 2"),
        ("VECTOR3", "1 2"),
        ("BLOB", "not base64"),
        ("PYTHON", "__import__('os')"),
        ("PYTHON", "(" * 1000),
        ("ARRAY<of>UINT8</of>", "1 2 3"),
        ("ARRAY<of>UINT8</of>", "<item>1</item><entry>2</entry>"),
        ("ARRAY<of>UINT8</of><size>2</size>", "<item>1</item>"),
        ("ARRAY<of>UINT8</of>", "<item>256</item>"),
        ("FIXED_DICT<Properties><a><Type>UINT8</Type></a></Properties>", "<b>1</b>"),
        ("FIXED_DICT<Properties><a><Type>UINT8</Type></a></Properties>", "1"),
    ],
)
def test_wrong_defaults_are_reported_at_their_line_and_left_out(tmp_path, text, default):
    inside = f"<Type>{text}</Type><Flags>BASE</Flags>\n<Default>{default}</Default>"
    barrel = f"<root><Properties>\n<a>{inside}</a></Properties></root>"
    loaded = load_tree(write(tmp_path, barrel=barrel))
    assert [(each.line, each.kind) for each in loaded.errors] == [(3, "bad default")]
    assert loaded.schema["Barrel"].properties[0].default is None


def test_a_default_around_a_value_of_the_games_own_class_is_passed_over(tmp_path):
    class Bag(UserValue):
        pass

    text = (
        "FIXED_DICT<Properties><a><Type>UINT8</Type></a>"
        "<bag><Type>USER_TYPE<implementedBy>m.c</implementedBy></Type></bag></Properties>"
    )
    inside = f"<Type>{text}</Type><Flags>BASE</Flags><Default><a>1</a></Default>"
    barrel = f"<root><Properties><a>{inside}</a></Properties></root>"
    loaded = load_tree(write(tmp_path, barrel=barrel), classes={"m.c": Bag})
    assert loaded.errors == []
    assert [each.kind for each in loaded.warnings] == ["default passed over"]
    assert load_tree(tmp_path).schema["Barrel"].properties[0].default == {"a": 1, "bag": b""}


# --- any bytes at all -----------------------------------------------------------------------------

SEEDS = [(GOLDEN / "defs/entity_defs" / name).read_bytes() for name in ("Traveller.def", "Lantern.def", "alias.xml")]
WORDS_OF_FILES = sorted({word for seed in SEEDS for word in seed.replace(b"<", b" <").replace(b">", b"> ").split()})


@st.composite
def broken_files(draw) -> bytes:
    """A good file with a few places overwritten by words of good files or by any bytes."""
    content = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.integers(0, 40))
        content[at : at + length] = draw(st.sampled_from(WORDS_OF_FILES) | st.binary(max_size=4))
    return bytes(content)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=broken_files())
def test_no_file_makes_the_loader_raise(tmp_path, content):
    write(tmp_path)
    for name in ("entity_defs/Barrel.def", "entity_defs/alias.xml", "entities.xml"):
        (tmp_path / name).write_bytes(content)
        loaded = load_tree(tmp_path)
        for entity in loaded.schema.entities:
            for each in entity.properties:
                each.new_default()


def test_a_type_with_an_entity_reference_is_refused():
    assert kinds("&a;") == ["malformed XML"]
