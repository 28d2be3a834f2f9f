"""Opening a session: its costs for both sides, the refusals, and what is bound together."""

from __future__ import annotations

import pytest

from terrazzo.errors import ValueRejected
from terrazzo.wire.client import (
    UDP,
    WEBSOCKET,
    ClientEndpoint,
    Closed,
    Drop,
    Reason,
    ServerEndpoint,
    Settings,
    Suite,
    handshake,
    limits,
    public_key,
)
from tests.wire.client.client_harness import AWAY, HOME, STATIC_KEY, EndpointPair, Network, entropy_of


def server(**settings) -> ServerEndpoint:
    return ServerEndpoint(STATIC_KEY, entropy=entropy_of(1), settings=Settings(**settings))


def client(seed: int = 2, **options) -> ClientEndpoint:
    return ClientEndpoint(public_key(STATIC_KEY), entropy=entropy_of(seed), now=0.0, **options)


def ask(host: ServerEndpoint, data: bytes, address=HOME, now: float = 0.0) -> list[bytes]:
    host.on_datagram(address, data, now)
    return [answer for _, answer in host.poll(now)]


def opening(host: ServerEndpoint, guest: ClientEndpoint, address=HOME, now: float = 0.0) -> bytes:
    """The guest's OPEN, after HELLO and RETRY."""
    (hello,) = guest.poll(now)
    (retry,) = ask(host, hello, address, now)
    guest.on_datagram(retry, now)
    (packet,) = guest.poll(now)
    return packet


def memory_of(host: ServerEndpoint) -> tuple:
    greeter = host._greeter
    kept = (host.sessions, greeter.half_open, greeter._by_client, host._lingering, host._hellos)
    return tuple(len(table) for table in kept)


@pytest.mark.parametrize("suite", Suite)
@pytest.mark.parametrize("transport", [UDP, WEBSOCKET], ids=["udp", "websocket"])
def test_a_session_opens_with_application_data_and_carries_messages(suite, transport):
    pair = EndpointPair(suite=suite, transport=transport, app_data=b"login key").connect()
    assert pair.connected[0].app_data == b"login key"
    pair.up.send(b"up")
    pair.down.send(b"down")
    pair.run(0.5)
    assert (pair.at_server, pair.at_client) == ([b"up"], [b"down"])
    kinds = [data[0] for _, data in pair.heard[:4]]
    assert kinds[: 4 if transport is UDP else 2] == ([1, 2, 3, 4] if transport is UDP else [3, 4])


@pytest.mark.parametrize("seed", range(8))
def test_a_session_opens_on_a_bad_line(seed):
    pair = EndpointPair(Network(seed, loss=0.4, copies=0.2, delay=(0.02, 0.1)), seed=seed)
    pair.connect()
    assert len(pair.connected) == 1


def test_before_the_address_is_proved_nothing_is_kept_and_less_goes_out_than_came_in():
    host = server()
    before = memory_of(host)
    for i in range(100):
        (hello,) = client(seed=i).poll(0.0)
        answers = ask(host, hello, (f"192.0.2.{i}", 1))
        assert sum(map(len, answers)) < len(hello)
        assert ask(host, hello[: i + 40], (f"192.0.2.{i}", 1)) == []
    assert memory_of(host) == before == (0, 0, 0, 0, 0)
    assert host.next_timeout() is None


def test_x25519_is_only_spent_on_a_proved_address(monkeypatch):
    host, guest = server(), client()
    packet = opening(host, guest)
    spent = []
    monkeypatch.setattr(handshake, "agree", lambda *keys: spent.append(keys))
    assert ask(host, packet, AWAY) == []
    forged = bytearray(packet)
    forged[50] ^= 1
    assert ask(host, bytes(forged)) == []
    assert ask(host, packet, now=limits.COOKIE_LIFE_S + 1) == []
    other_key = bytearray(packet)
    other_key[10] ^= 1
    assert ask(host, bytes(other_key)) == []
    assert host.drops == {Drop.COOKIE: 4}
    assert spent == []


def test_a_cookie_is_bound_to_address_time_and_hello():
    hello = handshake.ClientHello(1, 5, 1, bytes(32))
    cookie = handshake.make_cookie(b"s", b"address", hello, 7.0)
    assert len(cookie) == handshake.COOKIE_BYTES
    assert handshake.cookie_holds(b"s", b"address", hello, cookie, 7.0)
    assert handshake.cookie_holds(b"s", b"address", hello, cookie, 17.0)
    assert not handshake.cookie_holds(b"s", b"address", hello, cookie, 17.1)
    assert not handshake.cookie_holds(b"s", b"address", hello, cookie, 6.9)
    assert not handshake.cookie_holds(b"s", b"addresz", hello, cookie, 7.0)
    assert not handshake.cookie_holds(b"t", b"address", hello, cookie, 7.0)
    assert not handshake.cookie_holds(b"s", b"address", hello._replace(client_id=6), cookie, 7.0)


def test_a_server_without_the_known_key_cannot_answer():
    impostor = ServerEndpoint(bytes(31) + b"\x09", entropy=entropy_of(1))
    guest = client(app_data=b"secret")
    assert ask(impostor, opening(impostor, guest)) == []
    assert impostor.drops == {Drop.FORGED: 1}
    assert memory_of(impostor) == (0, 0, 0, 0, 0)


def test_a_welcome_that_was_changed_is_dropped():
    host, guest = server(), client()
    (welcome,) = ask(host, opening(host, guest))
    for i in range(2, len(welcome)):
        changed = bytearray(welcome)
        changed[i] ^= 1
        guest.on_datagram(bytes(changed), 0.0)
        assert guest.session is None
    guest.on_datagram(welcome, 0.0)
    assert guest.session is not None
    assert set(guest.drops) == {Drop.KIND, Drop.FORGED}


def test_an_open_that_was_changed_is_dropped():
    host, guest = server(), client(app_data=b"login key")
    packet = opening(host, guest)
    for i in range(2, handshake.OPEN_HEAD_BYTES):
        changed = bytearray(packet)
        changed[i] ^= 1
        assert all(answer[0] == handshake.REFUSE for answer in ask(host, bytes(changed)))
    assert memory_of(host) == (0, 0, 0, 0, 0)
    assert len(ask(host, packet)) == 1


def test_an_open_with_another_seal_spends_its_cookie_and_no_other():
    host, guest, other = server(), client(seed=1), client(seed=2)
    packet, honest = opening(host, guest), opening(host, other)
    for i in range(handshake.OPEN_HEAD_BYTES, len(packet)):
        changed = bytearray(packet)
        changed[i] ^= 1
        assert ask(host, bytes(changed)) == []
    assert host.drops == {Drop.FORGED: 1, Drop.SPENT: len(packet) - handshake.OPEN_HEAD_BYTES - 1}
    assert ask(host, packet) == []
    assert len(ask(host, honest)) == 1
    assert len(ask(host, opening(host, client(seed=3)))) == 1
    host.poll(limits.COOKIE_LIFE_S)
    assert not host._greeter._spent


def test_the_same_open_gets_the_same_welcome_and_costs_nothing_more():
    host, guest = server(), client()
    packet = opening(host, guest)
    first = ask(host, packet)
    assert ask(host, packet) == first
    assert memory_of(host) == (0, 1, 1, 0, 0)


def test_another_open_with_the_same_key_is_not_the_same_open():
    host, guest = server(), client()
    ask(host, opening(host, guest))
    other = guest._hello._replace(client_id=guest._hello.client_id ^ 1)
    cookie = handshake.make_cookie(host._greeter._secret, repr(HOME).encode(), other, 0.0)
    assert ask(host, handshake.encode_open_head(other, cookie) + bytes(16)) == []
    assert host.drops == {Drop.DUPLICATE: 1}


def test_a_replayed_open_never_reaches_the_application():
    pair = EndpointPair().connect()
    packets = [data for way, data in pair.heard if data[0] == handshake.OPEN]
    pair.server.on_datagram(HOME, packets[0], pair.now)
    assert pair.server.drops == {Drop.DUPLICATE: 1}
    pair.down.abort()
    pair.run(limits.LINGER_S + 0.1)
    pair.server.on_datagram(HOME, packets[0], pair.now)
    pair.run(1.0)
    assert len(pair.connected) == 1
    assert memory_of(pair.server)[:2] == (0, 1)
    pair.run(10.0)
    assert memory_of(pair.server) == (0, 0, 0, 0, 0)


def test_half_open_sessions_are_bounded_and_the_oldest_gives_way():
    host = server(strangers_max=3)
    guests = [client(seed=i) for i in range(5)]
    welcomes = [ask(host, opening(host, guest))[0] for guest in guests]
    assert memory_of(host) == (0, 3, 3, 0, 0)
    for guest, welcome in zip(guests, welcomes, strict=True):
        guest.on_datagram(welcome, 0.0)
        (ping,) = guest.poll(0.0)
        ask(host, ping)
    assert len(host.sessions) == 3
    assert host.drops == {Drop.CROWDED: 2, Drop.UNKNOWN: 2}


def test_half_open_sessions_do_not_last():
    host = server()
    ask(host, opening(host, client()))
    assert memory_of(host) == (0, 1, 1, 0, 0)
    host.poll(9.9)
    assert memory_of(host) == (0, 1, 1, 0, 0)
    host.poll(10.1)
    assert memory_of(host) == (0, 0, 0, 0, 0)


def test_agreements_of_one_source_are_bounded_by_time_and_not_by_polls():
    host = server(source_opens_per_s=1.0, source_opens_burst=2)
    packets = [opening(host, client(seed=i)) for i in range(5)]
    assert sum(len(ask(host, packet)) for packet in packets) == 2
    assert host.drops == {Drop.RATE: 3}
    assert len(ask(host, packets[4], now=1.0)) == 1
    assert len(ask(host, packets[3], now=1.0)) == 0


def test_answers_between_two_polls_are_bounded():
    host = server(answers_max=3)
    (hello,) = client().poll(0.0)
    for _ in range(5):
        host.on_datagram(HOME, hello, 0.0)
    assert len(host.poll(0.0)) == 3
    assert host.drops == {Drop.ANSWERS_FULL: 2}


def test_full_server_refuses_with_its_reason():
    host, first, second = server(sessions_max=1), client(1), client(2)
    (welcome,) = ask(host, opening(host, first))
    late = opening(host, second)
    first.on_datagram(welcome, 0.0)
    ask(host, first.poll(0.0)[0])
    assert len(host.sessions) == 1
    for packet in (late, client(3).poll(0.0)[0]):
        (refuse,) = ask(host, packet)
        assert refuse[0] == handshake.REFUSE
    second.on_datagram(ask(host, late)[0], 0.0)
    assert second.reason is Reason.SERVER_FULL
    assert second.events() == [Closed(None, Reason.SERVER_FULL, False)]


def test_a_full_server_has_room_again_when_a_session_has_ended():
    host, first = server(sessions_max=1), client(1)
    first.on_datagram(ask(host, opening(host, first))[0], 0.0)
    ask(host, first.poll(0.0)[0])
    assert ask(host, client(2).poll(0.0)[0])[0][0] == handshake.REFUSE
    (session,) = host.sessions.values()
    session.abort(Reason.PATH_LOST)
    host.poll(limits.LINGER_S + 1)
    assert not host.sessions
    assert ask(host, client(3).poll(0.0)[0])[0][0] == handshake.RETRY


def test_server_that_filled_up_during_the_handshake_closes_with_its_reason():
    host, first, second = server(sessions_max=1), client(1), client(2)
    for guest in (first, second):
        guest.on_datagram(ask(host, opening(host, guest))[0], 0.0)
    assert ask(host, first.poll(0.0)[0]) == []
    (close,) = ask(host, second.poll(0.0)[0])
    second.on_datagram(close, 0.0)
    assert second.reason is Reason.SERVER_FULL
    assert len(host.sessions) == 1
    host.poll(limits.LINGER_S + 1)
    assert memory_of(host) == (1, 0, 1, 0, 1)


@pytest.mark.parametrize(("at", "value", "reason"), [(1, 9, Reason.WRONG_VERSION), (6, 77, Reason.WRONG_SUITE)])
def test_what_a_server_does_not_speak_is_refused(at, value, reason):
    host, guest = server(), client()
    hello = bytearray(guest.poll(0.0)[0])
    hello[at] = value
    (refuse,) = ask(host, bytes(hello))
    guest.on_datagram(refuse, 0.0)
    assert guest.reason is reason
    assert ask(host, bytes(hello[:200])) == []


def test_a_forbidden_suite_is_refused():
    host = ServerEndpoint(STATIC_KEY, entropy=entropy_of(1), suites=[Suite.AES_256_GCM])
    guest = client()
    guest.on_datagram(ask(host, guest.poll(0.0)[0])[0], 0.0)
    assert guest.reason is Reason.WRONG_SUITE


def test_forged_refuse_and_retry_are_dropped():
    host, guest = server(sessions_max=0), client()
    (refuse,) = ask(host, guest.poll(0.0)[0])
    (retry,) = ask(server(), client().poll(0.0)[0])
    for packet in (refuse, retry):
        for i in range(2, 14):
            forged = bytearray(packet)
            forged[i] ^= 0xFF
            guest.on_datagram(bytes(forged), 0.0)
    assert guest.drops == {Drop.FORGED: 24}
    assert guest.reason is None
    assert guest._open_packet is None


def test_a_key_that_leads_nowhere_is_dropped():
    host = server()
    hello = handshake.ClientHello(1, 5, 1, bytes(32))
    cookie = handshake.make_cookie(host._greeter._secret, repr(HOME).encode(), hello, 0.0)
    assert ask(host, handshake.encode_open_head(hello, cookie) + bytes(16)) == []
    assert host.drops == {Drop.KEY: 1}


def test_without_an_answer_the_client_asks_again_ever_more_slowly_and_gives_up():
    guest = client()
    times, now = [], 0.0
    while (due := guest.next_timeout()) is not None:
        now = due
        if guest.poll(now):
            times.append(now)
    assert times == [0.0, 0.25, 0.75, *(1.75 + i for i in range(9))]
    assert (now, guest.reason) == (10.0, Reason.NO_ANSWER)
    assert guest.events() == [Closed(None, Reason.NO_ANSWER, False)]
    assert guest.poll(11.0) == []


def test_an_old_cookie_is_not_insisted_on():
    host, guest = server(), client(settings=Settings(handshake_timeout_s=60.0))
    opening(host, guest)
    kinds = []
    for tick in range(70):
        kinds += [packet[0] for packet in guest.poll(tick * 0.1)]
    assert kinds[0] == handshake.OPEN
    assert kinds[-1] == handshake.HELLO


def test_an_attempt_can_be_given_up():
    guest = client()
    guest.abort()
    assert guest.poll(0.0) == []
    assert guest.next_timeout() is None
    assert guest.events() == [Closed(None, Reason.ABORTED, False)]


def test_too_much_application_data_is_wrong_use():
    with pytest.raises(ValueRejected):
        client(app_data=bytes(limits.APP_DATA_BYTES_MAX + 1))
    host = server()
    assert len(ask(host, opening(host, client(app_data=bytes(limits.APP_DATA_BYTES_MAX))))) == 1


def test_a_websocket_server_wants_no_hello_and_no_cookie():
    host = ServerEndpoint(STATIC_KEY, entropy=entropy_of(1), transport=WEBSOCKET)
    assert ask(host, client().poll(0.0)[0]) == []
    assert ask(host, opening(server(), client())) == []
    assert host.drops == {Drop.KIND: 1, Drop.COOKIE: 1}


def test_every_session_has_its_own_keys():
    """The same client entropy twice: the server's ephemeral key still makes them differ."""
    host = server()
    seen = set()
    for now in (0.0, 20.0):
        guest = ClientEndpoint(host.public_key, entropy=entropy_of(2), now=now)
        guest.on_datagram(ask(host, opening(host, guest, now=now), now=now)[0], now)
        host.poll(now + 15)
        assert guest.session is not None
        guest.session.send(b"the same words")
        seen.add(guest.poll(now)[0][9:])
    assert len(seen) == 2
