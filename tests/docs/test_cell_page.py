"""docs/cell.md names everything that a cell part can do, and nothing that it cannot; its listings are Python."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from terrazzo import errors
from terrazzo.cell.api.cell import Cell
from terrazzo.cell.core.hooks import HOOKS
from terrazzo.schema.classes import parts

TEXT = (Path(__file__).parent.parent.parent / "docs" / "cell.md").read_text()
NAMES = {
    name for each in Cell.__mro__ if each not in parts.Cell.__mro__ for name in vars(each) if not name.startswith("_")
}
FIRST_CELLS = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("|")]
LISTED = {name for cell in FIRST_CELLS for name in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_has_a_row(name):
    assert name in LISTED, f"docs/cell.md has no row for {name}"


def test_no_row_is_about_something_else():
    problems = {name for name, each in vars(errors).items() if isinstance(each, type)}
    assert LISTED - NAMES - problems == set()


def test_the_list_is_the_whole_api():
    assert HOOKS <= NAMES
    assert {"id", "me", "ref", "timer", "entities_in_range", "teleport", "on_timer"} <= NAMES


def test_the_listings_are_python():
    listings = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(listings) == 2
    for listing in listings:
        ast.parse(textwrap.dedent(listing))
