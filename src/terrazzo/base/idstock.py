"""The stock of entity ids: runs of numbers from the DBApp that nobody else has or had.

    fewer than LOW left  ──WantIds──▶  Ids: one more run          refused, lost or late: asked again in a second

What is to be created while the stock is empty waits, in order. A creation that is not wanted any more when its turn
comes says so and uses no number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from terrazzo.wire.ids import AppKind, EntityId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import Ids, WantIds
from terrazzo.wire.requests import Failure

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp

LOW = 128
RUN = 512
ID_MAX = 2**31 - 1
_ANSWER_S = 5.0
_AGAIN_S = 1.0

Creation = Callable[[EntityId], bool]
"""Uses the id and returns True, or is not wanted any more."""


class IdStock:
    """The ids of one BaseApp."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._runs: deque[tuple[int, int]] = deque()
        self._waiting: deque[Creation] = deque()
        self._is_asking = False

    def __len__(self) -> int:
        return sum(count for _, count in self._runs)

    @property
    def waiting(self) -> int:
        """Creations that wait for a number."""
        return len(self._waiting)

    def create(self, creation: Creation) -> None:
        """Runs the creation with a new id: now if there is one and nobody waits, else when its turn comes."""
        self._waiting.append(creation)
        self.serve()

    def serve(self) -> None:
        """Serves who waits, as far as the stock goes, and asks for more when it is low."""
        while self._waiting and self._runs:
            # The number is out of the stock before the creation runs: the game's code in it may create more.
            first, count = self._runs.popleft()
            if count > 1:
                self._runs.appendleft((first + 1, count - 1))
            if not self._waiting.popleft()(EntityId(first)):
                self._runs.appendleft((first, 1))
        if len(self) < LOW + len(self._waiting):
            self._ask()

    def _ask(self) -> None:
        db = self._app.peers.get(AppKind.DB_APP)
        if self._is_asking or db is None:
            return
        self._is_asking = True
        wanted = WantIds(RUN + len(self._waiting))
        self._app.requests.ask(db, wanted, timeout_s=_ANSWER_S, then=self._on_ids, failed=self._on_none)

    def _on_ids(self, message: Message) -> None:
        if not isinstance(message, Ids) or not (message.first > 0 and 0 < message.count <= ID_MAX - message.first):
            self._on_none(Failure.REFUSED, f"an answer that is no run of ids: {message!r}")
            return
        self._is_asking = False
        self._runs.append((message.first, message.count))
        self.serve()

    def _on_none(self, failure: Failure, why: str) -> None:
        left, waiting = len(self), len(self._waiting)
        self._app.host.log("no entity ids", failure=failure.value, why=why, left=left, waiting=waiting)
        self._app.alarms.after(_AGAIN_S, self._again)

    def _again(self) -> None:
        self._is_asking = False
        self.serve()
