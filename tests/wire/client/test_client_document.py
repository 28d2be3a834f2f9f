"""docs/wire.md and the code have the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from terrazzo._speed import packet
from terrazzo.wire.client import SERVER, UDP, WEBSOCKET, Drop, Reason, Settings, Suite, handshake, limits

TEXT = (Path(__file__).parents[3] / "docs" / "wire.md").read_text()
CONSTANTS = dict(re.findall(r"^\| ([^|]+?) +\| ([^|]+?) +\|", TEXT.split("## 14.")[1].split("## 15.")[0], re.MULTILINE))

SAYS = {
    "version": f"{limits.VERSION}",
    "packet, UDP / WebSocket": f"{UDP.packet_bytes_max} / {WEBSOCKET.packet_bytes_max} bytes",
    "overhead of DATA": f"{limits.OVERHEAD_BYTES} bytes",
    "unreliable message": f"{limits.UNRELIABLE_BYTES_MAX} bytes",
    "reliable message": f"{limits.MESSAGE_BYTES_MAX >> 20} MiB",
    "application data in OPEN": f"{limits.APP_DATA_BYTES_MAX} bytes",
    "replay window": f"{packet.NUMBER_WINDOW} packets",
    "ACK bits": f"0 to {packet.ACK_BITS_BYTES_MAX} bytes",
    "stream window": f"{limits.STREAM_WINDOW_BYTES} bytes",
    "held pieces": f"{limits.HELD_RANGES_MAX}",
    "packets in flight": (
        f"{limits.WINDOW_PACKETS_INITIAL} at first, {limits.WINDOW_PACKETS_MIN} to {limits.WINDOW_PACKETS_MAX}"
    ),
    "loss": f"{limits.LOSS_PACKETS} packets, or 9/8 round trip",
    "acknowledgement delay": f"{limits.ACK_DELAY_S * 1000:g} ms, unit {limits.ACK_DELAY_UNIT_S * 1e6:g} µs",
    "probe": f"at most {limits.PROBE_S_MAX:g} s",
    "keep-alive, silence, last call": (
        f"{Settings().keep_alive_s:g} s, {Settings().silence_s:g} s, {limits.LAST_CALL_S:g} s"
    ),
    "graceful end, linger": f"{Settings().end_timeout_s:g} s, {limits.LINGER_S:g} s",
    "handshake: first retry, last, in all": (
        f"{limits.HELLO_RETRY_S:g} s, {limits.HELLO_RETRY_S_MAX:g} s, {Settings().handshake_timeout_s:g} s"
    ),
    "cookie": f"{handshake.COOKIE_BYTES} bytes, {limits.COOKIE_LIFE_S:g} s",
    "half-open": f"{SERVER.half_open_s:g} s",
    "strangers": f"{SERVER.strangers_max}, of one address {SERVER.source_strangers_max}",
    "what a stranger may send": (
        f"{limits.STRANGER_STREAM_BYTES_MAX} bytes of the stream, {limits.STRANGER_RANGES_MAX} held pieces"
    ),
    "OPENs looked at": (
        f"{SERVER.opens_per_s:g} a second; of one address {SERVER.source_opens_per_s:g} a second, "
        f"{SERVER.source_opens_burst} at once"
    ),
    "HELLOs answered": f"{SERVER.hellos_per_s:g} a second",
    "packets per key": "2^48 ChaCha20-Poly1305, 2^28 AES-256-GCM",
    "forgeries per key": "2^36",
}


@pytest.mark.parametrize("name", SAYS)
def test_the_table_of_constants(name):
    assert CONSTANTS[name] == SAYS[name]


def test_no_constant_is_left_out():
    assert set(CONSTANTS) - {"constant", "---"} == set(SAYS)
    assert limits.PACKETS_MAX == {Suite.CHACHA20_POLY1305: 2**48, Suite.AES_256_GCM: 2**28}
    assert limits.FORGERIES_MAX == 2**36
    assert limits.LOSS_DELAY_FACTOR == 9 / 8


def test_the_reasons():
    table = dict(re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", TEXT.split("## 10.")[1].split("## 11.")[0], re.MULTILINE))
    travelling = {str(int(reason)): reason.name for reason in Reason if reason < limits.LOCAL_REASONS}
    assert table == travelling
    for reason in set(Reason) - {Reason(int(code)) for code in table}:
        assert f"{int(reason)} {reason.name}" in TEXT


def test_what_is_dropped():
    listed = set(re.findall(r"`([a-z_]+)`", TEXT.split("## 13.")[1].split("## 14.")[0]))
    assert listed == {drop.value for drop in Drop}


def test_the_kinds():
    kinds = dict(re.findall(r"^\| (\d) \| ([A-Z]+) \|", TEXT.split("## 3.")[1].split("## 4.")[0], re.MULTILINE))
    assert {name: int(code) for code, name in kinds.items()} == {
        name: getattr(handshake, name) for name in ("HELLO", "RETRY", "OPEN", "WELCOME", "REFUSE", "DATA")
    }
    frames = dict(re.findall(r"^([A-Z]+) +(0\d)", TEXT.split("## 7.")[1].split("## 8.")[0], re.MULTILINE))
    assert len(frames) == 8
    for name, code in frames.items():
        assert getattr(packet, name) == int(code)
