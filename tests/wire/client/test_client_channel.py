"""One channel, or two of them in memory: what arrives, in which order, when, and what is refused."""

from __future__ import annotations

import pytest

from terrazzo._speed import packet
from terrazzo.errors import ValueRejected
from terrazzo.wire.client import UDP, WEBSOCKET, Channel, Drop, Reason, Settings, State, limits
from tests.wire.client.client_harness import ChannelPair, Network


def channel(**settings) -> Channel:
    return Channel(UDP, Settings(**settings), 0.0)


def frames(body: bytes) -> packet.Body:
    return packet.decode_body(body)


def deliver(source: Channel, target: Channel, now: float) -> list[bytes]:
    """Everything that source has to send, at once, without loss."""
    got = []
    for number, body in source.poll(now):
        got += target.on_packet(number, body, now)
    return got


# Messages.


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


def test_wrong_use_is_told_at_once():
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
    assert b.state is State.OPEN


def test_a_slow_reader_is_left_with_a_reason():
    a = channel(send_queue_bytes_max=10_000)
    for _ in range(9):
        assert a.send(bytes(1000))
    a.poll(0.0)
    assert a.send(bytes(900))
    assert not a.send(bytes(1000))
    assert (a.state, a.reason) == (State.CLOSED, Reason.SLOW_READER)
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


# Acknowledgement and loss.


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
    assert a.recovery.probe_s < 0.2


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
    ((number, body),) = b.poll(0.3)  # the next one says how far the stream has come, whatever its bits say
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
    assert pair.a.state is pair.b.state is State.OPEN


# Life and end.


def test_an_idle_channel_is_kept_alive():
    pair = ChannelPair()
    pair.run(100.0)
    assert pair.a.state is pair.b.state is State.OPEN
    assert 15 <= pair.a.stats.packets_sent <= 45


def test_silence_ends_a_channel_after_a_last_call():
    a = channel()
    now = 0.0
    while a.state is State.OPEN:
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
    assert pair.a.state is pair.b.state is State.OPEN


@pytest.mark.parametrize("loss", [0.0, 0.25])
def test_a_graceful_end_gives_both_sides_everything(loss):
    pair = ChannelPair(Network(seed=9, loss=loss, delay=(0.01, 0.03)), end_timeout_s=30.0)
    pair.a.send_many([b"a%d" % i * 50 for i in range(100)])
    pair.b.send_many([b"b%d" % i * 50 for i in range(100)])
    pair.a.close(pair.now)
    assert not pair.a.send(b"too late")
    pair.run(30.0, lambda: pair.a.state is pair.b.state is State.CLOSED)
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
    assert a.state is State.ENDING
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
    assert (b.state, b.reason, b.closed_by_peer) == (State.CLOSED, Reason.ABORTED, True)
    assert b.poll(0.0) == []
    assert a.poll(100.0) == []


def test_a_lost_close_is_said_again_to_who_goes_on():
    a, b = channel(), channel()
    a.abort()
    a.poll(0.0)  # lost
    b.send(b"are you there?")
    assert deliver(b, a, 0.1) == []
    deliver(a, b, 0.2)
    assert b.reason is Reason.ABORTED
    assert a.poll(0.3) == []


def test_a_lost_close_is_said_again_however_far_the_streams_were():
    pair = ChannelPair()
    for end in (pair.a, pair.b):
        end.send_many([bytes(1000)] * 600)
    pair.run(2.0, lambda: not pair.a.outbox.stream and not pair.b.outbox.stream)
    assert pair.a.assembly.expected > 2 * limits.STREAM_WINDOW_BYTES
    pair.a.abort()
    pair.a.poll(pair.now)  # lost
    pair.b.send(b"are you there?")
    pair.run(0.1)
    assert (pair.b.state, pair.b.reason) == (State.CLOSED, Reason.ABORTED)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(2, Reason.ABORTED), (4, Reason.SLOW_READER), (77, Reason.ABORTED), (129, Reason.ABORTED)],
)
def test_the_peers_reason_is_told(code, reason):
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
    assert (a.state, a.reason, a.closed_by_peer) == (State.CLOSED, Reason.PROTOCOL, False)
    ((_, last),) = a.poll(0.0)
    assert frames(last).close == Reason.PROTOCOL


def test_a_second_end_elsewhere_is_a_fault():
    a = channel()
    a.on_packet(0, b"\x05\x09\0\0\0", 0.0)
    a.on_packet(1, b"\x05\x09\0\0\0", 0.0)
    assert a.state is State.ENDING
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
