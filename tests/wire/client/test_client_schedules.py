"""Any schedule of loss, copies and delays over two channels: everything once, in order, and a clean end."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from terrazzo.wire.client import UDP, Channel, ChannelState, Drop, Reason, Settings
from terrazzo.wire.client.channel import Channel as PlainChannel

FATES = st.lists(st.sampled_from("ddddddddlllccrrR"), min_size=20, max_size=60)
"""What happens to each packet, over and over: delivered, lost (under a third), copied, late, very late."""
SIZES = st.lists(st.sampled_from([0, 1, 40, 254, 255, 1000, 1200, 5000, 20_000]), max_size=25)


class Air:
    """Packets on their way, each with the fate that the schedule gives it."""

    def __init__(self, fates: str) -> None:
        self.fates, self.count = fates, 0
        self.flying: list[tuple[int, int, Channel, int, bytes]] = []

    def send(self, tick: int, target: Channel, number: int, body: bytes) -> None:
        fate = self.fates[self.count % len(self.fates)]
        self.count += 1
        delays = {"d": [1], "l": [], "c": [1, 3], "r": [4], "R": [30, 31]}[fate]
        self.flying += [(tick + delay, self.count, target, number, body) for delay in delays]

    def land(self, tick: int):
        landing = sorted((flight for flight in self.flying if flight[0] <= tick), key=lambda flight: flight[:2])
        self.flying = [flight for flight in self.flying if flight[0] > tick]
        return landing


def check(channel: Channel) -> None:
    """What holds at every moment."""
    outbox = channel.outbox
    assert outbox.base <= outbox.sent <= outbox.end
    assert len(channel.recovery.in_flight) <= 256 + 64
    if channel.state is not ChannelState.CLOSED:
        assert channel.next_timeout() is not None


@settings(max_examples=60, deadline=None)
@given(fates=FATES, there=SIZES, back=SIZES, budget=st.sampled_from([None, None, 700]))
def test_exactly_once_in_order_and_a_clean_end(fates, there, back, budget):
    if all(fate == "l" for fate in fates[::2]):
        fates = [*fates, "d", "d", "d"]
    config = Settings(end_timeout_s=1000.0, silence_s=1000.0)
    a, b = Channel(UDP, config, 0.0), Channel(UDP, config, 0.0)
    sent = {
        a: [bytes([i]) * size for i, size in enumerate(there)],
        b: [bytes([i]) * size for i, size in enumerate(back)],
    }
    got: dict[Channel, list[bytes]] = {a: [], b: []}
    air = Air("".join(fates))
    waiting = {a: list(sent[a]), b: list(sent[b])}
    for tick in range(20_000):
        now = tick * 0.01
        for source, target in ((a, b), (b, a)):
            if waiting[source] and tick % 3 == 0:
                assert source.send(waiting[source].pop(0))
            for number, body in source.poll(now, budget):
                air.send(tick, target, number, body)
            check(source)
        for _, _, target, number, body in air.land(tick):
            got[target] += target.on_packet(number, body, now)
        if not waiting[a] and not waiting[b]:
            a.close(now)
        if a.state is b.state is ChannelState.CLOSED:
            break
    assert got == {b: sent[a], a: sent[b]}
    assert a.reason is b.reason is Reason.ENDED
    assert set(a.drops) | set(b.drops) <= {Drop.REPLAYED}


def test_the_checks_above_notice_a_broken_rule(monkeypatch):
    """A sender that drops a lost packet never closes the gap, and then nothing is delivered at all."""
    a, b = PlainChannel(UDP, Settings(), 0.0), PlainChannel(UDP, Settings(), 0.0)
    honest = PlainChannel._send_again
    monkeypatch.setattr(PlainChannel, "_send_again", lambda self, lost: honest(self, lost[1:]))
    a.send_many([bytes(1000)] * 10)
    got = []
    for number, body in a.poll(0.0)[1:]:
        got += b.on_packet(number, body, 0.01)
    now = 0.01
    for _ in range(500):
        now += 0.01
        for source, target in ((b, a), (a, b)):
            for number, body in source.poll(now):
                got += target.on_packet(number, body, now)
    assert got == []
