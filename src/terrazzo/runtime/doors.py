"""The doors of an app that clients talk to: a UDP socket and a WebSocket listener, each with its endpoint.

An app takes what happened at its doors once per tick (`events()`), the shells take it whenever packets come: a
`Mailbox` stands between the two. After each tick the shells are told to send what the app has said (`flush`).

    UdpServer, WebSocketServer ──on_turn(events)──▶ Mailbox ──events()──▶ LoginApp, BaseApp, in its tick
"""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import suppress

from aiohttp import web

from terrazzo.errors import UsageError
from terrazzo.runtime.orders import WS_PATH
from terrazzo.runtime.ports import first_free, is_taken
from terrazzo.runtime.udp import UdpServer
from terrazzo.runtime.websocket import WebSocketServer
from terrazzo.wire.client import UDP, WEBSOCKET, Event, ServerEndpoint
from terrazzo.wire.client.session import Address

CLOSE_S = 0.5
"""How long sessions may take to end gracefully: what was said last gets one round trip or two."""


class Mailbox:
    """What has happened at a door since its app last looked."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, events: list[Event]) -> None:
        """More has happened."""
        self._events += events

    def events(self) -> list[Event]:
        """All of it, in order, once."""
        events, self._events = self._events, []
        return events


class Doors:
    """Both doors of one app."""

    def __init__(self, private_key: bytes) -> None:
        self.by_udp = Mailbox()
        self.by_ws = Mailbox()
        self.udp_port = 0
        self.ws_port = 0
        self._private_key = private_key
        self._udp: UdpServer | None = None
        self._ws: WebSocketServer | None = None
        self._runner: web.AppRunner | None = None

    async def open(self, host: str, udp_ports: list[int], ws_ports: list[int]) -> None:
        """Listens at the first of these ports that is free; 0 is any. UsageError in one sentence when none is."""
        udp = ServerEndpoint(self._private_key, entropy=os.urandom, transport=UDP)
        try:
            self._udp = first_free(udp_ports, lambda port: UdpServer(udp, self.by_udp.add, host=host, port=port))
        except OSError as problem:
            raise UsageError(_explain("UDP", host, udp_ports[-1], problem)) from None
        self.udp_port = self._udp.address[1]
        over_ws = ServerEndpoint(self._private_key, entropy=os.urandom, transport=WEBSOCKET)
        self._ws = WebSocketServer(over_ws, self.by_ws.add)
        application = web.Application()
        application.router.add_get(WS_PATH, self._ws.handle)
        self._runner, self.ws_port = await serve_http(application, host, ws_ports)

    def flush(self) -> None:
        """What the app has said shall leave."""
        for shell in (self._udp, self._ws):
            if shell is not None:
                shell.flush()

    def host_of(self, address: Address) -> str:
        """The machine a session comes from."""
        if isinstance(address, tuple):
            return str(address[0])
        return self._ws.host_of(address) if self._ws is not None else ""

    async def close(self) -> None:
        """Sessions end gracefully, if their clients are quick; then nobody listens any more."""
        shells = [shell for shell in (self._udp, self._ws) if shell is not None]
        await asyncio.gather(*(self._close(shell) for shell in shells))
        if self._runner is not None:
            await self._runner.cleanup()

    async def _close(self, shell: UdpServer | WebSocketServer) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await shell.close()


async def serve_http(application: web.Application, host: str, ports: list[int]) -> tuple[web.AppRunner, int]:
    """Serves it; what to clean up in the end, and the port. UsageError in one sentence when no port is free."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    for port in ports:
        try:
            await web.TCPSite(runner, host, port).start()
            break
        except OSError as problem:
            if port != ports[-1] and is_taken(problem):
                continue
            await runner.cleanup()
            raise UsageError(_explain("TCP", host, port, problem)) from None
    return runner, runner.addresses[0][1]


def _explain(protocol: str, host: str, port: int, problem: OSError) -> str:
    if problem.errno == errno.EADDRINUSE:
        return f"{protocol} port {port} of {host} is in use by another program: choose another one, or 0 for the usual"
    return f"cannot listen on {protocol} port {port} of {host}: {problem.strerror or problem}"
