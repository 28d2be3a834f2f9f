"""The client channel over WebSocket, for browsers: one packet is one binary message.

    server    web.Application ── add_get("/play", WebSocketServer(...).handle)
    client    await WebSocketClient.connect(http, url, endpoint, on_turn)      for bots and tests

A connection is a *pipe*: a task that reads and one that writes (at a server it only ends the connection: packets go
to the transport at once). The channel bounds what is in flight, so a pipe with a
queue beyond PIPE_BYTES_MAX has a peer that does not read: it is cut. What the transport itself refuses (text, a
message over the size of a packet, broken framing) ends the connection; what is inside a message is the endpoint's
business. A client that sends more than FRAMES_PER_S messages and pings a second is cut: messages that are in one read
are worked off in one go, so without a limit a read full of empty ones would hold up everything else.

A session belongs to its connection: the end of one is the end of the other. A client that connects and does not open a
session within OPENING_S, or comes when there are `connections_max` already, is sent away. What a connection may cost
before that is the gate's business (`gate.py`), which is called for each session that is no stranger any more.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from aiohttp import ClientSession, ClientWebSocketResponse, ClientWSTimeout, WSMsgType, web

from terrazzo.runtime.gate import Cut, vouch_for
from terrazzo.runtime.shell import AT_ONCE, ClientShell, OnTurn, Pace, ServerShell
from terrazzo.wire.client import WEBSOCKET, ClientEndpoint, Closed, Connected, ServerEndpoint, SessionEvent
from terrazzo.wire.client.session import EndpointAddress
from terrazzo.wire.rates import Bucket

PIPE_BYTES_MAX = 8 << 20
"""Bytes that wait for one connection."""

FRAMES_PER_S = 600.0
"""Messages and pings of one client, a second and at once: more than the 400 a second that a BaseApp takes."""

OPENING_S = 10.0
CLOSE_S = 2.0

MESSAGE_BYTES_MAX = WEBSOCKET.packet_bytes_max + 1  # aiohttp refuses what reaches its limit

Socket = web.WebSocketResponse | ClientWebSocketResponse


class Pipe:
    """One connection: reads until it ends, writes what is queued, ends on `finish`."""

    def __init__(
        self,
        ws: Socket,
        on_packet: Callable[[bytes], None],
        abort: Callable[[], None],
        frames: Bucket | None = None,
    ) -> None:
        """`frames` is how often the peer may send something."""
        self.is_flooded = False
        self.is_ending = False
        """Whether the end of the connection has begun: nothing more is sent."""
        self._ws = ws
        self._frames = frames
        self._abort = abort
        self._on_packet = on_packet
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self._finishing = False
        self._writer = asyncio.create_task(self._write())
        self._deadline: asyncio.TimerHandle | None = None

    def send(self, packet: bytes) -> None:
        """Queues a packet; cuts a connection to a peer that does not read."""
        self._queue.append(packet)
        self._bytes += len(packet)
        self._wake.set()
        if self._bytes > PIPE_BYTES_MAX:
            self.cut()

    def finish(self) -> None:
        """Ends the connection after what is queued; if the peer does not take it, without."""
        self._finishing = True
        self._wake.set()
        self._set_deadline(CLOSE_S, self.cut)

    def finish_in(self, seconds: float) -> None:
        """As `finish`, after a while, unless `spare` is called before."""
        self._set_deadline(seconds, self.finish)

    def spare(self) -> None:
        """Takes back `finish_in`."""
        if self._deadline is not None:
            self._deadline.cancel()

    def cut(self) -> None:
        """Ends the connection at once, without what is queued."""
        self._writer.cancel()
        self._abort()

    def _set_deadline(self, seconds: float, act: Callable[[], None]) -> None:
        self.spare()
        self._deadline = asyncio.get_running_loop().call_later(seconds, act)

    async def run(self) -> None:
        """Until the connection has ended, from either side."""
        try:
            async for message in self._ws:
                if self._frames is not None and not self._frames.take(asyncio.get_running_loop().time()):
                    self.is_flooded = True
                    self.cut()
                    break
                if message.type is WSMsgType.BINARY:
                    self._on_packet(message.data)
                elif message.type is WSMsgType.PING:
                    await self._ws.pong(message.data)
                elif message.type is not WSMsgType.PONG:
                    break
        except ConnectionError:
            pass  # the peer has gone while it was answered
        finally:
            self.finish()
            await asyncio.wait([self._writer])
            self.spare()

    async def _write(self) -> None:
        try:
            while self._queue or not self._finishing:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    packet = self._queue.popleft()
                    self._bytes -= len(packet)
                    await self._ws.send_bytes(packet)
        except ConnectionError:
            pass  # the peer was faster; the reading task ends by itself
        finally:
            self.is_ending = True
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(CLOSE_S):
                    await self._ws.close()


class ServerPipe(Pipe):
    """A connection at the server: a packet goes to the transport at once, as one frame, without a task in between.

    The transport keeps what the system does not take, so its buffer is the queue. Control frames stay aiohttp's; both
    write whole frames only.
    """

    def __init__(
        self, ws: Socket, on_packet: Callable[[bytes], None], transport: asyncio.Transport, frames: Bucket
    ) -> None:
        super().__init__(ws, on_packet, transport.abort, frames)
        self._transport = transport

    def send(self, packet: bytes) -> None:
        """Sends a packet; cuts a connection to a peer that does not read."""
        if self.is_ending or self._transport.is_closing():
            return
        self._transport.write(binary_head(len(packet)) + packet)
        if self._transport.get_write_buffer_size() > PIPE_BYTES_MAX:
            self.cut()


def binary_head(size: int) -> bytes:
    """What stands before the bytes of a binary message that a server sends in one frame (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x82, size))
    if size < 1 << 16:
        return b"\x82\x7e" + size.to_bytes(2, "big")
    return b"\x82\x7f" + size.to_bytes(8, "big")


class WebSocketServer(ServerShell):
    """All WebSocket sessions of a server; `handle` is a handler for aiohttp's router."""

    def __init__(
        self, endpoint: ServerEndpoint, on_turn: OnTurn, *, pace: Pace = AT_ONCE, connections_max: int = 10_000
    ) -> None:
        super().__init__(endpoint, self._watch, pace=pace)
        self._owner_turn = on_turn
        self._connections_max = connections_max
        self.refused: Counter[Cut] = Counter()
        self._pipes: dict[EndpointAddress, Pipe] = {}
        self._requests: dict[EndpointAddress, web.Request] = {}
        endpoint.on_vouched = self._on_vouched
        self._numbers = count(1)
        self._gone = asyncio.Event()
        self._gone.set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serves one connection to its end."""
        if self._closing or len(self._pipes) >= self._connections_max:
            raise web.HTTPServiceUnavailable
        ws = web.WebSocketResponse(max_msg_size=MESSAGE_BYTES_MAX, compress=False, timeout=CLOSE_S, autoping=False)
        try:
            await ws.prepare(request)
        except ConnectionError:
            return ws  # the peer has gone already
        transport = request.transport
        if transport is None:
            return ws
        address = (request.remote or "", next(self._numbers))
        frames = Bucket(per_s=FRAMES_PER_S)
        pipe = ServerPipe(ws, lambda packet: self._on_packet(address, packet), transport, frames)
        pipe.finish_in(OPENING_S)
        self._pipes[address] = pipe
        self._requests[address] = request
        self._gone.clear()
        try:
            await pipe.run()
        finally:
            self.refused[Cut.FRAMES] += pipe.is_flooded
            self._pipes.pop(address)
            self._requests.pop(address)
            if not self._pipes:
                self._gone.set()
            self.endpoint.on_path_lost(address)
            self._take_turn_soon()
        return ws

    def _on_packet(self, address: EndpointAddress, packet: bytes) -> None:
        self.endpoint.on_datagram(address, packet, self._clock())
        self._take_turn_soon()

    def _on_vouched(self, address: EndpointAddress) -> None:
        request = self._requests.get(address)
        if request is not None:
            vouch_for(request)

    def _watch(self, events: list[SessionEvent]) -> None:
        for event in events:
            if isinstance(event, Connected | Closed) and event.session is not None:
                pipe = self._pipes.get(event.session.address)
                if pipe is not None and isinstance(event, Connected):
                    pipe.spare()
                elif pipe is not None:
                    pipe.finish()
        self._owner_turn(events)

    def _transmit(self, packets: list[tuple[EndpointAddress, bytes]]) -> None:
        for address, packet in packets:
            pipe = self._pipes.get(address)
            if pipe is not None:
                pipe.send(packet)

    def _release(self) -> None:
        for pipe in self._pipes.values():
            pipe.finish()

    async def _wait_released(self) -> None:
        await self._gone.wait()


class WebSocketClient(ClientShell):
    """A client's connection; made by `connect`."""

    def __init__(
        self, endpoint: ClientEndpoint, on_turn: OnTurn, ws: ClientWebSocketResponse, *, pace: Pace = AT_ONCE
    ) -> None:
        super().__init__(endpoint, on_turn, pace=pace)
        self._pipe = Pipe(ws, self._on_packet, _leave)
        self._task = self._loop.create_task(self._run())
        self.flush()

    @classmethod
    async def connect(
        cls, http: ClientSession, url: str, endpoint: ClientEndpoint, on_turn: OnTurn, *, pace: Pace = AT_ONCE
    ) -> WebSocketClient:
        """Connects to a server's handler; the channel's handshake begins at once."""
        timeout = ClientWSTimeout(ws_close=CLOSE_S)
        ws = await http.ws_connect(url, max_msg_size=MESSAGE_BYTES_MAX, compress=0, timeout=timeout)
        return cls(endpoint, on_turn, ws, pace=pace)

    async def _run(self) -> None:
        try:
            await self._pipe.run()
        finally:
            self.endpoint.on_path_lost()
            self._take_turn_soon()

    def _on_packet(self, packet: bytes) -> None:
        self.endpoint.on_datagram(packet, self._clock())
        self._take_turn_soon()

    def _transmit(self, packets: list[bytes]) -> None:
        for packet in packets:
            self._pipe.send(packet)

    def _release(self) -> None:
        self._pipe.finish()

    async def _wait_released(self) -> None:
        await asyncio.wait([self._task])


def _leave() -> None:
    """A client's connection is aborted by aiohttp, when its close takes too long."""
