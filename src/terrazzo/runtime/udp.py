"""The client channel over UDP: a server's socket with all its sessions, a client's with one, and that of many clients.

The sockets are read and written directly, without asyncio's datagram transports: a turn reads all that is there (up to
READS_MAX or BATCH_READS_MAX, so that the rest of the loop gets its turn too), lets the endpoint answer, and writes it
all. A socket that takes no more keeps the rest in order and nothing is polled meanwhile; what cannot be sent at all
counts as lost, and the channel deals with loss. Sockets with many sessions are read and written in batches
(`batches.py`). How much the system keeps for a busy process, and what did not fit: `udpbuffers.py`.

Nothing that comes in here can raise: what is not a packet is dropped and counted by the endpoint, what the system
complains about (a peer's port that is closed) is counted here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Generic

from terrazzo._speed.datagrams import Batch
from terrazzo.runtime import batches
from terrazzo.runtime.batches import DATAGRAM_BYTES
from terrazzo.runtime.shell import AT_ONCE, ClientShell, OnTurn, Out, Pace, ServerShell, Shell
from terrazzo.runtime.udpbuffers import SERVER_BUFFER_BYTES, make_socket, overruns, reached_bytes
from terrazzo.wire.client import ClientEndpoint, ClientSwarm, ServerEndpoint
from terrazzo.wire.client.session import EndpointAddress

READS_MAX = 64
"""Datagrams read in one turn. A quarter of what a sender may have in flight: they are acknowledged while it still
has some window left, and both ends work at the same time. With no limit they take turns, at half the speed."""

BATCH_READS_MAX = 256
"""As READS_MAX, for a socket of many sessions: each of them sends a packet or two in a turn."""


class DatagramSocket(Generic[Out]):
    """A socket on the running loop, with a queue for when it takes no more.

    `read(socket)` hands datagrams on until there are none (BlockingIOError); `write(socket, packet)` sends one;
    `on_turn` follows a read, and a queue that has become empty.
    """

    def __init__(
        self,
        made: socket.socket,
        *,
        read: Callable[[socket.socket], None],
        write: Callable[[socket.socket, Out], object],
        on_turn: Callable[[], None],
    ) -> None:
        self.socket = made
        self.errors = 0
        self.unsent: list[Out] = []
        self._read, self._write, self._on_turn = read, write, on_turn
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(made.fileno(), self._on_readable)

    def send(self, packets: list[Out]) -> None:
        """Sends packets in order, now or when the system takes them."""
        at = 0
        write, made = self._write, self.socket
        while at < len(packets):
            try:
                write(made, packets[at])
            except BlockingIOError:
                self.unsent += packets[at:]
                self._loop.add_writer(made.fileno(), self._on_writable)
                return
            except OSError:
                self.errors += 1
            at += 1

    def close(self) -> None:
        """Gives up the socket; what it did not take is lost."""
        self.unsent.clear()
        self._loop.remove_reader(self.socket.fileno())
        self._loop.remove_writer(self.socket.fileno())
        self.socket.close()

    def _on_readable(self) -> None:
        try:
            self._read(self.socket)
        except BlockingIOError:
            pass
        except OSError:
            self.errors += 1  # an error of an earlier packet; the next turn reads on
        self._on_turn()

    def _on_writable(self) -> None:
        self._loop.remove_writer(self.socket.fileno())
        packets, self.unsent = self.unsent, []
        self.send(packets)
        if not self.unsent:
            self._on_turn()


class BatchSocket:
    """A socket on the running loop for the datagrams of many sessions, read and written in batches.

    `on_batch` takes what has come; `on_turn` follows, and follows when all that the system did not take has left.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        on_batch: Callable[[Batch], None],
        on_turn: Callable[[], None],
        buffer_bytes: int = SERVER_BUFFER_BYTES,
    ) -> None:
        """`host` is a numeric address, port 0 takes any that is free."""
        flags = socket.AI_PASSIVE | socket.AI_NUMERICHOST
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=flags)[0]
        self.socket = make_socket(family, buffer_bytes)
        try:
            self.socket.bind(place)
        except OSError:
            self.socket.close()
            raise
        self.errors = 0
        self.unsent = Batch()
        """What leaves with the next `send`, or when the system takes it."""
        self._incoming = Batch()
        self._on_batch, self._on_turn = on_batch, on_turn
        self._is_waiting = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.socket.fileno(), self._on_readable)

    @property
    def may_send(self) -> bool:
        """Whether the system has taken everything."""
        return not self._is_waiting

    @property
    def overruns(self) -> int:
        """Datagrams that the system dropped because the buffer was full."""
        return overruns(self.socket)

    @property
    def buffer_bytes(self) -> int:
        """The size of this buffer."""
        return reached_bytes(self.socket)

    def send(self) -> None:
        """Sends `unsent`, now or when the system takes it."""
        if self._is_waiting or not len(self.unsent):
            return
        self.errors += batches.send(self.socket, self.unsent)
        if len(self.unsent):
            self._is_waiting = True
            self._loop.add_writer(self.socket.fileno(), self._on_writable)

    def close(self) -> None:
        """Gives up the socket; what it did not take is lost."""
        self.unsent.clear()
        self._loop.remove_reader(self.socket.fileno())
        self._loop.remove_writer(self.socket.fileno())
        self.socket.close()

    def _on_readable(self) -> None:
        self.errors += batches.receive(self.socket, self._incoming, BATCH_READS_MAX)
        self._on_batch(self._incoming)
        self._incoming.clear()
        self._on_turn()

    def _on_writable(self) -> None:
        self._loop.remove_writer(self.socket.fileno())
        self._is_waiting = False
        self.send()
        if not self._is_waiting:
            self._on_turn()


class UdpServer(ServerShell):
    """A server's socket; listens at once. `host` is a numeric address, port 0 takes any that is free."""

    def __init__(
        self,
        endpoint: ServerEndpoint,
        on_turn: OnTurn,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        pace: Pace = AT_ONCE,
        buffer_bytes: int = SERVER_BUFFER_BYTES,
    ) -> None:
        super().__init__(endpoint, on_turn, pace=pace)
        self.datagrams = BatchSocket(
            host, port, on_batch=self._take, on_turn=self._on_packets_read, buffer_bytes=buffer_bytes
        )  # fmt: skip
        self.address: Any = self.datagrams.socket.getsockname()

    def _take(self, batch: Batch) -> None:
        self.endpoint.on_batch(batch, self._clock())

    def _exchange(self, now: float, budget_bytes: int | None) -> None:
        self.endpoint.poll_batch(self.datagrams.unsent, now, budget_bytes)
        self.datagrams.send()

    def _transmit(self, packets: list[tuple[EndpointAddress, bytes]]) -> None:
        raise NotImplementedError("packets leave in batches")

    def _may_send(self) -> bool:
        return self.datagrams.may_send

    def _release(self) -> None:
        self.datagrams.close()


class UdpSwarm(Shell[tuple[EndpointAddress, bytes]]):
    """The socket of many clients, which must have been opened with a `now` of the same clock. After `open` and `close`
    of the swarm, the owner calls `flush`."""

    def __init__(
        self, swarm: ClientSwarm, on_turn: OnTurn, *, host: str = "127.0.0.1", port: int = 0, pace: Pace = AT_ONCE
    ) -> None:
        super().__init__(swarm, on_turn, pace=pace)
        self.swarm = swarm
        self.datagrams = BatchSocket(host, port, on_batch=self._take, on_turn=self._on_packets_read)
        self.address: Any = self.datagrams.socket.getsockname()

    def _take(self, batch: Batch) -> None:
        self.swarm.on_batch(batch, self._clock())

    def _exchange(self, now: float, budget_bytes: int | None) -> None:
        self.swarm.poll_batch(self.datagrams.unsent, now, budget_bytes)
        self.datagrams.send()

    def _transmit(self, packets: list[tuple[EndpointAddress, bytes]]) -> None:
        raise NotImplementedError("packets leave in batches")

    def _may_send(self) -> bool:
        return self.datagrams.may_send

    def _begin_end(self, now: float) -> None:
        self.swarm.close_all(now)

    def _end_now(self) -> None:
        self.swarm.abort_all()

    def _is_over(self) -> bool:
        return not self.swarm.sessions and not self.swarm.opening

    def _release(self) -> None:
        self.datagrams.close()


class UdpClient(ClientShell):
    """A client's socket, connected to one server; the handshake begins at once."""

    def __init__(self, endpoint: ClientEndpoint, on_turn: OnTurn, server: Any, *, pace: Pace = AT_ONCE) -> None:
        super().__init__(endpoint, on_turn, pace=pace)
        self._server = server
        self._open()

    def rebind(self) -> None:
        """Takes another local address, as a machine does that changes networks; the session goes on."""
        if self._released:
            return
        self.datagrams.close()
        self._open()

    def _open(self) -> None:
        made = make_socket(socket.AF_INET6 if ":" in self._server[0] else socket.AF_INET)
        try:
            made.connect(self._server)
        except OSError:
            made.close()
            raise
        self.datagrams: DatagramSocket[bytes] = DatagramSocket(
            made, read=self._read, write=socket.socket.send, on_turn=self._on_packets_read
        )
        self.flush()

    def _read(self, made: socket.socket) -> None:
        receive, hand_over, now = made.recv, self.endpoint.on_datagram, self._clock()
        for _ in range(READS_MAX):
            hand_over(receive(DATAGRAM_BYTES), now)

    def _transmit(self, packets: list[bytes]) -> None:
        self.datagrams.send(packets)

    def _may_send(self) -> bool:
        return not self.datagrams.unsent

    def _release(self) -> None:
        self.datagrams.close()


async def resolve(host: str, port: int) -> Any:
    """The first address of a host by name, for `UdpClient`."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    return found[0][4]
