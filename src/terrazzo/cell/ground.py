"""The ground under a CellApp: which cells it has, what it is told of the trees, and what it owes the manager.

The protocol is told in `managers/cells.py`. Here is the CellApp's side of it:

    SpaceTree      the space goes by it at once. CellReady says so, but is held back while something of ours is on its
                   way to, or haunts, a CellApp that is no longer part of the space: the manager may rely on that
                   nothing more will come from here.
    retiring       without a cell in the tree everything leaves (`migration/offload.py`). CellEmpty as soon as no real
                   is left, none is on its way to here or unconfirmed.
    CellRemoved    nothing will come any more. When what may be left has gone, the ghosts that are left are dropped, the
                   space is forgotten, and CellEmpty says so.

What a message of the manager asks for is done by `run`, once per tick. Whatever was said may have been lost with the
link: the manager sends its trees again when it is there again, and for each the answer is given again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.core.space import Space
from terrazzo.errors import DecodeError
from terrazzo.wire.ids import AppId
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty, CellReady, CellRemoved, SpaceTree
from terrazzo.world.bsp import BspTree

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp


class Ground:
    """The trees and cells of one CellApp."""

    def __init__(self, app: CellApp) -> None:
        self._app = app
        self._owed: dict[int, None] = {}
        """Spaces whose newest version is not yet confirmed."""
        self._former: dict[int, dict[AppId, bool]] = {}
        """By space, CellApps that were part of it and are no longer; True: nothing of ours is there any more."""
        self._emptied: dict[int, int] = {}
        """Spaces of which CellEmpty was said, with the version."""
        self._removed: dict[int, int] = {}
        """Spaces of which CellRemoved was heard, with the version."""

    # What the manager says.

    def on_space_tree(self, source: AppId, message: SpaceTree) -> None:
        """A tree: a newer one, or one that was heard already, since an answer may be lost."""
        try:
            tree = BspTree.unpack(message.tree)
        except DecodeError as problem:
            self._app.count("tree that does not decode", space=message.space, problem=str(problem))
            return
        me = self._app.me
        if message.space not in self._app.spaces and tree.leaf_of(me) is None and me not in message.retiring:
            return  # this app has left the space for good, and the manager has not heard of that yet
        space = self._app.space(message.space)
        before = [*_members(space), *self._app.haunts.apps(space.id)]
        space.set_tree(message.name, message.version, tree, self._app.me, frozenset(message.retiring))
        if message.version < space.version:
            return
        now = _members(space)
        former = self._former.setdefault(space.id, {})
        former.update(dict.fromkeys((app for app in before if app not in now), False))
        for app in now:
            former.pop(app, None)
        self._owed[space.id] = None
        self._emptied.pop(space.id, None)
        if space.leaf is not None:
            self._removed.pop(space.id, None)

    def on_cell_removed(self, source: AppId, message: CellRemoved) -> None:
        """Everybody knows that this app has no cell of a space."""
        space = self._app.spaces.get(message.space)
        if space is None or space.leaf is None:
            self._removed[message.space] = message.version
        else:
            self._app.count("removal of a cell that is there", space=message.space)

    def has_left(self, space: int, app: AppId, version: int | None = None) -> bool:
        """Whether a CellApp was part of a space and is no longer: nothing of ours may go there. `version`: of a tree
        in which it was; it may have left before this app became a part of the space."""
        if app in self._former.get(space, {}):
            return True
        known = self._app.spaces.get(space)
        is_newer = known is not None and version is not None and known.tree is not None and version <= known.version
        return known is not None and is_newer and app not in _members(known)

    # What is done about it.

    def run(self) -> None:
        """Once per tick: says what can be said now."""
        app = self._app
        if app.manager is None:
            return
        for id in list(self._owed):
            if self._is_clear(id):
                app.send(app.manager, CellReady(id, app.spaces[id].version))
                del self._owed[id]
        for space in list(app.spaces.values()):
            if space.tree is None and not space.bodies:
                self._forget(space.id)  # a neighbour spoke of it, in vain
            elif app.me in space.retiring and space.id not in self._emptied and self._is_empty(space):
                self._emptied[space.id] = space.version
                app.send(app.manager, CellEmpty(space.id, space.version))
        for id in list(self._removed):
            self._forget_if_empty(app.manager, id)

    def _is_clear(self, id: int) -> bool:
        """Whether nothing of ours is with, or on its way to, those who are no longer part of the space."""
        app, former = self._app, self._former.get(id, {})
        for each in [each for each, is_clear in former.items() if not is_clear]:
            if app.offloads.has_kept(id, each) or app.haunts.has_any(id, each):
                return False
            if app.offloads.carries_ghosts(id, each):  # whoever gets it may have said that it is clear
                return False
            former[each] = True
        return True

    def _is_empty(self, space: Space) -> bool:
        if self._app.offloads.has_kept(space.id) or self._app.ghosts.has_arrivals(space.id):
            return False
        return all(body.real is None for body in space.bodies.values())

    def _forget_if_empty(self, manager: AppId, id: int) -> None:
        app, space = self._app, self._app.spaces.get(id)
        if space is not None:
            if id in self._owed or not self._is_empty(space):
                return
            for body in list(space.bodies.values()):
                app.ghosts.end(body, body.epoch, is_destroyed=False)
            self._forget(id)
        app.send(manager, CellEmpty(id, self._removed.pop(id)))
        self._emptied.pop(id, None)
        self._former.pop(id, None)

    def _forget(self, id: int) -> None:
        del self._app.spaces[id]
        self._app.moves.forget(id)
        self._app.haunts.forget_space(id)


def _members(space: Space) -> list[AppId]:
    """Who is part of a space: in its tree, or retiring."""
    leaves = () if space.tree is None else space.tree.leaves()
    return [*(leaf.app for leaf in leaves), *sorted(space.retiring)]
