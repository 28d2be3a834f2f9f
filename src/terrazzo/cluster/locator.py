"""The locator: how a BaseApp or CellApp finds a part when no app around it has its place.

    switchboard ──locate(part)──▶ app: has it the place? learn(...)
                                     │ no
                                     ▼
                                  Locator ──Locate──▶ BaseAppMgr ──Locate──▶ every BaseApp
    switchboard ◀── learn, gone ──   ◀────Located───             ◀──Located──

The base of an entity is the authority: whether the entity exists, and where its cell part is. The locator is the last
resort: it is used for the first call of a distant caller, and for parts that no app nearby has a place of. Once the two
ends have exchanged frames, each follows the moves of the other without the locator.

A part is `gone` only when the answer states it, and that is only when every BaseApp was asked and none has the entity,
or when its base answers that it has no cell part. Where a BaseApp did not answer, or the base reports its cell part as
unsettled, nothing is concluded: messages for the part go on waiting, and the router asks again. One question at a time
is asked for an entity, however many of its parts are sought by however many callers. An answer is as old as its
question: it does not apply to messages that were sent to the part since, perhaps by a caller that has learned that the
part lives again.
"""

from __future__ import annotations

from functools import partial

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.basemgr_base import Locate, Located
from terrazzo.wire.requests import Failure

ANSWER_S = 12.0
"""Time for two searches of the manager (`managers/searches.py`): one that is under way, and the one after it."""
ASKED_MAX = 10_000
"""Entities that are sought at a time; others are asked for later."""


class Locator:
    """Asks BaseAppMgr on behalf of one app's switchboard."""

    def __init__(self, app: ClusterApp, switchboard: Switchboard) -> None:
        self.manager: AppId | None = None
        self._app = app
        self._switchboard = switchboard
        self._sought: dict[int, set[Part]] = {}
        self._asked_at: dict[int, float] = {}

    def on_link_up(self, peer: AppId) -> None:
        """The app has a link; it may be the one with the manager."""
        if peer.kind is AppKind.BASE_APP_MGR:
            self.manager = peer

    def on_link_lost(self, peer: AppId) -> None:
        """The app has lost a link."""
        if peer == self.manager:
            self.manager = None

    def join(self) -> None:
        """For an app that exchanges no other messages with BaseAppMgr: makes a link with it, unless there is one."""
        if self.manager is None:
            self._app.host.join(AppId(AppKind.BASE_APP_MGR, 0, ANY_INCARNATION))

    def find(self, part: PartId) -> None:
        """Finds out where a part lives, and reports it to the switchboard."""
        sought = self._sought.get(part.entity)
        if sought is not None:
            sought.add(part.part)
        elif self.manager is not None and len(self._sought) < ASKED_MAX:
            self._sought[part.entity] = {part.part}
            self._asked_at[part.entity] = self._app.host.now
            self._app.requests.ask(
                self.manager,
                Locate(part.entity),
                timeout_s=ANSWER_S,
                then=partial(self._on_located, part.entity),
                failed=partial(self._on_failed, part.entity),
            )

    def _on_located(self, entity: EntityId, answer: Message) -> None:
        sought, asked_at = self._sought.pop(entity), self._asked_at.pop(entity)
        if not isinstance(answer, Located):
            self._app.host.log(LogEvent.NOT_LOCATED, entity=entity, why=f"the answer is {type(answer).__name__}")
            return
        for kind in sorted(sought):
            home = answer.base if kind is Part.BASE else answer.cell
            if home is not None:
                self._switchboard.learn(PartId(entity, kind), home.version, home.app)
            elif answer.is_unsettled:
                self._switchboard.unsettled(PartId(entity, kind))
            elif answer.base is None:
                self._switchboard.gone(PartId(entity, kind), "there is no such entity (any more)", asked_at)
            else:
                self._switchboard.gone(PartId(entity, kind), "it has no cell part", asked_at)

    def _on_failed(self, entity: EntityId, failure: Failure, why: str) -> None:
        """There was no answer; the router asks again while messages wait for the part."""
        del self._asked_at[entity]
        for kind in sorted(self._sought.pop(entity)):
            self._switchboard.unsettled(PartId(entity, kind))
        self._app.host.log(LogEvent.NOT_LOCATED, entity=entity, why=why or failure.value)
