"""docs/base.md names everything that a base part can do, and nothing that it cannot; its listings are Python."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from terrazzo.base.api import Base, Proxy

TEXT = (Path(__file__).parent.parent.parent / "docs" / "base.md").read_text()
NAMES = {name for each in (Base, Proxy) for name in vars(each) if not name.startswith("_")}
FIRST_CELLS = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("|")]
LISTED = {name for cell in FIRST_CELLS for name in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_has_a_row(name):
    assert name in LISTED, f"docs/base.md has no row for {name}"


def test_no_row_is_about_something_else():
    assert not LISTED - NAMES


def test_the_listings_are_python():
    listings = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert listings
    for listing in listings:
        ast.parse(textwrap.dedent(listing))
