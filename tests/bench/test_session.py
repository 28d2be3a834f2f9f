"""The benchmark of a client's session plays the traffic that it describes."""

from __future__ import annotations

from terrazzo.bench.session import measure


def test_every_client_sends_and_gets_one_packet_a_tick_and_none_is_lost():
    result = measure(clients=30, ticks=4)
    figures, packets = result["figures"], result["packets"]
    assert figures["datagrams_per_client_tick"] == 2.0
    assert figures["lost"] == 0
    assert (packets["bytes in"], 250 <= packets["bytes out"] <= 290) == (85.0, True)
    assert figures["session_us"] > 0.0
    assert figures["ws_us"] > 0.0
    assert figures["kib_per_session"] > 0.0
    if "limit_us" in figures:
        assert figures["limit_lost"] == 0
        assert figures["limit_ratio"] > 0.0
    else:
        assert "session_limit.c" in result["no limit"]
