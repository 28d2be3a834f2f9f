"""Searches for an entity. The BaseAppMgr keeps no list of entities: it asks its BaseApps, and each answers for its own.

    asker ──Locate──▶ search ──Locate──▶ every BaseApp
                        │  ◀──Located with a base──  found: every asker is answered at once
                        │  ◀──Located without──      not there
                        │  ◀──refused, timeout, link lost──  unsure
                        ▼
           all have answered: no BaseApp has it, and no BaseApp is missing or unsure → there is none
                              else → refused; a missing answer proves nothing

A Locate that arrives while a search is under way joins it, but it is younger than the search: a BaseApp may have
answered "no such entity" or "no cell part" before the entity or its cell part was created. So the younger request gets
the answer only if this names a cell part, is a refusal, is unsettled, or states that the entity has ended. Otherwise
the next search begins, for all requests that have joined.

A BaseApp with a lost link is `missing` until it is back or its next incarnation has joined, which is started only
when the former one has ended. While a BaseApp is missing, no entity is reported as gone: it may be there.

Entities without a base part are searched for among the CellApps, in the same way: a CellApp that has the entity names
its place, one that has sent it elsewhere not long ago answers "unsettled", and one where it has ended ends the search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.basemgr_base import Locate, Located
from terrazzo.wire.requests import Failure, Question

ANSWER_S = 5.0
SEARCHES_MAX = 10_000


@dataclass
class _Search:
    entity: int
    left: int
    """BaseApps that have not answered."""
    unsure: str = ""
    """Why it is not certain that there is no such entity."""
    questions: list[Question] = field(default_factory=list)
    younger: list[Question] = field(default_factory=list)
    """Requests that arrived after the search began."""


class Searches:
    """The searches of one BaseAppMgr."""

    def __init__(self, manager: ClusterApp, apps: Iterable[AppId]) -> None:
        """`apps`: the linked BaseApps, as they are at any time."""
        self.missing: dict[AppId, None] = {}
        self._manager = manager
        self._apps = apps
        self._searches: dict[int, _Search] = {}

    def on_joined(self, app: AppId) -> None:
        """A BaseApp has joined."""
        for former in [each for each in self.missing if each.slot == app.slot]:
            del self.missing[former]

    def on_lost(self, app: AppId) -> None:
        """The link with a BaseApp is lost; its process may still run."""
        self.missing[app] = None

    def begin(self, question: Question) -> None:
        """A Locate has arrived: begins a search, or joins the one for this entity."""
        asked = question.message
        assert isinstance(asked, Locate)
        search = self._searches.get(asked.entity)
        if search is not None:
            search.younger.append(question)
        else:
            self._begin(asked, [question])

    def _begin(self, asked: Locate, questions: list[Question]) -> None:
        everyone = list(self._apps)
        search = _Search(asked.entity, len(everyone), questions=questions)
        if self.missing:
            search.unsure = f"the link with {', '.join(map(str, self.missing))} is lost"
        if not everyone or len(self._searches) >= SEARCHES_MAX:
            search.unsure = "no BaseApp is there" if not everyone else "too many are sought at once"
            self._end(search, None)
            return
        self._searches[asked.entity] = search
        for app in everyone:
            self._manager.requests.ask(
                app,
                asked,
                timeout_s=ANSWER_S,
                then=partial(self._on_answer, search, app),
                failed=partial(self._on_failure, search, app),
            )

    def _on_answer(self, search: _Search, app: AppId, answer: Message) -> None:
        if isinstance(answer, Located) and (answer.base is not None or answer.cell is not None or answer.has_ended):
            self._end(search, answer)
        elif isinstance(answer, Located):
            if answer.is_unsettled:
                search.unsure = f"{app} had it not long ago"
            self._count_off(search)
        else:
            self._on_failure(search, app, Failure.REFUSED, f"its answer is {type(answer).__name__}")

    def _on_failure(self, search: _Search, app: AppId, failure: Failure, why: str) -> None:
        search.unsure = f"{app} does not say: {why or failure.value}"
        self._count_off(search)

    def _count_off(self, search: _Search) -> None:
        search.left -= 1
        if search.left == 0:
            self._end(search, None if search.unsure else Located())

    def _end(self, search: _Search, answer: Located | None) -> None:
        """Answers every asker. A later Locate begins a new search."""
        if self._searches.get(search.entity) is search:
            del self._searches[search.entity]
        younger, search.younger = search.younger, []
        if answer is None or answer.cell is not None or answer.is_unsettled or answer.has_ended:
            search.questions += younger
        elif younger:
            self._begin(Locate(search.entity), younger)
        for question in search.questions:
            if answer is None:
                self._manager.requests.refuse(question, search.unsure[:500])
            else:
                self._manager.requests.answer(question, answer)
        search.questions.clear()
