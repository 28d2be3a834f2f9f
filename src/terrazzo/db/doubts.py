"""Log-on records of proxies that may not exist: each is kept until that is certain, however long it takes.

    a placement without an answer, or that could not be stored; a proxy that ends, or has ended, while a second login
    waits; every record after a restart of the DBApp ──▶ IN DOUBT
    IN DOUBT ── Locate ──▶ BaseAppMgr: no BaseApp has the proxy ──▶ the record is cleared
                 │                     a BaseApp has it ──▶ recorded there; its LoggedOff will clear the record
                 └── refused, no answer, no link ──▶ Locate again after AGAIN_S, and at once when the link is back
    LoggedOff of the proxy ──▶ cleared

The answer of the BaseAppMgr is certain: it refuses while it still places the proxy itself and while a BaseApp is out of
its reach, and a CreateProxy that is under way reaches its BaseApp before the Locate does. There is no time limit here,
because a link may be lost for longer than any limit: a record cleared too early allows two proxies of one player, and a
record that is never cleared locks the player out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from terrazzo.cluster.app import Host
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.basemgr_base import Locate, Located
from terrazzo.wire.requests import Failure, Requests

AGAIN_S = 2.0
ANSWER_S = 10.0
ASKED_MAX = 64
"""Locate requests at a time."""


@dataclass
class _Doubt:
    dbid: int
    ask_at: float
    is_asked: bool = False


OnNone = Callable[[int, int], None]
"""Takes dbid and entity: there is no such proxy."""
OnFound = Callable[[int, int, AppId], None]
"""Takes dbid, entity and the BaseApp that has the proxy."""


class Doubts:
    """The records in doubt, by the ids of their proxies."""

    def __init__(self, host: Host, requests: Requests, on_none: OnNone, on_found: OnFound) -> None:
        self._host = host
        self._requests = requests
        self._on_none = on_none
        self._on_found = on_found
        self._doubts: dict[int, _Doubt] = {}
        self._asked = 0

    def __len__(self) -> int:
        return len(self._doubts)

    def add(self, dbid: int, entity: int, *, after_s: float = 0.0) -> None:
        """It is not certain whether this proxy exists."""
        self._doubts[entity] = _Doubt(dbid, self._host.now + after_s)

    def forget(self, entity: int) -> None:
        """The record of this proxy is settled."""
        self._doubts.pop(entity, None)

    def on_link_up(self) -> None:
        """The link with the BaseAppMgr is back: all records in doubt are due now."""
        for doubt in self._doubts.values():
            doubt.ask_at = self._host.now

    def on_tick(self, manager: AppId | None) -> None:
        """Sends the Locate requests that are due."""
        if manager is None:
            return
        for entity, doubt in list(self._doubts.items()):
            if self._asked >= ASKED_MAX:
                return
            if not doubt.is_asked and self._host.now >= doubt.ask_at:
                self._ask(manager, entity, doubt)

    def _ask(self, manager: AppId, entity: int, doubt: _Doubt) -> None:
        doubt.is_asked = True
        self._asked += 1

        def then(answer: Message) -> None:
            if not self._was_removed(entity, doubt):
                self._on_answer(entity, doubt, answer)

        def failed(failure: Failure, why: str) -> None:
            if not self._was_removed(entity, doubt):
                self._host.log(LogEvent.LOG_ON_IN_DOUBT, dbid=doubt.dbid, entity=entity, why=why or failure.value)

        self._requests.ask(manager, Locate(entity), timeout_s=ANSWER_S, then=then, failed=failed)

    def _was_removed(self, entity: int, doubt: _Doubt) -> bool:
        """The request has ended; True when the doubt was settled before that."""
        self._asked -= 1
        doubt.is_asked = False
        doubt.ask_at = self._host.now + AGAIN_S
        return self._doubts.get(entity) is not doubt

    def _on_answer(self, entity: int, doubt: _Doubt, answer: Message) -> None:
        if not isinstance(answer, Located):
            self._host.log(LogEvent.UNEXPECTED_ANSWER, kind=type(answer).__name__, to="Locate")
            return
        self.forget(entity)
        if answer.base is None:
            self._on_none(doubt.dbid, entity)
        else:
            self._on_found(doubt.dbid, entity, answer.base.app)
