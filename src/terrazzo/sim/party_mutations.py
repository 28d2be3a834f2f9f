"""Broken forms of instances, each with a name (`mutations.py` has the table).

Each is a patch of one app when it starts. The parties scenario must detect each of them within a few seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terrazzo.cell.cellapp import CellApp
from terrazzo.cell.core.real import Real
from terrazzo.cluster.app import App
from terrazzo.managers.cellapp_mgr import CellAppMgr
from terrazzo.managers.spaces import Leaving, SpaceState
from terrazzo.sim.cell_mutations import instead
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cellmgr_cell import CellRemoved, SpaceEnded
from terrazzo.wire.pairs.spaces import SpaceChanges
from terrazzo.wire.requests import Question


def _makes_twice(app: App) -> None:
    """A request that was answered before makes its changes once more."""
    if isinstance(app, CellAppMgr):
        before, changes = app._answerers[SpaceChanges], app._changes

        def hear(question: Question) -> None:
            changes._last.pop(question.source, None)
            before(question)

        app._answerers[SpaceChanges] = hear


def _keeps_unnamed(app: App) -> None:
    """An instance is not ended when the method that asked for it has ended."""
    asker: Any = getattr(app, "space_asker", None)
    if asker is not None:
        instead(asker, "_end_unnamed", lambda before, wait, space: None)


def _reuses_names(app: App) -> None:
    """The number of an instance that has been forgotten is used again."""
    if isinstance(app, CellAppMgr):
        instances: Any = app._instances

        def forget(before: Callable[[SpaceState], None], space: SpaceState) -> None:
            before(space)
            if space.id == instances._last_id:
                instances._last_id -= 1

        instead(instances, "_forget", forget)


def _refuses_early(app: App) -> None:
    """An instance that is being made lets no entity in, and none wait."""
    if isinstance(app, CellAppMgr):
        instead(app._instances, "hold", lambda before, space, question: False)


def _ends_once(app: App) -> None:
    """A member that was lost is not sent again that the space ends."""
    if isinstance(app, CellAppMgr):
        instead(app._instances, "on_back", lambda before, space, member: None)


def _removes_each(app: App) -> None:
    """A member drops a space that ends as soon as it is empty itself."""
    if isinstance(app, CellAppMgr):
        instances: Any = app._instances

        def on_empty(before: Any, space: SpaceState, member: AppId, version: int) -> None:
            if member in space.retiring and version == space.version:
                del space.retiring[member]
                space.leaving[member] = Leaving(version, is_notified=True)
                app.send(member, CellRemoved(space.id, version))
            else:
                before(space, member, version)

        instead(instances, "on_empty", on_empty)


def _leaves_reals(app: App) -> None:
    """The CellApp does not destroy what is in a space that ends."""
    if isinstance(app, CellApp):
        instead(app.ground, "end_reals", lambda before: None)


def _stays_open(app: App) -> None:
    """The CellApp lets entities into a space that ends."""
    if isinstance(app, CellApp):

        def hear(source: AppId, message: SpaceEnded) -> None:
            space = app.core.space(message.space)
            tree, leaf = space.tree, space.leaf
            before(source, message)
            space.tree, space.leaf = tree, leaf

        before = app._handlers[SpaceEnded]
        app._handlers[SpaceEnded] = hear


def _forgets_lost_members(app: App) -> None:
    """The manager does not wait for members with a lost link when a space ends."""
    if isinstance(app, CellAppMgr):

        def end(before: Callable[[str], None], name: str) -> None:
            space = app._spaces.get(name)
            if space is not None and not space.is_ended:
                lost = [member for member in space.members if app._apps[member].is_lost]
                if len(lost) < len(space.members):
                    for member in lost:
                        del space.members[member]
            before(name)

        instead(app._instances, "_end", end)


def _keeps_data_from_newcomers(app: App) -> None:
    """A CellApp that gets a cell later gets no data with it."""
    if isinstance(app, CellAppMgr):

        def plant(before: Callable[..., None], space: SpaceState, *rest: Any) -> None:
            data, space.data = space.data, {}
            before(space, *rest)
            space.data = data

        instead(app._ground, "_plant", plant)


def _keeps_data_from_those_back(app: App) -> None:
    """A CellApp that was lost gets no data again."""
    if isinstance(app, CellAppMgr):

        def on_back(before: Callable[..., None], space: SpaceState, member: AppId) -> None:
            data, space.data = space.data, {}
            before(space, member)
            space.data = data

        instead(app._ground, "on_back", on_back)


def _repeats_data(app: App) -> None:
    """What a client has of the data of a space does not travel: each cell sends what it has."""
    if isinstance(app, CellApp):
        instead(app.space_data, "arrive", lambda before, real, space, version: before(real, space, 0))


def _greets_no_client(app: App) -> None:
    """The client of an entity that comes into a space by a teleport gets no data."""
    if isinstance(app, CellApp):

        def arrive(before: Callable[..., None], real: Real, space: int, version: int) -> None:
            before(real, real.body.space.id, real.body.space.data_version if space != real.body.space.id else version)

        instead(app.space_data, "arrive", arrive)


PARTY_MUTATIONS: dict[str, Callable[[App], None]] = {
    "make-spaces-twice": _makes_twice,
    "keep-unnamed-spaces": _keeps_unnamed,
    "reuse-space-names": _reuses_names,
    "refuse-early-entries": _refuses_early,
    "end-spaces-once": _ends_once,
    "remove-each-member": _removes_each,
    "leave-reals-in-ended-spaces": _leaves_reals,
    "let-into-ended-spaces": _stays_open,
    "forget-lost-members": _forgets_lost_members,
    "keep-data-from-newcomers": _keeps_data_from_newcomers,
    "keep-data-from-those-back": _keeps_data_from_those_back,
    "repeat-space-data": _repeats_data,
    "greet-no-client": _greets_no_client,
}
