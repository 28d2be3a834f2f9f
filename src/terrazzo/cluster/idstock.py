"""The stock of entity ids of a BaseApp or CellApp: runs of numbers from the DBApp, which gives each number once only.

    less than a quarter left  ──WantIds──▶  Ids: one more run        refused, lost or late: WantIds again after a second

A BaseApp asks the DBApp, a CellApp the BaseAppMgr, which passes the question on.

While the stock is empty, creations wait in order. A creation that is no longer needed when its turn comes returns False
and uses no id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from terrazzo.cluster.app import Host
from terrazzo.errors import UsageError
from terrazzo.wire.ids import AppId, EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import Ids, WantIds
from terrazzo.wire.requests import Failure, Requests

RUN = 512
"""Ids that are asked for at a time; more are asked for when a quarter of that is left."""
ID_MAX = 2**31 - 1
_ANSWER_S = 5.0
_AGAIN_S = 1.0

OnId = Callable[[EntityId], bool]
"""Uses the id and returns True, or returns False when the entity is no longer needed."""


class IdStock:
    """The ids of one app."""

    def __init__(self, host: Host, requests: Requests, giver: Callable[[], AppId | None], *, run: int = RUN) -> None:
        """`giver` returns the app that is asked, while it is linked; `run`: how many ids are asked for at a time."""
        self._host = host
        self._requests = requests
        self._giver = giver
        self._run = run
        self._again_at = 0.0
        self._runs: deque[tuple[int, int]] = deque()
        self._waiting: deque[OnId] = deque()
        self._is_asking = False

    def __len__(self) -> int:
        return sum(count for _, count in self._runs)

    @property
    def runs(self) -> Sequence[tuple[int, int]]:
        """The runs of free ids: the first of each, and how many."""
        return self._runs

    @property
    def waiting(self) -> int:
        """The number of creations that wait for an id."""
        return len(self._waiting)

    def take(self) -> EntityId:
        """A new id, at once."""
        if not self._runs:
            self.serve()
            raise UsageError("no entity ids are left at this moment: too many entities were made at once; try later")
        first, count = self._runs.popleft()
        if count > 1:
            self._runs.appendleft((first + 1, count - 1))
        return EntityId(first)

    def create(self, creation: OnId) -> None:
        """Runs the creation with a new id: at once if there is one and no other creation waits, else in its turn."""
        self._waiting.append(creation)
        self.serve()

    def serve(self) -> None:
        """Runs the waiting creations as far as the stock goes, and requests more ids when it is low."""
        while self._waiting and self._runs:
            # The id leaves the stock before the creation runs: the game's code in it may create more entities.
            first, count = self._runs.popleft()
            if count > 1:
                self._runs.appendleft((first + 1, count - 1))
            if not self._waiting.popleft()(EntityId(first)):
                self._runs.appendleft((first, 1))
        if len(self) < self._run // 4 + len(self._waiting):
            self._ask()

    def _ask(self) -> None:
        giver = self._giver()
        if self._is_asking or giver is None or self._host.now < self._again_at:
            return
        self._is_asking = True
        wanted = WantIds(self._run + len(self._waiting))
        self._requests.ask(giver, wanted, timeout_s=_ANSWER_S, then=self._on_ids, failed=self._on_none)

    def _on_ids(self, message: Message) -> None:
        if not isinstance(message, Ids) or not (message.first > 0 and 0 < message.count <= ID_MAX - message.first):
            self._on_none(Failure.REFUSED, f"an answer that is no run of ids: {message!r}")
            return
        self._is_asking = False
        self._runs.append((message.first, message.count))
        self.serve()

    def _on_none(self, failure: Failure, why: str) -> None:
        left, waiting = len(self), len(self._waiting)
        self._host.log(LogEvent.NO_ENTITY_IDS, failure=failure.value, why=why, left=left, waiting=waiting)
        self._is_asking = False
        self._again_at = self._host.now + _AGAIN_S
