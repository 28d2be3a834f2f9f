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
from terrazzo.client.walker import Sights, Walker
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.players import WebSocketPlayer
from terrazzo.runtime.walkers import LEAVE_S, LOGGING_IN_MAX, SAMPLE_S, Sample, WalkersOrder, fill, make_walker, tell

LOOK_S = 0.1


class WsWalkers:
    """See the module. What is on the wire is not counted here: aiohttp has the sockets."""

    def __init__(self, order: WalkersOrder) -> None:
        self.stopping = threading.Event()
        self._order = order
        self._sights = Sights()
        self._rng = Random(os.urandom(8))
        self._walkers: list[Walker] = []
        self._why: Counter[str] = Counter()
        self._turns = asyncio.Semaphore(LOGGING_IN_MAX)
        self._sample = Sample()

    def run(self) -> None:
        """Until it is told to stop, and all have left."""
        run_loop(self._run())

    async def _run(self) -> None:
        async with ClientSession(connector=TCPConnector(limit=0)) as http:
            tasks = [asyncio.create_task(self._live(number, http)) for number in range(self._order.count)]
            sample_at = time.monotonic()
            while not self.stopping.is_set():
                await asyncio.sleep(LOOK_S)
                if time.monotonic() >= sample_at:
                    sample_at += SAMPLE_S
                    self._tell()
            await asyncio.wait(tasks, timeout=LEAVE_S)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._tell()

    async def _live(self, number: int, http: ClientSession) -> None:
        await self._turns.acquire()
        if self.stopping.is_set():
            return
        walker = make_walker(self._order, number, self._sights, self._rng, time.monotonic())
        player = WebSocketPlayer(walker, http, tick_s=self._order.tick_s)
        self._walkers.append(walker)
        while walker.phase in (Phase.CONNECTING, Phase.LOGGING_IN, Phase.JOINING):
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

    def _tell(self) -> None:
        tell(fill(self._sample, self._sights, self._walkers, self._why))
