"""Broken forms of entities without a base part, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The judges are `sim/scenarios/seamless/darts.py` and those of all cell parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.mail.whereabouts import CellWhereabouts
from terrazzo.cluster.app import App
from terrazzo.managers.baseapp_mgr import BaseAppMgr
from terrazzo.sim.cell_mutations import instead
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import Ids
from terrazzo.wire.pairs.basemgr_base import Locate
from terrazzo.wire.requests import Question


def _shares_ids(app: App) -> None:
    """All CellApps get the same run of ids."""
    if isinstance(app, BaseAppMgr):
        given: list[Message] = []

        def answer(before: Callable[..., None], question: Question, message: Message) -> None:
            if isinstance(message, Ids):
                given.append(message)
                message = given[0]
            before(question, message)

        instead(app.requests, "answer", answer)


def _loses_births(app: App) -> None:
    """Every third entity that is spawned is never born."""
    if isinstance(app, CellApp):
        count = 0

        def bear(before: Callable[[Any], None], birth: Any) -> None:
            nonlocal count
            count += 1
            if count % 3:
                before(birth)

        instead(app.births, "_bear", bear)


def _bears_twice(app: App) -> None:
    """An entity that is spawned is born under two ids."""
    if isinstance(app, CellApp):

        def bear(before: Callable[[Any], None], birth: Any) -> None:
            before(birth)
            before(birth._replace(entity=app.ids.take()))

        instead(app.births, "_bear", bear)


def _denies_those_who_left(app: App) -> None:
    """A CellApp answers that an entity does not exist which it has just sent elsewhere."""
    if isinstance(app, CellApp):
        before = app._answerers[Locate]
        whereabouts: Any = getattr(before, "__self__")  # noqa: B009
        assert isinstance(whereabouts, CellWhereabouts)

        def locate(question: Question) -> None:
            whereabouts._left.clear()
            whereabouts._kept = ()
            before(question)

        app._answerers[Locate] = locate


def _seeks_among_bases(app: App) -> None:
    """Entities without a base part are searched for among the BaseApps, none of which has them."""
    if isinstance(app, BaseAppMgr):
        app._cell_searches = app._searches


DART_MUTATIONS: dict[str, Callable[[App], None]] = {
    "share-ids": _shares_ids,
    "lose-births": _loses_births,
    "bear-twice": _bears_twice,
    "deny-those-who-left": _denies_those_who_left,
    "seek-among-bases": _seeks_among_bases,
}
