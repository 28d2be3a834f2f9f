"""Walkers over WebSocket, each with a connection of its own, in one process; see `walkers.py`."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from random import Random

from aiohttp import ClientSession, TCPConnector

from terrazzo.client.link import Phase
from terrazzo.client.sights import SightCounts
from terrazzo.client.walker import Walker
from terrazzo.runtime.players import WebSocketPlayer
from terrazzo.runtime.walkers import LEAVE_S, LOGGING_IN_MAX, SAMPLE_S, Sample, WalkersOrder, write_sample
from terrazzo.wire.client import WEBSOCKET

LOOK_S = 0.1
_ON_THEIR_WAY = (Phase.CONNECTING, Phase.LOGGING_IN, Phase.JOINING)


class WsWalkers:
    """See the module."""

    def __init__(self, order: WalkersOrder) -> None:
        self.stopping = threading.Event()
        self._order = order
        self._sights = SightCounts()
        self._rng = Random(os.urandom(8))
        self._walkers: list[Walker] = []
        self._why: Counter[str] = Counter()
        self._turns = asyncio.Semaphore(LOGGING_IN_MAX)

    async def run(self) -> None:
        """See Walkers."""
        async with ClientSession(connector=TCPConnector(limit=0)) as http:
            tasks = [asyncio.create_task(self._live(number, http)) for number in range(self._order.count)]
            sample_at = time.monotonic()
            while not self.stopping.is_set():
                await asyncio.sleep(LOOK_S)
                if time.monotonic() >= sample_at:
                    sample_at += SAMPLE_S
                    write_sample(self._sample())
            await asyncio.wait(tasks, timeout=LEAVE_S)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        write_sample(self._sample())

    async def _live(self, number: int, http: ClientSession) -> None:
        await self._turns.acquire()
        if self.stopping.is_set():
            return
        walker = self._make(number)
        player = WebSocketPlayer(walker, http, tick_s=self._order.tick_s)
        self._walkers.append(walker)
        while walker.phase in _ON_THEIR_WAY:
            await asyncio.sleep(LOOK_S)
        self._turns.release()
        while not self.stopping.is_set() and not walker.is_over:
            await asyncio.sleep(LOOK_S)
        if not walker.is_over:
            player.leave()
            await player.over()
        player.close()
        await player.closed()
        self._walkers.remove(walker)
        if walker.error:
            self._why[walker.error] += 1

    def _make(self, number: int) -> Walker:
        order = self._order
        return Walker(
            self._sights,
            self._rng,
            bounds=order.bounds.get,
            tick_s=order.tick_s,
            is_numbered=order.is_numbered,
            digest=order.digest,
            login=(order.host, order.ws_port),
            server_key=bytes.fromhex(order.public_key),
            name=f"{order.name}-{order.first + number}",
            password=order.password,
            entropy=os.urandom,
            now=time.monotonic(),
            transport=WEBSOCKET,
        )

    def _sample(self) -> Sample:
        trips = [walker.round_trip_s for walker in self._walkers]
        return Sample(
            at=time.monotonic(),
            cpu_s=time.process_time(),
            walking=sum(walker.has_body for walker in self._walkers),
            on_their_way=sum(walker.phase in _ON_THEIR_WAY for walker in self._walkers),
            out=sum(self._why.values()),
            why=dict(self._why),
            moves=self._sights.moves,
            updates=self._sights.updates,
            gaps_ms=self._sights.take_gaps(),
            round_trips_ms=[round(1000 * trip, 2) for trip in trips if trip is not None],
        )
