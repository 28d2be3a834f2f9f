"""A border gives a client no more bytes than it is allowed: the budget is counted by time, and debts travel."""

from __future__ import annotations

import pytest

from terrazzo.cell.client.budget import ADVANCE, CARRY_TICKS
from tests.cell.hearing import overhear
from tests.cell.land import TICK_S, Land

TICKS = 60
ALLOWED = 20_000 / 8 * TICK_S


def crossing_land(others: int) -> Land:
    """Two cells, a client near the border, and so many others that change all the time."""
    land = Land(2)
    land.create(1, 1.0, is_seen=True)
    for entity in range(2, 2 + others):
        land.create(entity, 3.0 + entity % 5, float(entity % 9))
    land.settle(60)
    return land


def bytes_over_borders(land: Land, others: int, every: int) -> int:
    """What the client is sent in TICKS ticks, while it crosses the border each time that `every` ticks are over."""
    sent: list[int] = []
    ends = [overhear(land[n].scheduler, lambda entity, *both: sent.append(sum(both))) for n in (0, 1)]
    for tick in range(TICKS):
        if tick % every == 0:
            land.put(1, -8.0 if tick // every % 2 else 8.0)
        for entity in range(2, 2 + others):
            land.do(entity, lambda part, tick=tick: setattr(part, "name", "n" * (30 + tick % 2)))
        land.step()
    for end in ends:
        end()
    return sum(sent)


def test_client_that_crosses_a_border_in_each_tick_gets_no_more_than_its_budget():
    land = crossing_land(others=60)
    sent = bytes_over_borders(land, others=60, every=1)
    assert 0.7 * ALLOWED * TICKS < sent < ALLOWED * (TICKS + CARRY_TICKS + 2 + 2 * ADVANCE)


@pytest.mark.parametrize("has_come", [False, True])
def test_client_that_is_served_again_at_the_same_time_is_granted_nothing(has_come):
    """A witness that has just come gets something on credit, and owes it then."""
    land = crossing_land(others=1)
    witness = land.witness(1)
    witness.sent.budget.deficit = 0.0  # it has saved nothing, and owes nothing
    witness.sent.budget.has_come = has_come
    home = land.home(1)
    assert home is not None
    land[home].scheduler.serve(land.real(1))
    assert witness.pack().deficit >= 0.0
