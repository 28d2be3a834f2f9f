"""Strangers: what clients without a login may cost, and which of them gives way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from terrazzo._speed import packet
from terrazzo.wire.client import (
    UDP,
    WEBSOCKET,
    Channel,
    ChannelState,
    ClientEndpoint,
    Closed,
    Drop,
    Reason,
    ServerEndpoint,
    Settings,
    handshake,
    limits,
    public_key,
)
from terrazzo.wire.client.strangers import KnownSources, Strangers
from tests.wire.client.client_harness import STATIC_KEY, EndpointPair, entropy_of

ATTACKER, HONEST, KNOWN = "198.51.100.1", "192.0.2.1", "192.0.2.2"


# The table.


def strangers(total_max=4, per_source_max=3, known=()):
    names = KnownSources()
    for source in known:
        names.add(source)
    return Strangers[int](total_max=total_max, per_source_max=per_source_max, known=names)


def test_source_with_too_many_strangers_loses_its_own_oldest():
    table = strangers(total_max=100)
    table.add(0, HONEST)
    assert [table.add(number, ATTACKER) for number in range(1, 6)] == [None, None, None, 1, 2]
    assert 0 in table


def test_full_table_takes_from_the_source_that_has_the_most():
    table = strangers()
    assert table.add(0, HONEST) is None
    assert [table.add(number, ATTACKER) for number in (1, 2, 3)] == [None, None, None]
    assert table.add(4, "203.0.113.9") == 1
    assert 0 in table


def test_unknown_source_gives_way_before_a_known_one_that_has_more():
    table = strangers(known=[KNOWN])
    assert [table.add(number, KNOWN) for number in (1, 2, 3)] == [None, None, None]
    assert table.add(4, ATTACKER) is None
    assert table.add(5, "203.0.113.9") == 4
    table.remove(5)
    assert table.add(6, HONEST) is None
    assert table.add(7, ATTACKER) == 6


def test_new_stranger_is_refused_when_only_known_sources_have_any():
    table = strangers(total_max=2, known=[KNOWN, HONEST])
    assert table.add(1, KNOWN) is table.add(2, HONEST) is None
    assert table.add(3, ATTACKER) == 3
    assert len(table) == 2


def test_known_sources_are_bounded_and_the_latest_stay():
    known = KnownSources(sources_max=2)
    for source in ("a", "b", "a", "c"):
        known.add(source)
    assert [each in known for each in ("a", "b", "c")] == [True, False, True]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.sampled_from("abcdef"))))
def test_table_of_strangers_keeps_its_limits_and_ends_empty(steps):
    table = strangers(total_max=5, per_source_max=3, known=["a"])
    there: dict[int, str] = {}
    for is_added, number, source in steps:
        if is_added and number not in there:
            there[number] = source
            there.pop(table.add(number, source), None)
        elif not is_added:
            table.remove(number)
            there.pop(number, None)
        assert len(table) == len(there) <= 5
        assert all(list(there.values()).count(each) <= 3 for each in "abcdef")
    for number in there:
        table.remove(number)
    assert (table._by_source, table._rank_of, table._ranks) == ({}, {}, {})


# The endpoint.


class Door:
    """A server that asks for a login, and clients from many addresses; time stands still."""

    def __init__(self, transport=UDP, **settings) -> None:
        self.now = 0.0
        self.transport = transport
        self.host = ServerEndpoint(
            STATIC_KEY,
            entropy=entropy_of(1),
            transport=transport,
            settings=Settings(**{"needs_admission": True, **settings}),
        )
        self.seed = 1
        self.closed: list[Reason] = []

    def guest(self, address) -> tuple[ClientEndpoint, list[bytes]]:
        """A client that goes as far as it gets, and what it was answered."""
        self.seed += 1
        guest = ClientEndpoint(
            public_key(STATIC_KEY), entropy=entropy_of(self.seed), now=self.now, transport=self.transport
        )
        answers = []
        for _ in range(3):
            for data in guest.poll(self.now):
                for answer in self.ask(address, data):
                    answers.append(answer)
                    guest.on_datagram(answer, self.now)
        return guest, answers

    def ask(self, address, data) -> list[bytes]:
        self.host.on_datagram(address, data, self.now)
        out = [packet for place, packet in self.host.poll(self.now) if place == address]
        self.closed += [event.reason for event in self.host.events() if isinstance(event, Closed)]
        return out


def test_strangers_of_one_address_push_out_themselves_and_not_the_door():
    door = Door(strangers_max=20, source_strangers_max=5, sessions_max=3)
    for port in range(30):
        door.guest((ATTACKER, port))
    door.host.poll(0.0)
    assert len(door.host.sessions) == 5
    assert door.host.drops[Drop.CROWDED] == 25
    honest, _ = door.guest((HONEST, 1))
    assert honest.session is not None
    assert honest.session.state is ChannelState.OPEN


def test_admitted_session_is_never_given_up_and_makes_its_source_known():
    door = Door(strangers_max=3, source_strangers_max=3)
    door.guest((HONEST, 1))
    [session] = door.host.sessions.values()
    session.admit()
    for number in range(10):
        door.guest((f"198.51.100.{number}", 1))
    assert session.state is ChannelState.OPEN
    back, _ = door.guest((HONEST, 2))
    for number in range(20, 30):
        door.guest((f"198.51.100.{number}", 1))
    assert back.session is not None
    assert any(each.source == HONEST and each is not session for each in door.host.sessions.values())


def test_vouched_session_is_not_given_up_and_still_confined():
    door = Door(strangers_max=2, source_strangers_max=2)
    door.guest((HONEST, 1))
    [session] = door.host.sessions.values()
    session.vouch()
    for port in range(5):
        door.guest((ATTACKER, port))
    assert session.state is ChannelState.OPEN
    assert session.channel.is_confined
    assert not session.is_admitted


def test_full_server_refuses_and_strangers_do_not_fill_it():
    door = Door(sessions_max=1)
    door.guest((ATTACKER, 1))
    door.guest((HONEST, 1))
    next(each for each in door.host.sessions.values() if each.source == HONEST).admit()
    _, answers = door.guest((KNOWN, 1))
    assert [answer[0] for answer in answers] == [handshake.REFUSE]
    assert door.host.drops[Drop.FULL] == 1


def test_addresses_of_one_ipv6_subscriber_count_as_one():
    door = Door(source_opens_burst=2, source_opens_per_s=0.001)
    for number in range(4):
        door.guest((f"2001:db8::{number + 1:x}", 1, 0, 0))
    door.guest(("2001:db8:0:1::1", 1, 0, 0))
    assert len(door.host.sessions) == 3
    assert door.host.drops[Drop.RATE] == 2


def test_strangers_of_one_ipv6_subscriber_push_out_each_other():
    door = Door(source_strangers_max=2)
    for number in range(4):
        door.guest((f"2001:db8::{number + 1:x}", 1, 0, 0))
    door.guest(("2001:db8:0:1::1", 1, 0, 0))
    door.host.poll(0.0)
    assert len(door.host.sessions) == 3
    assert door.host.drops[Drop.CROWDED] == 2


def test_known_address_opens_sessions_while_others_use_up_their_share():
    door = Door(opens_per_s=3.0)
    door.guest((HONEST, 1))
    next(iter(door.host.sessions.values())).admit()
    for number in range(10):
        door.guest((f"198.51.100.{number}", 1))
    assert door.host.drops[Drop.BUSY] == 8
    assert door.guest((HONEST, 2))[0].session is not None


def test_hellos_are_answered_by_time():
    door = Door(hellos_per_s=2.0)
    hello = ClientEndpoint(public_key(STATIC_KEY), entropy=entropy_of(2), now=0.0).poll(0.0)[0]
    assert sum(len(door.ask((ATTACKER, 1), hello)) for _ in range(5)) == 2
    assert door.host.drops == {Drop.BUSY: 3}
    door.now = 0.5
    assert len(door.ask((ATTACKER, 1), hello)) == 1


def test_websocket_has_one_session_in_its_life():
    door = Door(WEBSOCKET)
    line = (ATTACKER, 7)
    first, _ = door.guest(line)
    assert first.session is not None
    for _ in range(5):
        assert door.guest(line)[1] == []
    assert door.host.drops == {Drop.SECOND: 5}
    assert len(door.host.sessions) == 1
    door.host.on_path_lost(line)
    door.host.poll(0.0)
    assert (door.host.sessions, door.host._greeter._by_path) == ({}, {})


def test_websocket_with_a_forged_open_gets_no_other():
    door = Door(WEBSOCKET)
    hello = handshake.ClientHello(1, 5, 1, public_key(bytes(range(1, 33))))
    for _ in range(3):
        assert door.ask((ATTACKER, 7), handshake.encode_open_head(hello, handshake.NO_COOKIE) + bytes(16)) == []
    assert door.host.drops == {Drop.FORGED: 1, Drop.SECOND: 2}


def test_websocket_over_its_rate_is_refused_and_not_left_waiting():
    door = Door(WEBSOCKET, source_opens_burst=1, source_opens_per_s=0.001)
    door.guest((ATTACKER, 1))
    late, answers = door.guest((ATTACKER, 2))
    assert [answer[0] for answer in answers] == [handshake.REFUSE]
    assert late.reason is Reason.SERVER_FULL


# What a stranger may send.


def stream(offset: int, data: bytes) -> bytes:
    return packet.encode_body(None, b"", bytearray(data), offset, [(offset, offset + len(data))], [])


def confined() -> Channel:
    channel = Channel(UDP, Settings(), 0.0)
    channel.confine()
    return channel


def test_stranger_holds_no_more_of_the_stream_than_a_login_needs():
    channel = confined()
    for number, offset in enumerate(range(1, 200_000, 1000)):
        channel.on_packet(number, stream(offset, bytes(1000)), 0.0)
    assert channel.assembly.held_bytes <= limits.STRANGER_STREAM_BYTES_MAX
    assert channel.state is ChannelState.OPEN
    assert channel.drops[Drop.EARLY] > 190


def test_stranger_holds_few_pieces_however_small():
    channel = confined()
    for number in range(1000):
        channel.on_packet(number, stream(2 * number + 2, b"x"), 0.0)
    assert len(channel.assembly._held) == limits.STRANGER_RANGES_MAX


def test_longest_login_request_passes_and_a_longer_message_ends_the_session():
    for size, state in ((4096, ChannelState.OPEN), (4097, ChannelState.CLOSED)):
        sender, channel = Channel(UDP, Settings(), 0.0), confined()
        sender.send(bytes(size))
        got = [message for number, body in sender.poll(0.0) for message in channel.on_packet(number, body, 0.0)]
        assert channel.state is state
        assert got == ([bytes(size)] if state is ChannelState.OPEN else [])


def test_unreliable_messages_of_a_stranger_are_dropped():
    channel = confined()
    sender = Channel(UDP, Settings(), 0.0)
    sender.send(b"move", reliable=False)
    [(number, body)] = sender.poll(0.0)
    assert channel.on_packet(number, body, 0.0) == []
    assert channel.drops == {Drop.EARLY: 1}


def test_what_came_too_early_comes_again_after_the_login():
    pair = EndpointPair(server_settings=Settings(needs_admission=True)).connect()
    messages = [bytes([number]) * 3000 for number in range(20)]
    pair.up.send_many(messages)
    pair.run(1.0)
    assert pair.at_server == messages[:1]
    pair.down.admit()
    pair.run(10.0, lambda: len(pair.at_server) == len(messages))
    assert pair.at_server == messages


@pytest.mark.parametrize("drop", Drop)
def test_every_drop_has_a_sentence(drop):
    assert drop.sentence.endswith(".")
    assert drop.value == drop.name.lower()
