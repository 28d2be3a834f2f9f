"""Connections between apps, over TCP or, on one machine, unix sockets: the real `Transport` under
`cluster.links.Links`.

`Links` decides which peers are dialled, greeted, accepted and given up; this module carries its frames (`framing.py`)
and reports what happens to connections. It reports from the event loop only, never from inside a call of `Links`.

    dial ──back-off──▶ connecting ──▶ open ──close──▶ closing ──peer has closed, or CLOSE_S──▶ gone
                           └──────────────┴──fails, ends, is cut──▶ gone, and reported

- *Back-off.* After a failed dial, the next dial of that slot waits, twice as long after each failure, up to
  BACKOFF_S_MAX, with some randomness so that the peers of a restarted app do not all dial it at once.
- *Bounds.* A peer that has not greeted may send one short frame. A peer that does not read is cut when more than
  `write_bytes_max` waits for it. There are at most `connections_max` connections that peers have dialled.
- *Closing.* The writing side is shut down first; then the transport waits (CLOSE_S at most) for the peer to do the
  same, and drops what it receives meanwhile. The reason: a socket that is closed with unread bytes in it resets the
  connection, and what was written last is lost.
- *Garbage* ends its connection, and nothing else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from terrazzo.cluster.app import Rng
from terrazzo.cluster.links import Slot
from terrazzo.errors import DecodeError
from terrazzo.runtime.framing import FrameCutter, frame_header
from terrazzo.wire.environment import Log
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent

BACKOFF_S = 0.05
BACKOFF_S_MAX = 2.0
CLOSE_S = 3.0


class TcpPlace(NamedTuple):
    """The address and port of an app; with port 0 any free port is taken."""

    host: str
    port: int


class UnixPlace(NamedTuple):
    """The path of the socket of an app of this machine."""

    path: str


PeerAddress = TcpPlace | UnixPlace
FindPeer = Callable[[AppId], PeerAddress | None]
"""Returns the place at which the present incarnation of an app's slot listens; None if it is not known."""


class ConnectionListener(Protocol):
    """Gets the events of connections: `Links`, or an object in front of it."""

    def on_accepted(self, number: int) -> None: ...
    def on_opened(self, number: int) -> None: ...
    def on_closed(self, number: int) -> None: ...
    def on_data(self, number: int, data: bytes) -> None: ...


@dataclass(frozen=True)
class TransportLimits:
    """The bounds of a transport."""

    write_bytes_max: int = 64 << 20
    connections_max: int = 1024


class _Connection(asyncio.Protocol):
    """One connection: the event loop calls it, and it calls its owner."""

    def __init__(self, owner: LinkTransport, number: int, dialled: bool) -> None:
        self.number = number
        self.dialled = dialled
        self.transport: asyncio.Transport | None = None
        self.is_closing = False
        self.deadline: asyncio.TimerHandle | None = None
        self._owner = owner
        self._frames = FrameCutter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance
        self._owner.on_made(self)

    def data_received(self, data: bytes) -> None:
        if self.is_closing:
            return
        try:
            frames = self._frames.cut(data)
        except DecodeError as error:
            self._owner.cut(self, str(error))
            return
        for frame in frames:
            self._owner.on_frame(self, frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.on_lost(self)


class LinkTransport:
    """All connections of one app; `cluster.links.Transport` on a running loop."""

    def __init__(
        self,
        listener: ConnectionListener,
        places: FindPeer,
        *,
        log: Log,
        rng: Rng,
        limits: TransportLimits | None = None,
    ) -> None:
        self.listener = listener
        self.cuts = 0
        self._places = places
        self._log = log
        self._rng = rng
        self._limits = limits or TransportLimits()
        self._loop = asyncio.get_running_loop()
        self._numbers = count(1)
        self._connections: dict[int, _Connection] = {}
        self._accepted = 0
        self._dials: dict[int, asyncio.Task[None]] = {}
        self._failures: dict[Slot, int] = {}
        self._servers: list[asyncio.AbstractServer] = []
        self._unix: list[tuple[str, int]] = []
        self._stopped = False
        self._gone = asyncio.Event()
        self._gone.set()

    # For the driver.

    async def listen(self, place: PeerAddress) -> PeerAddress:
        """Accepts connections at a place; returns the place with the port that was taken."""
        if isinstance(place, UnixPlace):
            server = await self._loop.create_unix_server(self._accept, place.path)
            os.chmod(place.path, 0o600)  # any process that can connect can pretend to be an app
            self._unix.append((place.path, os.stat(place.path).st_ino))
            self._servers.append(server)
            return place
        server = await self._loop.create_server(self._accept, place.host, place.port)
        self._servers.append(server)
        return TcpPlace(place.host, server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Ends all connections after what was written, unless a peer does not read. Reports nothing more."""
        self._stopped = True
        for server in self._servers:
            server.close()
        for path, inode in self._unix:
            with suppress(OSError):
                if os.stat(path).st_ino == inode:  # not the socket of the next incarnation
                    Path(path).unlink()
        for number in [*self._dials, *self._connections]:
            self.close(number)
        await self._gone.wait()
        for server in self._servers:
            await server.wait_closed()

    # Transport: called by the links.

    def dial(self, peer: AppId) -> int:
        """Begins a connection; see `cluster.links.Transport`."""
        number = next(self._numbers)
        self._gone.clear()
        task = self._dials[number] = self._loop.create_task(self._dial(number, peer))
        task.add_done_callback(lambda task: self._on_dialled(number, task.cancelled()))
        return number

    def unsent_bytes(self) -> int:
        """What peers have not taken, of all connections."""
        transports = (each.transport for each in self._connections.values())
        return sum(each.get_write_buffer_size() for each in transports if each is not None)

    def write(self, number: int, data: bytes) -> None:
        """Sends one frame; on a connection that is gone it is dropped."""
        connection = self._connections.get(number)
        if connection is None or connection.is_closing or connection.transport is None:
            return
        connection.transport.writelines((frame_header(len(data)), data))
        if connection.transport.get_write_buffer_size() > self._limits.write_bytes_max:
            self.cut(connection, f"more than {self._limits.write_bytes_max} bytes wait: the peer does not read")

    def close(self, number: int) -> None:
        """Ends a connection after what was written; nothing more is reported of it."""
        dial = self._dials.get(number)
        if dial is not None:
            dial.cancel()
        connection = self._connections.get(number)
        if connection is None or connection.is_closing or connection.transport is None:
            return
        connection.is_closing = True
        try:
            connection.transport.write_eof()
        except OSError:  # the peer was faster
            connection.transport.abort()
        connection.deadline = self._loop.call_later(CLOSE_S, connection.transport.abort)

    # For the connections.

    def on_made(self, connection: _Connection) -> None:
        """A connection is open, dialled by either side."""
        self._connections[connection.number] = connection
        self._gone.clear()
        if connection.dialled:
            return  # the dialling task goes on
        self._accepted += 1
        if self._stopped or self._accepted > self._limits.connections_max:
            connection.is_closing = True
            self._abort(connection)
        else:
            self.listener.on_accepted(connection.number)

    def on_frame(self, connection: _Connection, frame: bytes) -> None:
        """A frame has come; it is dropped if the connection is closing, also if the frame before it closed it."""
        if not connection.is_closing:
            self.listener.on_data(connection.number, frame)

    def on_lost(self, connection: _Connection) -> None:
        """A connection has ended; may be called twice."""
        if self._connections.pop(connection.number, None) is None:
            return
        if connection.deadline is not None:
            connection.deadline.cancel()
        self._accepted -= not connection.dialled
        if not connection.is_closing:
            self._report_closed(connection.number)
        self._check_gone()

    def cut(self, connection: _Connection, why: str) -> None:
        """Ends a connection at once because of what the peer does."""
        self.cuts += 1
        self._log(LogEvent.CONNECTION_CUT, number=connection.number, why=why)
        self._abort(connection)

    # Within.

    def _accept(self) -> _Connection:
        return _Connection(self, next(self._numbers), dialled=False)

    async def _dial(self, number: int, peer: AppId) -> None:
        if await self._connect(number, peer):
            self._failures.pop(peer.slot, None)
            connection = self._connections.get(number)
            if connection is not None and not connection.is_closing:
                self.listener.on_opened(number)
        else:
            self._failures[peer.slot] = self._failures.get(peer.slot, 0) + 1
            self._report_closed(number)

    def _on_dialled(self, number: int, was_cancelled: bool) -> None:
        del self._dials[number]
        connection = self._connections.get(number)
        if was_cancelled and connection is not None:
            # It was closed in the moment in which it opened; the loop then drops it, uvloop without any callback.
            self._abort(connection)
            self.on_lost(connection)
        self._check_gone()

    async def _connect(self, number: int, peer: AppId) -> bool:
        await self._back_off(self._failures.get(peer.slot, 0))
        place = self._places(peer)
        try:
            if isinstance(place, UnixPlace):
                await self._loop.create_unix_connection(lambda: _Connection(self, number, True), place.path)
            elif place is not None:
                await self._loop.create_connection(lambda: _Connection(self, number, True), *place)
        except OSError as error:
            self._log(LogEvent.DIAL_FAILED, peer=peer, place=place, why=str(error))
            return False
        return place is not None

    async def _back_off(self, failures: int) -> None:
        if failures:
            longest = min(BACKOFF_S * 2.0 ** min(failures - 1, 16), BACKOFF_S_MAX)
            await asyncio.sleep(longest * self._rng.uniform(0.5, 1.0))

    def _abort(self, connection: _Connection) -> None:
        assert connection.transport is not None
        connection.transport.abort()

    def _report_closed(self, number: int) -> None:
        if not self._stopped:
            self.listener.on_closed(number)

    def _check_gone(self) -> None:
        if not self._dials and not self._connections:
            self._gone.set()
