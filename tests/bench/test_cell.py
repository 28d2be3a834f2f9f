"""`terrazzo bench cell` in small: the world around the CellApp has the described properties, and the figures exist."""

import pytest

from terrazzo.bench import cell_scale
from terrazzo.bench.cell import measure
from terrazzo.bench.cell_world import AROUND, HYSTERESIS_M, RADIUS_M, World, side_of


def test_a_short_run_has_all_figures():
    result = measure(clients=80, ticks=10, beyond=1.2)
    assert set(result["figures"]) == {
        "clients_per_core", "bytes_per_client_s", "tick_p99_ms", "limit_ratio", "kib_per_client",
    }  # fmt: skip
    assert result["figures"]["clients_per_core"] > 0
    assert_measured(result["figures"]["limit_ratio"], "cell_limit", 0.0, 1.0)
    assert_measured(result["figures"]["kib_per_client"], "mallinfo2", 1.0, 1000.0)
    assert result["beyond"]["clients"] == 96
    assert {"late_ticks", "tick_p99_ms", "updates_per_client_s", "updates_per_client_s_min"} <= set(result["beyond"])
    assert 0 < result["beyond"]["updates_per_client_s_min"] <= result["beyond"]["updates_per_client_s"] < 10.01
    run = result["run"]
    assert run["clients"] == 80
    assert 45 < run["around"] < 75
    assert run["bytes_per_client_s"] < 2600
    assert 150 < run["bytes_per_client_s"] / run["updates_per_client_s"] < 350  # on a slow machine there are fewer
    assert run["reliable_bytes_per_client_s"] > 50


def assert_measured(figure, missing, least, most):
    """A figure, or the sentence of a machine on which that cannot be measured."""
    if isinstance(figure, str):
        assert missing in figure
    else:
        assert least < figure < most


def test_scale_has_a_line_for_each_crowd_and_rate(monkeypatch):
    monkeypatch.setattr(cell_scale, "AROUNDS", (5, 10))
    monkeypatch.setattr(cell_scale, "CHANGES", (0.0, 2.0))
    monkeypatch.setattr(cell_scale, "SETTLE_TICKS", 15)
    result = cell_scale.measure_scale(clients=60, ticks=5)
    assert {"clients_per_core_5_around", "clients_per_core_2_changes", "growth"} <= set(result["figures"])
    assert all(value > 0 for value in result["figures"].values())
    few, many = result["around"]
    assert few["around"] < many["around"]
    assert 0 < result["border"]["ghosts_share"] + result["border"]["offloads_share"] < 1


def test_all_walkers_move_see_and_are_accepted():
    world = World(40)
    before = {entity: tuple(walker) for entity, walker in world.walkers.items()}
    world.run(30)
    cell = world.cells[0]
    assert len(cell.reals) == 40
    for entity, (x, z, _) in world.walkers.items():
        assert (x, z) != before[entity][:2]
        at_x, _, at_z = cell.bodies[entity].position
        assert (at_x, at_z) == pytest.approx((x, z), abs=1e-3)
    assert cell.counts == {}
    assert all(carrier.heard for carrier in world.carriers)


def test_the_side_fits_the_crowd():
    side = side_of(1000, AROUND, RADIUS_M + HYSTERESIS_M / 2)
    assert side_of(2000, AROUND, RADIUS_M + HYSTERESIS_M / 2) > side
    places = list(World(400).walkers.values())
    near = sum((x - u) ** 2 + (z - v) ** 2 <= RADIUS_M**2 for x, z, _ in places for u, v, _ in places) / 400 - 1
    assert 50 < near < 66
