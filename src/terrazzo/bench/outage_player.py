"""A player of `terrazzo outage`: writes one number after the other, and logs in again whenever its server is gone.

It notes the last number that was confirmed (`confirmed`) and the last one that it has sent (`sent`). What its entity
has after a login must lie between the two: less than `confirmed` is a confirmed write that was lost, more than `sent`
is one that no client has made.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from terrazzo.client import ClientApp, ClientGame
from terrazzo.runtime.orders import ClusterFile
from terrazzo.runtime.players import UdpPlayer
from terrazzo.sync.view_events import MethodCalled, ViewEvent
from terrazzo.wire.client import CLIENT

WRITE_S = 0.2
"""Between a confirmation and the next write."""
AGAIN_S = 0.5
"""Between two logins."""
RESEND_S = 35.0
"""After that time without a confirmation, the same number is written again: the game's `save` has given up."""
LEAVE_S = 30.0
SETTINGS = msgspec.structs.replace(CLIENT, keep_alive_s=1.0, silence_s=5.0)
"""A player whose server says nothing for so long reloads; by default a client waits six times as long."""


class Writer:
    """One player, for as long as the whole run takes."""

    def __init__(self, game: ClientGame, name: str, find_cluster: Callable[[], ClusterFile | None]) -> None:
        """`find_cluster` gives the present cluster; None while there is none."""
        self.confirmed = 0
        self.sent = 0
        self.faults: list[str] = []
        self.pauses_s: list[float] = []
        """Of each write since they were taken last: from the moment at which it was due to its confirmation, whether or
        not the player was in then."""
        self.is_in = False
        self.is_writing = True
        self.last_error = ""
        self._game = game
        self._name = name
        self._find_cluster = find_cluster
        self._client: ClientApp | None = None
        self._player: UdpPlayer | None = None
        self._wanted_at: float | None = None
        self._sent_at = 0.0
        self._next_at = 0.0
        self._is_leaving = False

    async def live(self) -> None:
        """From the first login until it has left in order; may be called again after that."""
        self._is_leaving = False
        while not self._is_leaving:
            cluster = self._find_cluster()
            if cluster is not None:
                await self._play(cluster)
            if not self._is_leaving:
                await asyncio.sleep(AGAIN_S)

    @property
    def has_pending(self) -> bool:
        """Whether a write is not confirmed yet."""
        return self._wanted_at is not None

    async def leave(self) -> None:
        """Leaves the world, from within it; what it has must be saved then."""
        self._is_leaving = True
        assert self._player is not None
        assert self._client is not None
        self._player.leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._player.over()
        if self._client.error or not self._client.is_over:
            self.faults.append(f"{self._name} did not leave in order: {self._client.error or 'no answer'}")

    async def _play(self, cluster: ClusterFile) -> None:
        """One life: from a login to the end of the session."""
        login = cluster.login
        client = self._client = ClientApp(
            self._game, login=(login.host, login.udp_port), server_key=bytes.fromhex(cluster.public_key),
            name=self._name, password="a long password", entropy=os.urandom, now=time.monotonic(),
            settings=SETTINGS, listener=self._on_event,
        )  # fmt: skip
        player = self._player = UdpPlayer(client, on_tick=self._tick)
        self._sent_at = 0.0
        try:
            await player.over()
        finally:
            self.is_in = False
            self.last_error = client.error
            player.close()

    def _tick(self, now: float) -> None:
        client = self._client
        assert client is not None
        entity: Any = client.player
        if entity is not None and not self._is_leaving:
            if not self.is_in:
                self.is_in = True
                self.judge(entity.written)
            self._write(entity, now)
        client.tick(now)

    def judge(self, written: int) -> None:
        """After a login: whether its entity has what it must have."""
        if written < self.confirmed:
            self.faults.append(
                f"{self._name} has {written} after a login, and {self.confirmed} was confirmed: it is lost"
            )
        elif written > self.sent:
            self.faults.append(f"{self._name} has {written} after a login, and has sent no more than {self.sent}")

    def _write(self, entity: Any, now: float) -> None:
        if self._wanted_at is None and self.is_writing and now >= self._next_at:
            self.sent += 1
            self._wanted_at, self._sent_at = self._next_at or now, 0.0
        if self._wanted_at is not None and (not self._sent_at or now >= self._sent_at + RESEND_S):
            self._sent_at = now
            entity.base.write(self.sent)

    def _on_event(self, event: ViewEvent) -> None:
        if not isinstance(event, MethodCalled) or event.method.name != "on_written":
            return
        number, now = event.args[0], time.monotonic()
        if number == self.sent and self._wanted_at is not None:
            self.confirmed = number
            self.pauses_s.append(now - self._wanted_at)
            self._wanted_at, self._next_at = None, now + WRITE_S
