"""How long a real may be on its way: it leaves over a link that is up, and waits for missing steps as long as they may
still come."""

from __future__ import annotations

import pytest

from terrazzo.cell.core import history
from terrazzo.cell.ghosts.mending import ARRIVAL_S
from terrazzo.wire.log_events import LogEvent
from tests.cell.land import Land
from tests.cell.plain import HALL_BOUNDS


def behind(monkeypatch) -> Land:
    """Entity 1 lives on cell 0. Its ghost on cell 1 lacks steps: they were lost with a link, and are too old to come
    along with the real."""
    monkeypatch.setattr(history, "STEPS_MAX", 1)
    land = Land(margin_m=0.0)
    land.create(1, -1.0)
    land.settle()
    land.break_link(0, 1)
    for _ in range(4):
        land.act(1, "step")
        land.step()
    land.mend_link(0, 1)
    land.block(1, 0)
    land.step()
    assert 1 in land[1].receiver.held
    return land


def test_a_real_does_not_wait_for_steps_that_its_sender_sent_before_it(monkeypatch):
    land = behind(monkeypatch)
    land.put(1, 1.0)
    land.step(3)
    assert land.home(1) == 1
    assert land[1].counts[LogEvent.GAP_PASSED_OVER] == 1
    land.settle()


def test_a_real_waits_for_steps_of_a_former_home_since_the_gap_was_found(monkeypatch):
    land = behind(monkeypatch)
    found_at = land[1].receiver.held[1].since
    land.step(15)
    land.real(1).first = land.real(1).body.number
    land.put(1, 1.0)
    land.step(3)
    assert land.home(1) is None, "steps of a former home may be on their way"
    while land.host.now < found_at + ARRIVAL_S - 0.05:
        assert land.home(1) is None
        land.step()
    land.step(2)
    assert land.home(1) == 1
    land.settle()


@pytest.mark.parametrize("is_jump", [False, True])
def test_a_real_leaves_when_the_link_is_up(is_jump):
    land = Land(margin_m=0.0, hall=1)
    land.create(1, -1.0)
    land.settle()
    land[0].links._up.discard(land[1].me)
    if is_jump:
        x, z, *_ = HALL_BOUNDS
        land.act(1, "teleport", "hall", (x + 1.0, 0.0, z + 1.0))
    else:
        land.put(1, 1.0)
    land.step(5)
    assert land.home(1) == 0
    assert land[1].me in land.host.joined
    land[0].on_link_up(land[1].me)
    land.step(5)
    assert land.home(1) == 1
    land.settle()
