"""An app on a bench: it gets messages by hand, and the test reads what it sends."""

from __future__ import annotations

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.sim.validation import violations_of
from terrazzo.wire.common import Reply, Request, RequestRefused
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import REGISTRY, Message
from tests.fake_host import FakeHost

CELL_APP_MGR = AppId(AppKind.CELL_APP_MGR, 0, 1)
BASE_APP_MGR = AppId(AppKind.BASE_APP_MGR, 0, 1)
DB_APP = AppId(AppKind.DB_APP, 0, 1)


def cellapp(index: int, incarnation: int = 1) -> AppId:
    return AppId(AppKind.CELL_APP, index, incarnation)


def baseapp(index: int, incarnation: int = 1) -> AppId:
    return AppId(AppKind.BASE_APP, index, incarnation)


class Bench:
    """Drives one app as `Links` does: a lost link also empties what was meant for it."""

    def __init__(self, app: ClusterApp, host: FakeHost) -> None:
        self.app = app
        self.host = host
        self._questions = 0

    def hear(self, source: AppId, *messages: Message) -> None:
        for message in messages:
            self.app.on_message(source, message)

    def ask(self, source: AppId, message: Message) -> int:
        """A request from outside; gives its number."""
        self._questions += 1
        self.hear(source, Request(self._questions, REGISTRY.encode(message)))
        return self._questions

    def answer(self, source: AppId, number: int, message: Message) -> None:
        self.hear(source, Reply(number, REGISTRY.encode(message)))

    def refuse(self, source: AppId, number: int, reason: str) -> None:
        self.hear(source, RequestRefused(number, reason))

    def lose(self, peer: AppId) -> None:
        self.app.outbox.discard(peer)
        self.app.on_link_lost(peer)

    def tick(self, seconds: float = 0.1) -> list[tuple[AppId, Message]]:
        """Time goes on; gives all that leaves. Requests and answers come as Asked and Answered."""
        self.host.now += seconds
        self.app.on_tick()
        assert [*violations_of(self.app)] == []
        said: list[tuple[AppId, Message]] = []
        for peer, bundles in self.app.outbox.drain():
            for bundle in bundles:
                for item in REGISTRY.decode_bundle(bundle):
                    assert isinstance(item, Message)
                    said.append((peer, item))
        return said


class Asked(Message, frozen=True):
    """A question that left."""

    number: int
    message: Message


class Answered(Message, frozen=True):
    """An answer that left."""

    number: int
    message: Message


def opened(message: Message) -> Message:
    """A request or an answer with what is in it; anything else as it is."""
    if isinstance(message, Request | Reply):
        inner = REGISTRY.decode_nested(message.item)
        assert isinstance(inner, Message)
        return (Asked if isinstance(message, Request) else Answered)(message.number, inner)
    return message
