"""Links: greeting, order, loss, incarnations, fences, crossing dials, silence."""

from __future__ import annotations

import pytest

from terrazzo.cluster.connection import LinkLimits
from terrazzo.cluster.links import Links
from terrazzo.wire.common import Hello, LinkRefusal, Refused, Welcome
from terrazzo.wire.entity.messages import Astray
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import HEARTBEAT, REGISTRY, Message, Refusal, bundle_of
from terrazzo.wire.outbox import Outbox
from tests.wire.entity.entity_harness import FakeHost

A = AppId(AppKind.BASE_APP, 1, 1)
B = AppId(AppKind.CELL_APP, 1, 4)
LIMITS = LinkLimits()


def note(number: int) -> Astray:
    return Astray(PartId(EntityId(number), Part.CELL), 0)


def says(*messages: Message) -> bytes:
    return bundle_of([REGISTRY.encode(message) for message in messages])


class Recorder:
    """An app that records what it receives."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.heard: list[object] = []

    def on_message(self, source: AppId, message: Message) -> None:
        self.heard.append(message)

    def on_link_up(self, peer: AppId) -> None:
        self.heard.append(("up", peer))

    def on_link_lost(self, peer: AppId) -> None:
        self.heard.append(("lost", peer))

    def on_tick(self) -> None:
        pass


class Net:
    """Endpoints by slot; connections that a test steps by hand: nothing happens before `step`."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.ends: dict[object, End] = {}
        self.far: dict[int, tuple[Links, int]] = {}
        self.events: list[tuple[object, ...]] = []
        self.count = 0

    def step(self) -> None:
        while self.events:
            act, *args = self.events.pop(0)
            act(*args)  # type: ignore[operator]


class End:
    """One app with its links, and the transport between it and the net."""

    def __init__(self, net: Net, me: AppId) -> None:
        self.net = net
        self.app = Recorder()
        self.links = Links(me, self.app, net.host, self, limits=LIMITS)
        self.written: list[bytes] = []
        net.ends[me.slot] = self

    def dial(self, peer: AppId) -> int:
        net = self.net
        net.count += 2
        near, far = net.count - 1, net.count
        target = net.ends.get(peer.slot)
        if target is None:
            net.events.append((self.links.on_closed, near))
        else:
            net.far[near], net.far[far] = (target.links, far), (self.links, near)
            net.events += [(self.links.on_opened, near), (target.links.on_accepted, far)]
        return near

    def write(self, connection: int, data: bytes) -> None:
        self.written.append(data)
        links, number = self.net.far[connection]
        self.net.events.append((links.on_data, number, data))

    def close(self, connection: int) -> None:
        if connection in self.net.far:
            links, number = self.net.far[connection]
            self.net.events.append((links.on_closed, number))

    def tick(self, seconds: float = 0.1) -> None:
        self.net.host.now += seconds
        self.links.on_tick()
        self.net.step()


@pytest.fixture
def net() -> Net:
    return Net()


def joined(net: Net) -> tuple[End, End]:
    a, b = End(net, A), End(net, B)
    a.app.outbox.send(B, note(1))
    a.tick()
    return a, b


def test_messages_wait_for_the_greeting_and_arrive_in_order(net):
    a, b = End(net, A), End(net, B)
    for number in range(3):
        a.app.outbox.send(B, note(number))
    a.tick()
    a.app.outbox.send(B, note(3))
    a.tick()
    assert b.app.heard == [("up", A), note(0), note(1), note(2), note(3)]
    assert a.app.heard == [("up", B)]
    assert a.links.peers == [B]
    assert b.links.peers == [A]


def test_the_wrong_incarnation_is_not_spoken_to(net):
    a, b = End(net, A), End(net, B)
    former = B._replace(incarnation=3)
    a.app.outbox.send(former, note(1))
    a.tick()
    assert a.app.heard == [("lost", former)]
    assert b.app.heard == []


def test_whichever_incarnation_is_there_can_be_joined(net):
    a, b = End(net, A), End(net, B)
    a.links.join(B._replace(incarnation=0))
    net.step()
    assert a.app.heard == [("up", B)]
    assert b.app.heard == [("up", A)]


def test_join_of_any_incarnation_keeps_a_link_that_is_up(net):
    a, b = joined(net)
    a.links.join(B._replace(incarnation=0))
    a.tick()
    a.tick(LIMITS.redial_s)
    assert a.app.heard == [("up", B)]
    assert b.app.heard == [("up", A), note(1)]


def test_join_of_any_incarnation_and_a_message_by_name_are_one_dial(net):
    a, b = End(net, A), End(net, B)
    a.links.join(B._replace(incarnation=0))
    a.app.outbox.send(B, note(1))
    a.tick()
    a.tick(LIMITS.redial_s)
    assert a.app.heard == [("up", B)]
    assert b.app.heard == [("up", A), note(1)]


def test_a_newer_incarnation_ends_the_older_and_the_older_is_refused(net):
    a, b = joined(net)
    newer = End(net, A._replace(incarnation=2))
    newer.app.outbox.send(B, note(2))
    newer.tick()
    assert b.app.heard == [("up", A), note(1), ("lost", A), ("up", newer.links.me), note(2)]
    a.app.outbox.send(B, note(3))
    a.tick()
    a.app.outbox.send(B, note(4))
    a.tick()
    assert a.links.fenced
    assert b.app.heard[-1] == note(2)


def test_a_fenced_app_is_cut_and_refused_and_finds_out(net):
    a, b = joined(net)
    b.links.fence(A)
    net.step()
    assert b.app.heard[-1] == ("lost", A)
    assert a.app.heard[-1] == ("lost", B)
    a.app.outbox.send(B, note(2))
    a.tick()
    assert a.links.fenced
    assert note(2) not in b.app.heard
    b.app.outbox.send(A, note(3))
    b.tick()
    assert b.app.heard[-1] == ("lost", A), "who speaks to the dead is told"
    assert note(3) not in a.app.heard


def test_rest_of_a_bundle_is_dropped_after_its_sender_was_fenced(net):
    a, b = joined(net)

    def fence_at_once(source: AppId, message: Message) -> None:
        b.app.heard.append(message)
        b.links.fence(source)

    b.app.on_message = fence_at_once  # type: ignore[method-assign]
    for number in (5, 6):
        a.app.outbox.send(B, note(number))
    a.tick()
    assert note(5) in b.app.heard
    assert note(6) not in b.app.heard


def test_two_dials_at_once_become_one_link(net):
    a, b = End(net, A), End(net, B)
    a.app.outbox.send(B, note(1))
    b.app.outbox.send(A, note(2))
    a.links.on_tick()
    b.links.on_tick()
    for _ in range(20):
        a.tick()
        b.tick()
    assert a.app.heard == [("up", B), note(2)]
    assert b.app.heard == [("up", A), note(1)]


def test_loss_is_one_event_and_sending_makes_a_new_link(net):
    a, b = joined(net)
    connection = next(number for number, (links, _) in net.far.items() if links is b.links)
    a.links.on_closed(connection)
    a.app.outbox.send(B, note(2))
    a.tick()
    assert a.app.heard == [("up", B), ("lost", B), ("up", B)]
    assert b.app.heard == [("up", A), note(1), ("lost", A), ("up", A), note(2)]


def test_peer_that_cannot_be_joined_is_lost_in_the_end(net):
    a = End(net, A)
    a.app.outbox.send(B, note(1))
    for _ in range(int(LIMITS.join_s / 0.1) + 10):
        a.tick()
    assert a.app.heard == [("lost", B)]


def test_a_quiet_link_carries_heartbeats_and_silence_ends_it(net):
    a, b = joined(net)
    for _ in range(20):
        a.tick()
        b.tick()
    assert HEARTBEAT in a.written
    for _ in range(int(LIMITS.silence_s / 0.1) + 10):
        net.host.now += 0.1
        a.links.on_tick()
        net.events.clear()
    assert a.app.heard == [("up", B), ("lost", B)]


def test_race_30_a_process_that_was_held_up_forgives_its_peers(net):
    a, b = joined(net)
    a.tick(LIMITS.silence_s * 10)
    b.tick()
    assert a.app.heard == [("up", B)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xc1", Refusal.BUNDLE_MALFORMED),
        (b"\x91\x92\xcd\x7f\xff\x90", Refusal.UNKNOWN),
        (b"\x91\x92\x0b\x90", Refusal.MALFORMED),
        (says(Welcome(A, 0)), Refusal.UNEXPECTED),
    ],
)
def test_bad_bytes_from_a_peer_are_counted_and_reported(net, data, reason):
    a, b = joined(net)
    connection = next(number for number, (links, _) in net.far.items() if links is a.links)
    b.links.on_data(connection, data)
    assert b.links.refusals.by_peer == {A: {reason: 1}}
    assert ("message refused", {"peer": A, "reason": reason.value}) in net.host.logged
    is_broken = reason is Refusal.BUNDLE_MALFORMED
    assert (("lost", A) in b.app.heard) is is_broken, "only a stream that cannot be read any more ends"


@pytest.mark.parametrize(
    "words",
    [
        says(note(1)),
        says(Welcome(A, 0)),
        HEARTBEAT,
        says(Hello(A, B, 12345, 1)),
        says(Hello(A, B._replace(index=9), REGISTRY.digest(), 1)),
    ],
)
def test_peer_with_a_wrong_greeting_gets_no_link(net, words):
    a, b = End(net, A), End(net, B)
    net.far[7], net.far[8] = (a.links, 8), (b.links, 7)
    b.links.on_accepted(7)
    b.links.on_data(7, words)
    assert b.app.heard == []
    assert b.links.peers == []


def test_peer_with_another_build_is_refused_with_the_reason(net):
    a, b = End(net, A), End(net, B)
    net.far[7] = (a.links, 8)
    b.links.on_accepted(7)
    b.links.on_data(7, says(Hello(A, B, 12345, 1)))
    assert b.written == [says(Refused(LinkRefusal.PROTOCOL))]
