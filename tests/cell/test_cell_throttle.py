"""An app with more to do than it has time for: it tells its clients less, and nobody's story stops."""

from terrazzo.cell.feed import EVERY_MAX, FULL, THROTTLE_MIN
from tests.cell.land import Land


def land_with(load):
    land = Land(1)
    screen = land.create(1, 0.0, is_seen=True)
    land.create(2, 10.0)
    land[0].cpu_load = lambda: load
    return land, screen


def served(land, ticks):
    """How often the one client was served."""
    count = 0
    serve = land[0].feed.serve

    def counted(real):
        nonlocal count
        count += 1
        serve(real)

    vars(land[0].feed)["serve"] = counted
    land.step(ticks)
    del vars(land[0].feed)["serve"]
    return count


def test_a_full_core_is_throttled_until_each_client_is_served_every_third_tick():
    land, _ = land_with(FULL)
    land.step(20)
    assert land[0].feed.throttle == 1.0
    assert served(land, 12) == 12
    land[0].cpu_load = lambda: 1.3
    land.step(30)
    assert land[0].feed.throttle == THROTTLE_MIN
    assert served(land, 12) == 12 / EVERY_MAX


def test_a_little_too_much_throttles_slowly_and_a_little_room_grows_slowly():
    land, _ = land_with(FULL + 0.04)
    land.step(10)
    assert 0.85 < land[0].feed.throttle < 0.95
    assert served(land, 4) == 4
    before = land[0].feed.throttle
    land[0].cpu_load = lambda: FULL - 0.04
    land.step(2)
    assert before < land[0].feed.throttle < 1.0


def test_whoever_is_throttled_hears_everything_in_the_end_and_once():
    land, screen = land_with(2.0)
    land.step(30)
    for step in range(1, 20):
        land.base.call(2, "step")
        land.step(1)
        assert screen.steps.get(2, 0) <= step
    land.step(EVERY_MAX + 3)
    assert screen.count("on_stepped", 2) == 19
