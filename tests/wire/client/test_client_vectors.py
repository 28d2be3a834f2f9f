"""The golden vectors: the engine still sends and reads these bytes, and so does the independent reader."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from terrazzo._speed import packet
from terrazzo.errors import DecodeError
from terrazzo.wire.client import FORM, UDP, WEBSOCKET, ChannelState, Connected, Reason, Received, ServerEndpoint, Suite
from tests.wire.client import independent
from tests.wire.client.client_harness import STATIC_KEY, ChannelPair, EndpointPair, Network, entropy_of
from tests.wire.client.client_vectors import DOWN_AT, DOWN_RELIABLE, DOWN_UNRELIABLE, FILE, SERVER_SEED, build

VECTORS = json.loads(FILE.read_text())
SESSIONS = pytest.mark.parametrize("session", VECTORS["sessions"], ids=lambda session: session["name"])


def test_the_engine_sends_the_golden_bytes():
    assert json.loads(json.dumps(build())) == VECTORS


def test_the_form_in_use_sends_the_golden_bytes():
    """Only the plain form can be watched while it seals, so what is inside is not compared here."""
    sealed = json.loads(json.dumps(VECTORS))
    for session in sealed["sessions"]:
        for packet_ in session["packets"]:
            packet_.pop("body", None)
    made = json.loads(json.dumps(build(FORM)))
    for session in made["sessions"]:
        for packet_ in session["packets"]:
            packet_.pop("body", None)
    assert made == sealed


@SESSIONS
def test_the_independent_reader_reads_them(session):
    tap = independent.Tap(bytes.fromhex(session["client_private"]), bytes.fromhex(session["server_public"]))
    frames = set()
    for entry in session["packets"]:
        data = bytes.fromhex(entry["bytes"])
        kind, heard = tap.hear(data)
        if kind == "DATA":
            assert heard == independent.parse_body(bytes.fromhex(entry["body"]))
            frames |= {frame["frame"] for frame in heard}
    assert tap.app_data == bytes.fromhex(session["app_data"])
    up = {message.hex() for message in tap.to_server.messages() + tap.to_server.unreliable}
    assert up == set(session["messages"]["to_server"])
    down = [message.hex() for message in tap.to_client.messages() + tap.to_client.unreliable]
    assert sorted(down) == sorted(session["messages"]["to_client"])
    assert tap.to_server.final == tap.to_server.expected
    assert tap.to_client.final == tap.to_client.expected
    wanted = {"ACK", "STREAM", "MESSAGE", "PING", "END", "CLOSE"}
    assert frames == wanted | ({"CHALLENGE", "ANSWER"} if session["datagram"] else set())


@SESSIONS
def test_a_server_reads_them_and_answers_with_them(session):
    transport = UDP if session["datagram"] else WEBSOCKET
    server = ServerEndpoint(STATIC_KEY, entropy=entropy_of(SERVER_SEED), transport=transport)
    events: list[Any] = []
    for now, entries in groupby(session["packets"], key=lambda entry: entry["time"]):
        said: dict[str, list[Any]] = {"client": [], "server": []}
        for entry in entries:
            said[entry["from"]].append((entry.get("address"), bytes.fromhex(entry["bytes"])))
        for address, data in said["client"]:
            server.on_datagram(tuple(address), data, now)
        events += server.events()
        if now == DOWN_AT:
            events[0].session.send_many(DOWN_RELIABLE)
            events[0].session.send_many(DOWN_UNRELIABLE, reliable=False)
        assert [data for _, data in server.poll(now)] == [data for _, data in said["server"]]
    assert isinstance(events[0], Connected)
    assert events[0].app_data.hex() == session["app_data"]
    messages = [message for event in events if isinstance(event, Received) for message in event.messages]
    assert [message.hex() for message in messages] == session["messages"]["to_server"]
    assert not server.drops


def test_the_cookie_and_the_refusal_are_as_written():
    session = VECTORS["sessions"][0]
    hello, retry = (bytes.fromhex(entry["bytes"]) for entry in session["packets"][:2])
    fields = independent.parse_packet(retry)
    assert fields["echo"] == independent.parse_packet(hello)["client_key"][:8]
    assert int.from_bytes(fields["cookie"][:8], "little") == session["packets"][1]["time"] * 1000
    refuse = independent.parse_packet(bytes.fromhex(VECTORS["refused"]["refuse"]))
    assert (refuse["why"], refuse["lowest"], refuse["highest"], refuse["suites"]) == (8, 1, 1, 0b110)


@pytest.mark.parametrize("name", VECTORS["malformed_bodies"])
def test_malformed_bodies_are_refused_by_both(name):
    body = bytes.fromhex(VECTORS["malformed_bodies"][name])
    with pytest.raises(independent.Malformed):
        independent.parse_body(body)
    with pytest.raises(DecodeError):
        packet.decode_body(body)
    pair = ChannelPair()
    assert pair.a.on_packet(0, body, 0.0) == []
    assert (pair.a.state, pair.a.reason) == (ChannelState.CLOSED, Reason.PROTOCOL)


@pytest.mark.parametrize("suite", Suite)
def test_the_independent_reader_follows_a_session_on_a_bad_line(suite):
    """It receives every packet once, in the order sent; the peers receive them lossy, doubled and reordered."""
    pair = EndpointPair(Network(5, loss=0.2, copies=0.1, delay=(0.01, 0.04)), suite=suite).connect()
    for i in range(120):
        pair.up.send(b"up %d" % i * (i % 90))
        pair.down.send(b"down %d" % i * (i % 500))
        pair.step()
    pair.down.close(pair.now)
    pair.run(5.0, lambda: len(pair.closed) == 2)
    tap = independent.Tap(pair.client_private, pair.server.public_key)
    for _, data in pair.heard:
        tap.hear(data)
    assert tap.to_server.messages() == pair.at_server == [b"up %d" % i * (i % 90) for i in range(120)]
    assert tap.to_client.messages() == pair.at_client == [b"down %d" % i * (i % 500) for i in range(120)]
