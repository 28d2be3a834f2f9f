"""The stock of entity ids: runs of numbers from the DBApp, which gives each number to one BaseApp only.

    fewer than LOW left  ──WantIds──▶  Ids: one more run          refused, lost or late: WantIds again after a second

While the stock is empty, creations wait in order. A creation that is no longer needed when its turn comes returns False
and uses no id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from terrazzo.base.services import BaseServices
from terrazzo.wire.ids import AppKind, EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import Ids, WantIds
from terrazzo.wire.requests import Failure

LOW = 128
RUN = 512
ID_MAX = 2**31 - 1
_ANSWER_S = 5.0
_AGAIN_S = 1.0

OnId = Callable[[EntityId], bool]
"""Uses the id and returns True, or returns False when the entity is no longer needed."""


class IdStock:
    """The ids of one BaseApp."""

    def __init__(self, services: BaseServices) -> None:
        self._services = services
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
        if len(self) < LOW + len(self._waiting):
            self._ask()

    def _ask(self) -> None:
        db = self._services.peers.get(AppKind.DB_APP)
        if self._is_asking or db is None:
            return
        self._is_asking = True
        wanted = WantIds(RUN + len(self._waiting))
        self._services.requests.ask(db, wanted, timeout_s=_ANSWER_S, then=self._on_ids, failed=self._on_none)

    def _on_ids(self, message: Message) -> None:
        if not isinstance(message, Ids) or not (message.first > 0 and 0 < message.count <= ID_MAX - message.first):
            self._on_none(Failure.REFUSED, f"an answer that is no run of ids: {message!r}")
            return
        self._is_asking = False
        self._runs.append((message.first, message.count))
        self.serve()

    def _on_none(self, failure: Failure, why: str) -> None:
        left, waiting = len(self), len(self._waiting)
        self._services.host.log(LogEvent.NO_ENTITY_IDS, failure=failure.value, why=why, left=left, waiting=waiting)
        self._services.alarms.after(_AGAIN_S, self._again)

    def _again(self) -> None:
        self._is_asking = False
        self.serve()
