"""What apps log and count has a name in an enum, with one sentence, and docs/metrics.md has them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest

from terrazzo.wire.log_events import Count, EventName, LogEvent
from terrazzo.wire.sentences import Sentence
from tests.tools.metrics import PAGE, REASONS, SOURCE, page, uses

WORLDS = ("sim", "bench", "cli")
"""Packages that are no part of a cluster."""
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in WORLDS]


def test_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run `make metrics`"


def bare_strings(tree: ast.AST) -> Iterator[int]:
    """Lines that log an event, or count one, by a bare string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in ("log", "_log") or (name in ("add", "count") and is_counter(node.func)):
                yield from (node.lineno for each in ast.walk(node.args[0]) if is_text(each))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript) and is_text(node.target.slice):
            yield node.lineno


def is_counter(function: ast.expr) -> bool:
    """Whether a method is one of an object that counts."""
    owner = ast.unparse(function).rpartition(".")[0]
    return owner.endswith(("core", "counts", "refusals"))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_events_and_counters_are_members_of_enums(path: Path):
    lines = list(bare_strings(ast.parse(path.read_text())))
    assert not lines, f"{path.name}, lines {lines}: use a member of LogEvent or Count (wire/log_events.py)"


def test_the_check_finds_bare_strings():
    lines = (
        'host.log("event", fact=1)', 'self._log(f"event {x}")', 'core.count("event")', 'self.counts.add("event")',
        'counts["event"] += 1', 'host.log("a" if x else LogEvent.B)',
    )  # fmt: skip
    assert all(list(bare_strings(ast.parse(line))) for line in lines)
    assert not list(bare_strings(ast.parse('host.log(LogEvent.STARTED, why="x"); names.count("x"); d[x] += 1')))


def test_every_member_is_used():
    unused = {*LogEvent, *Count} - uses().keys()
    assert not unused, f"nothing logs or counts {unused}"


@pytest.mark.parametrize("enum", [LogEvent, Count, *REASONS], ids=lambda enum: enum.__name__)
def test_each_name_has_one_sentence(enum: type[Enum]):
    wordings = [each.value for each in enum]
    assert len(set(wordings)) == len(wordings) == len(enum.__members__), "a wording stands for two events"
    for each in enum:
        assert isinstance(each, EventName | Sentence)
        assert re.fullmatch(r"[A-Z](?:[^.]|\.(?! )){8,}\.", each.sentence), f"{each} has not one sentence"


def test_every_enum_of_reasons_is_on_the_page():
    found = {kind for kind in subclasses(Sentence) if kind.__module__.startswith("terrazzo.")}
    assert found == set(REASONS)


def subclasses(kind: type[Sentence]) -> set[type[Sentence]]:
    own: list[type[Sentence]] = type.__subclasses__(kind)
    return set(own).union(*map(subclasses, own))
