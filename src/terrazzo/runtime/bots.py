"""Many bots in one process: the Python client over UDP, many times, each walking where it likes.

They come one after the other (a password costs the database some fifty milliseconds). A bot that is sent away, or whose
server does not answer, tries again after a while; but if nobody at all gets in, that is the end, and the reason is told
in the words that the client was given.
"""

from __future__ import annotations

import asyncio
import os
import time
from random import Random

from terrazzo.client import Bot, ClientApp, ClientGame, Phase
from terrazzo.errors import UsageError
from terrazzo.game import Bounds, LoadedGame
from terrazzo.runtime.links import Log
from terrazzo.runtime.members import Tell
from terrazzo.runtime.orders import Bots, Order, Report, Step
from terrazzo.runtime.players import UdpPlayer

ARRIVAL_S = 0.06
AGAIN_S = 5.0
LEAVE_S = 1.0


class BotCrowd:
    """So many bots."""

    def __init__(self, bots: Bots, game: LoadedGame, log: Log, *, tick_s: float) -> None:
        self.has_played = False
        self._bots = bots
        self._game = ClientGame.of(game)
        self._spaces = {number: space.bounds for number, space in enumerate(game.policy.spaces, 1)}
        self._log = log
        self._tick_s = tick_s
        self._players: dict[int, UdpPlayer] = {}
        self._stopping = asyncio.Event()

    @property
    def playing(self) -> int:
        """How many are in the world."""
        return sum(player.client.has_body for player in self._players.values())

    def stop(self) -> None:
        """Asks them all to leave."""
        self._stopping.set()

    async def run(self) -> None:
        """Until they are told to leave; UsageError when nobody is let in."""
        lives = [asyncio.create_task(self._live(number)) for number in range(1, self._bots.count + 1)]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            waiting = {stopping, *lives}
            while not stopping.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            await self._leave()
        finally:
            for task in (stopping, *lives):
                task.cancel()
            await asyncio.gather(stopping, *lives, return_exceptions=True)

    async def _leave(self) -> None:
        players = list(self._players.values())
        for player in players:
            player.leave()
        if players:
            await asyncio.wait([asyncio.ensure_future(player.over()) for player in players], timeout=LEAVE_S)

    async def _live(self, number: int) -> None:
        await asyncio.sleep(number * ARRIVAL_S)
        while True:
            client = self._make_client(number)
            bot = Bot(client, Random(os.urandom(8)), bounds=self._bounds)
            player = self._players[number] = UdpPlayer(client, tick_s=self._tick_s, on_tick=bot.tick)
            try:
                await player.over()
            finally:
                player.close()
                del self._players[number]
            self._log("bot is out", name=client.name, why=client.error)
            if self._stopping.is_set():
                return
            if not self.has_played:
                raise UsageError(f"{client.name} does not get in: {client.error}")
            await asyncio.sleep(AGAIN_S)

    def _make_client(self, number: int) -> ClientApp:
        bots = self._bots
        client = ClientApp(
            self._game,
            login=(bots.host, bots.udp_port),
            server_key=bytes.fromhex(bots.public_key),
            name=f"{bots.name}-{number}",
            password=bots.password,
            entropy=os.urandom,
            now=time.monotonic(),
            log=self._log,
            listener=lambda event: self._on_event(client),
        )
        return client

    def _on_event(self, client: ClientApp) -> None:
        self.has_played = self.has_played or client.phase is Phase.PLAYING

    def _bounds(self, space: int) -> Bounds | None:
        return self._spaces.get(space)


class BotsMember:
    """The crowd as a member of a cluster; see `members.Member`."""

    def __init__(self, order: Order, game: LoadedGame, log: Log, tell: Tell) -> None:
        assert order.bots is not None
        self._crowd = BotCrowd(order.bots, game, log, tick_s=order.config.tick_s)
        self._count = order.bots.count
        self._tell = tell

    async def start(self) -> None:
        """See Member."""
        self._tell(Report(Step.STARTED, f"{self._count} bots"))
        self._tell(Report(Step.READY))

    def stop(self) -> None:
        """See Member."""
        self._crowd.stop()

    async def run(self) -> None:
        """See Member."""
        await self._crowd.run()
