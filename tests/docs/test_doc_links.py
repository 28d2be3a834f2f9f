"""The pages lead somewhere: every link, with its anchor, and every file of the repository that is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / path)
        assert there.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_files_that_are_named(page):
    for name in re.findall(r"`(\w+/[\w./*-]+\.(?:py|pyx|js|md))`", page.read_text()):
        if not name.startswith("garden/"):  # which the tutorial makes
            there = [*ROOT.glob(name), *(ROOT / "src").glob(name), *(ROOT / "src" / "terrazzo").glob(name)]
            assert there, f"{page.name} names {name}"


def test_anchors_are_those_of_the_headings():
    assert "how-large-things-may-be" in anchors(ROOT / "docs" / "cell.md")
    assert "nothing" not in anchors(ROOT / "docs" / "cell.md")
