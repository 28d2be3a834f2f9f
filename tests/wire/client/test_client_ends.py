"""One channel, or two of them in memory: what keeps it alive, how it ends, and what no honest peer sends."""

from __future__ import annotations

import pytest

from terrazzo._speed import packet
from terrazzo.wire.client import WEBSOCKET, Channel, ChannelState, Reason, Settings, limits
from tests.wire.client.client_harness import ChannelPair, Network, channel, deliver, frames


def test_an_idle_channel_is_kept_alive():
    pair = ChannelPair()
    pair.run(100.0)
    assert pair.a.state is pair.b.state is ChannelState.OPEN
    assert 15 <= pair.a.stats.packets_sent <= 45


def test_silence_ends_a_channel_after_a_last_call():
    a = channel()
    now = 0.0
    while a.state is ChannelState.OPEN:
        due = a.next_timeout()
        assert due is not None
        assert due >= now
        now = due
        last = a.poll(now)
    assert now == pytest.approx(31.0, abs=0.01)
    assert a.reason is Reason.SILENT
    assert frames(last[-1][1]).close == Reason.SILENT
    assert a.next_timeout() is None


def test_a_machine_that_stood_still_does_not_take_its_peers_for_dead():
    pair = ChannelPair()
    pair.run(1.0)
    pair.now += 1000.0
    pair.step()
    pair.run(2.0)
    assert pair.a.state is pair.b.state is ChannelState.OPEN


@pytest.mark.parametrize("loss", [0.0, 0.25])
def test_a_graceful_end_gives_both_sides_everything(loss):
    pair = ChannelPair(Network(seed=9, loss=loss, delay=(0.01, 0.03)), end_timeout_s=30.0)
    pair.a.send_many([b"a%d" % i * 50 for i in range(100)])
    pair.b.send_many([b"b%d" % i * 50 for i in range(100)])
    pair.a.close(pair.now)
    assert not pair.a.send(b"too late")
    pair.run(30.0, lambda: pair.a.state is pair.b.state is ChannelState.CLOSED)
    assert pair.a.reason is pair.b.reason is Reason.ENDED
    assert pair.got[pair.b] == [b"a%d" % i * 50 for i in range(100)]
    assert pair.got[pair.a] == [b"b%d" % i * 50 for i in range(100)]


def test_a_graceful_end_from_both_sides_at_once():
    pair = ChannelPair()
    pair.a.send(b"bye")
    for end in (pair.a, pair.b):
        end.close(pair.now)
    pair.run(1.0)
    assert pair.a.reason is pair.b.reason is Reason.ENDED
    assert pair.got[pair.b] == [b"bye"]


def test_a_graceful_end_without_a_peer_has_a_time_limit():
    a = channel(end_timeout_s=2.0)
    a.send(b"anybody?")
    a.close(0.0)
    a.poll(1.9)
    assert a.state is ChannelState.ENDING
    bodies = a.poll(2.0)
    assert a.reason is Reason.END_TIMEOUT
    assert frames(bodies[-1][1]).close == Reason.END_TIMEOUT


def test_an_immediate_end_sends_close_and_nothing_else():
    a, b = channel(), channel()
    a.send_many([bytes(1000)] * 50)
    a.abort()
    ((number, body),) = a.poll(0.0)
    assert body == bytes((packet.CLOSE, Reason.ABORTED))
    assert b.on_packet(number, body, 0.0) == []
    assert (b.state, b.reason, b.closed_by_peer) == (ChannelState.CLOSED, Reason.ABORTED, True)
    assert b.poll(0.0) == []
    assert a.poll(100.0) == []


def test_lost_close_is_sent_again_to_a_peer_that_goes_on():
    a, b = channel(), channel()
    a.abort()
    a.poll(0.0)  # lost
    b.send(b"are you there?")
    assert deliver(b, a, 0.1) == []
    deliver(a, b, 0.2)
    assert b.reason is Reason.ABORTED
    assert a.poll(0.3) == []


def test_lost_close_is_sent_again_however_far_the_streams_were():
    pair = ChannelPair()
    for end in (pair.a, pair.b):
        end.send_many([bytes(1000)] * 600)
    pair.run(2.0, lambda: not pair.a.outbox.stream and not pair.b.outbox.stream)
    assert pair.a.assembly.expected > 2 * limits.STREAM_WINDOW_BYTES
    pair.a.abort()
    pair.a.poll(pair.now)  # lost
    pair.b.send(b"are you there?")
    pair.run(0.1)
    assert (pair.b.state, pair.b.reason) == (ChannelState.CLOSED, Reason.ABORTED)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(2, Reason.ABORTED), (4, Reason.SLOW_READER), (77, Reason.ABORTED), (129, Reason.ABORTED)],
)
def test_reason_of_the_peer_is_kept(code, reason):
    a = channel()
    a.on_packet(0, bytes((packet.CLOSE, code)), 0.0)
    assert (a.reason, a.closed_by_peer) == (reason, True)


def test_a_peer_cannot_claim_a_graceful_end_alone():
    a = channel()
    a.send(b"never delivered")
    a.on_packet(0, bytes((packet.CLOSE, Reason.ENDED)), 0.0)
    assert a.reason is Reason.ABORTED


@pytest.mark.parametrize(
    "body",
    [
        packet.encode_body((7, 0, 0, b""), b"", bytearray(), 0, [], []),
        packet.encode_body((0, 0, 500, b""), b"", bytearray(), 0, [], []),
        packet.encode_body(None, b"", bytearray(10), 2**20, [(2**20, 2**20 + 1)], []),
        packet.encode_body(None, b"\x05\x01\0\0\0", bytearray(10), 0, [(0, 5)], []),
        packet.encode_body(None, b"", bytearray(b"\xff\xff\xff\xff"), 0, [(0, 4)], []),
        b"\xaa",
    ],
    ids=["ack of unsent", "stream of unsent", "beyond window", "behind END", "too large", "no frame"],
)
def test_what_no_honest_peer_sends_ends_the_channel(body):
    a = channel()
    a.send(b"one packet is out")
    a.poll(0.0)
    assert a.on_packet(0, body, 0.0) == []
    assert (a.state, a.reason, a.closed_by_peer) == (ChannelState.CLOSED, Reason.PROTOCOL, False)
    ((_, last),) = a.poll(0.0)
    assert frames(last).close == Reason.PROTOCOL


def test_a_second_end_elsewhere_is_a_fault():
    a = channel()
    a.on_packet(0, b"\x05\x09\0\0\0", 0.0)
    a.on_packet(1, b"\x05\x09\0\0\0", 0.0)
    assert a.state is ChannelState.ENDING
    a.on_packet(2, b"\x05\x08\0\0\0", 0.0)
    assert a.reason is Reason.PROTOCOL


def test_over_an_ordered_transport_nothing_is_probed_or_sent_twice():
    pair = ChannelPair(Network(delay=(1.0, 1.0)), transport=WEBSOCKET, keep_alive_s=100.0)
    messages = [bytes([i % 256]) * 1000 for i in range(400)]
    pair.a.send_many(messages)
    pair.run(15.0)
    assert pair.got[pair.b] == messages
    assert pair.a.outbox.resent_bytes == pair.a.stats.probes == pair.a.recovery.lost == 0
    assert not pair.a.recovery.in_flight
    assert max(pair.a.stats.packets_sent, 1) < 60
    pair.a.close(pair.now)
    pair.run(10.0)
    assert pair.a.reason is pair.b.reason is Reason.ENDED


def test_a_browser_may_acknowledge_without_bits_over_an_ordered_transport():
    a = Channel(WEBSOCKET, Settings(), 0.0)
    a.send_many([bytes(1000)] * 100)
    count = len(a.poll(0.0))
    assert count > 4
    a.on_packet(0, packet.encode_body((count - 1, 0, a.outbox.sent, b""), b"", bytearray(), 0, [], []), 0.1)
    assert not a.recovery.in_flight
    assert not a.outbox.stream
