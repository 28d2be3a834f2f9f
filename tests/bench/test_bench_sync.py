"""`bench sync` and the scripted minute: they run, and what they count fits together."""

from __future__ import annotations

import pytest

from terrazzo.bench import minute, sync


def test_a_short_run_has_all_figures():
    result = sync.measure(ticks=3, rounds=1, minute_s=2.0)
    assert set(result["figures"]) == {"changes_per_cpu_s", "nested_per_cpu_s", "naive_ratio", "bytes_over_raw"}
    assert result["tick_ms"].keys() == {"nothing", "top", "nested", "naive"}
    assert all(spent > 0 for spent in result["tick_ms"].values())  # their differences may drown in noise
    assert result["figures"]["bytes_over_raw"] > 0
    assert result["receivers"] == 62


def test_the_minute_adds_up():
    """Bytes on the wire are values, names of messages and packets, less what packing saves."""
    played = minute.play(seed=3, players=8, seconds=5.0)
    parts = played["raw_per_client"] + sum(played["rest"].values())
    assert parts == pytest.approx(played["bytes_per_client"])
    assert played["by_kind"].keys() >= {"changes", "calls", "places"}
    assert all(kind["raw"] > 0 for kind in played["by_kind"].values())
    assert played["bytes_over_raw"] <= 1.3


def test_the_same_seed_is_the_same_minute():
    assert minute.play(seed=5, players=3, seconds=2.0) == minute.play(seed=5, players=3, seconds=2.0)
