"""A second login of a player that is logged on: the BaseApp finds out whether the present client still answers.

    TakeOver ──▶ the proxy has ended, or is ending ────────────────────────▶ TakenOver(is_going=True)
             ──▶ it has a client, or waits for one ──▶ PROBING ── any packet of the client ──▶ TakenOver(is_going=False)
                                                          └── PROBES probes without one ──▶ the client is dropped, as if
                                                              its session had timed out ──▶ is_going, unless the game
                                                              keeps the proxy
             ──▶ the game keeps it without a client ───────────────────────▶ TakenOver(is_going=False)

The DBApp asks only for a login with the right password. Without this, a client that vanished would keep its player out
until the session times out (30 s). A client that is connected acknowledges each probe, so it keeps its session.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from terrazzo.base.entity import BaseEntity, Life
from terrazzo.base.proxy import Presence, ProxyEntity
from terrazzo.base.services import Services
from terrazzo.wire.ids import EntityId
from terrazzo.wire.pairs.base_db import TakenOver, TakeOver
from terrazzo.wire.requests import Question

PROBES = 5
PROBE_S = 0.5


class TakeOvers:
    """The take-overs of one BaseApp."""

    def __init__(self, services: Services, bases: Mapping[EntityId, BaseEntity]) -> None:
        self._services = services
        self._bases = bases

    def on_take_over(self, question: Question) -> None:
        """The DBApp asks."""
        asked = question.message
        assert isinstance(asked, TakeOver)
        proxy = self._bases.get(EntityId(asked.entity))
        if isinstance(proxy, ProxyEntity) and proxy.presence is not Presence.ABSENT and proxy.life is Life.ALIVE:
            self._probe(question, proxy, since=self._services.host.now, left=PROBES)
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
            self._services.alarms.after(PROBE_S, again)
        else:
            proxy.drop_silent_client()
            self._answer(question, is_going=proxy.life is not Life.ALIVE)

    def _answer(self, question: Question, is_going: bool) -> None:
        self._services.requests.answer(question, TakenOver(is_going))
