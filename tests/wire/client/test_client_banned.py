"""A banned source opens no session, learns why, and loses the sessions that it has."""

from __future__ import annotations

import random

import pytest

from terrazzo.wire.client import UDP, WEBSOCKET, ClientEndpoint, ServerEndpoint
from terrazzo.wire.client.limits import Drop, Reason

HOME = ("192.0.2.7", 5000)


def carry(client, server, seconds=1.0):
    """Carries packets for a while; the time at the end."""
    now = 100.0
    while now < 100.0 + seconds:
        for data in client.poll(now):
            server.on_datagram(HOME, data, now)
        for _, data in server.poll(now):
            client.on_datagram(data, now)
        now += 0.05
    return now


def pair(transport):
    server = ServerEndpoint(bytes(range(32)), entropy=random.Random(1).randbytes, transport=transport)
    client = ClientEndpoint(server.public_key, entropy=random.Random(2).randbytes, now=100.0, transport=transport)
    return client, server


@pytest.mark.parametrize("transport", [UDP, WEBSOCKET])
def test_banned_source_is_refused_and_counted(transport):
    client, server = pair(transport)
    server.ban(lambda source: source == HOME[0])
    carry(client, server)
    assert client.reason is Reason.BANNED
    assert server.drops == {Drop.BANNED: 1}
    assert not server.sessions


def test_ban_ends_the_sessions_of_its_source_only():
    client, server = pair(UDP)
    carry(client, server)
    [session] = server.sessions.values()
    server.ban(lambda source: source == "192.0.2.8")
    assert server.sessions
    server.ban(lambda source: source == HOME[0])
    carry(client, server)
    assert (session.reason, client.reason) == (Reason.BANNED, Reason.BANNED)
