"""Sessions between two endpoints: replays, forgeries, addresses that change, ends, limits."""

from __future__ import annotations

import pytest

from terrazzo._speed import packet
from terrazzo.wire.client import (
    CLIENT,
    FORM,
    PLAIN,
    SERVER,
    WEBSOCKET,
    ChannelState,
    Drop,
    Reason,
    Received,
    Session,
    Settings,
    Suite,
    handshake,
    limits,
)
from terrazzo.wire.client import session as session_module
from terrazzo.wire.client.session import Session as PlainSession
from tests.wire.client.client_harness import AWAY, HOME, EndpointPair, Network

suites = pytest.mark.parametrize("suite", Suite)


def snapshot(session: Session) -> tuple:
    """Everything of a session that a packet could change."""
    channel = session.channel
    return (
        session.address,
        session.path_proved,
        channel.state,
        channel.next_number,
        channel.acks.received.newest,
        channel.acks.received.bits(32),
        channel.acks.waiting,
        channel.outbox.base,
        channel.outbox.sent,
        channel.assembly.expected,
        channel.assembly.held_bytes,
        channel.next_timeout(),
        dict(channel.recovery.in_flight),
    )


def sealed(session: Session, body: bytes) -> bytes:
    """A packet as the other end would make it, with the number after the newest."""
    number = session.channel.acks.received.newest + 1
    header = session_module._HEADER.pack(handshake.DATA, session.id, number)
    return header + peer_of[session]._seal(number, body, header)


peer_of: dict[Session, Session] = {}


@pytest.fixture
def pair() -> EndpointPair:
    pair = EndpointPair().connect()
    pair.run(0.2)
    peer_of.update({pair.up: pair.down, pair.down: pair.up})
    return pair


def test_a_replayed_packet_changes_nothing(pair):
    pair.up.send(b"pay 100")
    pair.run(0.2)
    assert pair.at_server == [b"pay 100"]
    before = snapshot(pair.down)
    for way, data in pair.heard:
        if way == "up" and data[0] == handshake.DATA:
            for address in (HOME, AWAY):
                pair.server.on_datagram(address, data, pair.now)
    assert snapshot(pair.down) == before
    assert pair.server.events() == []
    assert set(pair.server.drops) == {Drop.REPLAYED}


def test_a_replayed_packet_is_not_worth_a_decryption():
    pair = EndpointPair(form=PLAIN).connect()
    pair.up.send(b"pay 100")
    pair.run(0.2)
    opened = []
    vars(pair.down)["_open"] = lambda *arguments: opened.append(arguments)
    for way, data in pair.heard:
        if way == "up" and data[0] == handshake.DATA:
            pair.server.on_datagram(HOME, data, pair.now)
    assert pair.server.drops[Drop.REPLAYED] > 1
    assert opened == []


def test_a_number_that_has_come_is_seen_before_the_seal(pair):
    pair.up.send(b"pay 100")
    pair.run(0.2)
    last = next(data for way, data in reversed(pair.heard) if way == "up" and data[0] == handshake.DATA)
    pair.server.on_datagram(HOME, last[:-1] + bytes((last[-1] ^ 1,)), pair.now)
    assert dict(pair.server.drops) == {Drop.REPLAYED: 1}


@suites
def test_a_packet_with_any_bit_changed_or_bytes_cut_changes_nothing(suite):
    pair = EndpointPair(suite=suite).connect()
    pair.up.send(b"message")
    (data,) = pair.client.poll(pair.now)
    before = snapshot(pair.down)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        pair.server.on_datagram(AWAY, bytes(changed), pair.now)
    for length in range(len(data)):
        pair.server.on_datagram(AWAY, data[:length], pair.now)
    pair.server.on_datagram(AWAY, data + b"\0", pair.now)
    assert snapshot(pair.down) == before
    assert set(pair.server.drops) <= {
        Drop.TRUNCATED,
        Drop.FORGED,
        Drop.UNKNOWN,
        Drop.KIND,
        Drop.REPLAYED,
        Drop.UNPADDED,
    }
    assert pair.server.drops[Drop.FORGED] > 8 * (len(data) - limits.HEADER_BYTES)
    pair.server.on_datagram(HOME, data, pair.now)
    assert pair.server.events() == [Received(pair.down, [b"message"])]


def test_packets_of_another_session_do_not_authenticate(pair):
    other = EndpointPair(seed=70).connect()
    before = snapshot(pair.down)
    other.up.send(b"not yours")
    (data,) = other.client.poll(other.now)
    stolen = data[:1] + pair.down.id.to_bytes(4, "little") + (1000).to_bytes(4, "little") + data[9:]
    pair.server.on_datagram(HOME, stolen, pair.now)
    pair.server.on_datagram(HOME, data, pair.now)
    assert snapshot(pair.down) == before
    assert pair.server.drops == {Drop.FORGED: 1, Drop.UNKNOWN: 1}


def test_a_packet_sent_back_to_its_sender_does_not_authenticate(pair):
    pair.up.send(b"echo")
    (data,) = pair.client.poll(pair.now)
    pair.client.on_datagram(data[:1] + pair.up.id.to_bytes(4, "little") + data[5:], pair.now)
    assert pair.client.events() == []
    assert pair.client.drops[Drop.FORGED] + pair.client.drops[Drop.REPLAYED] == 1


def test_no_nonce_is_used_twice():
    pair = EndpointPair(Network(3, loss=0.3, copies=0.2, delay=(0.01, 0.05))).connect()
    for i in range(200):
        pair.up.send(b"%d" % i * 100)
        pair.step()
    pair.run(2.0)
    numbers = [data[5:9] for way, data in pair.heard if way == "up" and data[0] == handshake.DATA]
    assert pair.up.channel.outbox.resent_bytes > 1000
    assert len(set(numbers)) == len(numbers)


def test_packet_numbers_go_on_behind_32_bits(pair):
    for session in (pair.up, pair.down):
        session.channel.next_number = 2**32 - 5
        peer_of[session].channel.acks.received.mark(2**32 - 6)
    messages = [b"%d" % i for i in range(20)]
    for message in messages:
        pair.up.send(message)
        pair.down.send(message)
        pair.step()
    pair.run(0.5)
    assert pair.at_server == pair.at_client == messages
    assert pair.up.channel.next_number > 2**32
    assert not pair.server.drops
    assert pair.down.state is ChannelState.OPEN


@suites
def test_a_worn_key_ends_the_session(suite):
    pair = EndpointPair(suite=suite).connect()
    pair.up.channel.next_number = limits.PACKETS_MAX[suite]
    pair.down.channel.acks.received.mark(limits.PACKETS_MAX[suite] - 1)
    pair.run(0.2)
    assert pair.closed["client"].reason is pair.closed["server"].reason is Reason.KEYS_WORN


def test_too_many_forgeries_end_the_session(pair, monkeypatch):
    monkeypatch.setattr(limits, "FORGERIES_MAX", 10)
    for i in range(10):
        data = handshake.DATA.to_bytes(1, "little") + pair.down.id.to_bytes(4, "little") + bytes([200 + i]) + bytes(30)
        pair.server.on_datagram(HOME, data, pair.now)
    pair.run(0.2)
    assert pair.closed["server"].reason is Reason.KEYS_WORN


# Address change.


def test_client_with_a_changed_address_goes_on(pair):
    pair.address = AWAY
    for i in range(100):
        pair.up.send(b"up %d" % i)
        pair.down.send(b"down %d" % i * 50)
        pair.step()
    pair.run(1.0)
    assert pair.down.address == AWAY
    assert pair.down.path_proved
    assert pair.at_server == [b"up %d" % i for i in range(100)]
    assert pair.at_client == [b"down %d" % i * 50 for i in range(100)]
    assert len(pair.connected) == 1
    assert not pair.closed


def test_idle_client_with_a_changed_address_is_found_again(pair):
    pair.address = AWAY
    pair.run(12.0)
    assert pair.down.address == AWAY
    pair.down.send(b"there you are")
    pair.run(0.5)
    assert pair.at_client == [b"there you are"]


def test_an_older_packet_from_the_old_address_moves_nothing_back(pair):
    pair.up.send(b"first")
    (first,) = pair.client.poll(pair.now)
    pair.up.send(b"second")
    (second,) = pair.client.poll(pair.now)
    pair.server.on_datagram(AWAY, second, pair.now)
    assert pair.down.address == AWAY
    pair.server.on_datagram(HOME, first, pair.now)
    assert pair.down.address == AWAY


def test_an_unproved_address_gets_no_more_bytes_than_came_from_it(pair):
    """An attacker on the path sends a captured packet on from a victim's address."""
    pair.down.send_many([bytes(1000)] * 200)
    pair.up.send(b"captured")
    (data,) = pair.client.poll(pair.now)
    pair.server.on_datagram(AWAY, data, pair.now)
    sent = []
    for _ in range(100):
        pair.now += 0.1
        sent += [len(out) for address, out in pair.server.poll(pair.now) if address == AWAY]
    assert 0 < sum(sent) <= len(data)
    assert not pair.down.path_proved


def test_guessed_acknowledgements_do_not_prove_an_address(pair):
    """A hostile client gives its victim's address and acknowledges whatever may have been sent there."""
    came = 0
    pair.down.send_many([bytes(1000)] * 50)
    for i in range(20):
        pair.now += 0.05
        channel = pair.down.channel
        ack = (channel.next_number - 1, 0, channel.outbox.sent, b"\xff" * 8)
        data = sealed(pair.down, packet.encode_body(ack, b"\x08" + bytes(8), bytearray(), 0, [], [b"%d" % i]))
        pair.server.on_datagram(AWAY, data, pair.now)
        came += len(data)
        came -= sum(len(out) for address, out in pair.server.poll(pair.now) if address == AWAY)
        assert came >= 0
    assert not pair.down.path_proved


def test_a_lost_challenge_is_asked_again(pair):
    pair.address = AWAY
    pair.up.send(b"moved")
    pair.step()
    pair.network.loss = 1.0
    pair.run(0.2)
    pair.network.loss = 0.0
    for _ in range(100):
        pair.up.send(b"still here")
        pair.step(0.02)
    assert pair.down.path_proved


@pytest.mark.parametrize("form", [PLAIN, FORM])
def test_a_client_that_moves_and_acknowledges_nothing_fills_no_memory(form):
    pair = EndpointPair(form=form).connect()
    pair.run(0.2)
    peer_of[pair.down] = pair.up
    pair.down.send(b"kept until it arrives")
    for turn in range(limits.FLIGHT_PACKETS_MAX + 200):
        data = sealed(pair.down, bytes((packet.PING,)) * 12)
        pair.server.on_datagram((HOME, AWAY)[turn % 2], data, pair.now)
        pair.server.poll(pair.now)
        pair.now += 0.01
    assert len(pair.down.channel.recovery.in_flight) == limits.FLIGHT_PACKETS_MAX
    assert pair.down.state is ChannelState.OPEN
    pair.up.channel.next_number = pair.down.channel.acks.received.newest + 1
    pair.run(5.0, lambda: bool(pair.at_client))
    assert pair.at_client == [b"kept until it arrives"]


@pytest.mark.parametrize("seed", range(6))
def test_a_client_that_moves_again_and_again_on_a_bad_line_gets_everything(seed):
    slow = Settings(end_timeout_s=60.0)
    network = Network(seed, loss=0.3, delay=(0.02, 0.1))
    pair = EndpointPair(network, server_settings=slow, client_settings=slow, seed=seed)
    pair.connect()
    for i in range(40):
        if i % 8 == 3:
            pair.address = (f"203.0.113.{i}", i)
        pair.up.send(b"up %d" % i)
        pair.down.send(b"down %d" % i * 300)
        pair.step(0.02)
    pair.up.close(pair.now)
    pair.run(60.0, lambda: len(pair.closed) == 2)
    assert pair.at_server == [b"up %d" % i for i in range(40)]
    assert pair.at_client == [b"down %d" % i * 300 for i in range(40)]
    assert pair.closed["server"].reason is pair.closed["client"].reason is Reason.ENDED


def test_over_websocket_a_session_stays_with_its_connection():
    pair = EndpointPair(transport=WEBSOCKET).connect()
    pair.up.send(b"elsewhere")
    (data,) = pair.client.poll(pair.now)
    pair.server.on_datagram(AWAY, data, pair.now)
    assert pair.server.drops == {Drop.ADDRESS: 1}
    assert pair.down.address == HOME
    pair.server.on_path_lost(HOME)
    pair.client.on_path_lost()
    pair.run(0.1)
    assert pair.closed["server"].reason is pair.closed["client"].reason is Reason.PATH_LOST


def test_a_websocket_lost_in_the_handshake_leaves_nothing():
    pair = EndpointPair(transport=WEBSOCKET)
    pair.network.delay = (1.0, 1.0)
    pair.run(1.5)
    assert len(pair.server._greeter.half_open) == 1
    pair.server.on_path_lost(HOME)
    pair.client.on_path_lost()
    assert not pair.server._greeter.half_open
    assert pair.client.reason is Reason.PATH_LOST


# Ends.


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("who", ["up", "down"])
def test_a_graceful_end_is_known_to_both_and_nothing_is_left(who, loss):
    pair = EndpointPair(Network(6, loss=loss, delay=(0.01, 0.03))).connect()
    pair.up.send_many([b"%d" % i * 100 for i in range(50)])
    pair.down.send_many([b"%d" % i * 100 for i in range(50)])
    getattr(pair, who).close(pair.now)
    pair.run(8.0, lambda: len(pair.closed) == 2)
    assert pair.closed["server"].reason is pair.closed["client"].reason is Reason.ENDED
    assert pair.at_server == pair.at_client == [b"%d" % i * 100 for i in range(50)]
    pair.run(limits.LINGER_S + 1)
    server = pair.server
    for table in (server.sessions, server._lingering, server._hellos, server._greeter._by_client):
        assert not table
    assert server.next_timeout() is None


def test_an_immediate_end_is_known_to_both(pair):
    pair.down.send_many([bytes(1000)] * 50)
    pair.down.abort()
    pair.run(0.2)
    assert pair.closed["server"].reason is pair.closed["client"].reason is Reason.ABORTED
    assert pair.closed["client"].by_peer
    assert not pair.closed["server"].by_peer
    assert pair.at_client == []


def test_a_lost_close_is_repeated_while_the_session_lingers(pair):
    pair.network.loss = 1.0
    pair.down.abort()
    pair.step()
    pair.network.loss = 0.0
    pair.up.send(b"are you there?")
    pair.run(1.0)
    assert pair.closed["client"].reason is Reason.ABORTED
    assert pair.at_server == []


def test_silent_peer_is_given_up_and_removed(pair):
    pair.network.loss = 1.0
    pair.run(40.0)
    assert pair.closed["server"].reason is pair.closed["client"].reason is Reason.SILENT
    assert not pair.server.sessions
    assert not pair.server._lingering


def test_idle_sessions_stay_open_and_cost_few_packets(pair):
    count = len(pair.heard)
    pair.run(60.0)
    assert not pair.closed
    assert len(pair.heard) - count < 60


def test_slow_reader_gets_a_close():
    small = Settings(send_queue_bytes_max=50_000)
    pair = EndpointPair(server_settings=small).connect()
    pair.network.loss = 1.0
    for _ in range(200):
        pair.down.send(bytes(1000))
        pair.step()
    assert pair.closed["server"].reason is Reason.SLOW_READER
    assert len(pair.down.channel.outbox.stream) == 0
    pair.network.loss = 0.0
    pair.up.send(b"sorry, I was away")
    pair.run(2.0)
    assert pair.closed["client"].reason is Reason.SLOW_READER
    assert pair.closed["client"].by_peer


def test_a_hostile_body_ends_only_its_own_session(pair):
    pair.server.on_datagram(HOME, sealed(pair.down, b"\xaa"), pair.now)
    pair.run(0.2)
    assert pair.closed["server"].reason is Reason.PROTOCOL
    assert pair.closed["client"].reason is Reason.PROTOCOL


def test_a_server_refuses_messages_larger_than_it_wants():
    greedy = Settings(send_message_bytes_max=1 << 20)
    pair = EndpointPair(client_settings=greedy).connect()
    pair.up.send(bytes(SERVER.receive_message_bytes_max + 1))
    pair.run(1.0)
    assert pair.closed["server"].reason is Reason.PROTOCOL
    assert CLIENT.send_message_bytes_max == SERVER.receive_message_bytes_max


def test_the_budget_counts_whole_datagrams_for_each_session(pair):
    pair.down.send_many([bytes(500)] * 50)
    for _ in range(5):
        pair.now += 0.1
        assert 2000 < sum(len(data) for _, data in pair.server.poll(pair.now, 3000)) <= 3000


def test_many_sessions_are_polled_only_when_something_happens(monkeypatch):
    pair = EndpointPair(form=PLAIN).connect()
    polled = []
    honest = PlainSession.poll

    def watched(self: Session, now: float, budget_bytes: int | None = None) -> list[bytes]:
        polled.append(self)
        return honest(self, now, budget_bytes)

    monkeypatch.setattr(PlainSession, "poll", watched)
    pair.run(0.3)
    polled.clear()
    for _ in range(100):
        pair.now += 0.001
        pair.server.poll(pair.now)
    assert polled == []
    pair.down.send(b"now")
    pair.server.poll(pair.now)
    assert polled == [pair.down]


def test_endpoints_stay_alive_when_polled_at_their_deadlines(pair):
    """Driven by their own deadlines alone, the two keep each other alive."""
    for _ in range(200):
        dues = [due for due in (pair.client.next_timeout(), pair.server.next_timeout()) if due is not None]
        pair.now = max(pair.now, min(dues))
        pair.network.delay = (0.0, 0.0)
        pair.step(0.0)
    assert pair.now > 150.0
    assert not pair.closed
