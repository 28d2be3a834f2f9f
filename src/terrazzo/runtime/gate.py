"""The gate in front of a web server: limits its connections, by address, and their time without a login.

    accepted ──rate, room──▶ a stranger ──vouch──▶ in ──────▶ closed
        │                        │ too late, too many bytes, too many strangers
        └──▶ refused             └──▶ cut

All of this happens before the web server has read a request, so half a request costs no more than a connection. The
rules:

- A connection is a stranger (`wire.client.strangers`) until the server vouches for it: a session has logged in, or a
  page shows the console. A stranger is replaced by newer ones as described there. It is cut after `login_s`, or when it
  has sent more than `stranger_bytes_max`.
- The number of new connections of one source a second is limited.
- Strangers use at most half of the files that the process may open, and all connections together leave FILES_KEPT for
  links, logs and the database: so there is room for logged-in connections, and for the cluster itself.

Refused connections are counted by reason.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Callable
from typing import cast

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from terrazzo.wire.addresses import subscriber
from terrazzo.wire.client.strangers import KnownSources, Strangers
from terrazzo.wire.rates import RateLimit
from terrazzo.wire.sentences import Sentence

FILES_KEPT = 128
"""The files that a process may open, without those for connections of clients."""
FILES_WANTED = 65_536
"""The number of open files that the process requests from the system."""
OF_CLIENTS = ("aiohttp.websocket", "aiohttp.internal")
"""Loggers that repeat what a client has sent: subprotocols that the server does not speak, up to 8 KiB of them."""


class Cut(Sentence):
    """Why a connection was closed by the server."""

    NO_ROOM = "no_room", "There are as many connections as the server, or the system's limit of open files, allows."
    RATE = "connection_rate", "One address opens more connections a second than it may."
    CROWDED = "connection_crowded", "A connection without a login gave way to a newer one."
    LATE = "late", "A connection did not finish its request, or did not log in, in time."
    TOO_MUCH = "too_much", "A connection sent more than one may before its login."
    MALFORMED = "malformed_request", "A connection sent what is no HTTP request."
    FRAMES = "frames", "A WebSocket sent more messages a second than a client does."


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of connections."""

    connections_max: int = 10_000
    strangers_max: int = 1024
    source_strangers_max: int = 256
    source_per_s: float = 100.0
    source_burst: int = 200
    login_s: float = 10.0
    stranger_bytes_max: int = 32 * 1024


class Gate:
    """Counts the connections of one listener."""

    def __init__(self, limits: GateLimits, known: KnownSources | None = None) -> None:
        self.refused: Counter[Cut] = Counter()
        self._errors = 0
        self._limits = limits
        self._connections_max = min(limits.connections_max, files_for_connections())
        self._open: dict[asyncio.BaseTransport, GatedConnection] = {}
        self._rate = RateLimit(per_s=limits.source_per_s, burst=limits.source_burst)
        self._strangers: Strangers[GatedConnection] = Strangers(
            total_max=max(min(limits.strangers_max, self._connections_max // 2), 1),
            per_source_max=limits.source_strangers_max,
            known=KnownSources() if known is None else known,
        )

    def __len__(self) -> int:
        return len(self._open)

    def guard(self, factory: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """The protocol factory for the listener, in front of the server's own."""
        return lambda: GatedConnection(self, factory)

    def vouch(self, transport: asyncio.BaseTransport | None) -> None:
        """Marks a connection as logged in: it stays until one of the two ends closes it."""
        connection = None if transport is None else self._open.get(transport)
        if connection is not None:
            self._strangers.remove(connection)
            connection.set_free()

    def make_logger(self) -> logging.Logger:
        """The logger of the web server. Errors of clients are counted and not logged, since clients could fill the disk
        with them. Of the server's own errors the 1st, 2nd, 4th, 8th … is logged, since a request that causes one can be
        sent again and again. The web server's internal loggers repeat what a client sent, so they are disabled."""
        for name in OF_CLIENTS:
            logging.getLogger(name).disabled = True
        logger = logging.Logger("terrazzo.http")
        logger.addFilter(self._is_worth_logging)
        return logger

    def _is_worth_logging(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
            self.refused[Cut.MALFORMED] += 1
            return False
        self._errors += 1
        return self._errors & (self._errors - 1) == 0

    # For connections.

    def enter(self, connection: GatedConnection, transport: asyncio.Transport) -> bool:
        """Called for an accepted connection; False: it is refused."""
        peer = transport.get_extra_info("peername")
        source = subscriber(str(peer[0])) if peer else ""
        if len(self._open) >= self._connections_max:
            self.refused[Cut.NO_ROOM] += 1
            return False
        if not self._rate.take(source, asyncio.get_running_loop().time()):
            self.refused[Cut.RATE] += 1
            return False
        self._open[transport] = connection
        connection.begin(self._limits.login_s, self._limits.stranger_bytes_max)
        other = self._strangers.add(connection, source)
        if other is not None:
            other.cut(Cut.CROWDED)
        return True

    def leave(self, connection: GatedConnection, transport: asyncio.BaseTransport) -> None:
        """Called when a connection is closed."""
        self._open.pop(transport, None)
        self._strangers.remove(connection)


class GatedConnection(asyncio.Protocol):
    """One connection: passes everything on to the server's own protocol, until it is cut."""

    def __init__(self, gate: Gate, factory: Callable[[], asyncio.Protocol]) -> None:
        self._gate = gate
        self._factory = factory
        self._inner: asyncio.Protocol | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._bytes_left: int | None = None

    def begin(self, seconds: float, bytes_max: int) -> None:
        """Sets the time and the bytes that it may use as a stranger."""
        self._bytes_left = bytes_max
        self._deadline = asyncio.get_running_loop().call_later(seconds, self.cut, Cut.LATE)

    def set_free(self) -> None:
        """Ends these limits."""
        self._bytes_left = None
        if self._deadline is not None:
            self._deadline.cancel()

    def cut(self, why: Cut) -> None:
        """Closes the connection at once."""
        self._gate.refused[why] += 1
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        made = self._transport = cast(asyncio.Transport, transport)
        if self._gate.enter(self, made):
            self._inner = self._factory()
            self._inner.connection_made(made)
        else:
            made.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self.set_free()
        if self._transport is not None:
            self._gate.leave(self, self._transport)
        if self._inner is not None:
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._inner is None:
            return
        if self._bytes_left is not None:
            self._bytes_left -= len(data)
            if self._bytes_left < 0:
                self.cut(Cut.TOO_MUCH)
                return
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """See asyncio."""
        return None if self._inner is None else self._inner.eof_received()

    def pause_writing(self) -> None:
        """See asyncio."""
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """See asyncio."""
        if self._inner is not None:
            self._inner.resume_writing()


GATE: web.AppKey[Gate] = web.AppKey("gate", Gate)


def vouch_for(request: web.Request) -> None:
    """Vouches for the connection of this request, if its server has a gate."""
    gate = request.app.get(GATE)
    if gate is not None:
        gate.vouch(request.transport)


def files_for_connections() -> int:
    """How many connections the process can have; asks the system for more open files, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):
            pass  # the limit stays as it is
    return max(soft - FILES_KEPT, FILES_KEPT) if soft != resource.RLIM_INFINITY else FILES_WANTED
