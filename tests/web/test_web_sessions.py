"""The browser client in Node against our own endpoints: the way in, the channel, the way out.

Node runs on its own clock, so these tests pass the real time to the endpoints; nothing is asserted about it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from terrazzo._speed import packet
from terrazzo._speed.values import WHOLE, Change
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import LoginReply, ToServer
from terrazzo.wire.client import Reason
from tests.client.fake_cluster import BASE, KEY, LOGIN, welcome
from tests.client.play import BOBS, HERE, ME, OWN
from tests.client.town import AVATAR, GAME, places_message
from tests.client.view_scene import change_message, server_state
from tests.web.node import needs_node
from tests.web.page import CLOSE, DATA, said

pytestmark = needs_node


def test_logs_in_and_joins(page):
    page.join()
    [request] = page.cluster.requests
    assert (request.name, request.password, request.digest) == ("ann", "secret", GAME.digest)
    assert page.cluster.keys == [KEY + request.attempt.encode()], "the key is bound to the attempt"
    player = page.event("player")
    assert player["properties"]["account"] == "ann@example.org"
    assert player["properties"]["health"] == 100
    page.until(lambda: LOGIN in page.cluster.closed)
    assert page.cluster.closed[LOGIN].reason is Reason.ENDED


def test_copies_of_packets_change_nothing(page):
    page.enter()
    page.copies = 3
    for number in range(5):
        page.cluster.say(places_message((BOBS, HERE, (float(number),))), reliable=False)
    page.until(lambda: any(each["event"] == "moved" for each in page.events))
    page.cluster.say(protocol.encode_leave(BOBS))
    page.event("leave")
    assert [each["yaw"] for each in page.events if each["event"] == "moved"] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_one_packet_is_acknowledged_by_itself(page):
    session = page.join()
    change = change_message(OWN, AVATAR, server_state(AVATAR), lambda state: state.__setitem__("account", "new"))
    page.until(lambda: not session.channel.recovery.in_flight)
    page.cluster.say(change)
    page.event("change")
    page.until(lambda: not session.channel.recovery.in_flight)
    assert session.channel.acks.waiting == 0  # and by nothing else: an ACK alone wants no answer


def test_a_client_that_gets_no_acknowledgement_stops(page):
    """At most a window of the stream, and a window of packets, is in flight; then everything arrives."""
    page.enter()
    page.until(lambda: LOGIN in page.cluster.closed)
    page.is_holding = True
    sent = len(page.packets)
    for _ in range(50):
        page.tell("call", id=ME, side="cell", method="say", args=["small"])
        page.event("sent")
    for _ in range(20):
        page.step()
    assert 24 <= len(page.packets) - sent <= 32
    page.is_holding = False
    page.until(lambda: len(said(page)) == 50)
    page.until(lambda: not page.cluster.session.channel.acks.waiting)
    page.is_holding = True
    before = sum(map(len, page.packets))
    for _ in range(10):
        page.tell("call", id=ME, side="cell", method="say", args=["x" * 60_000])
    for _ in range(10):
        page.event("sent")
    page.until(lambda: sum(map(len, page.packets)) - before > 200_000)
    for _ in range(20):
        page.step()
    assert sum(map(len, page.packets)) - before < 262_144 + 4096
    page.is_holding = False
    page.until(lambda: len(said(page)) == 60)


def test_large_and_many_messages_both_ways(page):
    """Larger than packets, more than the window: all of it, once, in order."""
    page.enter()
    index = AVATAR.client_layout.index["name"]
    codec, count = AVATAR.client_layout.codecs[index], len(AVATAR.client_layout)
    names = [f"{number:04}" * 1000 for number in range(60)] + ["x" * 500_000]
    for name in names:
        change = Change(WHOLE, index, (), (), 0, 0, codec.encode(name))
        page.cluster.say(protocol.with_alias(OWN, protocol.encode_change(change, index, count)))
    assert [page.event("change")["value"] for _ in names] == names
    words = [f"{number:04}" * 1000 for number in range(60)] + ["y" * 60_000]
    for word in words:
        page.tell("call", id=ME, side="cell", method="say", args=[word])
    say = next(each for each in AVATAR.exposed(Side.CELL) if each.name == "say")

    def heard():
        calls = [each[5:] for each in said(page)]
        return calls if len(calls) == len(words) else None

    assert [say.decode_args(each) for each in page.until(heard)] == [[word] for word in words]


def test_leaving_is_graceful(page):
    page.enter()
    page.tell("call", id=ME, side="cell", method="say", args=["the last word"])
    page.tell("leave")
    page.event("left")
    assert page.event("closed") == {"event": "closed", "sentence": ""}
    page.until(lambda: BASE in page.cluster.closed)
    assert page.cluster.closed[BASE].reason is Reason.ENDED
    page.event("logged off")  # the server confirms; after that either end may complete the graceful end first
    received = [each for each in page.cluster.heard if each[0] != ToServer.MOVE]  # a tick may send MOVE at any time
    assert received[-1] == bytes([ToServer.BYE])
    assert b"the last word" in received[-2]


def test_a_page_that_leaves_waits_until_the_server_has_saved(page):
    session = page.enter()
    page.cluster.saves = False
    page.tell("leave")
    page.until(lambda: bytes([ToServer.BYE]) in page.cluster.heard)
    assert session.reason is None
    page.cluster.confirm(session, time.monotonic())
    page.event("left")
    assert page.event("closed") == {"event": "closed", "sentence": ""}


def test_page_gets_the_end_of_its_connection_before_the_confirmation(page):
    session = page.enter()
    page.cluster.saves = False
    page.tell("leave")
    page.until(lambda: bytes([ToServer.BYE]) in page.cluster.heard)
    session.abort()
    page.event("left")
    assert "did not confirm that everything is saved" in page.event("closed")["sentence"]


def test_leaving_while_logging_in(page):
    page.login()
    page.until(lambda: page.cluster.requests)
    page.tell("leave")
    assert page.event("refused")["sentence"] == "The player left before the world was there."
    page.until(lambda: BASE in page.cluster.closed)
    assert page.cluster.closed[BASE].reason is Reason.ENDED


def test_the_server_ends_gracefully_with_a_last_word(page):
    session = page.enter()
    page.cluster.say(protocol.encode_logged_off(1, "The server stops for the night."))
    session.close(time.monotonic())
    assert page.event("logged off")["text"] == "The server stops for the night."
    assert page.event("closed")["sentence"] == "The server stops for the night."
    page.until(lambda: BASE in page.cluster.closed)
    assert page.cluster.closed[BASE].reason is Reason.ENDED


def test_the_server_aborts(page):
    session = page.enter()
    session.abort()
    assert "ended the session: log in again." in page.event("closed")["sentence"]


def test_a_lost_connection(page):
    page.enter()
    [socket] = page.sockets
    page.put(CLOSE, socket)
    assert "lost the connection" in page.event("closed")["sentence"]


@pytest.mark.parametrize("sentence", ["The password is wrong.", "This client was made for another version."])
def test_sentence_of_the_login_server_is_passed_on(page, sentence):
    page.cluster.answer = lambda _: LoginReply(error=sentence, code="wrong")
    page.login()
    refused = page.event("refused")
    assert (refused["sentence"], refused["code"]) == (sentence, "wrong")


def test_a_login_reply_that_cannot_be_read(page):
    page.cluster.answer = lambda _: b"not json"
    page.login()
    assert "cannot be read" in page.event("refused")["sentence"]


def test_page_in_the_queue_gets_its_place_and_then_the_key(page):
    page.cluster.answer = lambda _: LoginReply(place=2, waiting=5)
    page.login()
    assert page.event("queue") == {"event": "queue", "place": 2, "waiting": 5}
    assert page.cluster.requests[0].may_wait
    page.cluster.say_login(LoginReply(place=1, waiting=5))
    assert page.event("queue")["place"] == 1
    page.cluster.say_login(welcome(page.cluster.requests[0]))
    page.until(lambda: page.cluster.session is not None)
    assert page.cluster.keys == [KEY + page.cluster.requests[0].attempt.encode()]


def test_page_in_the_queue_sends_its_request_again_when_the_connection_breaks(page):
    page.cluster.answer = lambda _: LoginReply(place=2, waiting=5)
    page.login()
    page.event("queue")
    for repeat in (2, 3, 4):
        [socket] = page.sockets
        page.sockets.clear()
        page.cluster.endpoints[LOGIN].on_path_lost(("page", socket))
        page.put(CLOSE, socket)
        assert page.event("queue")["place"] == 2
        assert len(page.cluster.requests) == repeat
    assert len({each.attempt for each in page.cluster.requests}) == 1


def test_page_that_leaves_the_queue_ends_its_session_at_once(page):
    page.cluster.answer = lambda _: LoginReply(place=2, waiting=5)
    page.login()
    page.event("queue")
    page.tell("leave")
    assert page.event("refused")["sentence"] == "The player left before the world was there."
    page.until(lambda: LOGIN in page.cluster.closed)
    assert page.cluster.closed[LOGIN].reason is Reason.ABORTED


@pytest.mark.parametrize(("port", "who"), [(LOGIN[1], "login server"), (BASE[1], "game server")])
def test_login_at_a_closed_port_names_the_server(page, port, who):
    page.refused.add(port)
    page.login()
    refused = page.event("refused")
    assert f"The {who} at ws://" in refused["sentence"]
    assert "cannot be reached" in refused["sentence"]
    assert refused["code"] == ("path_lost" if port == LOGIN[1] else "")


def test_the_key_was_used_before(page):
    page.login()
    page.until(lambda: page.cluster.session is not None)
    page.cluster.say(protocol.encode_logged_off(1, "This login key was used before: log in again."))
    page.cluster.session.close(time.monotonic())
    assert page.event("refused")["sentence"] == "This login key was used before: log in again."


def test_the_golden_session(page):
    """With the same keys the same bytes, up to where the time decides which packet carries what."""
    vectors = json.loads((Path(__file__).parent.parent / "wire" / "client" / "vectors.json").read_text())
    session = next(each for each in vectors["sessions"] if not each["datagram"])
    packets = [bytes.fromhex(each["bytes"]) for each in session["packets"]]
    sent = [at for at, each in enumerate(session["packets"]) if each["from"] == "client"][2]  # after OPEN and PING
    answered = next(at for at, each in enumerate(session["packets"]) if each["from"] == "server" and at > sent)
    to_server, to_client = (
        packet.decode_body(bytes.fromhex(session["packets"][at]["body"])) for at in (sent, answered)
    )
    page.tell(
        "golden",
        serverKey=session["server_public"],
        appData=session["app_data"],
        privateKey=session["client_private"],
        publicKey=packets[0][7:39].hex(),
        clientId=packets[0][2:6].hex(),
    )
    page.until(lambda: page.packets)
    assert page.packets == [packets[0]]
    page.put(DATA, 0, packets[1][:10] + bytes(31) + b"\x09" + packets[1][42:])  # a forged WELCOME is passed over
    page.put(DATA, 0, packets[1])
    page.until(lambda: len(page.packets) == 2)
    assert page.packets[1] == packets[2]
    for each in packets[3:sent]:
        page.put(DATA, 0, each)
    page.tell("send", reliable=hexes(messages_of(to_server)), unreliable=hexes(to_server.messages))
    page.until(lambda: len(page.packets) == 3)
    assert page.packets[2] == packets[sent]
    answer = packets[answered]
    page.put(DATA, 0, answer[:-1] + bytes([answer[-1] ^ 1]))  # a forgery changes nothing
    page.put(DATA, 0, answer)
    page.put(DATA, 0, answer)  # and so does a copy
    expected = [*messages_of(to_client), *to_client.messages]
    assert [page.event("message")["hex"] for _ in expected] == hexes(expected)
    assert [each for each in page.events if each["event"] == "message"] == []


def messages_of(body):
    stream = bytearray().join(data for _, data in body.chunks)
    return packet.take_messages(stream, 1 << 20)


def hexes(messages):
    return [each.hex() for each in messages]
