"""Log-offs that a BaseApp owes DBApp: each is repeated until DBApp has confirmed that it is recorded.

    a proxy goes ──▶ OWED ── LoggedOff ──▶ DBApp ── LogOffRecorded ──▶ done
                      ▲ │ no link, link lost, refused, no answer
                      └─┘ again after AGAIN_S, and at once when the link is back

Until it is recorded the player cannot log in again, so nothing but the confirmation ends the repeating, however long
the link is lost. LoggedOff names the proxy, so a repeated one changes nothing. What is owed is bounded by the proxies
that were made: DBApp makes none for a player before it has recorded that player's log-off.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded
from terrazzo.wire.requests import Failure

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp

AGAIN_S = 2.0
_ANSWER_S = 10.0


class LogOffs:
    """The log-offs of one BaseApp."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app
        self._owed: dict[int, LoggedOff] = {}
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return len(self._owed)

    def owe(self, message: LoggedOff) -> None:
        """A proxy is gone: DBApp must record it."""
        self._owed[message.entity] = message
        self._ask(message)

    def on_link_up(self, db: AppId) -> None:
        """The link with DBApp is back."""
        for message in list(self._owed.values()):
            self._ask(message)

    def _ask(self, message: LoggedOff) -> None:
        db = self._app.peers.get(AppKind.DB_APP)
        if db is None or message.entity in self._asked or message.entity not in self._owed:
            return  # without a link `on_link_up` asks
        self._asked.add(message.entity)
        self._app.requests.ask(
            db,
            message,
            timeout_s=_ANSWER_S,
            then=partial(self._on_answer, message),
            failed=partial(self._fail, message),
        )

    def _on_answer(self, message: LoggedOff, answer: Message) -> None:
        if not isinstance(answer, LogOffRecorded):
            self._fail(message, Failure.REFUSED, f"the DBApp answered {type(answer).__name__}")
            return
        self._asked.discard(message.entity)
        del self._owed[message.entity]

    def _fail(self, message: LoggedOff, failure: Failure, why: str) -> None:
        self._asked.discard(message.entity)
        words = why or failure.value
        self._app.host.log("log-off not recorded", dbid=message.dbid, entity=message.entity, why=words, again_s=AGAIN_S)
        self._app.alarms.after(AGAIN_S, partial(self._ask, message))
