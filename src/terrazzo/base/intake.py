"""Takes what the sessions of clients have received to the proxies.

By far the most messages besides moves are answers about the entities around a client: `want` and `released`. They are
read here, by the client table (`client_row.py`), as long as nothing else came before them in the same event; the proxy
gets the rest (`on_messages`), and each message that no honest client sends (`on_bad`). Whatever fails for one client is
confined to it.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.base.client_batch import ClientBatch
from terrazzo.base.client_row import ClientRow
from terrazzo.base.limits import FLOOD
from terrazzo.base.standstill import Standstill
from terrazzo.errors import DecodeError
from terrazzo.sync.gamecode import Confinement
from terrazzo.sync.protocol import ToServer
from terrazzo.wire.client.events import Received, SessionEvent

_WANT, _RELEASED = int(ToServer.WANT), int(ToServer.RELEASED)
_Received = Received


class Intake:
    """The intake of one BaseApp."""

    __slots__ = ("_batch", "_confinement", "_standstill")

    def __init__(self, confinement: Confinement, batch: ClientBatch, standstill: Standstill) -> None:
        self._confinement = confinement
        self._batch = batch
        self._standstill = standstill

    def take(
        self,
        events: list[SessionEvent],
        clients: dict[int, ClientRow],
        on_other: Callable[[SessionEvent], object],
        now: float,
    ) -> None:
        """Takes the events of an endpoint; `clients` has the row of each session that has one. Events that are no
        messages go to `on_other`."""
        for event in events:
            if not isinstance(event, _Received):
                on_other(event)
                continue
            client = clients.get(event.session.id)
            if client is not None:
                self._take_messages(client, event.messages, now)

    def _take_messages(self, client: ClientRow, messages: list[bytes], now: float) -> None:
        taken = 0
        try:
            for message in messages:
                if not client.is_ready or not message or (message[0] != _WANT and message[0] != _RELEASED):
                    break
                taken += 1
                self._take_answer(client, message, now)
        except AssertionError:
            raise
        except Exception as problem:
            self._confinement.report(client.proxy, "messages of its client", problem)
        if taken < len(messages):
            rest = messages[taken:] if taken else messages
            self._confinement.run(client.proxy, "messages of its client", client.proxy.on_messages, rest)

    def _take_answer(self, client: ClientRow, message: bytes, now: float) -> None:
        try:
            if not client.flood.take(now, self._standstill.spare_s(now)):
                raise DecodeError(FLOOD, 0)
            self._batch.add_wants(client)
            client.read_answer(message)
        except DecodeError as problem:
            client.proxy.on_bad(problem)
