"""Console: asks every app of the cluster for its view, a few times a second, and keeps the latest.

The state of each app that the console was given:

    ABSENT ──host.join──▶ JOINING ──on_link_up──▶ RESTING ──a period later, WantView──▶ ASKED ──View──▶ RESTING
       ▲                     │                       │                                    │ refused, or no answer
       └─────────────────────┴────── on_link_lost ───┴────────────────────────────────────┤
                                                     ▲────────────────────────────────────┘
The rules:

- one question at a time: an app that is slow is asked less often, never twice at once;
- no app waits for the console: an app answers from the state that it has, and nothing in the cluster needs the console;
- the latest view of an app that is gone is kept (its age is shown), except that the bodies of a CellApp without a link
  are not on the map: their present places are not known;
- a view that does not fit is counted, reported and refused; the one before stays.

`snapshot()` is the picture of all (see `snapshot.py`). It is made when a page asks for it, not when a view arrives.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.console.snapshot import ReceivedView, RefusalSeen, make_snapshot, read_view
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message, Refusal
from terrazzo.wire.pairs.console_any import View, WantView
from terrazzo.wire.requests import Failure

PERIOD_S = 0.2
"""The least time from one answer to the next question."""
ANSWER_S = 2.0


class _State(Enum):
    ABSENT = "absent"
    JOINING = "joining"
    RESTING = "resting"
    ASKED = "asked"


class WatchedApp:
    """One app that the console looks at; see the module."""

    __slots__ = ("ask_at", "name", "state", "view")

    def __init__(self, name: AppId) -> None:
        self.name = name
        self.state = _State.ABSENT
        self.ask_at = 0.0
        self.view: ReceivedView | None = None

    @property
    def is_up(self) -> bool:
        """Whether there is a link with it."""
        return self.state in (_State.RESTING, _State.ASKED)


class ConsoleApp(ClusterApp):
    """Collects the views of all apps for the web page."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        *,
        cells: Iterable[int],
        bases: Iterable[int],
        logins: Iterable[int] = (0,),
        period_s: float = PERIOD_S,
    ) -> None:
        """Takes the indexes of the BaseApps, CellApps and LoginApps."""
        super().__init__(me, host)
        self._period_s = period_s
        self._apps = {
            (kind, index): WatchedApp(AppId(kind, index, ANY_INCARNATION))
            for kind, indexes in (
                (AppKind.CELL_APP_MGR, (0,)),
                (AppKind.CELL_APP, cells),
                (AppKind.BASE_APP_MGR, (0,)),
                (AppKind.BASE_APP, bases),
                (AppKind.DB_APP, (0,)),
                (AppKind.LOGIN_APP, logins),
            )
            for index in indexes
        }

    def snapshot(self) -> dict[str, Any]:
        """The whole cluster as plain data (what JSON can hold), as of now."""
        own = msgspec.convert(self.refused_clients(), list[RefusalSeen])
        return make_snapshot(self._apps.values(), self.host.now, own)

    def view(self) -> dict[str, Any]:
        """The state of the console itself."""
        return {"watched": len(self._apps), "up": sum(app.is_up for app in self._apps.values())}

    # App.

    def on_link_up(self, peer: AppId) -> None:
        """See App."""
        app = self._apps.get(peer.slot)
        if app is not None:
            if peer != app.name:
                app.view = None  # a view of an earlier incarnation is not shown for this one
            app.name = peer
            app.state = _State.RESTING
            app.ask_at = self.host.now

    def on_link_lost(self, peer: AppId) -> None:
        """See App."""
        super().on_link_lost(peer)
        app = self._apps.get(peer.slot)
        if app is not None and (peer == app.name or not app.is_up):
            app.state = _State.ABSENT

    def on_tick(self) -> None:
        """See App."""
        super().on_tick()
        for app in self._apps.values():
            if app.state is _State.ABSENT:
                app.state = _State.JOINING
                self.host.join(app.name._replace(incarnation=ANY_INCARNATION))
            elif app.state is _State.RESTING and self.host.now >= app.ask_at:
                self._ask(app)

    # Views.

    def _ask(self, app: WatchedApp) -> None:
        peer = app.name
        app.state = _State.ASKED

        def then(answer: Message) -> None:
            self._on_answer(app, peer, answer)
            self._rest(app, peer)

        def failed(why: Failure, reason: str) -> None:
            if why is not Failure.LINK_LOST:
                self.host.log(LogEvent.NO_VIEW, app=str(peer), why=why.value, reason=reason)
            self._rest(app, peer)

        self.requests.ask(peer, WantView(), timeout_s=ANSWER_S, then=then, failed=failed)

    def _rest(self, app: WatchedApp, peer: AppId) -> None:
        if app.state is _State.ASKED and app.name == peer:
            app.state = _State.RESTING
            app.ask_at = self.host.now + self._period_s

    def _on_answer(self, app: WatchedApp, peer: AppId, answer: Message) -> None:
        try:
            if not isinstance(answer, View):
                raise msgspec.ValidationError(f"expected a View, got {type(answer).__name__}")
            app.view = read_view(peer.kind, answer.json, self.host.now)
        except msgspec.DecodeError as problem:
            count = self.refusals.count(peer, Refusal.MALFORMED)
            self.host.log(LogEvent.VIEW_MALFORMED, app=str(peer), problem=str(problem), count=count)
