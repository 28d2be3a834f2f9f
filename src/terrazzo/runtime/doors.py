"""The doors of an app with clients: a UDP socket and a WebSocket listener, each with its endpoint.

An app takes what happened at its doors in its turns and ticks (`events()`), the shells take it whenever packets come:
an `EventQueue` stands between the two, and asks for a turn when something has happened. After each turn and tick the
shells send what the app has written (`flush`).

    UdpServer, WebSocketServer ──on_turn(events)──▶ Mailbox ──events()──▶ LoginApp, BaseApp, in their turns

What strangers may cost at them is in the settings (`config.Strangers`): the same numbers hold for sessions over UDP,
for sessions over WebSocket, and for connections (`gate.py`). A connection serves one request, which is the WebSocket's.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from terrazzo.errors import UsageError
from terrazzo.runtime.config import StrangerSettings
from terrazzo.runtime.gate import GATE, Gate, GateLimits
from terrazzo.runtime.orders import WS_PATH
from terrazzo.runtime.ports import first_free, is_taken
from terrazzo.runtime.udp import UdpServer
from terrazzo.runtime.udpbuffers import SERVER_BUFFER_BYTES
from terrazzo.runtime.websocket import WebSocketServer
from terrazzo.wire.client import SERVER, UDP, WEBSOCKET, ServerEndpoint, Session, SessionEvent, Settings, Transport
from terrazzo.wire.client.limits import Drop, Drops
from terrazzo.wire.client.session import EndpointAddress
from terrazzo.wire.client.strangers import KnownSources
from terrazzo.wire.sentences import describe_refusals

CLOSE_S = 0.5
"""How long sessions may take to end gracefully: the last messages get one round trip or two."""
IDLE_S = 15.0
"""How long a connection may do nothing between two requests."""
BACKLOG = 512
"""Connections that the system keeps for a server which is busy."""
PAGES = GateLimits(login_s=60.0, stranger_bytes_max=1 << 20)
"""The gate before pages. Their connections serve many requests and need no login."""


class EventQueue:
    """What has happened at a door since its app last looked."""

    def __init__(self) -> None:
        self.endpoint: ServerEndpoint | None = None
        """Behind this door; None before it is open."""
        self.on_packets: Callable[[], None] | None = None
        """Called when packets have come."""
        self._events: list[SessionEvent] = []

    def take_rows(self) -> bytes:
        """What the sessions have sent into their lanes (`wire.client.lane`)."""
        return b"" if self.endpoint is None else self.endpoint.take_rows()

    def send_rows(self, parcels: bytes | bytearray | memoryview) -> int:
        """Queues unreliable messages for many sessions, as `ServerEndpoint.send_rows`."""
        return 0 if self.endpoint is None else self.endpoint.send_rows(parcels)

    def add(self, events: list[SessionEvent]) -> None:
        """More has happened."""
        self._events += events
        if self.on_packets is not None:
            self.on_packets()  # there may be rows without an event

    def events(self) -> list[SessionEvent]:
        """All of it, in order, once."""
        events, self._events = self._events, []
        return events


def session_settings(strangers: StrangerSettings) -> Settings:
    """The client channel's settings of a server that asks for a login."""
    return msgspec.structs.replace(
        SERVER,
        needs_admission=True,
        strangers_max=strangers.total_max,
        source_strangers_max=strangers.address_max,
        source_opens_per_s=strangers.address_per_s,
        source_opens_burst=strangers.address_burst,
    )


def gate_limits(strangers: StrangerSettings) -> GateLimits:
    """The limits of connections."""
    return GateLimits(
        strangers_max=strangers.total_max,
        source_strangers_max=strangers.address_max,
        source_per_s=strangers.address_per_s,
        source_burst=strangers.address_burst,
        login_s=strangers.login_s,
    )


class Doors:
    """Both doors of one app."""

    def __init__(
        self, private_key: bytes, strangers: StrangerSettings | None = None, *, buffer_bytes: int = SERVER_BUFFER_BYTES
    ) -> None:
        self.by_udp = EventQueue()
        self.by_ws = EventQueue()
        self.udp_port = 0
        self.ws_port = 0
        self._private_key = private_key
        self._strangers = strangers or StrangerSettings()
        self._buffer_bytes = buffer_bytes
        self._known = KnownSources()
        self._udp: UdpServer | None = None
        self._ws: WebSocketServer | None = None
        self._runner: HttpServer | None = None

    async def open(self, host: str, udp_ports: list[int], ws_ports: list[int]) -> None:
        """Listens at the first of these ports that is free; 0 is any. UsageError in one sentence when none is."""
        udp = self.by_udp.endpoint = self._endpoint(UDP)
        try:
            self._udp = first_free(udp_ports, lambda port: self._udp_server(udp, host, port))
        except OSError as problem:
            raise UsageError(_explain("UDP", host, udp_ports[-1], problem)) from None
        self.udp_port = self._udp.address[1]
        ws = self.by_ws.endpoint = self._endpoint(WEBSOCKET)
        self._ws = WebSocketServer(ws, self.by_ws.add)
        application = web.Application(middlewares=[_one_request])
        application.router.add_get(WS_PATH, self._ws.handle)
        gate = Gate(gate_limits(self._strangers), self._known)
        self._runner, self.ws_port = await serve_http(application, host, ws_ports, gate)

    def _udp_server(self, endpoint: ServerEndpoint, host: str, port: int) -> UdpServer:
        return UdpServer(endpoint, self.by_udp.add, host=host, port=port, buffer_bytes=self._buffer_bytes)

    def _endpoint(self, transport: Transport) -> ServerEndpoint:
        return ServerEndpoint(
            self._private_key,
            entropy=os.urandom,
            transport=transport,
            settings=session_settings(self._strangers),
            known=self._known,
        )

    def ban(self, is_banned: Callable[[str], bool]) -> None:
        """Clients of addresses for which this holds are sent away, and not let in."""
        for shell in (self._udp, self._ws):
            if shell is not None:
                shell.endpoint.ban(is_banned)

    def call_when_used(self, act: Callable[[], None]) -> None:
        """`act` is called whenever packets have come to a door."""
        self.by_udp.on_packets = self.by_ws.on_packets = act

    def flush(self) -> None:
        """Sends what the app has written."""
        for shell in (self._udp, self._ws):
            if shell is not None:
                shell.flush()

    def unsent_bytes(self) -> int:
        """What the sessions of both have not sent, or not sent for good."""
        shells = [shell for shell in (self._udp, self._ws) if shell is not None]
        return sum(_unsent(session) for shell in shells for session in shell.endpoint.sessions.values())

    def host_of(self, address: EndpointAddress) -> str:
        """The machine a session comes from."""
        return str(address[0]) if isinstance(address, tuple) else ""

    @property
    def buffer_bytes(self) -> int:
        """What the system keeps at the UDP door while the process is busy; it may be less than was asked for."""
        return 0 if self._udp is None else self._udp.datagrams.buffer_bytes

    def refusals(self) -> list[dict[str, Any]]:
        """What was refused at both, by reason."""
        refusals: list[dict[str, Any]] = []
        if self._udp is not None:
            refusals += describe_refusals(
                "udp", self._udp.endpoint.drops + Drops({Drop.OVERRUN: self._udp.datagrams.overruns})
            )
        if self._ws is not None and self._runner is not None:
            refusals += describe_refusals("websocket", self._ws.endpoint.drops)
            refusals += describe_refusals("connections", self._runner.gate.refused + self._ws.refused)
        return refusals

    async def close(self) -> None:
        """Ends sessions gracefully, if their clients are quick; then closes the sockets."""
        shells = [shell for shell in (self._udp, self._ws) if shell is not None]
        await asyncio.gather(*(self._close(shell) for shell in shells))
        if self._runner is not None:
            await self._runner.cleanup()

    async def _close(self, shell: UdpServer | WebSocketServer) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await shell.close()


def _unsent(session: Session) -> int:
    """What the peer has not acknowledged, and what was not sent."""
    outbox = session.channel.outbox
    return outbox.end - outbox.base + outbox.unreliable_bytes


class HttpServer:
    """A web server behind its gate."""

    def __init__(self, runner: web.AppRunner, listener: asyncio.Server, gate: Gate) -> None:
        self.gate = gate
        self._runner = runner
        self._listener = listener

    async def cleanup(self) -> None:
        """Stops listening, and closes all connections."""
        self._listener.close()
        await self._runner.cleanup()


async def serve_http(
    application: web.Application, host: str, ports: list[int], gate: Gate | None = None
) -> tuple[HttpServer, int]:
    """Serves it; what to clean up in the end, and the port. UsageError in one sentence when no port is free."""
    gate = Gate(PAGES) if gate is None else gate
    application[GATE] = gate
    runner = web.AppRunner(
        application, access_log=None, logger=gate.make_logger(), shutdown_timeout=CLOSE_S, keepalive_timeout=IDLE_S,
        auto_decompress=False,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None, "the runner was set up a moment ago"
    guarded = gate.guard(runner.server)
    for port in ports:
        try:
            listener = await asyncio.get_running_loop().create_server(guarded, host, port, backlog=BACKLOG)
            break
        except OSError as problem:
            if port != ports[-1] and is_taken(problem):
                continue
            await runner.cleanup()
            raise UsageError(_explain("TCP", host, port, problem)) from None
    return HttpServer(runner, listener, gate), listener.sockets[0].getsockname()[1]


@web.middleware
async def _one_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A connection that asked for anything but the WebSocket is closed with the answer."""
    try:
        response = await handler(request)
    except web.HTTPException as problem:
        problem.force_close()
        raise
    if not response.prepared:
        response.force_close()
    return response


def _explain(protocol: str, host: str, port: int, problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"{protocol} port {port} of {host} is in use by another program: choose another one, or 0 for the usual"
    return f"cannot listen on {protocol} port {port} of {host}: {problem.strerror or problem}"
