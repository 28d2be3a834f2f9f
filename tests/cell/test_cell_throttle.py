"""An app with more work than time: it sends its clients less, ticks are in time, every client goes on getting
messages.
"""

import pytest

from terrazzo.cell.client.scheduler import FULL, LOOK_EVERY, SCALE_S, THROTTLE_MIN
from tests.cell.land import TICK_S, Land

WAIT_MAX = round(1 / THROTTLE_MIN)
"""Ticks."""


def position(entity):
    """Four at a place see each other, and no others: what the clients see is not what costs time here."""
    row, column = divmod(entity // 4, 8)
    return 110.0 * (column - 4) + entity % 4, 0.0, 110.0 * (row - 4)


class Core:
    """The core of the one app of a land, with clients 1, 2, …: serving each of them takes so long."""

    def __init__(self, clients, serve_s, rest_s=0.0):
        self.land = Land(1)
        entities = range(1, clients + 1)
        for entity in entities:
            self.land.base.create(self.land[0].me, entity, position(entity))
        self.land.step(3)
        for entity in entities:
            self.land.base.attach(entity)
        self.land.settle()
        self.app = self.land[0]
        self.serve_s, self.rest_s = serve_s, rest_s
        self.used_s = 0.0
        self.served = []
        self.app.scheduler.cpu_s = lambda: self.used_s
        self._serve = self.app.scheduler.serve
        vars(self.app.scheduler)["serve"] = self._count

    def _count(self, real):
        self.used_s += self.serve_s
        self.served.append(real.body.id)
        self._serve(real)

    def ticks(self, count):
        """The clients that are served in each tick, and how long it takes."""
        ticks = []
        for _ in range(count):
            self.served, before = [], self.used_s
            self.used_s += self.rest_s
            self.land.step()
            ticks.append((self.served, self.used_s - before))
        return ticks


def test_every_client_is_served_in_each_tick_if_there_is_time():
    core = Core(20, serve_s=0.8 * TICK_S / 20)
    assert [sorted(served) for served, _ in core.ticks(10)] == [list(range(1, 21))] * 10
    assert core.app.scheduler.throttle == 1.0


@pytest.mark.parametrize("too_many", [1.1, 1.5, 2.0, 4.0])
def test_with_too_many_clients_no_tick_is_late_and_all_have_their_turns(too_many):
    clients, rest_s = 80, 0.3 * TICK_S
    core = Core(clients, serve_s=(too_many - 0.3) * TICK_S / clients, rest_s=rest_s)
    ticks = core.ticks(60)
    assert max(spent for _, spent in ticks) <= FULL * TICK_S + LOOK_EVERY * core.serve_s
    counts = [sum(served.count(entity) for served, _ in ticks[20:]) for entity in range(1, clients + 1)]
    assert max(counts) - min(counts) <= 1
    assert min(counts) >= 40 * 0.5 * 0.6 / (too_many - 0.3)
    assert all(len(set(served)) == len(served) for served, _ in ticks)


def test_client_waits_no_longer_than_the_limit_without_any_time():
    core = Core(7, serve_s=TICK_S, rest_s=2 * TICK_S)
    core.ticks(WAIT_MAX + 5)
    ticks = core.ticks(3 * WAIT_MAX)
    assert min(sum(served.count(entity) for served, _ in ticks) for entity in range(1, 8)) >= 3
    assert core.app.scheduler.throttle < 0.2


def test_one_tick_without_time_changes_little():
    core = Core(20, serve_s=0.5 * TICK_S / 20)
    core.rest_s = TICK_S
    core.ticks(1)
    core.rest_s = 0.0
    first, second = core.ticks(2)
    assert len(first[0]) >= 18
    assert len(second[0]) == 20
    assert core.app.scheduler.throttle == 1.0


def test_a_throttle_opens_when_there_is_time_again():
    core = Core(40, serve_s=3 * TICK_S / 40)
    core.ticks(20)
    assert core.app.scheduler.throttle <= 0.5
    core.serve_s = 0.0
    core.ticks(round(SCALE_S / TICK_S) + 1)
    assert core.app.scheduler.throttle == 1.0
    assert [len(served) for served, _ in core.ticks(2)] == [40, 40]


def test_throttled_client_gets_everything_once():
    core = Core(2, serve_s=2 * TICK_S, rest_s=2 * TICK_S)
    core.ticks(WAIT_MAX + 5)
    screen = core.land.base.screens[1]
    for step in range(1, 20):
        core.land.base.call(2, "step")
        core.ticks(1)
        assert screen.steps.get(2, 0) <= step
    core.ticks(WAIT_MAX + 3)
    assert screen.count("on_stepped", 2) == 19
