"""Instances: spaces that the code of a game makes and ends while the world is in play. Part of the CellAppMgr.

    CREATE ──SpaceTree with one cell──▶ MAKING ──CellReady──▶ in play, as every other space ──END──▶ ENDING
                                           └────────────────────── END ────────────────────────────────▲

    ENDING   SpaceEnded to all members: each destroys the entities that are there, lets no other in, and sends CellEmpty
             when it has none left. When all have sent it, all get CellRemoved; each drops the space and sends CellEmpty
             once more. With the last one the space is forgotten.

The rules:

- *A name is used once.* The manager makes it, from the part that the game has chosen, the token of this incarnation and
  the number of the space, which is never used again. So a name that was saved before a restart finds no other space.
- *One cell.* An instance begins with one cell, at the CellApp with the least load. It may get others as every space.
- *Entering waits.* While the space is being made, a FindEntry for it is held back for up to MAKE_S; then, and when the
  space has been ended, it is refused with the reason.
- *Nothing is left behind.* A member that is empty may get an entity from another member that is not: so none drops the
  space before all are empty. An entity that is on its way into the space from elsewhere is refused, and stays where it
  was. The manager waits for a member with a lost link, and sends it everything again when it is back.
- *Ending can be repeated*: the end of a space that has been ended changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.errors import UsageError
from terrazzo.game import INSTANCE_MARK, Space, is_instance_name
from terrazzo.managers.cells import Cells
from terrazzo.managers.spaces import CellAppState, Leaving, SpaceState
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.cellmgr_cell import CellRemoved, SpaceEnded
from terrazzo.wire.pairs.spaces import SpaceAct, SpaceChange, SpaceOutcome
from terrazzo.wire.requests import Question
from terrazzo.world.bsp import BspTree
from terrazzo.world.rect import checked_bounds

INSTANCES_MAX = 1000
"""In a cluster."""
MAKE_S = 10.0
"""How long the cell of a new instance is waited for by those that want to enter."""
WAITING_MAX = 1000
"""Questions about one instance that are held back."""


class Instances:
    """The instances of one cluster."""

    def __init__(
        self,
        manager: ClusterApp,
        spaces: dict[str, SpaceState],
        by_id: dict[int, SpaceState],
        apps: dict[AppId, CellAppState],
        cells: Cells,
        token: str,
        find_entry: Callable[[Question], None],
    ) -> None:
        """`spaces`, `by_id`: all spaces, to which instances are added, and from which they are removed. `find_entry`
        answers a FindEntry."""
        self._manager = manager
        self._spaces = spaces
        self._by_id = by_id
        self._apps = apps
        self._cells = cells
        self._token = token
        self._find_entry = find_entry
        self._last_id = len(spaces)
        self._waiting: dict[int, list[Question]] = {}
        """By space: those that want to enter one that is being made."""

    @property
    def last_id(self) -> int:
        """The number of the latest space, whether it is still there or not."""
        return self._last_id

    # Changes.

    def make(self, change: SpaceChange) -> SpaceOutcome:
        """Makes a change that the code of a game has asked for."""
        try:
            if change.act is SpaceAct.CREATE:
                return SpaceOutcome(self._create(change))
            if change.act is SpaceAct.SET_DATA:
                self._set_data(change)
            else:
                self._end(change.space)
            return SpaceOutcome(change.space)
        except UsageError as problem:
            return SpaceOutcome("", str(problem))

    def _create(self, change: SpaceChange) -> str:
        checked_bounds(change.bounds)
        count = sum(space.is_instance for space in self._spaces.values())
        if count >= INSTANCES_MAX:
            raise UsageError(f"there are {count} instances already: end some of them first")
        app = self._cells.least_loaded()
        self._last_id += 1
        name = f"{change.space}{INSTANCE_MARK}{self._token}-{self._last_id}"
        space = SpaceState(self._last_id, Space(name, change.bounds), is_instance=True)
        space.make_until = self._manager.host.now + MAKE_S
        space.set_data(change.data)
        self._spaces[name] = self._by_id[space.id] = space
        space.plant(BspTree.build(space.policy.bounds, [app]))
        self._manager.host.log(LogEvent.SPACE_MADE, space=name, app=str(app))
        self._manager.send(app, space.as_message())
        if space.data:
            self._manager.send(app, space.data_message())
        return name

    def _set_data(self, change: SpaceChange) -> None:
        space = self._spaces.get(change.space)
        if space is None or space.is_ended:
            gone = "has been ended" if is_instance_name(change.space) else "does not exist"
            raise UsageError(f"space {change.space[:100]!r} {gone}")
        if space.set_data(change.data):
            for app in space.members:
                if not self._apps[app].is_lost:
                    self._manager.send(app, space.data_message())

    def _end(self, name: str) -> None:
        space = self._spaces.get(name)
        if space is None and is_instance_name(name):
            return  # it has been ended, long ago
        if space is None or not space.is_instance:
            raise UsageError(f"space {name[:100]!r} is no instance: only what create_space has made can be ended")
        if space.is_ended:
            return
        space.end()
        self._manager.host.log(LogEvent.SPACE_ENDS, space=name)
        for app in space.members:
            self._send_end(space, app)
        self._let_in(space.id)

    def _send_end(self, space: SpaceState, app: AppId) -> None:
        if not self._apps[app].is_lost:
            self._manager.send(app, SpaceEnded(space.id, space.version))

    # Members of a space that ends.

    def on_empty(self, space: SpaceState, app: AppId, version: int) -> None:
        """A member of a space that ends has no entity of it, or has dropped it."""
        leaving = space.leaving.get(app)
        if app in space.retiring and version == space.version:
            del space.retiring[app]
            space.leaving[app] = Leaving(space.version + 1)
            if not space.retiring:
                self._remove(space)
        elif leaving is not None and leaving.is_notified and leaving.version == version:
            del space.leaving[app], space.members[app]
            if not space.members:
                self._forget(space)

    def _remove(self, space: SpaceState) -> None:
        """All members are empty."""
        space.version += 1
        for app, leaving in space.leaving.items():
            leaving.is_notified = True
            self._manager.send(app, CellRemoved(space.id, leaving.version))

    def _forget(self, space: SpaceState) -> None:
        del self._spaces[space.policy.name], self._by_id[space.id]
        self._manager.host.log(LogEvent.SPACE_ENDED, space=space.policy.name)

    def on_back(self, space: SpaceState, app: AppId) -> None:
        """A member of a space that ends is back: it may have missed what it was sent last."""
        leaving = space.leaving.get(app)
        if app in space.retiring:
            self._send_end(space, app)
        elif leaving is not None and leaving.is_notified:
            self._manager.send(app, CellRemoved(space.id, leaving.version))

    # Entering one that is being made.

    def hold(self, space: SpaceState, question: Question) -> bool:
        """Holds a FindEntry back until the space is made; False when it must be refused."""
        waiting = self._waiting.setdefault(space.id, [])
        if len(waiting) >= WAITING_MAX or self._manager.host.now >= space.make_until:
            return False
        waiting.append(question)
        return True

    def on_ready(self, space: SpaceState) -> None:
        """A member of a space uses its tree."""
        if not space.is_made:
            space.is_made = True
            self._let_in(space.id)

    def on_link_lost(self, peer: AppId) -> None:
        """Its questions are void."""
        for waiting in self._waiting.values():
            waiting[:] = [question for question in waiting if question.source != peer]

    def on_tick(self) -> None:
        """Refuses what has waited for MAKE_S."""
        for id in list(self._waiting):
            space = self._by_id.get(id)
            if space is None or self._manager.host.now >= space.make_until:
                self._let_in(id)

    def _let_in(self, id: int) -> None:
        """Those that have waited are answered as if they asked now."""
        for question in self._waiting.pop(id, ()):
            self._find_entry(question)
