"""What docstrings and comments refer to is there: files of the repository, and races by their number."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
KERNELS = sorted((ROOT / "src").rglob("*.pyx"))
SCRIPTS = sorted((ROOT / "clients").rglob("*.js"))
PAGES = sorted((ROOT / "docs").glob("*.md"))

RACES = set(map(int, re.findall(r"^\*\*(\d+)\. ", (ROOT / "docs" / "races.md").read_text(), re.MULTILINE)))
OWN = ("garden/", "game/", "plaza/")
"""Folders of games that docs and tests make or speak of."""


def files_named(text: str) -> set[str]:
    """Paths with a folder, in backticks."""
    return set(re.findall(r"`((?:\w+/)+[\w.*-]+\.(?:py|pyx|pxd|js|md|json))`", text))


def races_named(text: str) -> set[int]:
    """Numbers of races: "race 4", "races 7, 11, 16", "races 7 to 14", `test_race_04_…`."""
    found: set[int] = set()
    for words in re.findall(r"\braces? ((?:\d+(?:, | and | to |-)?)+)", text, re.IGNORECASE):
        found |= set(map(int, re.findall(r"\d+", words)))
    return found | set(map(int, re.findall(r"test_race_(\d+)_", text)))


@pytest.mark.parametrize("path", [*SOURCES, *KERNELS, *SCRIPTS], ids=lambda each: str(each.relative_to(ROOT)))
def test_file_that_is_named_exists(path):
    places = (ROOT, ROOT / "src", ROOT / "src" / "terrazzo", path.parent)
    for name in files_named(path.read_text()):
        if not name.startswith(OWN) and path != Path(__file__):
            is_there = any(list(place.glob(name)) for place in places)
            assert is_there, f"{path.relative_to(ROOT)} names {name}, which does not exist"


@pytest.mark.parametrize("path", [*SOURCES, *KERNELS, *PAGES], ids=lambda each: str(each.relative_to(ROOT)))
def test_race_that_is_named_is_in_the_list(path):
    unknown = races_named(path.read_text()) - RACES
    assert not unknown, f"{path.relative_to(ROOT)} names races {sorted(unknown)}, which docs/races.md has not"


def test_races_are_numbered_without_gaps():
    assert set(range(1, max(RACES) + 1)) == RACES


def test_the_check_sees_what_it_should():
    assert races_named("(races 7, 11 and 16), races 1 to 3, def test_race_04_x") == {1, 3, 4, 7, 11, 16}
    assert files_named("see `cell/no_such.py` and `docs/races.md`") == {"cell/no_such.py", "docs/races.md"}
