"""The changes of spaces that apps ask for: each is made once, however often it is asked for.

An app numbers its changes, and sends a request with some of them again and again until it is answered; only then it
sends the next request (`sync/spaces.py`). So of each app the manager stores the last request's number and its answer:

    the number after the last one     made, answered, stored
    the last number once more         the stored answer
    any other                         refused
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.spaces import SpaceChange, SpaceChanges, SpaceChangesMade, SpaceOutcome
from terrazzo.wire.requests import Question, Requests


class _Last(NamedTuple):
    first: int
    next: int
    answer: SpaceChangesMade


class ChangesOfApps:
    """The last request of each app."""

    def __init__(self, requests: Requests, make: Callable[[SpaceChange], SpaceOutcome]) -> None:
        """`make` makes a change, and returns what came of it."""
        self._requests = requests
        self._make = make
        self._last: dict[AppId, _Last] = {}

    def __len__(self) -> int:
        return len(self._last)

    def on_changes(self, question: Question) -> None:
        """Answers SpaceChanges."""
        asked, source = question.message, question.source
        assert isinstance(asked, SpaceChanges)
        last = self._last.get(source)
        if last is not None and asked.first == last.first:
            self._requests.answer(question, last.answer)
        elif last is None or asked.first == last.next:
            answer = SpaceChangesMade(tuple(self._make(change) for change in asked.changes))
            self._forget_former(source)
            self._last[source] = _Last(asked.first, asked.first + len(asked.changes), answer)
            self._requests.answer(question, answer)
        else:
            self._requests.refuse(question, f"the next change of {source} is number {last.next}, not {asked.first}")

    def _forget_former(self, source: AppId) -> None:
        """A former incarnation of an app has ended."""
        for each in [each for each in self._last if each.slot == source.slot and each < source]:
            del self._last[each]
