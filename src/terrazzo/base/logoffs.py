"""Log-offs that a BaseApp must report to the DBApp: each is repeated until the DBApp has confirmed that it is recorded.

    a proxy ends ──▶ UNCONFIRMED ── LoggedOff ──▶ DBApp ── LogOffRecorded ──▶ done
                      ▲ │ no link, link lost, refused, no answer
                      └─┘ again after AGAIN_S, and at once when the link is back

Until the log-off is recorded, the player cannot log in again. So only the confirmation ends the repeating, however long
the link is lost. LoggedOff names the proxy, so a repeated one changes nothing. The number of unconfirmed log-offs is
bounded by the number of proxies: the DBApp creates none for a player before it has recorded that player's log-off.
"""

from __future__ import annotations

from functools import partial

from terrazzo.base.services import BaseServices
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.base_db import LoggedOff, LogOffRecorded
from terrazzo.wire.requests import Failure

AGAIN_S = 2.0
_ANSWER_S = 10.0


class LogOffs:
    """The log-offs of one BaseApp."""

    def __init__(self, services: BaseServices) -> None:
        self._services = services
        self._unconfirmed: dict[int, LoggedOff] = {}
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return len(self._unconfirmed)

    @property
    def has_deletions(self) -> bool:
        """Whether an entity is to be deleted, and that is not confirmed."""
        return any(each.is_deleted for each in self._unconfirmed.values())

    def report(self, message: LoggedOff) -> None:
        """A proxy has ended: the DBApp must record it."""
        self._unconfirmed[message.entity] = message
        self._ask(message)

    def on_link_up(self, db: AppId) -> None:
        """The link with the DBApp is back."""
        for message in list(self._unconfirmed.values()):
            self._ask(message)

    def _ask(self, message: LoggedOff) -> None:
        db = self._services.peers.get(AppKind.DB_APP)
        if db is None or message.entity in self._asked or message.entity not in self._unconfirmed:
            return  # without a link, `on_link_up` sends it
        self._asked.add(message.entity)
        self._services.requests.ask(
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
        del self._unconfirmed[message.entity]

    def _fail(self, message: LoggedOff, failure: Failure, why: str) -> None:
        self._asked.discard(message.entity)
        facts = {"dbid": message.dbid, "entity": message.entity, "why": why or failure.value}
        self._services.host.log(LogEvent.LOG_OFF_NOT_RECORDED, **facts, again_s=AGAIN_S)
        self._services.alarms.after(AGAIN_S, partial(self._ask, message))
