"""Broken forms of loading and deleting stored entities, each with a name (`mutations.py` has the table).

Each is a patch of the DBApp when it starts. The keepers scenario must detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from terrazzo.cluster.app import App
from terrazzo.db.dbapp import DBApp
from terrazzo.db.store import DeleteEntity, SaveEntity
from terrazzo.sim.cell_mutations import instead


def _forgets_first_record(app: App) -> None:
    """The first save of an entity makes no log-on record."""
    if isinstance(app, DBApp):

        def submit(before: Any, operation: Any, then: Any, failed: Any) -> None:
            is_save = isinstance(operation, SaveEntity)
            before(replace(operation, entity=0) if is_save else operation, then, failed)

        instead(app._store, "submit", submit)


def _loads_without_claim(app: App) -> None:
    """An entity that has a base is loaded all the same."""
    if isinstance(app, DBApp):

        def checked_out(before: Any, load: Any, result: Any) -> None:
            before(load, None if result is None else result._replace(is_new=True))

        instead(app.loads, "_checked_out", checked_out)


def _deletes_while_loaded(app: App) -> None:
    """An entity is deleted whether or not it is in the world."""
    if isinstance(app, DBApp):
        store: Any = app._store
        database = store._database
        database._acts[DeleteEntity] = lambda gone: database.forget(gone.dbid)


def _clears_doubtful_loads(app: App) -> None:
    """A load in doubt counts as one that was refused."""
    if isinstance(app, DBApp):
        log_ons = app.log_ons

        def doubt(before: Any, load: Any, why: str, *, after_s: float = 0.0) -> None:
            log_ons.clear(load.dbid, load.entity)
            app.loads._refuse(load, why)

        instead(app.loads, "_doubt", doubt)


KEEPER_MUTATIONS: dict[str, Callable[[App], None]] = {
    "forget-first-record": _forgets_first_record,
    "load-without-claim": _loads_without_claim,
    "delete-while-loaded": _deletes_while_loaded,
    "clear-doubtful-loads": _clears_doubtful_loads,
}
