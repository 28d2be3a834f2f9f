"""A second login of a player that is logged on: does the present client still answer?

    TakeOver ──▶ the proxy is gone, or going ──────────────────────────────▶ TakenOver(is_going=True)
             ──▶ it has a client, or waits for one ──▶ PROBING ── any packet of the client ──▶ TakenOver(is_going=False)
                                                          └── PROBES times nothing ──▶ the client is let go, as if its
                                                              session had timed out ──▶ is_going, if the game agrees
             ──▶ the game keeps it without a client ───────────────────────▶ TakenOver(is_going=False)

DBApp asks only for a login with the right password. A client that died without a word would else keep its player out
until the session times out (30 s). A client that is there acknowledges each probe, so it stays.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from terrazzo.base.entity import Life
from terrazzo.base.proxy import Presence, ProxyEntity
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_db import TakenOver, TakeOver
from terrazzo.wire.requests import Question

if TYPE_CHECKING:
    from terrazzo.base.baseapp import BaseApp

PROBES = 5
PROBE_S = 0.5


class TakeOvers:
    """The take-overs of one BaseApp."""

    def __init__(self, app: BaseApp) -> None:
        self._app = app

    def on_take_over(self, question: Question) -> None:
        """DBApp asks."""
        asked = question.message
        assert isinstance(asked, TakeOver)
        proxy = self._app.bases.get(EntityId(asked.entity))
        if isinstance(proxy, ProxyEntity) and proxy.presence is not Presence.ABSENT and proxy.life is Life.ALIVE:
            self._probe(question, proxy, since=self._app.host.now, left=PROBES)
        else:
            self._answer(question, proxy is None or proxy.life is not Life.ALIVE)

    def _probe(self, question: Question, proxy: ProxyEntity, since: float, left: int) -> None:
        if proxy.life is not Life.ALIVE:
            self._answer(question, is_going=True)
        elif proxy.heard_since(since):
            self._answer(question, is_going=False)
        elif left:
            proxy.probe()
            again = partial(self._probe, question, proxy, since, left - 1)
            self._app.alarms.after(PROBE_S, again)
        else:
            proxy.let_go()
            self._answer(question, is_going=proxy.life is not Life.ALIVE)

    def _answer(self, question: Question, is_going: bool) -> None:
        self._app.requests.answer(question, TakenOver(is_going))
