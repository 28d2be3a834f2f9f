"""docs/settings.md and docs/definitions.md have every setting with its default."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import MISSING, fields
from pathlib import Path

import click
import pytest

from terrazzo.cli.run import bots, run
from terrazzo.game import Game, Space
from terrazzo.runtime.config import DEFAULT_TOML
from terrazzo.schema.classes.declare import SETTINGS, Declaration, PropertyOptions
from terrazzo.schema.classes.parts import RemoteOptions
from terrazzo.schema.load import load

DOCS = Path(__file__).parent.parent.parent / "docs"
SETTINGS_PAGE = (DOCS / "settings.md").read_text()
DEFINITIONS_PAGE = (DOCS / "definitions.md").read_text()


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the one table with this first heading."""
    lines = page.splitlines()
    [begin] = [number for number, line in enumerate(lines) if line.startswith(f"| {head} |")]
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([each.strip() for each in line.strip("|").split("|")])
    return rows


def named(rows: list[list[str]]) -> list[str]:
    """What the first cells name, in order."""
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]


@pytest.mark.parametrize("declared", [Game, Space], ids=lambda each: each.__name__)
def test_settings_of_a_game_have_their_defaults(declared):
    said = {row[0]: row[1] for row in table(SETTINGS_PAGE, f"of `{declared.__name__}`")}
    there = {f"`{e.name}`": "" if e.default is MISSING else f"`{e.default!r}`" for e in fields(declared)}
    assert said == there


def test_the_settings_file_is_the_one_that_is_printed():
    assert f"```toml\n{DEFAULT_TOML}```\n" in SETTINGS_PAGE


@pytest.mark.parametrize("command", [run, bots], ids=lambda each: each.name)
def test_the_options_of_a_command(command):
    options = [param for param in command.params if isinstance(param, click.Option)]
    there = {name for each in options for name in (*each.opts, *each.secondary_opts)}
    assert set(named(table(SETTINGS_PAGE, f"option of `terrazzo {command.name}`"))) == there


def test_settings_of_a_type_are_listed_with_their_defaults():
    rows = table(DEFINITIONS_PAGE, "setting")
    assert sorted(named(rows)) == sorted(SETTINGS)
    for name, default, _ in rows:
        if default:
            value = getattr(Declaration, name.strip("`"))
            assert default.strip("`") == (f"{type(value).__name__}()" if name == "`volatile`" else repr(value))


def test_the_options_of_properties_and_methods():
    for head, options in (("`prop`", PropertyOptions), ("`@remote` and `@exposed`", RemoteOptions)):
        assert named(table(DEFINITIONS_PAGE, f"option of {head}")) == [each.name for each in fields(options)]


def test_the_listings_are_python():
    listings = re.findall(r"^```python\n(.*?)^```$", SETTINGS_PAGE + DEFINITIONS_PAGE, re.MULTILINE | re.DOTALL)
    assert len(listings) >= 5
    for listing in listings:
        ast.parse(textwrap.dedent(listing))


def test_component_listing_of_the_page_loads_as_described(tmp_path):
    [listing] = re.findall(r"^```python\n(class Health\(ComponentType\).*?)^```$", DEFINITIONS_PAGE, re.M | re.S)
    (tmp_path / "beasts.py").write_text(f"from terrazzo import *\n\n\n{listing}")
    wolf = load(tmp_path / "beasts.py").checked()["Wolf"]
    assert [each.name for each in wolf.properties] == ["health.hp", "collar.hp"]
    assert [(each.component, each.name) for each in wolf.cell_methods] == [("health", "heal"), ("collar", "heal")]
