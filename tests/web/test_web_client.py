"""The browser client in Node against our own endpoints: handshake, both kinds of messages, the world, the end.

Node runs on its own clock, so these tests pass the real time to the endpoints; nothing is asserted about it.
"""

from __future__ import annotations

import json
import os
import select
import struct
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from terrazzo._speed import packet
from terrazzo._speed.values import WHOLE, Change
from terrazzo.schema.export import export_schema
from terrazzo.schema.model import Side
from terrazzo.sync import protocol
from terrazzo.sync.protocol import LoginReply, ToServer
from terrazzo.wire.client import WEBSOCKET, Reason
from terrazzo.wire.client.session import Session
from tests.client.fake_cluster import BASE, KEY, LOGIN, FakeCluster
from tests.client.test_view import change_message, server_state
from tests.client.town import AVATAR, CREATURE, GAME, SCHEMA, base_row, cell_row, describe, places_message
from tests.web.node import needs_node, start

pytestmark = needs_node

JSON, DATA, OPEN, CLOSE = range(4)
HERE, THERE = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
ME, BOB, RAT = 10, 11, 12
OWN, BOBS, RATS = 0, 1, 2
PATIENCE_S = 30.0


class Page:
    """The web client in a Node process; its sockets lead to a fake cluster, or to nothing."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.cluster = cluster or FakeCluster(WEBSOCKET)
        self.events: list[dict[str, Any]] = []
        self.sockets: dict[int, tuple[str, int]] = {}
        self.packets: list[bytes] = []
        self.copies = 1
        self.is_holding = False
        self.held: list[tuple[int, bytes]] = []
        self.refused: set[int] = set()
        """Ports that nobody listens at."""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = start("player.mjs", self._complaints)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._waiting = b""

    def close(self) -> None:
        self.tell("quit")
        ended = self._process.wait(10)
        complaints = self.complaints()
        for each in (self._stdin, self._stdout, self._complaints):
            each.close()
        assert (ended, complaints) == (0, "")

    def complaints(self) -> str:
        """What the script has written to its console since the last call."""
        self._complaints.seek(0)
        text = self._complaints.read().decode()
        self._complaints.seek(0)
        self._complaints.truncate()
        return text

    def tell(self, command: str, **options: Any) -> None:
        self.put(JSON, 0, json.dumps({"command": command, **options}).encode())

    def put(self, kind: int, socket: int, payload: bytes = b"") -> None:
        frame = memoryview(struct.pack("<IBB", len(payload) + 2, kind, socket) + payload)
        while frame:
            frame = frame[self._stdin.write(frame) :]

    def step(self) -> None:
        if select.select([self._stdout], [], [], 0.005)[0]:
            data = os.read(self._stdout.fileno(), 1 << 16)
            assert data, "the script has ended"
            self._waiting += data
        while len(self._waiting) >= 4 and len(self._waiting) >= 4 + struct.unpack_from("<I", self._waiting)[0]:
            end = 4 + struct.unpack_from("<I", self._waiting)[0]
            frame, self._waiting = self._waiting[4:end], self._waiting[end:]
            self._on_frame(frame[0], frame[1], frame[2:])
        for place, source, data in self.cluster.poll(time.monotonic()):
            assert self.sockets.get(source[1]) == place
            self.held += [(source[1], data)] * self.copies
        if not self.is_holding:
            held, self.held = self.held, []
            for socket, data in held:
                self.put(DATA, socket, data)

    def until(self, holds: Any) -> Any:
        """Steps until it holds; gives what it gave."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < give_up_at, f"did not come about; events: {self.events[-5:]}"
            self.step()
        return found

    def event(self, name: str) -> dict[str, Any]:
        """The first event of this name that has not been asked for."""

        def find() -> dict[str, Any] | None:
            return next((each for each in self.events if each["event"] == name), None)

        found: dict[str, Any] = self.until(find)
        self.events.remove(found)
        return found

    def _on_frame(self, kind: int, socket: int, payload: bytes) -> None:
        if kind == JSON:
            self.events.append(json.loads(payload))
        elif kind == OPEN:
            self._on_open(socket, payload.decode())
        elif kind == DATA:
            self.packets.append(payload)
            if socket in self.sockets:
                self.cluster.on_datagram(self.sockets[socket], ("page", socket), payload, time.monotonic())
        elif socket in self.sockets:
            self.cluster.endpoints[self.sockets.pop(socket)].on_path_lost(("page", socket))

    def _on_open(self, socket: int, url: str) -> None:
        host, _, port = url.removeprefix("ws://").removesuffix("/play").partition(":")
        if int(port or 0) in self.refused:
            self.put(CLOSE, socket)
            return
        if port:
            self.sockets[socket] = (host, int(port))
        self.put(OPEN, socket)

    # Stories.

    def login(self, **options: Any) -> None:
        given = {
            "url": f"ws://{LOGIN[0]}:{LOGIN[1]}/play",
            "serverKey": self.cluster.public_key.hex(),
            "name": "ann",
            "password": "secret",
            "schema": export_schema(SCHEMA),
        }
        self.tell("login", **{**given, **options})

    def join(self) -> Session:
        self.login()
        self.until(lambda: self.cluster.session is not None)
        self.cluster.say(protocol.encode_base_player(ME, AVATAR, base_row()))
        assert self.event("logged in")["id"] == ME
        self.until(lambda: bytes([ToServer.READY]) in self.cluster.heard)
        assert self.cluster.session is not None
        return self.cluster.session

    def enter(self) -> Session:
        session = self.join()
        self.cluster.say(
            protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=80, gold=1 << 60)),
            protocol.encode_announce(BOB, BOBS, AVATAR),
            protocol.encode_announce(RAT, RATS, CREATURE),
        )
        self.until(lambda: protocol.encode_want([(BOB, 0), (RAT, 0)]) in self.cluster.heard)
        self.cluster.say(
            describe(AVATAR, BOBS, THERE, health=60, name="Bob"), describe(CREATURE, RATS, THERE, species=9)
        )
        self.until(lambda: len([each for each in self.events if each["event"] == "enter"]) == 3)
        return session


@pytest.fixture
def page():
    made = Page()
    yield made
    made.close()


def test_logs_in_and_joins(page):
    page.join()
    [request] = page.cluster.requests
    assert (request.name, request.password, request.digest) == ("ann", "secret", GAME.digest)
    assert page.cluster.keys == [KEY]
    player = page.event("player")
    assert player["properties"]["account"] == "ann@example.org"
    assert player["properties"]["health"] == 100
    page.until(lambda: LOGIN in page.cluster.closed)
    assert page.cluster.closed[LOGIN].reason is Reason.ENDED


def test_the_world_appears_changes_and_goes(page):
    page.enter()
    own, bob, rat = (page.event("enter") for _ in range(3))
    assert (own["id"], own["position"], own["yaw"]) == (ME, list(HERE), 0.5)
    assert (own["properties"]["health"], own["properties"]["gold"]) == (80, f"{1 << 60}n")
    assert (bob["id"], bob["type"], bob["properties"]["name"], bob["properties"]["gold"]) == (BOB, "Avatar", "Bob", 7)
    assert (rat["id"], rat["type"], rat["properties"]["species"]) == (RAT, "Creature", 9)
    mine, bobs = server_state(AVATAR), server_state(AVATAR, health=60)
    said = AVATAR.client_methods[0].encode_args("héllo", 2)
    page.cluster.say(
        change_message(BOBS, AVATAR, bobs, lambda state: state.__setitem__("health", 59)),
        change_message(OWN, AVATAR, mine, lambda state: state["bag"].append({"kind": 4, "count": 1})),
        change_message(OWN, AVATAR, mine, lambda state: setattr(state["bag"][0], "count", 6)),
        protocol.with_alias(BOBS, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_moved(THERE, (2.0, 0.0, 0.0)),
        protocol.encode_leave(BOBS),
        protocol.encode_cell_lost(),
    )
    changes = [page.event("change") for _ in range(3)]
    assert [(each["id"], each["name"], each["value"]) for each in changes] == [
        (BOB, "health", 59),
        (ME, "bag", [{"kind": 4, "count": 1}]),
        (ME, "bag", [{"kind": 4, "count": 6}]),
    ]
    assert [each["change"]["kind"] for each in changes] == ["whole", "slice", "nested"]
    assert changes[2]["change"] == {"kind": "nested", "path": [0, "count"], "old": 1}
    assert page.event("call") == {"event": "call", "id": BOB, "name": "on_said", "args": ["héllo", 2]}
    assert page.event("moved")["position"] == list(THERE)
    assert [page.event("leave")["id"] for _ in range(3)] == [BOB, RAT, ME]
    page.event("player")
    assert page.events == []


def test_parts_hear_what_happens_to_their_entities(page):
    page.enter()
    mine = server_state(AVATAR, health=80)
    said = AVATAR.client_methods[0].encode_args("hi", 2)
    page.cluster.say(
        change_message(BOBS, AVATAR, server_state(AVATAR), lambda state: state.__setitem__("health", 59)),
        change_message(OWN, AVATAR, mine, lambda state: state["bag"].append({"kind": 4, "count": 1})),
        change_message(OWN, AVATAR, mine, lambda state: setattr(state["bag"][0], "count", 6)),
        protocol.with_alias(BOBS, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_leave(BOBS),
    )
    page.event("leave")
    page.tell("heard", id=ME)
    assert page.event("heard")["heard"] == [
        ["onPlayer"],
        ["onEnter"],
        ["set_slice_bag", [[0, 1]], []],
        ["set_bag", [{"kind": 4, "count": 1}]],
    ]
    page.tell("heard", id=BOB)
    assert page.event("heard")["heard"] == [["onEnter"], ["set_health", 60], ["on_said", "hi", 2], ["onLeave"]]
    page.tell("heard", id=RAT)
    assert page.event("heard")["heard"] is None


def set_health(value, state):
    state["health"] = value


def test_a_part_that_throws_ends_nothing(page):
    page.enter()
    health = [change_message(BOBS, AVATAR, server_state(AVATAR), partial(set_health, value)) for value in (-5, 7)]
    page.cluster.say(
        *health,
        protocol.encode_announce(77, 9, AVATAR),
        describe(AVATAR, 9, HERE, name="throw"),
        protocol.encode_leave(9),
    )
    assert page.event("leave")["id"] == 77
    assert [page.event("change")["value"] for _ in range(2)] == [-5, 7]
    page.tell("heard", id=BOB)
    assert page.event("heard")["heard"] == [["onEnter"], ["set_health", 60], ["set_health", -5]]
    complaints = page.complaints()
    assert "Avatar 11: set_health: Error: the part's own mistake" in complaints
    assert "Avatar 77: constructor: Error: a part that cannot be made" in complaints


def test_places_are_unreliable_messages(page):
    page.enter()
    page.cluster.say(places_message((99, HERE, ()), (BOBS, HERE, (0.25,))), reliable=False)
    moved = page.event("moved")
    assert (moved["id"], moved["position"], moved["yaw"]) == (BOB, list(HERE), 0.25)


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


def said(page):
    return [each for each in page.cluster.heard if each[0] >= 12]


def test_calls_reach_the_server(page):
    page.enter()
    page.tell("call", id=ME, side="cell", method="say", args=["hi"])
    page.tell("call", id=ME, side="base", method="rename", args=["Anna"])
    page.tell("call", id=ME, side="cell", method="wave", args=[])
    page.tell("call", id=BOB, side="cell", method="poke", args=[7])
    page.tell("call", id=RAT, side="cell", method="feed", args=[["cheese", 1]])
    assert all(page.event("sent")["sent"] for _ in range(5))

    def heard():
        found = {}
        for message in page.cluster.heard:
            entity = int.from_bytes(message[1:5], "little")
            if message[0] < 12:
                continue
            side = Side.BASE if message[0] >= 134 else Side.CELL
            call = GAME.methods.find(CREATURE if entity == RAT else AVATAR, side, message[0], message[5:])
            found[entity, call.method.name] = call.method.decode_args(call.data)
        return found if len(found) == 5 else None

    assert page.until(heard) == {
        (ME, "say"): ["hi"],
        (ME, "rename"): ["Anna"],
        (ME, "wave"): [],
        (BOB, "poke"): [7],
        (RAT, "feed"): [["cheese", 1]],
    }


def test_only_what_may_be_called_is_there(page):
    page.enter()
    page.tell("methods", id=ME)
    assert page.event("methods")["base"] == ["rename"]
    page.tell("methods", id=BOB)
    assert page.event("methods") == {"event": "methods", "cell": ["poke"], "base": []}


def test_moves_reach_the_server(page):
    page.enter()
    page.tell("move", x=7, z=9, yaw=0.5)
    assert page.event("sent")["sent"]
    move = struct.pack("<B6f", ToServer.MOVE, 7.0, 2.0, 9.0, 0.5, 0.0, 0.0)
    page.until(lambda: page.cluster.heard.count(move) >= 1)


def test_another_space(page):
    page.enter()
    for _ in range(3):
        page.event("enter")
    page.cluster.say(protocol.encode_space(2, (7.0, 2.0, 9.0), (0.5, 0.25, 0.0)))
    space = page.event("space")
    assert (space["id"], space["space"], space["position"]) == (ME, 2, [7.0, 2.0, 9.0])
    assert [page.event("leave")["id"] for _ in range(2)] == [BOB, RAT]
    page.until(lambda: protocol.encode_released([BOBS, RATS]) in page.cluster.heard)
    move = struct.pack("<B6f", ToServer.MOVE, 7.0, 2.0, 9.0, 0.5, 0.25, 0.0)
    page.until(lambda: move in page.cluster.heard)


def test_without_a_body_nothing_moves_or_calls_the_cell(page):
    page.join()
    page.tell("move", x=7, z=9, yaw=0.5)
    assert page.event("sent")["sent"] is False
    page.tell("call", id=ME, side="cell", method="say", args=["hi"])
    assert page.event("sent")["sent"] is False


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
    assert page.cluster.closed[BASE].by_peer  # who has everything first says so
    assert page.cluster.heard[-1] == bytes([ToServer.BYE])
    assert b"the last word" in page.cluster.heard[-2]


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


def test_a_violation_and_a_mistake_of_the_page_end_nothing(page):
    page.enter()
    said = AVATAR.client_methods[0].encode_args("throw", 2)
    page.cluster.say(
        protocol.encode_leave(99),
        b"\xff",
        b"",
        protocol.with_alias(OWN, GAME.methods.encode_call(AVATAR, Side.CLIENT, "on_said", said)),
        protocol.encode_leave(RATS),
    )
    assert page.event("leave")["id"] == RAT
    assert "99" in page.event("violation")["text"]
    assert len([each for each in page.events if each["event"] == "violation"]) == 2
    assert "the page's own mistake" in page.complaints()


@pytest.mark.parametrize("sentence", ["The password is wrong.", "This client was made for another version."])
def test_what_the_login_server_says_is_passed_on(page, sentence):
    page.cluster.answer = lambda _: LoginReply(error=sentence)
    page.login()
    assert page.event("refused")["sentence"] == sentence


def test_a_login_reply_that_cannot_be_read(page):
    page.cluster.answer = lambda _: b"not json"
    page.login()
    assert "cannot be read" in page.event("refused")["sentence"]


@pytest.mark.parametrize(("port", "who"), [(LOGIN[1], "login server"), (BASE[1], "game server")])
def test_nobody_listens(page, port, who):
    page.refused.add(port)
    page.login()
    sentence = page.event("refused")["sentence"]
    assert f"The {who} at ws://" in sentence
    assert "cannot be reached" in sentence


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
