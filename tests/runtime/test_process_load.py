"""What a process measures of itself: lateness, unsent bytes, and what an app's view and its manager get of it."""

from __future__ import annotations

import pytest

from terrazzo.cluster.app import ProcessLoad
from terrazzo.runtime.cpuload import LATE_WEIGHT, Lateness
from tests.runtime.apps import Cluster, Say
from tests.runtime.support import on_both_loops, play


def test_lateness_is_smoothed_and_an_early_tick_is_not_late():
    late = Lateness()
    late.note(1.0)
    assert late.ticks == pytest.approx(LATE_WEIGHT)
    late.note(-5.0)
    assert late.ticks == pytest.approx(LATE_WEIGHT * (1 - LATE_WEIGHT))
    for _ in range(200):
        late.note(0.5)
    assert late.ticks == pytest.approx(0.5)


def test_process_without_a_core_is_busy_however_little_it_uses():
    assert ProcessLoad(None, late_ticks=3.0).busy is None
    assert ProcessLoad(0.4, late_ticks=0.1).busy == 0.4
    assert ProcessLoad(0.2, late_ticks=0.7).busy == 0.7
    assert ProcessLoad(0.2, late_ticks=9.0).busy == 1.0
    assert ProcessLoad(1.4, late_ticks=9.0).busy == 1.4


@on_both_loops
def test_driver_counts_bytes_that_peers_and_clients_have_not_taken(loop):
    async def main():
        cluster = Cluster()
        a, b = await cluster.start(1), await cluster.start(2)
        a.app.todo.append(lambda: a.join(b.id))
        await a.app.links.next()
        assert a.process_load().unsent_bytes == 0
        a.unsent_outside = lambda: 70
        assert a.process_load().unsent_bytes == 70
        a.app.say(b.id, *[Say(n, bytes(900_000)) for n in range(40)])
        a._enter(a.links.on_tick)
        assert a.process_load().unsent_bytes > 70
        assert a.process_load().late_ticks >= 0.0
        await cluster.stop()

    play(loop, main())
