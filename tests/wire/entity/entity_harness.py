"""A few apps with switchboards, joined by ordered queues that a test delivers by hand."""

from __future__ import annotations

import random

from terrazzo.cluster.app import ProcessLoad
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.outbox import Outbox

X, Y, Z = (PartId(EntityId(number), Part.CELL) for number in (1, 2, 3))


class FakeHost:
    """Time and randomness that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rng = random.Random(1)
        self.logged: list[tuple[str, dict[str, object]]] = []
        self.joined: list[AppId] = []
        self.fenced: list[AppId] = []

    def process_load(self) -> ProcessLoad:
        return ProcessLoad(None)

    def log(self, event: str, /, **facts: object) -> None:
        self.logged.append((event, facts))

    def join(self, peer: AppId) -> None:
        self.joined.append(peer)

    def fence(self, app: AppId) -> None:
        self.fenced.append(app)


class Home:
    """One app: a switchboard and its reports to its owner."""

    def __init__(self, town: Town, name: str, limits: ChannelLimits) -> None:
        self.name = name
        self.id = AppId(AppKind.CELL_APP, ord(name), 1)
        self.outbox = Outbox()
        self.located: list[PartId] = []
        self.failed: list[tuple[PartId, PartId, list[bytes], str]] = []
        self.ended: list[PartId] = []
        self.board = Switchboard(self.id, town.host, self.outbox, self, limits=limits)

    def locate(self, part: PartId) -> None:
        self.located.append(part)

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        self.failed.append((source, to, payloads, reason))

    def on_ended(self, part: PartId) -> None:
        self.ended.append(part)


class Town:
    """Homes by letter, and the queues between them."""

    def __init__(self, letters: str = "ABCD", **limits) -> None:
        self.host = FakeHost()
        self.homes = {letter: Home(self, letter, ChannelLimits(**limits)) for letter in letters}
        self.queues: dict[tuple[str, str], list[Message]] = {}
        self.blocked: set[tuple[str, str]] = set()

    def __getitem__(self, letter: str) -> Switchboard:
        return self.homes[letter].board

    def id(self, letter: str) -> AppId:
        return self.homes[letter].id

    def introduce(self, part: PartId, letter: str) -> None:
        for home in self.homes.values():
            home.board.learn(part, 0, self.id(letter))

    def tick(self, letter: str) -> None:
        """One tick of one app: its messages are queued, by link."""
        home = self.homes[letter]
        home.board.on_tick()
        for peer, bundles in home.outbox.drain():
            queue = self.queues.setdefault((letter, chr(peer.index)), [])
            for bundle in bundles:
                for item in REGISTRY.decode_bundle(bundle):
                    assert isinstance(item, Message)
                    queue.append(item)

    def deliver(self, source: str, target: str, count: int | None = None) -> int:
        """Delivers what is queued on one link, in order."""
        queue = self.queues.get((source, target), [])
        taken = queue[:count] if count is not None else queue[:]
        del queue[: len(taken)]
        for message in taken:
            self[target].on_message(self.id(source), message)  # type: ignore[arg-type]
        return len(taken)

    def cut(self, a: str, b: str) -> None:
        """A link breaks: what is under way is lost, both apps get the loss."""
        for source, target in ((a, b), (b, a)):
            self.queues.pop((source, target), None)
            self[source].on_link_lost(self.id(target))

    def settle(self, seconds: float = 5.0, step_s: float = 0.05) -> None:
        """Time passes, and every link that is not blocked delivers."""
        for _ in range(int(seconds / step_s)):
            self.host.now += step_s
            for letter in self.homes:
                self.tick(letter)
            for source, target in list(self.queues):
                if (source, target) not in self.blocked:
                    self.deliver(source, target)

    def move(self, part: PartId, source: str, target: str) -> None:
        """A move in which nothing goes wrong."""
        assert self[target].arrive(self[source].depart(part, self.id(target)))

    def take(self, part: PartId) -> list[bytes]:
        """What its present home gives to the part."""
        for home in self.homes.values():
            if part in home.board.boxes:
                return [payload for _, payload in home.board.take(part)]
        raise AssertionError(f"{part} lives nowhere")

    def take_for(self, part: PartId, seconds: float) -> list[bytes]:
        """What the part gets while time passes."""
        taken = []
        for _ in range(int(seconds / 0.25)):
            self.settle(0.25)
            taken += self.take(part)
        return taken


def pair(letters: str = "ABCD", **limits) -> Town:
    """A town in which X lives at A and Y at B, and both have each other's place."""
    town = Town(letters, **limits)
    town["A"].create(X)
    town["B"].create(Y)
    town.introduce(X, "A")
    town.introduce(Y, "B")
    return town
