"""`terrazzo bench cell` in small: the world around the CellApp is what it says it is, and the figures are there."""

import pytest

from terrazzo.bench.cell import measure
from terrazzo.bench.cell_world import AROUND, HYSTERESIS_M, RADIUS_M, World, side_of


def test_a_short_run_has_all_figures():
    result = measure(clients=80, ticks=10, beyond=1.2)
    assert set(result["figures"]) == {"clients_per_core", "bytes_per_client_s", "tick_p99_ms"}
    assert result["figures"]["clients_per_core"] > 0
    assert result["beyond"]["clients"] == 96
    assert {"late_ticks", "tick_p99_ms", "updates_per_client_s", "updates_per_client_s_min"} <= set(result["beyond"])
    assert 0 < result["beyond"]["updates_per_client_s_min"] <= result["beyond"]["updates_per_client_s"] < 10.01
    run = result["run"]
    assert run["clients"] == 80
    assert 45 < run["around"] < 75
    assert run["bytes_per_client_s"] < 2600
    assert 150 < run["bytes_per_client_s"] / run["updates_per_client_s"] < 350  # on a slow machine there are fewer
    assert run["reliable_bytes_per_client_s"] > 50


def test_everybody_walks_sees_and_is_believed():
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
