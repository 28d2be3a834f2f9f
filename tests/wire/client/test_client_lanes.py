"""Lanes: messages that come or go for many sessions at once; and the clients behind one socket."""

from __future__ import annotations

from struct import pack

import pytest

from terrazzo._speed.datagrams import Batch
from terrazzo.errors import ValueRejected
from terrazzo.wire.client import (
    CLIENT,
    SERVER,
    ChannelState,
    ClientSwarm,
    Closed,
    Connected,
    Drop,
    Reason,
    Received,
    ServerEndpoint,
    SessionEvent,
    Settings,
)
from tests.wire.client.client_harness import STATIC_KEY, EndpointPair, Network, entropy_of

MOVE = bytes((2,)) + b"abcdefg"
AT_SERVER = ("192.0.2.100", 7000)
AT_SWARM = ("192.0.2.1", 9000)


def parcel(session_id: int, message: bytes) -> bytes:
    return pack("<IH", session_id, len(message)) + message


@pytest.fixture
def pair() -> EndpointPair:
    pair = EndpointPair().connect()
    pair.down.set_lane(2, len(MOVE), 77)
    return pair


def test_a_move_becomes_a_row_and_no_event(pair):
    pair.up.send(MOVE, reliable=False)
    pair.run(0.1)
    assert pair.at_server == []
    assert pair.server.take_rows() == pack("<I", 77) + MOVE[1:]
    assert pair.server.take_rows() == b""


def test_only_the_newest_row_of_a_session_is_there(pair):
    for last in range(5):
        pair.up.send(MOVE[:-1] + bytes((last,)), reliable=False)
        pair.run(0.05)
    assert pair.server.take_rows() == pack("<I", 77) + MOVE[1:-1] + bytes((4,))


def test_other_messages_go_the_way_of_messages(pair):
    others = [MOVE + b"!", MOVE[:-1], b"\x03" + MOVE[1:], b""]
    for message in others:
        pair.up.send(message, reliable=False)
    pair.up.send(MOVE, reliable=True)
    pair.run(0.1)
    assert sorted(pair.at_server) == sorted([*others, MOVE])
    assert pair.server.take_rows() == b""


def test_without_a_lane_moves_are_delivered(pair):
    pair.down.clear_lane()
    pair.up.send(MOVE, reliable=False)
    pair.run(0.1)
    assert pair.at_server == [MOVE]


def test_moves_over_the_rate_are_dropped_and_counted():
    pair = EndpointPair(server_settings=Settings(lane_per_s=10.0)).connect()
    pair.down.set_lane(2, len(MOVE), 1)
    taken = []
    for count in range(30):
        pair.up.send(MOVE[:-1] + bytes((count,)), reliable=False)
        pair.run(0.02)
        taken.append(pair.server.take_rows()[-1:])
    assert pair.server.drops[Drop.LANE_RATE] > 10
    assert taken[:10] == [bytes((count,)) for count in range(10)]
    assert 10 <= sum(map(bool, taken)) == 30 - pair.server.drops[Drop.LANE_RATE]
    pair.run(1.0)
    pair.up.send(MOVE, reliable=False)
    pair.run(0.1)
    assert pair.server.take_rows(), "a second later there is room again"


def test_newest_of_many_moves_that_come_at_once_is_taken():
    """The owner stood still, and the moves of seconds lay in the socket: they are one row, none is over the rate."""
    pair = EndpointPair(server_settings=Settings(lane_per_s=10.0)).connect()
    pair.down.set_lane(2, len(MOVE), 1)
    for count in range(200):
        pair.up.send(MOVE[:-1] + bytes((count,)), reliable=False)
    pair.run(0.05)
    assert pair.server.take_rows()[-1] == 199
    assert pair.server.drops[Drop.LANE_RATE] == 0


def test_a_stranger_has_no_lane():
    """A session that has not been admitted sends no unreliable message, whatever the application has set."""
    pair = EndpointPair(server_settings=Settings(needs_admission=True)).connect()
    pair.down.set_lane(2, len(MOVE), 1)
    pair.up.send(MOVE, reliable=False)
    pair.run(0.1)
    assert pair.server.take_rows() == b""
    assert pair.server.drops[Drop.EARLY] == 1


def test_the_lanes_of_an_endpoint_have_one_size(pair):
    with pytest.raises(ValueError):
        pair.down.set_lane(3, len(MOVE) + 1, 78)
    with pytest.raises(ValueError):
        pair.up.set_lane(2, len(MOVE), 1)  # a client of its own has no rows


def test_a_buffer_of_messages_is_sent_to_its_sessions(pair):
    id = pair.down.id
    messages = [b"one", b"", b"x" * 300]
    unknown = parcel(id ^ 1, b"to nowhere")
    assert pair.server.send_rows(b"".join(parcel(id, each) for each in messages) + unknown) == 1
    pair.run(0.1)
    assert pair.at_client == messages
    assert pair.server.send_rows(parcel(id, b"surely"), reliable=True) == 0
    pair.run(0.1)
    assert pair.at_client[-1] == b"surely"


def test_a_malformed_buffer_is_refused_as_a_whole(pair):
    good = parcel(pair.down.id, b"good")
    for bad in (good[:-1], good + b"\0", good + pack("<IH", 1, 2) + b"x"):
        with pytest.raises(ValueError):
            pair.server.send_rows(bad)
    with pytest.raises(ValueRejected):
        pair.server.send_rows(good + parcel(pair.down.id, bytes(1025)))
    pair.run(0.2)
    assert pair.at_client == []


def test_a_part_of_a_buffer_is_sent_as_a_message(pair):
    assert pair.down.send_part(b"abcdef", 1, 3)
    assert pair.down.send_part(memoryview(bytearray(b"abcdef")), 3, 6, reliable=False)
    for start, stop in ((2, 1), (-1, 2), (0, 7)):
        with pytest.raises(ValueError):
            pair.down.send_part(b"abcdef", start, stop)
    pair.run(0.1)
    assert sorted(pair.at_client) == [b"bc", b"def"]


def test_muted_messages_are_counted_and_not_delivered(pair):
    pair.up.mute(b"\x05\x06")
    for at in range(4):
        pair.down.send(b"\x05places", reliable=False)
        pair.down.send(b"\x06word")
        pair.down.send(b"\x07other")
        pair.run(1.0 if at == 2 else 0.1)
    assert pair.at_client == [b"\x07other"] * 4
    tally = pair.up.tally()
    assert (tally.muted, tally.muted_bytes, tally.gaps) == (8, 4 * 7 + 4 * 5, 1)
    assert tally.gap_max_s == pytest.approx(1.0, abs=0.05)
    assert tally.packets_missed == 0


class Crowd:
    """A swarm and its server, joined by batches."""

    def __init__(self, count: int, network: Network | None = None, settings: Settings = CLIENT) -> None:
        self.now = 50.0
        self.network = network or Network()
        self.server = ServerEndpoint(STATIC_KEY, entropy=entropy_of(3), settings=SERVER)
        self.swarm = ClientSwarm(entropy=entropy_of(4), settings=settings)
        self.at_server: list[SessionEvent] = []
        self.at_swarm: list[SessionEvent] = []
        self.ids = [self.open() for _ in range(count)]

    def open(self) -> int:
        return self.swarm.open(AT_SERVER, self.server.public_key, now=self.now, app_data=b"me")

    def step(self, seconds: float = 0.01) -> None:
        self.now += seconds
        for endpoint, own in ((self.server, AT_SERVER), (self.swarm, AT_SWARM)):
            batch = Batch()
            endpoint.poll_batch(batch, self.now)
            for at in range(len(batch)):
                address, data = batch[at]
                self.network.send(self.now, address, (own, data))
        batches = {AT_SERVER: Batch(), AT_SWARM: Batch()}
        for target, (source, data) in self.network.arrivals(self.now):
            batches[target].add(source, data)
        self.server.on_batch(batches[AT_SERVER], self.now)
        self.swarm.on_batch(batches[AT_SWARM], self.now)
        self.at_server += self.server.events()
        self.at_swarm += self.swarm.events()

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.step()


def test_many_clients_behind_one_socket_log_in_and_talk():
    crowd = Crowd(20)
    crowd.run(1.0)
    assert [type(event) for event in crowd.at_server] == [Connected] * 20
    assert sorted(event.session.id for event in crowd.at_swarm if isinstance(event, Connected)) == sorted(crowd.ids)
    for tag, session in enumerate(crowd.server.sessions.values()):
        session.set_lane(2, len(MOVE), tag)
        session.send(b"hello")
    moves = b"".join(parcel(id, MOVE) for id in crowd.ids)
    assert crowd.swarm.send_rows(moves) == 0
    crowd.run(0.2)
    rows = crowd.server.take_rows()
    assert sorted(rows[at] for at in range(0, len(rows), 4 + len(MOVE) - 1)) == list(range(20))
    heard = [event for event in crowd.at_swarm if isinstance(event, Received)]
    assert [event.messages for event in heard] == [[b"hello"]] * 20


def test_a_swarm_counts_what_the_network_lost():
    crowd = Crowd(5)
    crowd.run(1.0)
    crowd.network.loss = 0.3
    for _ in range(60):
        for session in crowd.server.sessions.values():
            session.send(b"\x05places", reliable=False)
        crowd.run(0.1)
    crowd.network.loss = 0.0
    crowd.run(1.0)
    tally = crowd.swarm.tally()
    assert tally.packets_missed > 50
    assert tally.packets_sent > 100


def test_a_client_of_a_swarm_ends_gracefully():
    crowd = Crowd(3)
    crowd.run(1.0)
    crowd.swarm.close(crowd.ids[1], crowd.now)
    crowd.run(1.0)
    ends = [event for event in crowd.at_swarm if isinstance(event, Closed)]
    assert [event.reason for event in ends] == [Reason.ENDED]
    assert [event.session.id for event in ends if event.session] == [crowd.ids[1]]
    assert len(crowd.swarm.sessions) == len(crowd.server.sessions) == 2
    before = crowd.swarm.tally().packets_sent
    crowd.swarm.abort_all()
    crowd.run(0.1)
    assert not crowd.swarm.sessions
    assert crowd.swarm.tally().packets_sent == before + 2, "what ended sessions counted is still there"
    assert all(session.state is ChannelState.CLOSED for session in crowd.server.sessions.values())


def test_a_swarm_gives_up_a_server_that_does_not_answer():
    crowd = Crowd(2, Network(loss=1.0))
    assert crowd.swarm.opening == 2
    crowd.run(11.0)
    assert crowd.at_swarm == [Closed(None, Reason.NO_ANSWER, False)] * 2
    assert sorted(crowd.swarm.failed) == sorted(crowd.ids)
    assert crowd.swarm.next_timeout() is None
    crowd.swarm.close_all(crowd.now)


def test_a_swarm_drops_what_is_no_packet_of_its_clients():
    crowd = Crowd(1)
    crowd.run(1.0)
    id = crowd.ids[0]
    junk = [
        (b"", Drop.TRUNCATED),
        (bytes(1201), Drop.OVERSIZED),
        (b"\x09" + bytes(40), Drop.KIND),
        (b"\x06" + bytes(40), Drop.UNKNOWN),
        (b"\x04\x01" + bytes(56), Drop.UNKNOWN),
        (b"\x04\x01" + pack("<I", id) + bytes(52), Drop.DUPLICATE),
        (b"\x06" + pack("<I", id) + bytes(40), Drop.REPLAYED),
        (b"\x06" + pack("<II", id, 99) + bytes(40), Drop.FORGED),
    ]
    for data, drop in junk:
        before = crowd.swarm.drops[drop]
        crowd.swarm.on_datagram(AT_SERVER, data, crowd.now)
        assert crowd.swarm.drops[drop] == before + 1, drop
