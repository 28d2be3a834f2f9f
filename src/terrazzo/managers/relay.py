"""Questions of BaseApps and CellApps that the BaseAppMgr passes on to the DBApp, and the answers back.

The manager keeps nothing: an answer that is lost on the way is asked for again by the asker.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.stored import DeleteStored, LoadStored
from terrazzo.wire.requests import Question

ANSWER_S = 15.0
"""A load may take as long as a placement, and a little more."""

RELAYED = (LoadStored, DeleteStored)


class Relay:
    """See the module."""

    def __init__(self, manager: ClusterApp, db: Callable[[], AppId | None]) -> None:
        """`db` returns the DBApp while it is linked."""
        self._manager = manager
        self._db = db
        for kind in RELAYED:
            manager.answers(kind, self._on_question)

    def _on_question(self, question: Question) -> None:
        requests, db = self._manager.requests, self._db()
        if db is None:
            requests.refuse(question, "the DBApp is out of reach")
            return
        requests.ask(
            db,
            question.message,
            timeout_s=ANSWER_S,
            then=lambda answer: requests.answer(question, answer),
            failed=lambda failure, why: requests.refuse(question, why or f"the DBApp did not answer ({failure.value})"),
        )
