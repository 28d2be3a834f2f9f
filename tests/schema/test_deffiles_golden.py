"""The golden definition trees: every order of the good one, the one mistake of each bad one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from terrazzo.schema.deffiles import load_aliases, load_tree, parse_type
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import (
    ALWAYS,
    Compression,
    DetailLevel,
    EntitySchema,
    Index,
    Method,
    Property,
    Side,
    Volatile,
)

GOLDEN = Path(__file__).parent.parent / "golden"
EXPECTED = json.loads((GOLDEN / "expected_indexes.json").read_text(encoding="utf-8"))
BAD = json.loads((GOLDEN / "bad_defs" / "expected.json").read_text(encoding="utf-8"))
VALUE_TYPES = sorted({each["type"] for each in json.loads((GOLDEN / "golden_values.json").read_text())})
EITHER_LINE = {"05_circular_alias": {2, 3, 4}, "16_volatile_yaw_below_pitch": {10, 11}}


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_tree(GOLDEN / "defs")


@pytest.fixture(params=EXPECTED["entities"])
def pair(request, loaded: Loaded) -> tuple[EntitySchema, dict[str, Any]]:
    """An entity type as it was read, and what is expected of it."""
    return loaded.schema[request.param], EXPECTED["entities"][request.param]


def names(things) -> list[str]:
    return [each.name for each in things]


def method_row(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "args": [each.type.spell() for each in method.args],
        "sort_size": method.sort_size,
        "header_size": method.header_size,
    }


def property_rows(properties: Iterable[Property]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "type": each.type.spell(),
            "flags": each.flags.name,
            "sort_size": each.type.sort_size,
            "header_size": each.header_size,
        }
        for each in properties
    ]


def only(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return [{key: row[key] for key in keys} for row in rows]


def test_no_errors_and_exactly_the_expected_warnings(loaded):
    assert loaded.errors == []
    found = [{"file": each.file, "line": each.line, "tag": each.tag, "kind": each.kind} for each in loaded.warnings]
    assert found == EXPECTED["warnings"]


def test_type_ids_follow_the_list(loaded):
    assert {each.name: each.type_id for each in loaded.schema.entities} == {
        name: each["type_id"] for name, each in EXPECTED["entities"].items()
    }


def test_declared_properties(pair):
    entity, expected = pair
    assert property_rows(entity.properties) == expected["declared_properties"]
    assert entity.on_client is expected["client_server"]


def test_client_properties(pair):
    entity, expected = pair
    keys = ("name", "type", "sort_size", "flags")
    assert only(property_rows(entity.client_properties), *keys) == only(expected["client_properties"], *keys)


@pytest.mark.parametrize(
    ("side", "key"),
    [
        (Side.CLIENT, "client_methods"),
        (Side.CELL, "exposed_cell_methods"),
        (Side.BASE, "exposed_base_methods"),
    ],
)
def test_exposed_methods(pair, side, key):
    entity, expected = pair
    found = [method_row(each) for each in entity.exposed(side)]
    assert found == only(expected[key], "name", "args", "sort_size", "header_size")
    if side is not Side.CLIENT:
        assert [each.exposed.name for each in entity.exposed(side)] == [each["exposed"] for each in expected[key]]


def test_orders_inside_the_server(pair):
    entity, expected = pair
    assert names(entity.base_player_properties) == expected["base_player_properties"]
    assert names(entity.cell_player_properties) == expected["cell_player_properties"]
    assert names(entity.cell_properties) == expected["cell_properties_ghosted_first"]
    assert names(entity.client_methods) == expected["internal_client_methods"]
    assert names(entity.cell_methods) == expected["internal_cell_methods"]
    assert names(entity.base_methods) == expected["internal_base_methods"]


def test_the_other_sections(loaded):
    traveller, creature, caravan = (loaded.schema[name] for name in ("Traveller", "Creature", "Caravan"))
    assert traveller.compression == Compression(internal=0, external=3)
    assert traveller.detail_levels == (
        DetailLevel("NEAR", 25.0, 5.0),
        DetailLevel("MIDDLE", 120.0, 12.5),
        DetailLevel("FAR", 400.0, 10.0),
    )
    assert traveller.temp_properties == ("pathTimer",)
    assert creature.volatile == Volatile(position=ALWAYS, yaw=ALWAYS, pitch=60.0, roll=20.5)
    assert creature.appeal_radius == 15.5
    # A Volatile section replaces the parent's as a whole; a missing one is the parent's.
    assert loaded.schema["Townsfolk"].volatile == Volatile(position=250.0, yaw=80.0)
    assert loaded.schema["Townsfolk"].appeal_radius == 15.5
    assert caravan.is_manual_aoi
    assert caravan.detailed_volatile_position


def test_golden_properties_and_methods_are_as_declared(loaded):
    traveller = loaded.schema["Traveller"]
    by_name = {each.name: each for each in traveller.properties}
    assert by_name["displayName"].identifier
    assert by_name["displayName"].database_length == 48
    assert by_name["titleId"].editable
    assert by_name["guildId"].indexed is Index.INDEXED
    assert by_name["wetness"].detail_level == "NEAR"
    assert by_name["wetness"].send_latest_only
    assert not by_name["wetness"].is_reliable
    assert by_name["isResting"].exposed_for_replay is True
    assert by_name["titleId"].exposed_for_replay is None
    audit = next(each for each in traveller.base_methods if each.name == "auditPurse")
    assert [(each.name, each.type.spell()) for each in audit.returns] == [
        ("balance", "INT64"),
        ("isClean", "BOOL"),
    ]
    result = next(each for each in traveller.client_methods if each.name == "onHaggleResult")
    assert result.detail_distance == 40.0


def test_defaults(loaded):
    lantern = {each.name: each for each in loaded.schema["Lantern"].properties}
    plain = {name: each.default for name, each in lantern.items() if each.default is not None}
    assert plain["lampInt64"] == -6400000000
    assert plain["lampVector4"] == (0, 0.5, 1, -1)
    assert plain["lampString"] == b"wick"
    assert plain["lampUnicodeString"] == "фитиль"
    assert plain["lampBlob"] == b"oil"
    assert plain["lampPython"] == {"oil": 3}
    assert plain["lampDice"] == [4, -4]
    assert lantern["lampDice"].new_default() == (4, -4)
    merchant = {each.name: each for each in loaded.schema["Merchant"].properties}
    assert merchant["weights"].default == {"gross": 2.5, "tare": 0.5}
    assert loaded.schema["Traveller"].properties[20].default == 0  # isResting: false, of a UINT8


@pytest.mark.parametrize("text", VALUE_TYPES)
def test_types_are_spelled_as_they_were_written(text):
    found = parse_type(text, load_aliases(GOLDEN / "defs"))
    assert found.spell() == text.replace("<AllowNone>false</AllowNone>", "")


@pytest.mark.parametrize("case", BAD, ids=lambda case: case["case"])
def test_one_mistake_is_one_error(case):
    loaded = load_tree(GOLDEN / "bad_defs" / case["case"])
    assert [(each.file, each.kind) for each in loaded.errors] == [(case["file"], case["kind"])]
    assert loaded.errors[0].line in EITHER_LINE.get(case["case"], {case["line"]})
    assert loaded.warnings == []
