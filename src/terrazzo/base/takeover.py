"""A second login of a player that is logged on: the game decides whether the new client gets the proxy.

    TakeOver ──▶ the proxy has ended, or is ending ──────────────────────▶ TakenOver(is_going=True)
             ──▶ its first client has not come yet ──▶ ACCEPT
             ──▶ the game has loaded it, for no client ──▶ it ends, and TakenOver(is_going=True)
             ──▶ a client is connected, or the game keeps the proxy ──▶ on_log_on_attempt ──▶ ACCEPT, REFUSE or WAIT

    ACCEPT ──▶ ProxyTaken, with a key: the client that presents it gets the proxy, and the present one is let go then
    REFUSE ──▶ PROBING ── any packet of the present client, or the game keeps the proxy ──▶ TakenOver(is_going=False)
                  ├── its connection is lost: it may still resume ──▶ SEAT FREE
                  └── PROBES probes without a packet ──▶ it is dropped, as if its session had timed out ──▶ SEAT FREE
    WAIT ──▶ again every LOOK_S ── no client is connected any more ──▶ SEAT FREE
                  └── after WAIT_S ──▶ TakenOver(is_going=False)
    SEAT FREE ──▶ the proxy is ending: is_going          ──▶ the game keeps it: ACCEPT

The DBApp asks only for a login with the right password. The present client stays connected until the next one has
presented its key, so a login that is not finished changes nothing. A game that refuses protects only a client that
answers: one that vanished would keep its player out until the session times out (30 s).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.farewells import LogOnAnswer
from terrazzo.base.keys import KeyRing
from terrazzo.base.presence_states import Presence
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.services import BaseServices, ClientPorts
from terrazzo.sync.gamecode import run_game_code
from terrazzo.wire.ids import EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_db import ProxyTaken, TakenOver, TakeOver
from terrazzo.wire.requests import Question

PROBES = 5
PROBE_S = 0.5
LOOK_S = 0.25
WAIT_S = 4.0
"""How long a second login waits, where the game wants that, until the present client is gone."""


class TakeOvers:
    """The take-overs of one BaseApp."""

    def __init__(
        self, services: BaseServices, bases: Mapping[EntityId, BaseEntity], keys: KeyRing, address: ClientPorts
    ) -> None:
        """`address` is that of this app for clients."""
        self._services = services
        self._bases = bases
        self._keys = keys
        self._address = address

    def on_take_over(self, question: Question) -> None:
        """The DBApp asks."""
        asked = question.message
        assert isinstance(asked, TakeOver)
        proxy = self._bases.get(EntityId(asked.entity))
        if not isinstance(proxy, ProxyEntity) or proxy.life is not BaseLife.ALIVE:
            self._answer(question, TakenOver(is_going=proxy is None or proxy.life is not BaseLife.ALIVE))
        elif proxy.presence is Presence.WAITING:
            self._accept(question, proxy)
        elif proxy.presence is Presence.ABSENT and not proxy.is_logged_on:
            proxy.destroy()  # the game has loaded it: it is saved, and its player gets a proxy of its own
            self._answer(question, TakenOver(is_going=True))
        else:
            answer = self._ask_game(proxy, asked.address)
            if answer is LogOnAnswer.ACCEPT:
                self._on_free(question, proxy)
            elif answer is LogOnAnswer.WAIT:
                self._wait(question, proxy, until=self._services.host.now + WAIT_S)
            else:
                self._probe(question, proxy, since=self._services.host.now, left=PROBES)

    def _ask_game(self, proxy: ProxyEntity, address: str) -> LogOnAnswer:
        """The game's answer; code that fails, or gives anything else than a LogOnAnswer, has refused."""
        what, ask = f"{proxy}.on_log_on_attempt", proxy.part.on_log_on_attempt
        answer = run_game_code(self._services.host, what, ask, address)
        if isinstance(answer, LogOnAnswer):
            return answer
        error = "the answer is no LogOnAnswer, and counts as REFUSE"
        self._services.host.log(LogEvent.GAME_ERROR, what=what, error=error)
        return LogOnAnswer.REFUSE

    def _wait(self, question: Question, proxy: ProxyEntity, until: float) -> None:
        if not proxy.has_client or proxy.life is not BaseLife.ALIVE:
            self._on_free(question, proxy)
        elif self._services.host.now >= until:
            self._answer(question, TakenOver(is_going=False))
        else:
            self._services.alarms.after(LOOK_S, partial(self._wait, question, proxy, until))

    def _probe(self, question: Question, proxy: ProxyEntity, since: float, left: int) -> None:
        if proxy.life is not BaseLife.ALIVE or proxy.presence is Presence.AWAY:
            self._on_free(question, proxy)
        elif not proxy.has_client or proxy.is_active_since(since):
            self._answer(question, TakenOver(is_going=False))
        elif left:
            proxy.probe()
            again = partial(self._probe, question, proxy, since, left - 1)
            self._services.alarms.after(PROBE_S, again)
        else:
            proxy.drop_silent_client()
            self._on_free(question, proxy)

    def _on_free(self, question: Question, proxy: ProxyEntity) -> None:
        """Nothing keeps the new client from the proxy, if it does not end."""
        if proxy.life is not BaseLife.ALIVE:
            self._answer(question, TakenOver(is_going=True))
        else:
            self._accept(question, proxy)

    def _accept(self, question: Question, proxy: ProxyEntity) -> None:
        now = self._services.host.now
        if self._keys.is_full(now):
            self._services.requests.refuse(question, "this server is full: too many players are waiting to get in")
            return
        asked = question.message
        assert isinstance(asked, TakeOver)
        key = self._keys.make(proxy.id, now, asked.holder)
        proxy.expect(key)
        self._answer(question, ProxyTaken(key, *self._address))

    def _answer(self, question: Question, answer: TakenOver | ProxyTaken) -> None:
        self._services.requests.answer(question, answer)
