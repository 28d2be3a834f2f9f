"""Two apps dial each other at once: whatever overtakes what, it becomes one link, and none is lost.

A connection keeps the order of its words in each direction; between connections, and between the two directions of one,
everything may overtake everything. All such orders are tried, with time passing anywhere between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import pytest

from terrazzo.cluster.connection import LinkLimits
from terrazzo.cluster.links import Links
from terrazzo.sim.world import World
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from tests.cluster.test_links import A, B, Recorder, note
from tests.wire.entity.entity_harness import FakeHost

LIMITS = LinkLimits()
TICKS = 2
TICK_S = 0.3
"""Two of them are enough for a dial that was refused to be tried again, and not enough for one to be given up."""
assert LIMITS.redial_s < TICKS * TICK_S
assert LIMITS.greeting_s > TICKS * TICK_S


class End:
    """One app with its links; what it does to a connection goes into the queue of that direction."""

    def __init__(self, pair: Pair, me: AppId) -> None:
        self.pair = pair
        self.app = Recorder()
        self.links = Links(me, self.app, pair.host, self, limits=LIMITS)
        self.open: set[int] = set()

    def dial(self, peer: AppId) -> int:
        pair = self.pair
        number = pair.dials = pair.dials + 1
        far = pair.far(self)
        pair.push(self, number, "on_opened")
        pair.push(far, number, "on_accepted")
        self.open.add(number)
        far.open.add(number)
        return number

    def write(self, connection: int, data: bytes) -> None:
        self.pair.push(self.pair.far(self), connection, "on_data", data)

    def close(self, connection: int) -> None:
        self.open.discard(connection)
        self.pair.push(self.pair.far(self), connection, "on_closed")


class Pair:
    """Both ends, and what is under way between them: a queue for each connection and direction."""

    def __init__(self, whom: tuple[AppId, AppId] = (B, A)) -> None:
        self.host = FakeHost()
        self.dials = 0
        self.ticks = 0
        self.queues: dict[tuple[bool, int], deque[tuple[str, bytes]]] = {}
        self.a, self.b = End(self, A), End(self, B)
        self.a.app.outbox.send(whom[0], note(1))
        self.b.app.outbox.send(whom[1], note(2))
        self.a.links.on_tick()
        self.b.links.on_tick()

    def far(self, end: End) -> End:
        return self.b if end is self.a else self.a

    def push(self, to: End, number: int, what: str, data: bytes = b"") -> None:
        self.queues.setdefault((to is self.a, number), deque()).append((what, data))

    def choices(self) -> list[Callable[[], None]]:
        """What may happen next."""
        made: list[Callable[[], None]] = [
            partial(self.arrive, *key) for key, queue in sorted(self.queues.items()) if queue
        ]
        if made and self.ticks < TICKS:
            made.append(self.tick)
        return made

    def arrive(self, is_a: bool, number: int) -> None:
        end = self.a if is_a else self.b
        what, data = self.queues[is_a, number].popleft()
        if number in end.open:  # nothing more is reported of a connection that was closed from this side
            if what == "on_closed":
                end.open.discard(number)
            getattr(end.links, what)(number, *([data] if what == "on_data" else []))

    def tick(self) -> None:
        self.ticks += 1
        self.host.now += TICK_S
        self.a.links.on_tick()
        self.b.links.on_tick()

    def state(self) -> object:
        """Everything on which what comes next depends."""
        ends = []
        for end in (self.a, self.b):
            links = end.links
            ends.append(
                (
                    tuple(end.app.heard),
                    (links._dials, *links._answered_dials.items()),
                    tuple((n, each.state, each.since) for n, each in links._connections.items()),
                    tuple(
                        (p, x.connection and x.connection.number, len(x.waiting), x.redial_at)
                        for p, x in links._links.items()
                    ),
                )
            )
        under_way = tuple((key, tuple(queue)) for key, queue in sorted(self.queues.items()) if queue)
        return (*ends, under_way, self.ticks)


def play(script: list[int], whom: tuple[AppId, AppId]) -> Pair:
    pair = Pair(whom)
    for choice in script:
        pair.choices()[choice]()
    return pair


ANY_A, ANY_B = (each._replace(incarnation=ANY_INCARNATION) for each in (A, B))


@pytest.mark.parametrize("whom", [(B, A), (ANY_B, A), (B, ANY_A), (ANY_B, ANY_A)], ids=str)
def test_in_every_order_of_events_two_dials_become_one_link_that_stays(whom):
    seen: set[object] = set()
    ends = 0
    scripts: list[list[int]] = [[]]
    while scripts:
        script = scripts.pop()
        pair = play(script, whom)
        state = pair.state()
        if state in seen:
            continue
        seen.add(state)
        assert ("lost", B) not in pair.a.app.heard, script
        assert ("lost", A) not in pair.b.app.heard, script
        count = len(pair.choices())
        scripts += [[*script, choice] for choice in range(count)]
        if count == 0:
            ends += 1
            for _ in range(4):  # a dial that was refused at last finds the link that stands
                pair.tick()
                while pair.choices():
                    pair.choices()[0]()
            assert pair.a.app.heard == [("up", B), note(2)], script
            assert pair.b.app.heard == [("up", A), note(1)], script
    assert len(seen) > 500
    assert ends > 5


class Caller(Recorder):
    """Speaks to its peer at its first tick."""

    def __init__(self, peer: AppId, process: object) -> None:
        super().__init__()
        self.outbox.send(peer, note(1))


@pytest.mark.parametrize("latency_s", [0.001, 0.05, 0.3])
def test_on_a_slow_and_uneven_path_nothing_is_lost_without_a_fault(latency_s):
    for seed in range(30):
        world = World(seed)
        world.network.default.latency_s = latency_s
        world.network.default.jitter_s = latency_s
        here, there = AppId(AppKind.BASE_APP, 0, 1), AppId(AppKind.CELL_APP, 0, 1)
        ends = [
            world.add(me.kind, 0, partial(Caller, peer), tick_s=0.05) for me, peer in ((here, there), (there, here))
        ]
        world.clock.run_until(8.0)
        for end, peer in zip(ends, (there, here), strict=True):
            assert isinstance(end.app, Caller)
            assert end.app.heard == [("up", peer), note(1)], seed
