"""Any bytes from outside, into both endpoints, in every state: nothing raises or changes, all is counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.wire.client import (
    UDP,
    WEBSOCKET,
    Channel,
    ChannelState,
    ClientEndpoint,
    Reason,
    ServerEndpoint,
    Settings,
    public_key,
)
from tests.wire.client.client_harness import AWAY, HOME, STATIC_KEY, EndpointPair, entropy_of

ENTROPY = entropy_of(99)
RANDOM = st.binary(max_size=1300)
KINDED = st.tuples(st.integers(0, 7), st.binary(max_size=120)).map(lambda parts: bytes([parts[0]]) + parts[1])


def prepared(state: str) -> EndpointPair:
    """A pair in the given state."""
    pair = EndpointPair()
    if state == "hello":
        pair.step()
    elif state == "open":
        pair.run(5.0, lambda: pair.client._open_packet is not None)
    elif state == "half-open":
        pair.run(5.0, lambda: bool(pair.server._greeter.half_open))
    else:
        pair.connect()
        pair.run(0.2)
        if state == "ending":
            pair.up.send(bytes(3000))
            pair.up.close(pair.now)
            pair.step()
        elif state == "closed":
            pair.up.abort()
            pair.run(0.2)
    return pair


def state_of(pair: EndpointPair) -> tuple:
    """Everything that decides what the endpoints will do."""
    server, client = pair.server, pair.client
    sessions = list(server.sessions.values()) + [half.session for half in server._greeter.half_open.values()]
    sessions += [] if client.session is None else [client.session]
    return (
        sorted(server.sessions),
        sorted(server._greeter.half_open),
        sorted(server._lingering),
        client.reason,
        client._open_packet,
        [
            (
                session.address,
                session.state,
                session.channel.next_number,
                session.channel.acks.received.newest,
                session.channel.acks.waiting,
                session.channel.outbox.base,
                session.channel.assembly.expected,
                len(session.channel.recovery.in_flight),
            )
            for session in sessions
        ],
    )


@pytest.mark.parametrize("state", ["new", "hello", "open", "half-open", "connected", "ending", "closed"])
@settings(max_examples=40, deadline=None)
@given(junk=st.lists(st.one_of(RANDOM, KINDED, st.tuples(st.integers(0, 9), st.integers(0, 5000))), max_size=12))
def test_junk_changes_nothing(state, junk):
    pair = prepared(state)
    pair.server.poll(pair.now)
    before = state_of(pair)
    counted = pair.server.drops.total() + pair.client.drops.total()
    packets = came = 0
    for piece in junk:
        data = piece if isinstance(piece, bytes) else damaged(pair, *piece)
        pair.server.on_datagram(AWAY, data, pair.now)
        pair.client.on_datagram(data, pair.now)
        packets += 2
        came += len(data)
    assert sum(len(data) for _, data in pair.server.poll(pair.now)) <= came
    assert pair.server.events() == pair.client.events() == []
    assert state_of(pair) == before
    assert pair.server.drops.total() + pair.client.drops.total() == counted + packets


def damaged(pair: EndpointPair, which: int, bit: int) -> bytes:
    """A packet of this very session, with one bit changed: the nearest miss there is."""
    if not pair.heard:
        return b""
    data = bytearray(pair.heard[-1 - which % len(pair.heard)][1])
    # A changed bit of HELLO, or of its padding, may have no effect: these packets are cut short instead.
    if data[0] in (1, 3):
        return bytes(data[:30])
    data[9 + bit // 8 % (len(data) - 9)] ^= 1 << bit % 8
    return bytes(data)


@settings(max_examples=150, deadline=None)
@given(
    bodies=st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=80)), max_size=8),
    transport=st.sampled_from([UDP, WEBSOCKET]),
)
def test_any_authentic_body_is_taken_or_ends_the_channel(bodies, transport):
    """Bytes from a peer that has the keys and is hostile."""
    channel = Channel(transport, Settings(), 0.0)
    channel.send_many([bytes(500)] * 10)
    now = 0.0
    for number, body in bodies:
        channel.poll(now)
        channel.on_packet(number, body, now)
        now += 0.01
        if channel.state is ChannelState.CLOSED:
            assert isinstance(channel.reason, Reason)
        assert channel.assembly.held_bytes <= 262144
    channel.poll(now)


@settings(max_examples=60, deadline=None)
@given(data=st.one_of(RANDOM, KINDED), now=st.floats(0, 1e9))
def test_new_endpoints_take_any_bytes_at_any_time(data, now):
    for transport in (UDP, WEBSOCKET):
        server = ServerEndpoint(STATIC_KEY, entropy=ENTROPY, transport=transport)
        client = ClientEndpoint(public_key(STATIC_KEY), entropy=ENTROPY, now=now, transport=transport)
        server.on_datagram(HOME, data, now)
        client.on_datagram(data, now)
        assert sum(len(answer) for _, answer in server.poll(now)) <= len(data)
        assert not server.sessions
        assert not server._greeter.half_open
        assert client.session is None
