"""The golden tree through `terrazzo defs --json`: every number that client and server use, as expected."""

import pytest
from click.testing import CliRunner

from terrazzo.cli.main import main
from tests.schema.golden import GOLDEN, read

EXPECTED = read("expected_indexes.json")


@pytest.fixture(scope="module")
def listed():
    import json

    result = CliRunner().invoke(main, ["defs", str(GOLDEN / "defs"), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_object_has_its_four_parts(listed):
    assert set(listed) == {"entities", "digest", "errors", "warnings"}
    assert listed["errors"] == []
    assert list(listed["entities"]) == list(EXPECTED["entities"])


def test_unknown_tags_are_read_past_with_a_warning(listed):
    found = [{key: each[key] for key in ("file", "line", "tag", "kind")} for each in listed["warnings"]]
    assert sorted(found, key=str) == sorted(EXPECTED["warnings"], key=str)


@pytest.mark.parametrize("name", EXPECTED["entities"])
def test_entity(listed, name):
    ours, golden = listed["entities"][name], EXPECTED["entities"][name]
    assert ours["type_id"] == golden["type_id"]
    assert ours["client_server"] == golden["client_server"]
    for key in (
        "base_player_properties", "cell_player_properties", "cell_properties_ghosted_first",
        "internal_client_methods", "internal_cell_methods", "internal_base_methods",
    ):  # fmt: skip
        assert ours[key] == golden[key], key
    declared = ("name", "type", "flags")
    numbered = (*declared, "index", "message_id")
    for key, golden_key, same in (
        ("properties", "declared_properties", declared),
        ("client_properties", "client_properties", numbered),
    ):
        assert [[p[k] for k in same] for p in ours[key]] == [[p[k] for k in same] for p in golden[golden_key]]
        assert [p["size"] for p in ours[key]] == [p["sort_size"] for p in golden[golden_key]]
    for key in ("client_methods", "exposed_cell_methods", "exposed_base_methods"):
        signature = ("index", "name", "args", "header_size", "message_id", "sub_id")
        assert [[m[k] for k in signature] for m in ours[key]] == [[m[k] for k in signature] for m in golden[key]], key
        assert [m["size"] for m in ours[key]] == [m["sort_size"] for m in golden[key]]
        for mine, theirs in zip(ours[key], golden[key], strict=True):
            assert "exposed" not in theirs or mine["exposed"] == theirs["exposed"]


@pytest.mark.parametrize("case", read("bad_defs/expected.json"), ids=lambda case: case["case"])
def test_a_bad_tree_gives_its_one_error(case):
    import json

    result = CliRunner().invoke(main, ["check", str(GOLDEN / "bad_defs" / case["case"]), "--json"])
    assert result.exit_code == 1
    [error] = json.loads(result.output)["errors"]
    assert (error["file"], error["kind"]) == (case["file"], case["kind"])
    if "may be named" not in case["words"]:
        assert error["line"] == case["line"]
    for_people = CliRunner().invoke(main, ["check", str(GOLDEN / "bad_defs" / case["case"])])
    assert for_people.exit_code == 1
    assert f"{error['file']}:{error['line']}: {case['kind']}:" in for_people.output
