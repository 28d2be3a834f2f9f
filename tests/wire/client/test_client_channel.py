"""One channel, or two of them in memory: what arrives, in which order, and what is held, refused or left out."""

from __future__ import annotations

import pytest

from terrazzo._speed import packet
from terrazzo.errors import ValueRejected
from terrazzo.wire.client import ChannelState, Drop, Reason, limits
from tests.wire.client.client_harness import ChannelPair, Network, channel, deliver, frames


def test_many_small_messages_share_a_packet():
    a = channel()
    a.send_many([bytes(64)] * 17)
    packets = a.poll(0.0)
    assert len(packets) == 1
    assert len(packets[0][1]) + limits.OVERHEAD_BYTES <= 1200


def test_reliable_and_unreliable_messages_share_a_packet_and_the_reliable_come_first():
    a, b = channel(), channel()
    a.send(b"position", reliable=False)
    a.send(b"created")
    ((number, body),) = a.poll(0.0)
    assert b.on_packet(number, body, 0.0) == [b"created", b"position"]


def test_no_packet_is_larger_than_the_path_carries():
    a = channel()
    a.send_many([bytes(size) for size in range(0, 3000, 7)])
    a.send_many([bytes(size) for size in range(0, 1024, 5)], reliable=False)
    packets = a.poll(0.0)
    assert len(packets) > 5
    assert max(len(body) for _, body in packets) + limits.OVERHEAD_BYTES == 1200


def test_order_is_kept_when_packets_come_in_any_order():
    a, b = channel(), channel()
    messages = [bytes([i]) * 700 for i in range(8)]
    a.send_many(messages)
    packets = a.poll(0.0)
    got: list[bytes] = []
    for number, body in reversed(packets):
        assert not got
        got += b.on_packet(number, body, 0.0)
    assert got == messages


def test_a_copy_and_a_stale_packet_change_nothing():
    a, b = channel(), channel()
    a.send(b"once")
    ((number, body),) = a.poll(0.0)
    assert b.on_packet(number, body, 0.0) == [b"once"]
    for _ in range(3):
        assert b.on_packet(number, body, 0.0) == []
    assert b.drops == {Drop.REPLAYED: 3}
    assert b.stats.packets_received == 1
    b.acks.received.mark(5000)
    assert b.on_packet(3000, body, 0.0) == []
    assert b.drops == {Drop.REPLAYED: 4}


def test_the_largest_message_arrives_in_fragments():
    pair = ChannelPair(Network(loss=0.05, delay=(0.01, 0.03)))
    message = bytes(range(256)) * 4096
    assert len(message) == limits.MESSAGE_BYTES_MAX
    pair.a.send(b"before")
    pair.a.send(message)
    pair.a.send(b"after")
    pair.run(20.0, lambda: len(pair.got[pair.b]) == 3)
    assert pair.got[pair.b] == [b"before", message, b"after"]


def test_wrong_message_is_refused_at_once():
    a = channel(send_message_bytes_max=100)
    with pytest.raises(ValueRejected, match="in parts"):
        a.send(bytes(101))
    with pytest.raises(ValueRejected, match="send it reliably"):
        a.send(bytes(limits.UNRELIABLE_BYTES_MAX + 1), reliable=False)
    assert a.poll(0.0) == []


def test_unreliable_messages_older_than_delivered_ones_are_dropped_and_reliable_ones_are_not():
    a, b = channel(), channel()
    packets = []
    for i in range(3):
        a.send(b"reliable %d" % i)
        a.send(b"unreliable %d" % i, reliable=False)
        packets += a.poll(0.0)
    got = [b.on_packet(*packets[i], 0.0) for i in (1, 0, 2)]
    assert got == [[b"unreliable 1"], [b"reliable 0", b"reliable 1"], [b"reliable 2", b"unreliable 2"]]


def test_lost_unreliable_messages_are_not_sent_again():
    pair = ChannelPair()
    pair.a.send(b"lost", reliable=False)
    pair.a.poll(pair.now)
    for i in range(10):
        pair.a.send(b"later %d" % i, reliable=False)
        pair.step()
    pair.run(1.0)
    assert pair.got[pair.b] == [b"later %d" % i for i in range(10)]


def test_neither_kind_starves_the_other():
    a = channel()
    a.send_many([bytes(100)] * 500)
    a.send_many([bytes(100)] * 500, reliable=False)
    for _, body in a.poll(0.0)[:10]:
        parsed = frames(body)
        assert sum(map(len, parsed.messages)) > 400
        assert sum(len(data) for _, data in parsed.chunks) > 400


# Limits.


def test_the_send_window_holds_until_acknowledgements_come():
    a, b = channel(), channel()
    a.send_many([bytes(1000)] * 300)
    first = a.poll(0.0)
    assert len(first) == limits.WINDOW_PACKETS_INITIAL
    assert a.poll(0.0) == []
    for number, body in first:
        b.on_packet(number, body, 0.01)
    deliver(b, a, 0.01)
    assert len(a.poll(0.01)) > limits.WINDOW_PACKETS_INITIAL


def test_the_stream_is_not_sent_further_than_a_receiver_holds():
    a, b = channel(), channel()
    a.recovery.window = 1e9
    a.send_many([bytes(10_000)] * 100)
    packets = a.poll(0.0)
    assert a.outbox.sent == limits.STREAM_WINDOW_BYTES
    for number, body in packets[1:]:
        assert b.on_packet(number, body, 0.0) == []
    assert b.assembly.held_bytes < limits.STREAM_WINDOW_BYTES
    assert not b.drops
    assert len(b.on_packet(*packets[0], 0.0)) == 26


def test_what_cannot_be_held_is_not_acknowledged_and_the_missing_piece_still_fits():
    b = channel()
    for i in range(limits.HELD_RANGES_MAX + 10):
        offset = 1 + 2 * i
        b.on_packet(i, packet.encode_body(None, b"", bytearray(offset + 1), 0, [(offset, offset + 1)], []), 0.0)
    assert b.drops == {Drop.HELD_FULL: 10}
    assert b.acks.received.newest == limits.HELD_RANGES_MAX - 1
    assert b.on_packet(5000, packet.encode_body(None, b"", bytearray(1), 0, [(0, 1)], []), 0.0) == [b"", b""]


def test_overlapping_pieces_cannot_take_more_memory_than_the_window():
    b = channel()
    stream = bytearray(limits.STREAM_WINDOW_BYTES)
    for i in range(2000):
        b.on_packet(i, packet.encode_body(None, b"", stream, 0, [(1 + i, 1 + i + 1000)], []), 0.0)
    assert b.assembly.held_bytes <= limits.STREAM_WINDOW_BYTES
    assert b.drops[Drop.HELD_FULL] > 1000
    assert b.state is ChannelState.OPEN


def test_a_slow_reader_is_left_with_a_reason():
    a = channel(send_queue_bytes_max=10_000)
    for _ in range(9):
        assert a.send(bytes(1000))
    a.poll(0.0)
    assert a.send(bytes(900))
    assert not a.send(bytes(1000))
    assert (a.state, a.reason) == (ChannelState.CLOSED, Reason.SLOW_READER)
    ((_, body),) = a.poll(0.0)
    assert frames(body).close == Reason.SLOW_READER
    assert len(a.outbox.stream) == 0
    assert not a.send(b"more")


def test_unreliable_messages_over_the_limit_push_out_the_oldest():
    a = channel(unreliable_queue_bytes_max=50)
    for i in range(20):
        assert a.send(b"%05d" % i, reliable=False)
    ((_, body),) = a.poll(0.0)
    assert frames(body).messages == [b"%05d" % i for i in range(10, 20)]
    assert a.stats.unreliable_dropped == 10


@pytest.mark.parametrize("budget", [0, 25, 26, 40, 300, 1200, 1300, 5000])
def test_the_byte_budget_of_a_tick_is_never_exceeded(budget):
    a, b = channel(), channel()
    b.send_many([b"x"] * 5)
    deliver(b, a, 0.0)
    a.send_many([bytes(90)] * 100)
    a.send_many([bytes(40)] * 20, reliable=False)
    total = sum(len(body) + limits.OVERHEAD_BYTES for _, body in a.poll(0.0, budget))
    assert total <= budget
    assert a.blocked
    assert total > budget - 60 or budget < 60


def test_a_small_budget_delays_and_loses_nothing():
    pair = ChannelPair()
    messages = [b"%d" % i * 30 for i in range(200)]
    pair.a.send_many(messages)
    for _ in range(400):
        pair.step(0.02, budget_bytes=222)
    assert pair.got[pair.b] == messages


def test_a_channel_held_back_by_its_budget_is_patient():
    """It neither asks to be polled all the time nor piles up what it would send again."""
    a = channel()
    a.send_many([bytes(1000)] * 10)
    a.poll(0.0)
    for i in range(1000):
        now = 1.0 + i * 0.01
        assert a.poll(now, 0) == []
        due = a.next_timeout()
        assert due is not None
        assert due >= now + limits.BLOCKED_S
    assert a.stats.probes == 1
    assert len(a.outbox._resend) == 1


def test_an_unreliable_message_that_no_budget_carries_does_not_block_the_others():
    a = channel()
    a.send_many([bytes(1000), b"small"], reliable=False)
    assert a.poll(0.0, 222) == []
    ((_, body),) = a.poll(0.0, 222)
    assert frames(body).messages == [b"small"]
    assert a.stats.unreliable_dropped == 1
