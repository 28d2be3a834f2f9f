"""What all apps of the cluster have in common: requests, and a table from kinds of messages to what to do with them.

    class LoginApp(ClusterApp):
        def __init__(self, me, host):
            super().__init__(me, host)
            self.on(SpacesReady, self._on_spaces_ready)          # a message:  handler(source, message)
            self.answers(LogOn, self._on_log_on)                 # a request:  handler(question); answer it now or later

A kind of message that is in no table is counted and reported, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.errors import UsageError
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, Refusal, Refusals
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.console_any import View, WantView
from terrazzo.wire.requests import Question, Requests

M = TypeVar("M", bound=Message)


class ClusterApp:
    """A process of the cluster without I/O; see `cluster.app.App` for who drives it."""

    def __init__(self, me: AppId, host: Host) -> None:
        self.me = me
        self.host = host
        self.outbox = Outbox()
        self.requests = Requests(host, self.outbox)
        self.refusals = Refusals()
        self.refused_outside: Callable[[], list[dict[str, Any]]] = list
        """What the driver's doors have refused (`wire.sentences`)."""
        self._handlers: dict[type[Message], Callable[[AppId, Any], object]] = {}
        self._answerers: dict[type[Message], Callable[[Question], None]] = {}
        self.answers(WantView, self._on_want_view)

    def on(self, kind: type[M], handler: Callable[[AppId, M], object]) -> None:
        """Messages of this kind go to `handler(source, message)`."""
        self._handlers[kind] = handler

    def answers(self, kind: type[Message], handler: Callable[[Question], None]) -> None:
        """Requests of this kind go to `handler(question)`, which answers or refuses it, now or in a later tick."""
        self._answerers[kind] = handler

    def view(self) -> dict[str, Any]:
        """What the console and tests may see of this app: plain data."""
        return {}

    def refused_clients(self) -> list[dict[str, Any]]:
        """What clients were refused, by door and reason; an app that refuses something itself adds that."""
        return self.refused_outside()

    def tallies(self) -> dict[str, int]:
        """What was counted because it should be rare: shown with every view, where it is not 0. A subclass that counts
        more adds that."""
        requests = self.requests
        return {
            "refused": self.refusals.total() + requests.refusals.total(),
            "late replies": requests.late,
        }

    def _on_want_view(self, question: Question) -> None:
        try:
            counted = {what: count for what, count in self.tallies().items() if count}
            view = {
                **self.view(),
                "load": self.host.cpu_load(),
                "counted": counted,
                "refused_clients": self.refused_clients(),
            }
            self.requests.answer(question, View(msgspec.json.encode(view)))
        except UsageError as problem:
            self.requests.refuse(question, f"the view is too large to be sent: {problem}")

    def send(self, peer: AppId, message: Message) -> int:
        """Say something to a peer at the end of the tick; gives its size in bytes."""
        return self.outbox.send(peer, message)

    def on_message(self, source: AppId, message: Message) -> None:
        """See App."""
        handler = self._handlers.get(type(message))
        if handler is not None:
            handler(source, message)
            return
        received = self.requests.receive(source, message)
        if isinstance(received, Question):
            answerer = self._answerers.get(type(received.message))
            if answerer is None:
                self._refuse(source, received.message)
                self.requests.refuse(received, "nobody here answers that")
            else:
                answerer(received)
        elif received is not None:
            self._refuse(source, received)

    def _refuse(self, source: AppId, message: Message) -> None:
        count = self.refusals.count(source, Refusal.UNEXPECTED)
        self.host.log("unexpected message", source=str(source), kind=type(message).__name__, count=count)

    def on_link_up(self, peer: AppId) -> None:
        """See App."""

    def on_link_lost(self, peer: AppId) -> None:
        """See App. A subclass that overrides it calls this, too: what was asked of the peer has failed."""
        self.requests.on_link_lost(peer)

    def on_tick(self) -> None:
        """See App. A subclass that overrides it calls this, too."""
        self.requests.on_tick()
