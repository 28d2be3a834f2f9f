"""The problems of a definition tree: mistakes and warnings, each reported once.

A file is read once, so each of its own problems is found once. A problem that is only found when an entity type is put
together (an undeclared level of detail) is found again for every entity type that uses the file: such a problem is
reported with its `subject`, and a second one of the same kind, subject and place is dropped.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from terrazzo.errors import Problem
from terrazzo.schema.model import SourcePlace


class Report:
    """Gathers the problems of one tree."""

    def __init__(self) -> None:
        self._errors: list[Problem] = []
        self._warnings: list[Problem] = []
        self._reported: set[tuple[SourcePlace, str, str]] = set()

    @property
    def errors(self) -> list[Problem]:
        """The mistakes, by file and line."""
        return sorted(self._errors, key=_position)

    @property
    def warnings(self) -> list[Problem]:
        """What works, but is probably a mistake, by file and line."""
        return sorted(self._warnings, key=_position)

    def error(self, place: SourcePlace, kind: str, message: str, *, subject: str | None = None) -> None:
        """Note a mistake."""
        if self._is_new(place, kind, subject):
            self._errors.append(Problem(place.file, place.line, kind, message))

    def warn(
        self, place: SourcePlace, kind: str, message: str, *, tag: str | None = None, subject: str | None = None
    ) -> None:
        """Note something that can be ignored."""
        if self._is_new(place, kind, subject):
            self._warnings.append(Problem(place.file, place.line, kind, message, tag))

    def _is_new(self, place: SourcePlace, kind: str, subject: str | None) -> bool:
        if subject is None:
            return True
        key = (place, kind, subject)
        is_new = key not in self._reported
        self._reported.add(key)
        return is_new


def _position(problem: Problem) -> tuple[str, int]:
    return problem.file, problem.line


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.7) -> str:
    """A question that names the most similar known word; empty if none is as similar as `cutoff` (1.0: the same)."""
    by_fold = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=cutoff)
    return f"; did you mean {by_fold[near[0]]}?" if near else ""
