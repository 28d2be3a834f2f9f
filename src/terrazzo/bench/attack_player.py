"""The honest side of `terrazzo attack`: a player that moves and acts all the time, and players that log in.

`Watcher` measures what a person would notice: the time between two updates of what it sees, and the time from an action
to its result. `log_in` measures whether, and how fast, a new player gets a body in the world.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec
from aiohttp import ClientSession

from terrazzo.client import ClientApp, ClientGame
from terrazzo.runtime.orders import ClusterFile
from terrazzo.runtime.players import Player, UdpPlayer, WebSocketPlayer
from terrazzo.sync.view_events import MethodCalled, Moved, ViewEvent
from terrazzo.wire.client import UDP, WEBSOCKET

ACTION_S = 0.1
LOGIN_S = 20.0
LEAVE_S = 3.0
TICK_S = 0.05

_names = count(1)


class Login(msgspec.Struct, frozen=True):
    """How one honest login went."""

    over: str
    is_in: bool
    seconds: float
    error: str = ""


def make_client(
    game: ClientGame, cluster: ClusterFile, *, is_udp: bool, listener: Callable[[ViewEvent], None] | None = None
) -> ClientApp:
    """A client with a name of its own."""
    login = cluster.login
    return ClientApp(
        game,
        login=(login.host, login.udp_port if is_udp else login.ws_port),
        server_key=bytes.fromhex(cluster.public_key),
        name=f"honest-{next(_names)}",
        password="honest",
        entropy=os.urandom,
        now=time.monotonic(),
        transport=UDP if is_udp else WEBSOCKET,
        listener=listener,
    )


async def log_in(game: ClientGame, cluster: ClusterFile, *, is_udp: bool) -> Login:
    """Logs a new player in, until it has a body; then it leaves."""
    began_at = time.monotonic()
    client = make_client(game, cluster, is_udp=is_udp)
    async with ClientSession() as http:
        player: Player = UdpPlayer(client) if is_udp else WebSocketPlayer(client, http)
        while not client.has_body and not client.is_over and time.monotonic() < began_at + LOGIN_S:
            await asyncio.sleep(0.01)
        is_in, seconds = client.has_body, time.monotonic() - began_at
        error = "" if is_in else client.error or f"no body after {LOGIN_S:g} s"
        await leave(player)
        if isinstance(player, WebSocketPlayer):
            await player.closed()
    return Login("UDP" if is_udp else "WebSocket", is_in, seconds, error)


async def leave(player: Player) -> None:
    """Leaves the world and gives up the sockets."""
    player.leave()
    with suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_S):
            await player.over()
    player.close()


class Watcher:
    """A player in the world that notes what it notices."""

    def __init__(self, game: ClientGame, cluster: ClusterFile) -> None:
        self.gaps_s: list[float] = []
        self.actions_s: list[float] = []
        self._waiting: dict[int, float] = {}
        self._numbers = count(1)
        self._seen_at: float | None = None
        self._act_at = 0.0
        self._client = make_client(game, cluster, is_udp=True, listener=self._on_event)
        self._player = UdpPlayer(self._client, tick_s=TICK_S, on_tick=self._tick)

    @property
    def name(self) -> str:
        """The name that it has logged in with."""
        return self._client.name

    @property
    def is_playing(self) -> bool:
        """Whether it has a body."""
        return self._client.has_body

    @property
    def error(self) -> str:
        """Why it is out."""
        return self._client.error

    async def wait_until_in(self) -> None:
        """Until it has a body, or cannot get one."""
        while not self._client.has_body and not self._client.is_over:
            await asyncio.sleep(0.05)

    def take(self) -> tuple[list[float], list[float]]:
        """The gaps and the times of actions since the last call; what is still waiting counts with its age."""
        now = time.monotonic()
        gaps, self.gaps_s = self.gaps_s, []
        actions, self.actions_s = self.actions_s, []
        if self._seen_at is not None:
            gaps.append(now - self._seen_at)
        late = [now - since for since in self._waiting.values() if now - since > 1.0]
        self._waiting = {number: since for number, since in self._waiting.items() if now - since <= 1.0}
        return gaps, actions + late

    async def leave(self) -> None:
        """The end."""
        await leave(self._player)

    def _tick(self, now: float) -> None:
        player: Any = self._client.player
        if self._client.has_body and player is not None:
            self._client.move((10 * math.cos(now / 5), 0.0, 10 * math.sin(now / 5)), now / 5 % math.tau)
            if now >= self._act_at:
                self._act_at = now + ACTION_S
                number = next(self._numbers)
                self._waiting[number] = now
                player.cell.act(number)
        self._client.tick(now)

    def _on_event(self, event: ViewEvent) -> None:
        now = time.monotonic()
        if isinstance(event, Moved) and not self._client.is_player(event.entity):
            if self._seen_at is not None:
                self.gaps_s.append(now - self._seen_at)
            self._seen_at = now
        elif isinstance(event, MethodCalled) and event.method.name == "on_done":
            since = self._waiting.pop(event.args[0], None)
            if since is not None:
                self.actions_s.append(now - since)
