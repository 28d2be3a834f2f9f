"""The schema as plain data: the golden numbers, every type, and nothing that only servers use."""

import json

import pytest

from terrazzo.schema.digest import digest
from terrazzo.schema.export import FORMAT, export_schema, export_type
from tests.client.town import AVATAR, SCHEMA
from tests.schema.golden import read, tree, type_of

EXPECTED = read("expected_indexes.json")["entities"]
EXPORTED = json.loads(json.dumps(export_schema(tree())))
BY_NAME = {each["name"]: each for each in EXPORTED["entities"]}


def test_head():
    assert EXPORTED["format"] == FORMAT
    assert EXPORTED["digest"] == digest(tree())


def test_server_only_types_are_not_exported():
    assert list(BY_NAME) == [name for name, each in EXPECTED.items() if each["client_server"]]
    assert len(BY_NAME) < len(EXPECTED)
    assert [each["name"] for each in export_schema(SCHEMA)["entities"]] == ["Avatar", "Creature"]


@pytest.mark.parametrize("name", BY_NAME)
def test_golden_numbers(name):
    ours, golden = BY_NAME[name], EXPECTED[name]
    assert ours["type_id"] == golden["type_id"]
    names = [each["name"] for each in ours["properties"]]
    assert names == [each["name"] for each in golden["client_properties"]]
    for mine, theirs in zip(ours["properties"], golden["client_properties"], strict=True):
        own_number = theirs["message_id"] if theirs["index"] < 97 else None
        assert mine["message_id"] == own_number
    assert [names[at] for at in ours["base_player"]] == golden["base_player_properties"]
    assert [names[at] for at in ours["cell_player"]] == golden["cell_player_properties"]
    sides = {"client_methods": "client_methods", "cell_methods": "exposed_cell_methods"}
    for key, golden_key in {**sides, "base_methods": "exposed_base_methods"}.items():
        same = ("name", "message_id", "sub_id")
        assert [[each[k] for k in same] for each in ours[key]] == [
            [each[k] for k in same] for each in golden[golden_key]
        ]
        assert [len(each["args"]) for each in ours[key]] == [len(each["args"]) for each in golden[golden_key]]


def test_some_methods_of_the_golden_tree_have_sub_ids():
    assert any(each["sub_id"] is not None for entity in BY_NAME.values() for each in entity["client_methods"])


def test_audience_and_default_of_properties():
    avatar = export_schema(SCHEMA)["entities"][0]
    told = {each["name"]: each for each in avatar["properties"]}
    seen = {name: (each["base"], each["own_client"], each["other_clients"]) for name, each in told.items()}
    assert seen["account"] == (True, True, False)
    assert seen["gold"] == (False, True, False)
    assert seen["mood"] == (False, False, True)
    assert seen["health"] == (False, True, True)
    assert told["health"]["default"] == "6400"
    for each in AVATAR.client_properties:
        assert each.codec.decode(bytes.fromhex(told[each.name]["default"])) == each.new_default()


def test_export_marks_methods_that_all_clients_may_call():
    avatar = export_schema(SCHEMA)["entities"][0]
    calls = {each["name"]: each for each in avatar["cell_methods"]}
    assert set(calls) == {"say", "poke", "wave"}
    assert {name for name, each in calls.items() if each["all_clients"]} == {"poke"}
    assert {name for name, each in calls.items() if not each["reliable"]} == {"wave"}
    assert [each["all_clients"] for each in avatar["base_methods"]] == [False]
    assert calls["say"]["args"] == [{"name": "words", "type": {"kind": "text"}}]


@pytest.mark.parametrize(
    ("spelled", "tree"),
    [
        ("INT16", {"kind": "int", "bits": 16, "signed": True}),
        ("UINT64", {"kind": "int", "bits": 64, "signed": False}),
        ("FLOAT64", {"kind": "float", "bits": 64}),
        ("VECTOR3", {"kind": "vector", "dimensions": 3}),
        ("UNICODE_STRING", {"kind": "text"}),
        ("BLOB", {"kind": "bytes"}),
        ("STRING", {"kind": "bytes"}),
        ("PYTHON", {"kind": "python"}),
        ("MAILBOX", {"kind": "ref"}),
        ("UDO_REF", {"kind": "guid"}),
        ("USER_TYPE<implementedBy>a.b</implementedBy>", {"kind": "user", "implemented_by": "a.b"}),
        (
            "ARRAY<of>UINT8</of><size>4</size>",
            {"kind": "array", "of": {"kind": "int", "bits": 8, "signed": False}, "size": 4},
        ),
        (
            "TUPLE<of>UINT8</of>",
            {"kind": "tuple", "of": {"kind": "int", "bits": 8, "signed": False}, "size": None},
        ),
        (
            "FIXED_DICT<Properties><a><Type>BLOB</Type></a></Properties><AllowNone>true</AllowNone>",
            {"kind": "record", "allow_none": True, "fields": [{"name": "a", "type": {"kind": "bytes"}}]},
        ),
    ],
)
def test_types(spelled, tree):
    assert export_type(type_of(spelled)) == tree
