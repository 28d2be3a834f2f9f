"""Docstrings, comments and pages keep to plain sentences: subjects have names, and machines send, store and drop.

A bound is a number of words per thousand: of those that hide a subject ("who", "nobody"), and of verbs of speech and
knowledge ("tells", "knows"). `python -m tests.tools.prose PACKAGE` lists them with their places. Bounds never rise.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import pytest

from tests.tools import prose

PLAIN = {"who": 0.5, "speech": 2.0}
"""What h11 and zeroconf have (0.2 to 0.3, and 0.1 to 1.5). A package that has more has a row of its own below."""

BOUNDS: dict[str, dict[str, float]] = {
    "_speed": {"who": 8.0, "speech": 13.7},
    "base": {"who": 0.9, "speech": 2.5},
    "bench": {"who": 7.8, "speech": 8.9},
    "cell/client": {"who": 1.0, "speech": 2.0},
    "client": {"who": 0.5, "speech": 10.8},
    "db": {"who": 0.9, "speech": 2.0},
    "runtime": {"who": 1.5, "speech": 4.9},
    "sync": {"who": 0.6, "speech": 2.0},
    "sync/view": {"who": 11.1, "speech": 13.8},
    "tests": {"who": 8.2, "speech": 12.3},
    "tests/base": {"who": 12.5, "speech": 22.8},
    "tests/bench": {"who": 5.7, "speech": 22.7},
    "tests/cell": {"who": 13.1, "speech": 16.8},
    "tests/cli": {"who": 0.5, "speech": 22.3},
    "tests/client": {"who": 1.9, "speech": 27.2},
    "tests/cluster": {"who": 0.5, "speech": 10.4},
    "tests/console": {"who": 28.0, "speech": 2.0},
    "tests/db": {"who": 11.2, "speech": 6.7},
    "tests/docs": {"who": 11.3, "speech": 3.8},
    "tests/examples": {"who": 24.8, "speech": 2.0},
    "tests/login": {"who": 12.2, "speech": 6.2},
    "tests/managers": {"who": 20.1, "speech": 22.1},
    "tests/runtime": {"who": 6.6, "speech": 23.2},
    "tests/schema": {"who": 0.5, "speech": 8.9},
    "tests/sim": {"who": 2.4, "speech": 9.1},
    "tests/speed": {"who": 9.6, "speech": 17.5},
    "tests/sync": {"who": 7.8, "speech": 34.6},
    "tests/web": {"who": 5.0, "speech": 10.0},
    "tests/wire": {"who": 8.1, "speech": 17.6},
    "wire": {"who": 4.4, "speech": 7.6},
    "wire/client": {"who": 3.0, "speech": 5.8},
    "wire/entity": {"who": 1.2, "speech": 2.0},
    "wire/pairs": {"who": 7.1, "speech": 12.9},
}


@functools.cache
def table() -> dict[str, prose.Row]:
    return prose.rows(prose.files())


def allowed(words: int, bound: float) -> int:
    """How many places a package of so many words may have; a small one may have one."""
    return max(1, math.floor(words * bound / 1000))


@pytest.mark.parametrize("kind", sorted(prose.KINDS))
@pytest.mark.parametrize("package", sorted({prose.package_of(path) for path in prose.files()}))
def test_package_keeps_to_plain_sentences(package, kind):
    row = table()[package]
    places = [each for each in row.places if each.kind == kind]
    most = allowed(row.words, BOUNDS.get(package, PLAIN)[kind])
    shown = "\n".join(f"  {each}" for each in places[:20])
    assert len(places) <= most, (
        f"{package}: {len(places)} words of the kind {kind!r}, at most {most} of {row.words} may be. Name the subject, "
        f"and write what is sent, stored or dropped (`python -m tests.tools.prose {package}` has all):\n{shown}"
    )


def test_every_bound_is_of_a_package_and_above_the_common_one():
    for package, bounds in BOUNDS.items():
        assert package in table()
        assert all(bounds[kind] >= PLAIN[kind] for kind in PLAIN)
        assert bounds != PLAIN


def test_words_are_found_in_docstrings_and_comments(tmp_path):
    source = tmp_path / "sample.py"
    source.write_text('"""Nobody `tells` it."""\n\nTOLD = "it says"  # whose\n\n\ndef f():\n    """It\n    knows."""\n')
    assert [(line, text) for line, text in prose.python_prose(source.read_text())] == [
        (1, "Nobody `tells` it."),
        (3, "whose"),
        (7, "It"),
        (8, "    knows."),
    ]


def test_words_are_found_in_scripts_and_pages():
    assert list(prose.script_prose('let a = "// told"; // says\n/* who\nknows */\n')) == [
        (1, "says"),
        (2, "who"),
        (3, "knows"),
    ]
    page = "Whose [a](who.md) is\n```\ntold\n```\n    said\nend\n"
    assert list(prose.page_prose(page)) == [(1, "Whose [a] is"), (6, "end")]


def test_code_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    source = tmp_path / "sample.py"
    source.write_text('"""The field `who` of a message that nobody tells."""\n')
    words, places = prose.places_in(Path(source))
    assert words == 8
    assert [(each.line, each.kind, each.word) for each in places] == [(1, "who", "nobody"), (1, "speech", "tells")]
