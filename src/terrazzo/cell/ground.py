"""The cells of a CellApp: which it has, the trees that the manager sends, and what it confirms to the manager.

`managers/cells.py` has the protocol. The side of the CellApp:

    SpaceTree      the space goes by the tree at once. CellReady confirms it, but is held back while a real or a ghost
                   of this CellApp is on its way to, or on, a CellApp that is no longer part of the space: the manager
                   may rely on that nothing more is sent from here.
    retiring       without a cell in the tree all reals leave (`migration/offload.py`). CellEmpty is sent as soon as no
                   real is left, none is on its way to here and none is unconfirmed.
    CellRemoved    nothing more will arrive. When the last reals have gone, the ghosts that are left are dropped, the
                   space is dropped, and CellEmpty confirms that.

    SpaceEnded     the game has ended the space. Each real of it that is here, or still arrives, is destroyed in the
                   same tick (`end_reals`); nothing else comes in, since this CellApp has no cell of it. CellEmpty and
                   CellRemoved follow as above.

`run` does once per tick what the messages of the manager ask for. An answer may be lost with the link: the manager
sends its trees again when its link is up again, and each of them is answered again.
"""

from __future__ import annotations

from terrazzo.cell.client.moves import ClientMoves
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.members import FormerMembers
from terrazzo.cell.ghosts.receiver import GhostReceiver
from terrazzo.cell.migration.offload import Offloads
from terrazzo.errors import DecodeError
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cellmgr_cell import CellEmpty, CellReady, CellRemoved, SpaceEnded, SpaceTree
from terrazzo.world.bsp import BspTree


class Ground:
    """The trees and cells of one CellApp."""

    def __init__(
        self, core: Core, former: FormerMembers, offloads: Offloads, receiver: GhostReceiver, moves: ClientMoves
    ) -> None:
        self._core = core
        self._former = former
        self._offloads = offloads
        self._receiver = receiver
        self._moves = moves
        self._owed: dict[int, None] = {}
        """Spaces with a newest version that is not confirmed yet."""
        self._emptied: dict[int, int] = {}
        """Spaces of which CellEmpty was sent, with the version."""
        self._removed: dict[int, int] = {}
        """Spaces of which CellRemoved was received, with the version."""

    # What the manager sends.

    def on_space_tree(self, source: AppId, message: SpaceTree) -> None:
        """A tree: a newer one, or one that was received already, since an answer may be lost."""
        try:
            tree = BspTree.unpack(message.tree)
        except DecodeError as problem:
            self._core.count(LogEvent.TREE_MALFORMED, space=message.space, problem=str(problem))
            return
        me = self._core.me
        if message.space not in self._core.spaces and tree.leaf_of(me) is None and me not in message.retiring:
            return  # this app has left the space for good, and the manager has not received that yet
        space = self._core.space(message.space)
        before = [*space.members(), *space.neighbours.apps()]
        space.set_tree(message.name, message.version, tree, self._core.me, frozenset(message.retiring))
        if message.version < space.version:
            return
        self._former.note(space, before)
        self._owed[space.id] = None
        self._emptied.pop(space.id, None)
        if space.leaf is not None:
            self._removed.pop(space.id, None)

    def on_cell_removed(self, source: AppId, message: CellRemoved) -> None:
        """All CellApps have confirmed that this one has no cell of a space."""
        space = self._core.spaces.get(message.space)
        if space is None or space.leaf is None:
            self._removed[message.space] = message.version
        else:
            self._core.count(LogEvent.CELL_REMOVAL_WRONG, space=message.space)

    def on_space_ended(self, source: AppId, message: SpaceEnded) -> None:
        """The game has ended a space. The message comes again when the answer may be lost."""
        space = self._core.space(message.space)
        space.end(message.version)
        self._owed.pop(space.id, None)
        self._emptied.pop(space.id, None)

    # What is done about it.

    def end_reals(self) -> None:
        """Once per tick, when the code of the game has run: destroys the reals in spaces that have been ended."""
        for space in self._core.spaces.values():
            if space.is_ended:
                for body in space.bodies.values():
                    if body.real is not None:
                        self._core.mark_destroyed(body.real)

    def run(self) -> None:
        """Once per tick: confirms what can be confirmed now."""
        core, manager = self._core, self._core.links.manager
        if manager is None:
            return
        for id in list(self._owed):
            if self._is_clear(id):
                core.send(manager, CellReady(id, core.spaces[id].version))
                del self._owed[id]
        for space in list(core.spaces.values()):
            is_leaving = space.is_ended or core.me in space.retiring
            if space.tree is None and not space.is_ended and not space.bodies and self._is_empty(space.id):
                self._forget(space.id)  # a neighbour spoke of it, in vain
            elif is_leaving and space.id not in self._emptied and self._is_empty(space.id):
                self._emptied[space.id] = space.version
                core.send(manager, CellEmpty(space.id, space.version))
        for id in list(self._removed):
            self._forget_if_empty(manager, id)

    def _is_clear(self, id: int) -> bool:
        """Whether nothing of this CellApp is on, or on its way to, CellApps that are no longer part of the space."""
        former, space = self._former.of(id), self._core.spaces.get(id)
        for each in [each for each, is_clear in former.items() if not is_clear]:
            if self._offloads.has_kept(id, each) or (space is not None and space.neighbours.has(each)):
                return False
            if self._offloads.carries_ghosts(id, each):  # its receiver may have confirmed already that it is clear
                return False
            former[each] = True
        return True

    def _is_empty(self, id: int) -> bool:
        """Whether no real of a space is here, has been sent from here unconfirmed, or has come and waits."""
        if self._offloads.has_kept(id) or self._receiver.holding.has_arrivals(id):
            return False
        space = self._core.spaces.get(id)
        return space is None or all(body.real is None for body in space.bodies.values())

    def _forget_if_empty(self, manager: AppId, id: int) -> None:
        core, space = self._core, self._core.spaces.get(id)
        if not self._is_empty(id):
            return
        if space is not None:
            if id in self._owed:
                return
            for body in list(space.bodies.values()):
                self._receiver.end(body, body.epoch, is_destroyed=False)
            self._forget(id)
        core.send(manager, CellEmpty(id, self._removed.pop(id)))
        self._emptied.pop(id, None)
        self._former.forget(id)

    def _forget(self, id: int) -> None:
        del self._core.spaces[id]
        self._moves.forget(id)
