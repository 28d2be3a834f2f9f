"""`terrazzo bench aoi`: all contenders see the same crossings, and one that cannot run here is left out by name."""

import os

import pytest

from terrazzo.bench import aoi, aoi_rivals, limits
from terrazzo.bench.aoi import Size, Walk, measure, ours

SMALL = Size(200, 10, 6)


def test_a_walk_stays_on_the_plane_and_goes_there_and_back():
    walk = Walk(SMALL, 3)
    assert len(walk.places) == 7
    for (xs, zs), (later_xs, later_zs) in zip(walk.places, walk.places[1:], strict=False):
        for x, z, x2, z2 in zip(xs, zs, later_xs, later_zs, strict=True):
            assert 0 <= x2 <= aoi.PLANE_M
            assert 0 <= z2 <= aoi.PLANE_M
            assert (x2 - x) ** 2 + (z2 - z) ** 2 <= 1.001
    ticks = walk.ticks()
    assert [next(ticks) for _ in range(14)] == [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 1, 2]
    assert Walk(SMALL, 3).places == walk.places
    assert Walk(SMALL, 4).places != walk.places


@pytest.mark.skipif(bool(os.environ.get("TERRAZZO_PURE")), reason="the rivals are the same in both runs")
def test_rivals_and_our_kernel_give_the_same_events():
    walk = Walk(Size(400, 20, 30), 5)
    radius = 40.0
    rivals = {
        "ours": ours(walk, radius, 0.0),
        "limit": aoi_rivals.limit(walk.places, radius, aoi.PLANE_M, aoi.STEP_M),
        "ckdtree": aoi_rivals.ckdtree(walk.places, radius),
    }
    told = {
        name: [rival(tick) for tick in range(1, 31)] for name, rival in rivals.items() if not isinstance(rival, str)
    }
    assert sum(told["ours"]) > 100
    for name, counts in told.items():
        assert counts == told["ours"], name


def test_a_ring_keeps_the_waverers_quiet():
    walk = Walk(Size(300, 20, 10), 5)
    with_ring, without = (ours(walk, 40.0, hysteresis) for hysteresis in (5.0, 0.0))
    ticks = [tick for tick, _ in zip(walk.ticks(), range(40), strict=False)]
    assert 0 < sum(map(with_ring, ticks)) < sum(map(without, ticks)) / 2


def test_a_short_run_has_its_figures():
    result = measure(rounds=1, sizes=[SMALL, Size(100, 5, 4)])
    assert set(result["figures"]) == {"limit_ratio", "ckdtree_ratio"}
    tables = [result["200 entities, 10 near"], result["100 entities, 5 near"]]
    for name, figure in result["figures"].items():
        rival = name.removesuffix("_ratio")
        assert (figure is None) == (rival in result["left_out"])
        if figure is not None:
            assert figure == min(table[name] for table in tables)
            assert all(table[f"{rival}_events_per_tick"] == table["no_ring_events_per_tick"] for table in tables)
    assert all(table["ours_moves_per_cpu_s"] > 0 for table in tables)


def test_missing_rivals_are_named_with_the_reason(monkeypatch, tmp_path):
    limits.build_limit.cache_clear()
    monkeypatch.setattr(limits, "CLONE", tmp_path)
    monkeypatch.setattr(aoi_rivals, "find_spec", lambda name: None)
    result = measure(rounds=1, sizes=[Size(50, 5, 3)])
    assert result["figures"] == {"limit_ratio": None, "ckdtree_ratio": None}
    assert "only in a clone" in result["left_out"]["limit"]
    assert "SciPy" in result["left_out"]["ckdtree"]


def test_limit_without_a_compiler_is_left_out_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    limits.build_limit.cache_clear()
    problem = limits.build_limit("aoi_limit")
    limits.build_limit.cache_clear()
    assert isinstance(problem, str)
    assert "cannot be built here" in problem or "setuptools" in problem
