"""The plain and the compiled session do the same: of the same input the same datagrams, events, counts and state.

A world of a server and its clients runs once in each form, by the same seed: what is sent, what the network loses,
doubles and reorders, addresses that change, forged and repeated packets, budgets, lanes, ends. All that can be seen
from outside is written down after each step, and the two records are compared. The same is done with two single
channels and bodies that only a hostile peer sends.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo._speed import COMPILED, packet
from terrazzo._speed.datagrams import Batch
from terrazzo.wire.client import (
    FORM,
    PLAIN,
    UDP,
    WEBSOCKET,
    Channel,
    ChannelState,
    ClientEndpoint,
    ClientSwarm,
    Form,
    ServerEndpoint,
    Settings,
    Suite,
    Transport,
)
from terrazzo.wire.client.channel import Channel as PlainChannel
from tests.wire.client.client_harness import STATIC_KEY, Network, entropy_of

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is one form only")

AT_SERVER = ("192.0.2.100", 7000)
MOVE_BYTES = 12


def channel_state(channel: Channel) -> tuple:
    """All of a channel that can be seen."""
    outbox, recovery, acks, stats = channel.outbox, channel.recovery, channel.acks, channel.stats
    return (
        channel.state,
        channel.reason,
        channel.closed_by_peer,
        channel.next_number,
        channel.blocked,
        channel.heard_at,
        channel.answered,
        channel.next_timeout(),
        (acks.received.newest, acks.received.bits(32), acks.waiting, acks.due_at),
        (outbox.base, outbox.sent, outbox.end, bytes(outbox.stream), len(outbox.unreliable), outbox.unreliable_bytes),
        (outbox.resent_bytes, list(outbox._resend)),
        (channel.assembly.expected, channel.assembly.held_bytes, list(channel.assembly._held)),
        {number: tuple(sent) for number, sent in recovery.in_flight.items()},
        (recovery.window, recovery.smoothed_s, recovery.variance_s, recovery.latest_s, recovery.samples, recovery.lost),
        (recovery.probe_s, recovery.loss_at, recovery.newest_acked),
        (channel.control.ping, channel.control.challenge, channel.control.answer),
        (stats.packets_sent, stats.packets_received, stats.bytes_sent, stats.bytes_received, stats.probes),
        stats.unreliable_dropped,
        tuple(channel.tally()),
    )


class World:
    """A server with clients of both kinds, in one form."""

    def __init__(self, form: Form, seed: int, transport: Transport = UDP) -> None:
        rng = self.rng = random.Random(seed)
        self.form = form
        self.transport = transport
        self.now = 100.0
        self.is_batched = rng.random() < 0.5
        self.budget = rng.choice([None, None, 300, 1500])
        loss = 0.0 if not transport.datagram else rng.choice([0.0, 0.02, 0.3])
        delay = (0.01, rng.choice([0.01, 0.2])) if transport.datagram else (0.02, 0.02)
        copies = 0.1 if transport.datagram else 0.0
        self.network = Network(seed + 1, loss=loss, copies=copies, delay=delay)
        self.tick_s = rng.choice([0.01, 0.1])
        own = Settings(
            needs_admission=rng.random() < 0.5,
            lane_per_s=rng.choice([3.0, 100.0]),
            send_queue_bytes_max=rng.choice([20_000, 4 << 20]),
            unreliable_queue_bytes_max=rng.choice([600, 64 * 1024]),
            keep_alive_s=rng.choice([0.5, 5.0]),
            silence_s=rng.choice([2.0, 30.0]),
            receive_message_bytes_max=rng.choice([2000, 64 * 1024]),
            end_timeout_s=1.0,
            half_open_s=2.0,
        )
        self.server = ServerEndpoint(STATIC_KEY, entropy=entropy_of(3), transport=transport, settings=own, form=form)
        self.swarm = ClientSwarm(entropy=entropy_of(4), form=form)
        self.singles: dict[object, ClientEndpoint] = {}
        self.record: list[object] = []
        self.heard: list[tuple[object, bytes]] = []

    def open(self) -> None:
        """One more client."""
        if self.transport.datagram and self.rng.random() < 0.5:
            self.swarm.open(AT_SERVER, self.server.public_key, now=self.now, app_data=b"me")
        else:
            place = (f"198.51.100.{len(self.singles) + 1}", 5000)
            self.singles[place] = ClientEndpoint(
                self.server.public_key,
                entropy=entropy_of(50 + len(self.singles)),
                now=self.now,
                transport=self.transport,
                suite=self.rng.choice(list(Suite)),
                form=self.form,
            )

    def sessions(self) -> list:
        ups = [client.session for client in self.singles.values() if client.session is not None]
        return [*self.server.sessions.values(), *self.swarm.sessions.values(), *ups]

    def act(self) -> None:
        """Something that applications, players and strangers do."""
        rng, sessions = self.rng, self.sessions()
        if rng.random() < 0.02 and len(self.singles) + len(self.swarm.sessions) < 8:
            self.open()
        for session in sessions:
            chance = rng.random()
            if chance < 0.3:
                message = bytes((rng.randrange(4),)) + rng.randbytes(MOVE_BYTES - 1)
                session.send(message, reliable=rng.random() < 0.1)
            elif chance < 0.4:
                sizes = [rng.choice([0, 1, 40, 254, 255, 1024]) for _ in range(rng.randrange(1, 4))]
                session.send_many([rng.randbytes(size) for size in sizes], reliable=False)
            elif chance < 0.5:
                session.send_many([rng.randbytes(rng.choice([0, 5, 255, 1900]))], reliable=True)
            elif chance < 0.505:
                session.send(rng.randbytes(rng.choice([30_000, 60_000])))
            elif chance < 0.52:
                data = rng.randbytes(50)
                session.send_part(data, 10, rng.randrange(10, 50), reliable=rng.random() < 0.5)
            elif chance < 0.522:
                session.close(self.now)
            elif chance < 0.523:
                session.abort()
            elif chance < 0.53:
                session.probe()
            elif chance < 0.54:
                session.mute(rng.choice([b"", b"\x01\x03", b"\xff"]))
            elif chance < 0.56 and session.id in self.server.sessions:
                if rng.random() < 0.8:
                    session.set_lane(2, MOVE_BYTES, rng.randrange(1 << 32))
                else:
                    session.clear_lane()
            elif chance < 0.58 and session.id in self.server.sessions:
                session.admit()
        if rng.random() < 0.1 and self.server.sessions:
            ids = [*self.server.sessions, 7]
            parts = [(rng.choice(ids), rng.randbytes(rng.randrange(60))) for _ in range(5)]
            rows = b"".join(id.to_bytes(4, "little") + len(data).to_bytes(2, "little") + data for id, data in parts)
            self.record.append(self.server.send_rows(rows, reliable=rng.random() < 0.3))
        if rng.random() < 0.05 and self.heard:
            place, data = rng.choice(self.heard)
            damaged = bytearray(data)
            if rng.random() < 0.7:
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            self.server.on_datagram(place, bytes(damaged), self.now)
        if self.transport.datagram and rng.random() < 0.02 and self.singles:
            old = rng.choice(list(self.singles))
            assert isinstance(old, tuple)
            self.singles[(old[0], old[1] + 1)] = self.singles.pop(old)

    def step(self) -> None:
        self.now += self.tick_s * self.rng.choice([0.1, 1.0, 1.0])
        self.act()
        self.poll()
        self.arrive()
        self.note()

    def poll(self) -> None:
        out: list[tuple[object, object, bytes]] = []
        if self.is_batched:
            for endpoint, own in ((self.server, AT_SERVER), (self.swarm, ("192.0.2.1", 1))):
                batch = Batch()
                endpoint.poll_batch(batch, self.now, self.budget)
                out += [(own, *batch[at]) for at in range(len(batch))]
        else:
            out += [(AT_SERVER, to, data) for to, data in self.server.poll(self.now, self.budget)]
            out += [(("192.0.2.1", 1), to, data) for to, data in self.swarm.poll(self.now, self.budget)]
        for place, client in self.singles.items():
            out += [(place, AT_SERVER, data) for data in client.poll(self.now, self.budget)]
        for source, target, data in out:
            self.record.append((source, target, data))
            self.network.send(self.now, target, (source, data))
            if target == AT_SERVER:
                self.heard = [*self.heard[-20:], (source, data)]

    def arrive(self) -> None:
        batch = Batch()
        for target, (source, data) in self.network.arrivals(self.now):
            if target == AT_SERVER and self.is_batched:
                batch.add(source, data)
            elif target == AT_SERVER:
                self.server.on_datagram(source, data, self.now)
            elif target == ("192.0.2.1", 1):
                self.swarm.on_datagram(source, data, self.now)
            elif target in self.singles:
                self.singles[target].on_datagram(data, self.now)
        self.server.on_batch(batch, self.now)

    def note(self) -> None:
        endpoints: list[ServerEndpoint | ClientSwarm | ClientEndpoint] = [self.server, self.swarm]
        for endpoint in (*endpoints, *self.singles.values()):
            for event in endpoint.events():
                what = event.session.id if event.session is not None else None
                fields = ("app_data", "messages", "reason", "by_peer")
                rest = [getattr(event, field, None) for field in fields]
                self.record.append((type(event).__name__, what, rest))
            self.record.append((dict(endpoint.drops), endpoint.next_timeout()))
        self.record.append(self.server.take_rows())
        for session in self.sessions():
            self.record.append(
                (session.id, session.address, session.path_proved, session.is_admitted, session.next_timeout())
            )
            self.record.append((session.round_trip_s, channel_state(session.channel)))


def compare(worlds: list[World], steps: int) -> World:
    for world in worlds:
        world.open()
        world.open()
    for step in range(steps):
        for world in worlds:
            world.step()
        plain, compiled = (world.record for world in worlds)
        for one, other in zip(plain, compiled, strict=True):
            assert one == other, f"step {step}"
        for world in worlds:
            world.record.clear()
    return worlds[0]


@pytest.mark.parametrize("seed", range(24))
def test_both_forms_do_the_same_over_udp(seed):
    compare([World(form, seed) for form in (PLAIN, FORM)], steps=250)


@pytest.mark.parametrize("seed", range(6))
def test_both_forms_do_the_same_over_websocket(seed):
    compare([World(form, seed, WEBSOCKET) for form in (PLAIN, FORM)], steps=200)


def test_the_worlds_of_the_comparison_have_what_is_rare():
    """Or they would compare two idle sessions."""
    drops: dict = {}
    probes = resent = lost = ended = 0
    for seed in range(12):
        world = World(PLAIN, seed)
        world.open()
        world.open()
        for _ in range(250):
            world.step()
            for session in world.sessions():
                probes += session.channel.stats.probes
                resent += session.channel.outbox.resent_bytes
                lost += session.channel.recovery.lost
            ended += sum(isinstance(each, tuple) and each[:1] == ("Closed",) for each in world.record)
            world.record.clear()
        drops |= world.server.drops
    assert {drop.value for drop in drops} >= {"replayed", "forged", "unknown", "early", "lane_rate"}
    assert min(probes, resent, lost, ended) > 0


FRAMES = st.one_of(
    st.builds(
        lambda newest, delay, received, bits: packet.encode_body(
            (newest, delay, received, bits), b"", bytearray(), 0, [], []
        ),
        st.integers(0, 60),
        st.integers(0, 0xFFFF),
        st.integers(0, 4000),
        st.binary(max_size=32),
    ),
    st.builds(
        lambda offset, data: b"\x02" + offset.to_bytes(4, "little") + len(data).to_bytes(2, "little") + data,
        st.one_of(st.integers(0, 300), st.sampled_from([262_000, 262_144, 1 << 31, (1 << 32) - 1])),
        st.binary(min_size=1, max_size=60),
    ),
    st.builds(lambda data: b"\x03" + bytes((len(data),)) + data, st.binary(max_size=20)),
    st.sampled_from([b"\x04", b"\x05\x00\x00\x00\x00", b"\x05\x09\x00\x00\x00", b"\x06\x01", b"\x06\x02", b"\x06\x80"]),
    st.builds(lambda token: b"\x07" + token, st.binary(min_size=8, max_size=8)),
    st.builds(lambda token: b"\x08" + token, st.binary(min_size=8, max_size=8)),
    st.binary(max_size=4),
)
ACTIONS = st.one_of(
    st.tuples(st.just("packet"), st.integers(0, 40), st.lists(FRAMES, min_size=1, max_size=4).map(b"".join)),
    st.tuples(st.just("packet"), st.sampled_from([1023, 1024, 2000, (1 << 32) + 3]), st.just(b"\x04")),
    st.tuples(st.just("send"), st.lists(st.binary(max_size=1025), max_size=4), st.booleans()),
    st.tuples(st.just("poll"), st.one_of(st.none(), st.integers(0, 2000)), st.just(None)),
    st.tuples(st.just("wait"), st.sampled_from([0.001, 0.02, 0.12, 0.5, 3.0, 31.0]), st.just(None)),
    st.tuples(st.sampled_from(["close", "abort", "confine", "set_free"]), st.just(None), st.just(None)),
)


@settings(max_examples=400, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=40), transport=st.sampled_from([UDP, WEBSOCKET]))
def test_both_forms_of_a_channel_take_any_packet_alike(actions, transport):
    pair = [form(transport, Settings(receive_message_bytes_max=5000), 0.0) for form in (PlainChannel, Channel)]
    now = 0.0
    for what, first, second in actions:
        results: list[object] = []
        for channel in pair:
            result: object = None
            try:
                if what == "packet":
                    result = channel.on_packet(first, second, now)
                elif what == "send":
                    result = channel.send_many(first, reliable=second)
                elif what == "poll":
                    result = channel.poll(now, first)
                elif what in ("close",):
                    channel.close(now)
                elif what == "abort":
                    channel.abort()
                elif what in ("confine", "set_free") and channel.state is not ChannelState.CLOSED:
                    getattr(channel, what)()
            except Exception as error:
                result = (type(error), str(error))
            results.append((result, channel_state(channel), dict(channel.drops)))
        now += first if what == "wait" else 0.0
        assert results[0] == results[1]
