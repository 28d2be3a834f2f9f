"""The client channel: how a player's program and a server talk, over UDP or WebSocket, encrypted always.

`docs/wire.md` is the standard. Nothing here touches a socket, a clock or a source of randomness: time is an
argument, entropy a callable, datagrams go in and come out.

    ServerEndpoint, ClientEndpoint    server.py, client.py    datagrams in and out, sessions, events
      greeter.py, handshake.py, timers.py                     how sessions begin; keys; deadlines
    ClientSwarm                       swarm.py                many clients behind one socket
    Table                             table.py                the sessions of an endpoint, events, rows (lane.py)
    Session                           session.py              a peer: keys (cipher.py), path, channel
    Channel                           channel.py              messages over packets that may not arrive
      outbox.py, assembly.py, acks.py, control.py, recovery.py
    kernel.py                         the last three in the form that is in use: as they are, or compiled
    limits.py                                                 every number and every reason
"""

from terrazzo.wire.client.channel import ChannelState
from terrazzo.wire.client.client import ClientEndpoint
from terrazzo.wire.client.events import Closed, Connected, Received, SessionEvent
from terrazzo.wire.client.handshake import public_key
from terrazzo.wire.client.kernel import FORM, PLAIN, Channel, Form, Session
from terrazzo.wire.client.lane import SessionTally
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
from terrazzo.wire.client.swarm import ClientSwarm

__all__ = [
    "CLIENT",
    "FORM",
    "PLAIN",
    "SERVER",
    "UDP",
    "WEBSOCKET",
    "Channel",
    "ChannelState",
    "ClientEndpoint",
    "ClientSwarm",
    "Closed",
    "Connected",
    "Drop",
    "Form",
    "Reason",
    "Received",
    "ServerEndpoint",
    "Session",
    "SessionEvent",
    "SessionTally",
    "Settings",
    "Suite",
    "Transport",
    "public_key",
]
