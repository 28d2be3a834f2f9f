"""The client channel: how a player's program and a server talk, over UDP or WebSocket, encrypted always.

`docs/wire.md` is the standard. Nothing here touches a socket, a clock or a source of randomness: time is an
argument, entropy a callable, datagrams go in and come out.

    ServerEndpoint, ClientEndpoint    server.py, client.py    datagrams in and out, sessions, events
      greeter.py, handshake.py, timers.py                     how sessions begin; keys; deadlines
    Session                           session.py              a peer: keys (cipher.py), path, channel
    Channel                           channel.py              messages over packets that may not arrive
      outbox.py, assembly.py, acks.py, control.py, recovery.py
    limits.py                                                 every number and every reason
"""

from terrazzo.wire.client.channel import Channel, State
from terrazzo.wire.client.client import ClientEndpoint
from terrazzo.wire.client.events import Closed, Connected, Event, Received
from terrazzo.wire.client.handshake import public_key
from terrazzo.wire.client.limits import (
    CLIENT,
    SERVER,
    UDP,
    WEBSOCKET,
    Drop,
    Reason,
    Settings,
    Suite,
    Transport,
)
from terrazzo.wire.client.server import ServerEndpoint
from terrazzo.wire.client.session import Session

__all__ = [
    "CLIENT",
    "SERVER",
    "UDP",
    "WEBSOCKET",
    "Channel",
    "ClientEndpoint",
    "Closed",
    "Connected",
    "Drop",
    "Event",
    "Reason",
    "Received",
    "ServerEndpoint",
    "Session",
    "Settings",
    "State",
    "Suite",
    "Transport",
    "public_key",
]
