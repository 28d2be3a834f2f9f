"""Histories do not grow with the age of an entity: a step goes after AGE_S to twice that, however rare steps are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from terrazzo.cell.core import history
from terrazzo.cell.core.history import Ageing, EntityEvent, History
from terrazzo.sync.protocol import EntityMessage

TICK_S = 0.1
TICKS = round(history.AGE_S / TICK_S)


def call(number: int) -> EntityEvent:
    return EntityEvent(-1, EntityMessage(200, b"%d" % number))


def test_history_drops_the_steps_that_were_there_at_the_last_ageing():
    kept = History(0)
    kept.add(1, [call(1)])
    kept.age()
    kept.add(2, [call(2)])
    assert [each.message.body for each in kept.since(0) or ()] == [b"1", b"2"]
    kept.age()
    assert kept.since(0) is None
    assert [each.message.body for each in kept.since(1) or ()] == [b"2"]
    kept.age()
    assert kept.since(2) == []
    assert kept.since(1) is None
    assert kept.newest == 2


def test_aged_history_still_has_the_stamps():
    kept = History(0)
    kept.add(1, [EntityEvent(0, EntityMessage(158, b"a"))])
    kept.age()
    kept.age()
    assert kept.since(0) is None
    assert kept.has_changed(0, 0)
    assert kept.news == 1


@pytest.mark.parametrize("count", [1, 7, 3000])
def test_each_history_is_visited_once_in_its_time(count):
    bodies: dict[int, Any] = {id: SimpleNamespace(history=History(0)) for id in range(count)}
    ageing = Ageing(bodies, TICK_S)
    for tick in range(6 * TICKS):
        if tick % 100 == 0:
            for body in bodies.values():
                body.history.add(tick + 1, [call(tick)])
        ageing.run()
    kept = [len(body.history.since(body.history.floor) or ()) for body in bodies.values()]
    assert max(kept) <= 2 * TICKS // 100 + 1, "no step is older than twice AGE_S"
    assert min(kept) >= TICKS // 100 - 1, "each step stays for AGE_S"


def test_body_that_has_gone_is_passed_over():
    bodies: dict[int, Any] = {id: SimpleNamespace(history=History(0)) for id in range(3000)}
    ageing = Ageing(bodies, TICK_S)
    ageing.run()
    bodies.clear()
    bodies[1] = SimpleNamespace(history=History(0))
    for _ in range(2 * TICKS):
        ageing.run()
