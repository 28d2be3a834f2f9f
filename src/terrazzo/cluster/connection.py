"""The parts of a link: the transport that a driver provides, and the state of each connection and each peer.

`links.py` has the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from terrazzo.wire.ids import AppId


@dataclass(frozen=True)
class LinkLimits:
    """Times and sizes; a driver may choose others."""

    heartbeat_s: float = 1.0
    silence_s: float = 5.0
    greeting_s: float = 3.0
    redial_s: float = 0.5
    join_s: float = 10.0
    waiting_bytes_max: int = 16 << 20
    late_tick_s: float = 1.0


class FrameTransport(Protocol):
    """Carries frames. A connection is a number that the transport draws. The end of a connection is reported later."""

    def dial(self, peer: AppId) -> int:
        """Begins a connection; `on_opened` or `on_closed` follows."""

    def write(self, connection: int, data: bytes) -> None:
        """Sends one frame, in order."""

    def close(self, connection: int) -> None:
        """Ends a connection after all that was written; the transport reports nothing more of it."""


class ConnectionState(Enum):
    """The states of a connection (`links.py` has the transitions)."""

    DIALLING = "dialling"
    GREETING = "greeting"
    WAITING = "waiting"
    UP = "up"


class Connection:
    """One connection, dialled by either side."""

    __slots__ = ("dial", "number", "peer", "received_at", "since", "state", "wrote_at")

    def __init__(self, number: int, state: ConnectionState, peer: AppId | None, now: float, *, dial: int = 0) -> None:
        self.number = number
        self.state = state
        self.peer = peer
        self.dial = dial  # the number of this dial among our own; 0: the peer dialled
        self.since = self.received_at = self.wrote_at = now


class Link:
    """A link as the app sees it: a peer, the connection that carries it now, and the frames that wait for a
    connection."""

    __slots__ = ("connection", "peer", "redial_at", "since", "waiting", "waiting_bytes")

    def __init__(self, peer: AppId, now: float) -> None:
        self.peer = peer
        self.since = now
        self.redial_at = now
        self.connection: Connection | None = None
        self.waiting: list[bytes] = []
        self.waiting_bytes = 0

    @property
    def is_up(self) -> bool:
        """Whether a frame that is sent now goes out at once."""
        return self.connection is not None and self.connection.state is ConnectionState.UP
