"""One channel, or two of them in memory: acknowledgement, loss, probes, and the window."""

from __future__ import annotations

import pytest

from terrazzo._speed import packet
from terrazzo.wire.client import ChannelState, limits
from tests.wire.client.client_harness import ChannelPair, Network, channel, deliver, frames


def test_acknowledgements_are_at_once_for_eight_packets_or_a_gap_and_late_for_less():
    a, b = channel(), channel()
    a.send(b"one")
    deliver(a, b, 0.0)
    assert b.poll(0.0) == []
    assert b.next_timeout() == limits.ACK_DELAY_S
    ((_, body),) = b.poll(limits.ACK_DELAY_S)
    assert frames(body).ack == (0, 1200, 4, bytes(8))
    assert not frames(body).eliciting
    for _ in range(limits.ACK_EVERY_PACKETS):
        assert b.poll(0.2) == []
        a.send(b"two")
        deliver(a, b, 0.2)
    ((_, body),) = b.poll(0.2)
    assert frames(body).ack == (8, 0, 36, b"\xff" + bytes(7))
    a.send(b"lost")
    a.poll(0.3)
    a.send(b"after the gap")
    deliver(a, b, 0.3)
    ((_, body),) = b.poll(0.3)
    assert frames(body).ack == (10, 0, 36, b"\xfe\x03" + bytes(6))


def test_acknowledgements_are_not_acknowledged():
    pair = ChannelPair()
    pair.a.send(b"one")
    pair.run(1.0)
    assert (pair.a.stats.packets_sent, pair.b.stats.packets_sent) == (1, 1)


def test_three_later_packets_are_the_evidence_of_loss():
    a, b = channel(), channel()
    bodies = []
    for i in range(5):
        a.send(b"message %d" % i)
        bodies += a.poll(0.0)
    for number, body in bodies[1:4]:
        assert b.on_packet(number, body, 0.01) == []
    deliver(b, a, 0.01)
    assert a.recovery.lost == 1
    ((number, body),) = a.poll(0.01)
    assert number == 5, "a number is never used twice"
    assert frames(body).chunks == [(0, b"\x09message 0")]
    assert b.on_packet(number, body, 0.02) == [b"message %d" % i for i in range(4)]


def test_a_packet_overtaken_by_one_is_lost_after_nine_eighths_of_a_round_trip():
    a, b = channel(), channel()
    a.send(b"lost")
    a.poll(0.0)
    a.send(b"later")
    ((number, body),) = a.poll(0.0)
    b.on_packet(number, body, 0.04)
    ((number, body),) = b.poll(0.04)
    a.on_packet(number, body, 0.08)
    assert a.recovery.lost == 0
    assert a.next_timeout() == pytest.approx(0.09)
    assert a.poll(0.089) == []
    assert deliver(a, b, 0.0901) == [b"lost", b"later"]
    assert a.stats.probes == 0


def test_the_last_packet_of_a_burst_is_probed_for_with_back_off():
    a = channel()
    a.send(b"lost")
    a.poll(0.0)
    waits = []
    now = 0.0
    for _ in range(4):
        due = a.next_timeout()
        assert due is not None
        waits.append(due - now)
        now = due
        ((_, body),) = a.poll(now)
        assert frames(body).chunks == [(0, b"\x04lost")]
    assert waits == pytest.approx([0.72, 1.44, 2.0, 2.0])
    assert a.recovery.window == limits.WINDOW_PACKETS_MIN


def test_an_answered_probe_ends_the_back_off():
    a, b = channel(), channel()
    a.send(b"x")
    a.poll(0.0)
    a.poll(0.8)
    deliver(a, b, 2.5)
    deliver(b, a, 2.5)
    assert a.stats.probes == 2
    assert a.recovery.smoothed_s == a.recovery.variance_s == 0.0, "the second probe was answered at once"
    assert a.recovery.probe_s == limits.TIMER_STEP_S + limits.ACK_DELAY_S


def test_a_probe_goes_beyond_a_full_window():
    a, b = channel(), channel()
    a.send_many([bytes(1000)] * 100)
    a.poll(0.0)
    assert not a.recovery.has_room
    due = a.next_timeout()
    assert due is not None
    packets = a.poll(due)
    assert len(packets) == 1
    assert b.on_packet(*packets[0], due) == [bytes(1000)]


def test_only_what_was_lost_is_sent_again():
    pair = ChannelPair(Network(delay=(0.01, 0.01)))
    pair.a.send_many([bytes(1000)] * 20)
    packets = pair.a.poll(0.0)
    for i, (number, body) in enumerate(packets):
        if i not in (3, 9):
            pair.b.on_packet(number, body, 0.0)
    pair.run(1.0)
    lost = sum(len(data) for i in (3, 9) for _, data in frames(packets[i][1]).chunks)
    assert pair.a.outbox.resent_bytes == lost


def test_the_cumulative_offset_makes_up_for_lost_acknowledgements():
    a, b = channel(), channel()
    a.send_many([bytes(1000)] * 25)
    deliver(a, b, 0.0)
    b.poll(0.0)  # this acknowledgement is lost
    a.send(b"one more")
    deliver(a, b, 0.1)
    ((number, body),) = b.poll(0.3)  # the next one has how far the stream has come, whatever its bits are
    ack = frames(body).ack
    assert ack is not None
    a.on_packet(number, packet.encode_body((ack.newest, 0, ack.received, b""), b"", bytearray(), 0, [], []), 0.2)
    assert not a.outbox.stream
    assert a.poll(0.2) == []


def test_acknowledgement_bits_cover_everything_since_the_last_and_the_window_at_most():
    a, b = channel(), channel()
    a.recovery.window = 1e9
    a.send_many([bytes(1000)] * 150)
    packets = a.poll(0.0)
    deliver_to_b = [b.on_packet(number, body, 0.0) for number, body in packets]
    assert len(deliver_to_b) == len(packets)
    ((_, body),) = b.poll(0.0)
    ack = frames(body).ack
    assert ack is not None
    assert len(ack.bits) == (len(packets) + limits.ACK_OVERLAP_PACKETS + 7) // 8


def test_the_round_trip_is_measured_without_the_peers_delay():
    a, b = channel(), channel()
    for i in range(20):
        start = i * 1.0
        a.send(b"x")
        deliver(a, b, start + 0.03)
        deliver(b, a, start + 0.03 + limits.ACK_DELAY_S)
        assert a.recovery.samples == i + 1
    assert a.recovery.smoothed_s == pytest.approx(0.0, abs=2 * limits.ACK_DELAY_UNIT_S)
    late = ChannelPair(Network(delay=(0.1, 0.1)))
    for _ in range(200):
        late.a.send(b"x")
        late.step(0.01)
    assert late.a.recovery.smoothed_s == pytest.approx(0.21, abs=0.03)


def test_no_sample_when_the_newest_was_acknowledged_before():
    a, b = channel(), channel()
    a.send(b"x")
    deliver(a, b, 0.0)
    ack = packet.encode_body((0, 0, 2, bytes(8)), b"", bytearray(), 0, [], [])
    a.on_packet(0, ack, 0.1)
    assert a.recovery.samples == 1
    a.on_packet(1, ack, 5.0)
    assert a.recovery.samples == 1
    assert a.recovery.smoothed_s == pytest.approx(0.1)


def test_no_sample_from_a_packet_that_is_not_the_newest():
    """The answer to the newest packet was lost; when the older one came is not what `delay` speaks of."""
    a, b = channel(), channel()
    for text in (b"older", b"newer"):
        a.send(text)
        deliver(a, b, 0.0)
    a.on_packet(0, packet.encode_body((1, 0, 0, bytes(8)), b"", bytearray(), 0, [], []), 0.1)
    assert a.recovery.samples == 1
    a.on_packet(1, packet.encode_body((1, 0, 12, b"\x01"), b"", bytearray(), 0, [], []), 0.105)
    assert not a.recovery.in_flight
    assert a.recovery.samples == 1


def test_the_window_grows_when_used_and_is_cut_once_per_round_trip():
    a, b = channel(), channel()
    a.send_many([bytes(1000)] * 3000)
    now = 0.0
    while a.recovery.window < 200:
        now += 0.05
        deliver(a, b, now)
        deliver(b, a, now)
    grown = a.recovery.window
    packets = a.poll(now + 0.1)
    for number, body in packets[::2]:
        b.on_packet(number, body, now + 0.1)
        for back in b.poll(now + 0.1):
            a.on_packet(*back, now + 0.1)
    assert a.recovery.lost > 50
    assert 0.7 * grown <= a.recovery.window < 0.75 * grown


def test_the_window_stays_while_it_is_not_used():
    pair = ChannelPair()
    for _ in range(200):
        pair.a.send(b"a little each tick")
        pair.step()
    assert pair.a.recovery.window == limits.WINDOW_PACKETS_INITIAL


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
def test_a_bad_line_delivers_everything_once_and_in_order(loss):
    network = Network(seed=4, loss=loss, copies=0.1, delay=(0.02, 0.08))
    pair = ChannelPair(network)
    sent: dict = {pair.a: [], pair.b: []}
    for i in range(150):
        for end in (pair.a, pair.b):
            message = b"%d " % i * (i * i % 200)
            sent[end].append(message)
            end.send(message)
            end.send(b"now %d" % i, reliable=False)
        pair.step()
    pair.run(60.0, lambda: not pair.a.outbox.stream and not pair.b.outbox.stream)
    for source, target in ((pair.a, pair.b), (pair.b, pair.a)):
        assert [message for message in pair.got[target] if b"now" not in message] == sent[source]
        moments = [int(message[4:]) for message in pair.got[target] if b"now" in message]
        assert moments == sorted(set(moments))
    assert pair.a.state is pair.b.state is ChannelState.OPEN
