"""Broken forms of creations and names, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The makers scenario must detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.base.baseapp import BaseApp
from terrazzo.cluster.app import App
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.sim.cell_mutations import instead
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.creation import CreateEntity
from terrazzo.wire.pairs.names import FindName, RegisterName
from terrazzo.wire.requests import Failure, Question


def _makes_twice(app: App) -> None:
    """A request that was received before makes another entity."""
    if isinstance(app, BaseApp):
        requested = app.requested

        def hear(before: Callable[[Question], None], question: Question) -> None:
            key = (question.source, question.message.number)  # type: ignore[attr-defined]
            requested._outcomes.pop(key, None)
            before(question)

        before = requested.on_create_entity
        app._answerers[CreateEntity] = lambda question: hear(before, question)


def _makes_elsewhere(app: App) -> None:
    """Another BaseApp is asked when the first does not answer."""
    if isinstance(app, BaseApp):

        def fail(before: Any, creation: Any, source: AppId, failure: Failure, why: str) -> None:
            if failure is not Failure.REFUSED:
                creation.app = None
            before(creation, source, failure, why)

        instead(app.creator, "_on_failure", fail)


def _grants_twice(app: App) -> None:
    """A name that another base has is granted."""
    if isinstance(app, BaseAppMgr):

        def register(before: Any, question: Question) -> None:
            app.names._names.pop(question.message.named.name, None)  # type: ignore[attr-defined]
            before(question)

        before = app._answerers[RegisterName]
        app._answerers[RegisterName] = lambda question: register(before, question)


def _frees_on_loss(app: App) -> None:
    """The names of a BaseApp are free when the link with it is lost."""
    if isinstance(app, BaseAppMgr):

        def lose(before: Any, peer: AppId) -> None:
            app.names._free(lambda home: home == peer)
            before(peer)

        instead(app, "on_link_lost", lose)


def _keeps_names_of_the_gone(app: App) -> None:
    """The names of a base that is gone stay taken."""
    if isinstance(app, BaseApp):
        vars(app.names)["on_gone"] = lambda entity: None


def _grants_late(app: App) -> None:
    """A name that is granted when nothing waits for it any more is kept."""
    if isinstance(app, BaseApp):
        vars(app.names)["_send"] = lambda message: None


def _finds_nothing(app: App) -> None:
    """A lookup gives None while the holder's link is lost."""
    if isinstance(app, BaseAppMgr):

        def find(before: Any, question: Question) -> None:
            holder = app.names._names.get(question.message.name)  # type: ignore[attr-defined]
            if holder is not None and holder[1] not in app._apps:
                question = question._replace(message=FindName(""))
            before(question)

        before = app._answerers[FindName]
        app._answerers[FindName] = lambda question: find(before, question)


MAKER_MUTATIONS: dict[str, Callable[[App], None]] = {
    "make-twice": _makes_twice,
    "make-elsewhere": _makes_elsewhere,
    "grant-twice": _grants_twice,
    "free-names-on-loss": _frees_on_loss,
    "keep-names-of-the-gone": _keeps_names_of_the_gone,
    "keep-late-names": _grants_late,
    "find-nothing": _finds_nothing,
}
