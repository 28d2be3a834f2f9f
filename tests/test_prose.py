"""Docstrings, comments and pages keep to plain sentences: subjects have names, and machines send, store and drop.

A bound is a number of words per thousand: of those that hide a subject ("who", "nobody"), and of verbs of speech and
knowledge ("tells", "knows"). `python -m tests.tools.prose PACKAGE` lists them with their places. Names of tests have
none of these words: a name has a subject and an outcome.
"""

from __future__ import annotations

import ast
import functools
import math
from pathlib import Path

import pytest

from tests.tools import prose

PLAIN = {"who": 0.5, "speech": 2.0}
"""What h11 and zeroconf have (0.2 to 0.3, and 0.1 to 1.5)."""


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
    most = allowed(row.words, PLAIN[kind])
    shown = "\n".join(f"  {each}" for each in places[:20])
    assert len(places) <= most, (
        f"{package}: {len(places)} words of the kind {kind!r}, at most {most} of {row.words} may be. Name the subject, "
        f"and write what is sent, stored or dropped (`python -m tests.tools.prose {package}` has all):\n{shown}"
    )


def test_name_of_each_test_has_a_subject_and_an_outcome():
    named = [
        f"{path.relative_to(prose.ROOT)}: {node.name}"
        for path in sorted((prose.ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if any(pattern.search(node.name.replace("_", " ")) for pattern in prose.KINDS.values())
    ]
    assert not named, "name the subject, and what is sent, stored or dropped:\n" + "\n".join(named)


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
