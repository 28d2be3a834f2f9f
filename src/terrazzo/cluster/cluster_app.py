"""What all apps of the cluster share: requests, and a table from kinds of messages to their handlers.

    class LoginApp(ClusterApp):
        def __init__(self, me, host):
            super().__init__(me, host)
            self.on(SpacesReady, self._on_spaces_ready)          # a message:  handler(source, message)
            self.answers(LogOn, self._on_log_on)                 # a request:  handler(question); answer it now or later

A message of a kind that is in no table is counted, logged and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from terrazzo.cluster.app import Host
from terrazzo.errors import UsageError
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import Count, LogEvent
from terrazzo.wire.messages import Message, Refusal, Refusals
from terrazzo.wire.outbox import Outbox
from terrazzo.wire.pairs.console_any import View, WantView
from terrazzo.wire.requests import Question, Requests

M = TypeVar("M", bound=Message)


class ClusterApp:
    """A process of the cluster without I/O; `sim` or `runtime` drives it through `cluster.app.App`."""

    def __init__(self, me: AppId, host: Host) -> None:
        self.me = me
        self.host = host
        self.outbox = Outbox()
        self.requests = Requests(host, self.outbox)
        self.refusals = Refusals()
        self.refused_outside: Callable[[], list[dict[str, Any]]] = list
        """Returns what the driver's doors have refused (`wire.sentences`)."""
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
        """The state of this app for the console and for tests: plain data."""
        return {}

    def refused_clients(self) -> list[dict[str, Any]]:
        """The refusals of clients, by door and reason; an app that refuses clients itself adds those."""
        return self.refused_outside()

    def queues(self) -> dict[str, int]:
        """How much waits here to be done; a subclass adds its own queues."""
        return {"requests": len(self.requests)}

    def tallies(self) -> Mapping[LogEvent | Count, int]:
        """Counters of rare events; a view shows those that are not 0. A subclass that counts more adds them."""
        requests = self.requests
        return {
            Count.REFUSED: self.refusals.total() + requests.refusals.total(),
            Count.LATE_REPLY: requests.late,
        }

    def _on_want_view(self, question: Question) -> None:
        try:
            counted = {what: count for what, count in self.tallies().items() if count}
            load = self.host.process_load()
            view = {
                **self.view(),
                "load": load.cpu,
                "late_ticks": round(load.late_ticks, 3),
                "unsent_bytes": load.unsent_bytes,
                "queues": self.queues(),
                "counted": counted,
                "refused_clients": self.refused_clients(),
            }
            self.requests.answer(question, View(msgspec.json.encode(view)))
        except UsageError as problem:
            self.requests.refuse(question, f"the view is too large to be sent: {problem}")

    def send(self, peer: AppId, message: Message) -> int:
        """Sends a message to a peer at the end of the tick; returns its size in bytes."""
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

    def _refuse(self, source: AppId, message: Message, reason: Refusal = Refusal.UNEXPECTED) -> None:
        """Counts and logs a message that is refused."""
        count = self.refusals.count(source, reason)
        facts = {"source": str(source), "kind": type(message).__name__, "reason": reason.value}
        self.host.log(LogEvent.MESSAGE_REFUSED, **facts, count=count)

    def on_link_up(self, peer: AppId) -> None:
        """See App."""

    def on_link_lost(self, peer: AppId) -> None:
        """See App. Fails the requests to that peer. A subclass that overrides it must call it."""
        self.requests.on_link_lost(peer)

    def on_tick(self) -> None:
        """See App. A subclass that overrides it must call it."""
        self.requests.on_tick()
