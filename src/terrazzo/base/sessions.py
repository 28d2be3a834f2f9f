"""The client sessions of one BaseApp: which proxy each session belongs to.

    Connected ──▶ its login key names the proxy ──▶ attached            a wrong key, or a
              └─▶ its session token names the proxy ──▶ resumed         wrong token ──▶ LOGGED_OFF, closed
    Received  ──▶ the intake (`intake.py`) reads what most of them are, the proxy the others
    rows      ──▶ the moves of clients that may move, past the proxies (`_speed/lanes.py`)
    Closed    ──▶ the proxy has lost its client

The driver moves the datagrams of the endpoints. What fails for one proxy is confined to it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping, Sequence
from functools import partial
from typing import Protocol

from terrazzo.base.client_batch import ClientBatch
from terrazzo.base.client_row import ClientRow, ClientSession
from terrazzo.base.counts import Counts
from terrazzo.base.entity import BaseEntity, BaseLife
from terrazzo.base.farewells import Farewell
from terrazzo.base.intake import Intake
from terrazzo.base.keys import KeyRing
from terrazzo.base.limits import ClientRefusal
from terrazzo.base.proxy import ProxyEntity
from terrazzo.base.services import SessionKey
from terrazzo.base.tokens import SessionTokens
from terrazzo.cluster.app import Host
from terrazzo.sync.gamecode import Confinement
from terrazzo.sync.protocol import encode_logged_off, token_of
from terrazzo.wire.client.events import Closed, Connected, SessionEvent
from terrazzo.wire.ids import EntityId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.sentences import is_logged

WRONG_KEY = "this login key is not valid (any more): log in again"
WRONG_TOKEN = "this session cannot be resumed (any more): log in again"


class EndpointLike(Protocol):
    """What a BaseApp needs of `wire.client.ServerEndpoint`."""

    def events(self) -> list[SessionEvent]:
        """The events since the last call, in order."""

    def take_rows(self) -> bytes:
        """The moves of clients with a lane since the last call (`wire.client.lane`)."""


class Sessions:
    """The sessions of one BaseApp."""

    def __init__(
        self,
        host: Host,
        endpoints: Sequence[EndpointLike],
        keys: KeyRing,
        tokens: SessionTokens,
        bases: Mapping[EntityId, BaseEntity],
        counts: Counts,
        confinement: Confinement,
        batch: ClientBatch,
        intake: Intake,
    ) -> None:
        self._host = host
        self._endpoints = endpoints
        self._keys = keys
        self._tokens = tokens
        self._bases = bases
        self._counts = counts
        self._confinement = confinement
        self._batch = batch
        self._intake = intake
        self._proxies: dict[SessionKey, ProxyEntity] = {}
        self._rows: list[dict[int, ClientRow]] = [{} for _ in endpoints]
        """The rows of the same proxies, by endpoint and session."""

    def __len__(self) -> int:
        return len(self._proxies)

    def items(self) -> ItemsView[SessionKey, ProxyEntity]:
        """Each session and its proxy."""
        return self._proxies.items()

    def proxy_of(self, key: SessionKey) -> ProxyEntity | None:
        """The proxy of a session."""
        return self._proxies.get(key)

    def forget(self, key: SessionKey) -> None:
        """The proxy has ended its session."""
        if self._proxies.pop(key, None) is not None:
            del self._rows[key[0]][key[1]]

    def receive(self) -> None:
        """Passes on all events of the endpoints."""
        for number, endpoint in enumerate(self._endpoints):
            events = endpoint.events()
            if events:
                self._intake.take(events, self._rows[number], partial(self._on_other, number), self._host.now)
            rows = endpoint.take_rows()
            if rows:
                self._on_rows(rows)

    def _on_rows(self, rows: bytes) -> None:
        """Moves of many clients. A client that is ready since the events of this very turn has none before them."""
        for entity in self._batch.lanes.read(rows):
            proxy = self._bases.get(EntityId(entity))
            if isinstance(proxy, ProxyEntity):
                self._confinement.run(proxy, "a move of its client", proxy.on_bad_move)

    def _on_other(self, number: int, event: SessionEvent) -> None:
        """A session has begun, or is over."""
        if isinstance(event, Connected):
            self._on_connected(number, event.session, event.app_data)
        elif isinstance(event, Closed) and event.session is not None:
            self._on_closed((number, event.session.id), event)

    def _on_closed(self, key: SessionKey, event: Closed) -> None:
        proxy = self._proxies.get(key)
        if proxy is not None:
            self.forget(key)
            ended = partial(proxy.on_session_closed, event.reason, by_peer=event.by_peer)
            self._confinement.run(proxy, "end of its session", ended)

    def _on_connected(self, number: int, session: ClientSession, presented: bytes) -> None:
        now, token = self._host.now, token_of(presented)
        id = self._keys.take(presented, now) if token is None else self._tokens.find(token, now)
        proxy = None if id is None else self._bases.get(id)
        if not isinstance(proxy, ProxyEntity) or proxy.life is not BaseLife.ALIVE:
            self._refuse(session, is_login=token is None)
            return
        key = (number, session.id)
        self._proxies[key] = proxy
        self._rows[number][session.id] = proxy.row
        session.admit()
        begin = proxy.attach if token is None else partial(proxy.resume, token=token)
        self._confinement.run(proxy, "begin of its session", begin, session, key)

    def _refuse(self, session: ClientSession, *, is_login: bool) -> None:
        """The same answer whatever is wrong: it does not depend on which entities exist."""
        count = self._counts.count_bad(ClientRefusal.WRONG_KEY if is_login else ClientRefusal.WRONG_TOKEN)
        if is_logged(count):
            event = LogEvent.WRONG_KEY if is_login else LogEvent.WRONG_TOKEN
            self._host.log(event, note="used, expired or invented", count=count)
        farewell = Farewell.WRONG_KEY if is_login else Farewell.NOT_RESUMED
        session.send(encode_logged_off(farewell, WRONG_KEY if is_login else WRONG_TOKEN))
        session.close(self._host.now)
