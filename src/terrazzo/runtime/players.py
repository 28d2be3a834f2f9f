"""What drives a client (`ClientLink`): its packets, its ticks, its end. Bots, tests and native programs use it.

    UdpPlayer          one socket for both of a client's connections
    WebSocketPlayer    a WebSocket for each address in use: opened for its first packet, closed when it is not needed

Both work in turns, as the shells of servers do: what has come goes into the client, then the client is polled, its
packets leave, and the next timer is set. `on_tick(now)` is called once per tick before the client's turn: a bot's
`tick`, or the client's own.
"""

from __future__ import annotations

import asyncio
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from aiohttp import ClientError, ClientSession, ClientWSTimeout

from terrazzo.client.link import Address, ClientLink
from terrazzo.runtime.batches import DATAGRAM_BYTES
from terrazzo.runtime.orders import WS_PATH
from terrazzo.runtime.udp import READS_MAX, DatagramSocket
from terrazzo.runtime.udpbuffers import make_socket
from terrazzo.runtime.websocket import CLOSE_S, MESSAGE_BYTES_MAX, Pipe

OnTick = Callable[[float], None]


class Player(ABC):
    """One client on the running loop; the client must use `time.monotonic` as its clock."""

    def __init__(self, client: ClientLink, *, tick_s: float = 0.1, on_tick: OnTick | None = None) -> None:
        self.client = client
        self._loop = asyncio.get_running_loop()
        self._tick_s = tick_s
        self._on_tick = on_tick or client.tick
        self._ticker: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._over = asyncio.Event()

    def begin(self) -> None:
        """The first packet leaves."""
        self._tick()

    def leave(self) -> None:
        """The client sends BYE; `over` returns when it is done."""
        self.client.leave(time.monotonic())
        self.turn()

    async def over(self) -> None:
        """Until the client is over."""
        await self._over.wait()

    def close(self) -> None:
        """Gives up sockets and timers."""
        self._is_closed = True
        self._over.set()
        for timer in (self._ticker, self._timer):
            if timer is not None:
                timer.cancel()
        self._release()

    def turn(self) -> None:
        """The client's packets leave; to be called also after a call on it from outside."""
        if self._is_closed:
            return
        self._transmit(self.client.poll(time.monotonic()))
        if self.client.is_over:
            self._over.set()
        due_at = self.client.next_timeout()
        if self._timer is not None:
            self._timer.cancel()
        if due_at is not None:
            self._timer = self._loop.call_later(max(due_at - time.monotonic(), 0.0), self.turn)

    def _tick(self) -> None:
        if not self._is_closed:
            self._on_tick(time.monotonic())
            self.turn()
            self._ticker = self._loop.call_later(self._tick_s, self._tick)

    @abstractmethod
    def _transmit(self, packets: list[tuple[Address, bytes]]) -> None:
        """Sends packets."""

    @abstractmethod
    def _release(self) -> None:
        """Gives up sockets."""


class UdpPlayer(Player):
    """Over datagrams."""

    def __init__(self, client: ClientLink, *, tick_s: float = 0.1, on_tick: OnTick | None = None) -> None:
        super().__init__(client, tick_s=tick_s, on_tick=on_tick)
        family = socket.AF_INET6 if ":" in client.addresses[0][0] else socket.AF_INET
        self._datagrams: DatagramSocket[tuple[Address, bytes]] = DatagramSocket(
            make_socket(family), read=self._read, write=_send_to, on_turn=self.turn
        )
        self.begin()

    def _read(self, made: socket.socket) -> None:
        now = time.monotonic()
        for _ in range(READS_MAX):
            self.client.on_datagram(made.recv(DATAGRAM_BYTES), now)

    def _transmit(self, packets: list[tuple[Address, bytes]]) -> None:
        self._datagrams.send(packets)

    def _release(self) -> None:
        self._datagrams.close()


def _send_to(made: socket.socket, packet: tuple[Address, bytes]) -> int:
    return made.sendto(packet[1], packet[0])


class _Line:
    """One WebSocket, and what waits until it stands."""

    def __init__(self) -> None:
        self.pipe: Pipe | None = None
        self.waiting: list[bytes] = []

    def send(self, packet: bytes) -> None:
        if self.pipe is not None:
            self.pipe.send(packet)
        else:
            self.waiting.append(packet)


class WebSocketPlayer(Player):
    """Over WebSocket, with an HTTP session that its owner closes after it."""

    def __init__(
        self, client: ClientLink, http: ClientSession, *, tick_s: float = 0.1, on_tick: OnTick | None = None
    ) -> None:
        super().__init__(client, tick_s=tick_s, on_tick=on_tick)
        self._http = http
        self._lines: dict[Address, _Line] = {}
        self._tasks: dict[Address, asyncio.Task[None]] = {}
        self.begin()

    async def closed(self) -> None:
        """Until nothing is left of its connections."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    def _transmit(self, packets: list[tuple[Address, bytes]]) -> None:
        for address, packet in packets:
            if address not in self._lines:
                self._lines[address] = _Line()
                self._tasks[address] = self._loop.create_task(self._run(address, self._lines[address]))
            self._lines[address].send(packet)
        used = self.client.addresses
        for address, line in self._lines.items():
            if address not in used and line.pipe is not None:
                line.pipe.finish()

    async def _run(self, address: Address, line: _Line) -> None:
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        url = f"ws://{host}:{address[1]}{WS_PATH}"
        timeout = ClientWSTimeout(ws_close=CLOSE_S)
        try:
            ws = await self._http.ws_connect(url, max_msg_size=MESSAGE_BYTES_MAX, compress=0, timeout=timeout)
            line.pipe = Pipe(ws, self._on_packet, _leave)
            for packet in line.waiting:
                line.pipe.send(packet)
            if self._is_closed:
                line.pipe.finish()
            await line.pipe.run()
        except (ClientError, OSError):
            pass  # the client gets on_path_lost below
        finally:
            del self._lines[address], self._tasks[address]
            if not self._is_closed:
                self.client.on_path_lost(address, time.monotonic())
                self.turn()

    def _on_packet(self, packet: bytes) -> None:
        self.client.on_datagram(packet, time.monotonic())
        self.turn()

    def _release(self) -> None:
        for line in self._lines.values():
            if line.pipe is not None:
                line.pipe.finish()
        for address in list(self._tasks):
            with suppress(KeyError):
                if self._lines[address].pipe is None:
                    self._tasks[address].cancel()


def _leave() -> None:
    """A client's connection is aborted by aiohttp, when its close takes too long."""
