"""`terrazzo bench latency` in small. Its time is virtual, so what it must reach is asserted here."""

from __future__ import annotations

from terrazzo.bench.latency import measure


def test_latency_of_moves_and_calls_in_ticks():
    result = measure(worlds=4, seconds=4.0, seed=7)
    figures = result["figures"]
    assert set(figures) == {
        "move_p50_ticks", "move_p99_ticks", "border_p50_ticks", "border_p99_ticks",
        "call_p50_ticks", "call_p99_ticks", "login_ms",
    }  # fmt: skip
    assert all(result[kind]["samples"] > 50 for kind in ("move", "border", "call"))
    assert 0.0 < figures["move_p50_ticks"] <= 0.8
    assert figures["move_p99_ticks"] <= 1.6
    assert figures["border_p99_ticks"] <= 2.6
    assert 0.0 < figures["call_p50_ticks"] <= 1.2
    assert figures["login_ms"] <= 1000


def test_the_same_seed_gives_the_same_figures():
    assert measure(worlds=1, seconds=2.0, seed=3) == measure(worlds=1, seconds=2.0, seed=3)
