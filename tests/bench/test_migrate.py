"""`terrazzo bench migrate` in small: players go over and back, and get something in each tick."""

from __future__ import annotations

import pytest

from terrazzo.bench.migrate import measure
from terrazzo.errors import UsageError


def test_the_figures():
    result = measure(clients=250, rounds=2, ticks=20)
    assert set(result["figures"]) == {"offloads_per_cpu_s", "bytes_per_offload", "silent_ticks_max"}
    assert result["figures"]["offloads_per_cpu_s"] > 0
    assert 500 < result["figures"]["bytes_per_offload"] < 5000
    assert result["figures"]["silent_ticks_max"] == 0
    assert result["cost"]["offloads"] == 4 * result["cost"]["batch"]
    assert result["cost"]["around"] > 20
    assert result["silence"]["moves"] >= result["silence"]["players_moved"] > 0


def test_a_border_without_players_is_no_bench():
    with pytest.raises(UsageError, match="nobody stands at the border"):
        measure(clients=2, rounds=1, ticks=1)
