"""The CellAppMgr: divides the spaces among CellApps, and answers which CellApp covers a point (FindEntry).

The start of the cluster:

                    CellAppReady × cells             CellReady from every cell
    GATHERING ─────────────────────────▶ SPLITTING ────────────────────────────▶ READY
        ▲                                    │
        └──── a CellApp with a cell is lost ─┘

    GATHERING   CellApps send CellAppReady. When the configured number has joined, each space of the game is divided
                among them by area, and each of them gets every tree (SpaceTree).
    SPLITTING   They create their cells and send CellReady. The spaces are still empty, so when one of them is lost, the
                manager gathers again, and the next trees have the next version: a CellReady of an older version is
                ignored. The lost CellApp may have got a tree that no other CellApp uses: when it is back and has no
                cell in the new tree, the manager sends it CellRemoved of that space.
    READY       The BaseAppMgr and the BaseApps get SpacesReady, those that link later as soon as they do. FindEntry
                of BaseApps and CellApps is answered from the trees. Cells are added and retired, borders are moved
                (`cells.py`): for now by the caller of `add_cell`, `retire_cell` and `move_border`. The code of the game
                makes and ends further spaces (`instances.py`).

The rules:

- A CellApp that is lost in READY keeps its cells in the trees: entities live there, and perhaps only the link is lost.
  Until it is back, no entity is sent there. Its entities are not restored elsewhere yet.
- Its next incarnation is another app, without cells; it is a spare for when cells are added.
- This manager joins the BaseAppMgr, again and again until it is linked; all other apps join this manager.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from math import isfinite
from typing import Any

from terrazzo.cluster.app import LOAD_S, Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.errors import UsageError
from terrazzo.game import INSTANCE_MARK, Space
from terrazzo.managers.cells import Cells
from terrazzo.managers.changes import ChangesOfApps
from terrazzo.managers.instances import Instances
from terrazzo.managers.spaces import CellAppState, SpaceState
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cellmgr import CellAppLoads, Entry, FindEntry, SpacesReady
from terrazzo.wire.pairs.cellmgr_cell import CellAppLoad, CellAppReady, CellEmpty, CellReady, CellRemoved
from terrazzo.wire.pairs.spaces import SpaceChanges
from terrazzo.wire.requests import Question
from terrazzo.world.bsp import BspTree, Path
from terrazzo.world.rect import Axis, checked_bounds

NAMES_LOGGED = 20
"""Spaces that are named in one event of the log."""
BASE_APP_MGR = AppId(AppKind.BASE_APP_MGR, 0, ANY_INCARNATION)


class ManagerState(Enum):
    """The state of the start; see the module."""

    GATHERING = "gathering"
    SPLITTING = "splitting"
    READY = "ready"


class CellAppMgr(ClusterApp):
    """See the module."""

    def __init__(self, me: AppId, host: Host, spaces: Sequence[Space], cells: int, *, token: str = "") -> None:
        """`token` is in the names of instances: another one each time that the cluster is started."""
        super().__init__(me, host)
        if cells < 1:
            raise UsageError(f"a cluster of {cells} CellApps runs no space; ask for at least one")
        self.state = ManagerState.GATHERING
        self._cells = cells
        self._spaces = {space.name: SpaceState(id, space) for id, space in enumerate(spaces, 1)}
        if len(self._spaces) != len(spaces):
            raise UsageError("two spaces of the game have one name; give each its own")
        for space in spaces:
            checked_bounds(space.bounds)
        self._by_id = {space.id: space for space in self._spaces.values()}
        self._apps: dict[AppId, CellAppState] = {}
        self._ground = Cells(self, self._apps, self._spaces.values())
        self._declared = len(spaces)
        self._instances = Instances(
            self, self._spaces, self._by_id, self._apps, self._ground, token, self._on_find_entry
        )  # fmt: skip
        self._changes = ChangesOfApps(self.requests, self._instances.make)
        self._strays: dict[AppId, set[int]] = {}
        """CellApps that were lost in SPLITTING, and the spaces of which they may have a tree that no other CellApp
        uses."""
        self._listeners: dict[AppId, None] = {}
        """The linked BaseApps and the BaseAppMgr: they get SpacesReady."""
        self._is_joining = False
        self._report_at = host.now + LOAD_S
        self.on(CellAppReady, self._on_cellapp_ready)
        self.on(CellReady, self._on_cell_ready)
        self.on(CellEmpty, self._on_cell_empty)
        self.on(CellAppLoad, self._on_load)
        self.answers(FindEntry, self._on_find_entry)
        self.answers(SpaceChanges, self._on_changes)

    # App.

    def on_link_up(self, peer: AppId) -> None:
        """See App. A BaseApp or BaseAppMgr that links late gets SpacesReady at once."""
        if peer.kind not in (AppKind.BASE_APP, AppKind.BASE_APP_MGR):
            return
        self._listeners[peer] = None
        if peer.kind is AppKind.BASE_APP_MGR:
            self._is_joining = False
        if self.state is ManagerState.READY:
            self.send(peer, SpacesReady(self._declared))

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        super().on_link_lost(peer)
        self._instances.on_link_lost(peer)
        self._listeners.pop(peer, None)
        if peer.kind is AppKind.BASE_APP_MGR:
            self._is_joining = False
        elif peer in self._apps:
            self._on_cellapp_lost(peer)

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        self._instances.on_tick()
        if not self._is_joining and not any(peer.kind is AppKind.BASE_APP_MGR for peer in self._listeners):
            self._is_joining = True
            self.host.join(BASE_APP_MGR)
        if self.host.now >= self._report_at:
            self._report_at = self.host.now + LOAD_S
            self._report_loads()

    def on_turn(self) -> None:
        """See TakesTurns: answers leave at once."""

    @property
    def spaces(self) -> Collection[SpaceState]:
        """All spaces: those of the game, and instances."""
        return self._spaces.values()

    def has_joined(self, app: AppId) -> bool:
        """Whether this CellApp has joined, even if its link is lost now."""
        return app in self._apps

    # CellApps that join or are lost.

    def _on_cellapp_ready(self, source: AppId, message: CellAppReady) -> None:
        if source.kind is not AppKind.CELL_APP:
            self._refuse(source, message)
            return
        known = self._apps.get(source)
        if known is None:
            self._apps[source] = CellAppState()
            for former in [each for each in self._strays if each.slot == source.slot and each < source]:
                del self._strays[former]  # the former incarnation has ended
            self.host.log(LogEvent.CELL_APP_JOINED, app=str(source), joined=len(self._apps), wanted=self._cells)
            if self.state is ManagerState.GATHERING and len(self._apps) >= self._cells:
                self._split()
            else:
                self._call_back(source)
        elif known.is_lost:
            known.is_lost = False
            self.host.log(LogEvent.CELL_APP_BACK, app=str(source))
            for space in self._spaces_of(source):
                (self._instances if space.is_ended else self._ground).on_back(space, source)

    def _on_cellapp_lost(self, app: AppId) -> None:
        spaces = self._spaces_of(app)
        names = [space.policy.name for space in spaces][:NAMES_LOGGED]
        if self.state is ManagerState.READY and names:
            self._apps[app].is_lost = True
            for space in spaces:
                self._ground.on_lost(space, app)
            self.host.log(
                LogEvent.CELL_APP_LOST,
                app=str(app),
                spaces=names,
                help="nobody can enter its cells until its link is back; if its process has ended, restart the cluster",
            )
            return
        del self._apps[app]
        if self.state is ManagerState.SPLITTING and names:
            self.state = ManagerState.GATHERING
            self._strays.setdefault(app, set()).update(space.id for space in spaces)
            for space in self._spaces.values():
                space.clear()
        self.host.log(LogEvent.CELL_APP_LOST, app=str(app), spaces=names, joined=len(self._apps), wanted=self._cells)
        if self.state is ManagerState.GATHERING and len(self._apps) >= self._cells:
            self._split()

    # Dividing the spaces.

    def _split(self) -> None:
        """Divides each space among the first CellApps that joined, sorted by index: the map is the same at each
        start."""
        self.state = ManagerState.SPLITTING
        apps = sorted(list(self._apps)[: self._cells])
        for space in self._spaces.values():
            space.plant(BspTree.build(space.policy.bounds, apps))
        for app in apps:
            for space in self._spaces.values():
                self.send(app, space.as_message())
        for app in self._apps:
            self._call_back(app)
        self._become_ready_if_all_are()

    def _call_back(self, app: AppId) -> None:
        """Sends a CellApp that was lost in SPLITTING the present tree and CellRemoved of every space where it has no
        cell now."""
        for id in sorted(self._strays.get(app, ())):
            space = self._by_id[id]
            if app in space.members:
                self._found(app, id)
            elif space.tree is not None:
                self.send(app, space.as_message())
                self.send(app, CellRemoved(space.id, space.version))

    def _found(self, app: AppId, space: int) -> bool:
        """A CellApp has no outdated tree of this space any more; True if it may have had one until now."""
        spaces = self._strays.get(app, set())
        is_news = space in spaces
        spaces.discard(space)
        if not spaces:
            self._strays.pop(app, None)
        return is_news

    def _spaces_of(self, app: AppId) -> list[SpaceState]:
        """The spaces of which a CellApp gets the trees."""
        return [space for space in self._spaces.values() if app in space.members]

    def _on_cell_ready(self, source: AppId, message: CellReady) -> None:
        space = self._by_id.get(message.space)
        if self._is_over(message.space):
            return
        if space is None or source not in self._apps or message.version > space.version:
            self._refuse(source, message)
        elif source in space.members and not space.is_ended:
            self._ground.on_ready(space, source, message.version)
            self._instances.on_ready(space)
            self._become_ready_if_all_are()

    def _on_cell_empty(self, source: AppId, message: CellEmpty) -> None:
        space = self._by_id.get(message.space)
        if self._is_over(message.space):
            return
        if space is None or source not in self._apps:
            is_expected = False
        elif space.is_ended:
            is_expected = source in space.members
            self._instances.on_empty(space, source, message.version)
        else:
            is_member = self._ground.on_empty(space, source, message.version)
            is_expected = self._found(source, space.id) or is_member
        if not is_expected:
            self._refuse(source, message)

    def _is_over(self, space: int) -> bool:
        """Whether there was an instance of this number, which has been ended and forgotten."""
        return space not in self._by_id and self._declared < space <= self._instances.last_id

    def _on_changes(self, question: Question) -> None:
        if self.state is ManagerState.READY:
            self._changes.on_changes(question)
        else:
            self.requests.refuse(question, f"spaces are not ready yet: {self._progress()}; ask again")

    def _become_ready_if_all_are(self) -> None:
        if self.state is ManagerState.SPLITTING and all(space.is_known_to_all for space in self._spaces.values()):
            self.state = ManagerState.READY
            self.host.log(LogEvent.SPACES_READY, spaces=list(self._spaces), cells=self._cells)
            for peer in self._listeners:
                self.send(peer, SpacesReady(self._declared))

    # Changes for a balancer or an operator. An impossible change raises a UsageError with the reason.

    def tree_of(self, space: str) -> BspTree:
        """The tree of a space as it is now."""
        tree = self._in_play(space).tree
        assert tree is not None, "a space in play has a tree"
        return tree

    def add_cell(
        self,
        space: str,
        app: AppId | None = None,
        *,
        beside: AppId | None = None,
        axis: Axis | None = None,
        position: float | None = None,
        is_near: bool = False,
    ) -> AppId:
        """Gives a CellApp that has none a cell of this space: the area beyond a border through the cell of `beside`,
        or, if `is_near`, before it. Defaults: the spare with the least load, the largest cell, a border across its
        longer side, in the middle. Returns the CellApp that gets the cell."""
        return self._ground.add(self._in_play(space), app, beside, axis, position, is_near=is_near)

    def retire_cell(self, space: str, app: AppId) -> None:
        """Takes its cell of this space from a CellApp; the area goes to its neighbour."""
        self._ground.retire(self._in_play(space), app)

    def move_border(self, space: str, path: Path, position: float) -> None:
        """Moves the border of the node at `path` of this space's tree."""
        self._ground.move_border(self._in_play(space), path, position)

    def _in_play(self, name: str) -> SpaceState:
        space = self._spaces.get(name)
        if space is None:
            raise UsageError(self._no_space(name))
        if self.state is not ManagerState.READY:
            raise UsageError(f"spaces are not ready yet: {self._progress()}; try again in a moment")
        if space.is_ended:
            raise UsageError(f"space {name[:100]!r} has been ended")
        return space

    # FindEntry.

    def _on_find_entry(self, question: Question) -> None:
        asked = question.message
        assert isinstance(asked, FindEntry)
        space = self._spaces.get(asked.space)
        is_early = space is not None and space.is_instance and not space.is_made and not space.is_ended
        if space is not None and is_early and self._instances.hold(space, question):
            return
        answer = self._entry_at(asked)
        if isinstance(answer, Entry):
            self.requests.answer(question, answer)
        else:
            self.host.log(LogEvent.NO_ENTRY, space=asked.space[:100], x=asked.x, z=asked.z, reason=answer)
            self.requests.refuse(question, answer)

    def _entry_at(self, asked: FindEntry) -> Entry | str:
        """The CellApp that covers the point, or a sentence with the reason why there is none."""
        space = self._spaces.get(asked.space)
        if space is None:
            return self._no_space(asked.space)
        if not isfinite(asked.x) or not isfinite(asked.z):
            return f"x = {asked.x}, z = {asked.z} is no place in space {asked.space!r}; give finite numbers"
        if space.is_ended:
            return self._no_space(asked.space)
        if self.state is not ManagerState.READY or space.tree is None:
            return f"spaces are not ready yet: {self._progress()}; try again in a moment"
        if space.is_instance and space.tree.bounds.outside_by(asked.x, asked.z):
            return f"x = {asked.x}, z = {asked.z} is not within {tuple(space.tree.bounds)}, the bounds of {asked.space}"
        app = space.tree.leaf_at(asked.x, asked.z).app
        if space.is_instance and not space.is_made:
            return f"space {asked.space!r} is still being made by {app}; try again later"
        if self._apps[app].is_lost:
            return f"the link with {app}, which runs this part of space {asked.space!r}, is lost; try again later"
        return Entry(space.id, app)

    def _no_space(self, name: str) -> str:
        if INSTANCE_MARK in name:
            return f"space {name[:100]!r} has been ended, or was made before the cluster was started"
        known = ", ".join(repr(each) for each, space in self._spaces.items() if not space.is_instance) or "none"
        return f"there is no space {name[:100]!r}; the game's spaces are: {known[:500]}"

    def _progress(self) -> str:
        if self.state is ManagerState.GATHERING:
            return f"{len(self._apps)} of {self._cells} CellApps have joined"
        if self.state is ManagerState.SPLITTING:
            spaces = self._spaces.values()
            awaited = sum(known < space.version for space in spaces for known in space.members.values())
            return f"{awaited} cells are still being made"
        return "all cells are there"

    # Loads, and the view for the console.

    def _on_load(self, source: AppId, message: CellAppLoad) -> None:
        known = self._apps.get(source)
        is_known = known is not None and all(1 <= cell.space <= self._instances.last_id for cell in message.cells)
        if known is None or not is_known or not known.take_in(message):
            self._refuse(source, message)

    def _report_loads(self) -> None:
        known = [each.load for each in self._apps.values() if each.cells and not each.is_lost]
        loads = [each for each in known if each is not None]
        report = CellAppLoads(sum(loads) / len(loads), max(loads)) if loads else CellAppLoads(None, None)
        for peer in self._listeners:
            if peer.kind is AppKind.BASE_APP_MGR:
                self.send(peer, report)

    def view(self) -> dict[str, Any]:
        """The state of this app for the console, as plain data."""
        return {
            "state": self.state.value,
            "progress": self._progress(),
            "cells_wanted": self._cells,
            "apps": [known.view(app) for app, known in self._apps.items()],
            "spaces": [space.view(self._apps) for space in self._spaces.values()],
        }
