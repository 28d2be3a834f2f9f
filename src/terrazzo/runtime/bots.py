"""Many bots in one process: the Python client over UDP, many times, each walking where it likes.

    waiting for its turn ──▶ logging in ──▶ playing ──▶ out ──▶ waiting for AGAIN_S, then for its turn …
                     at most LOGGING_IN_MAX at a time

At most LOGGING_IN_MAX bots log in at a time, so a process that has much to do lets the next one begin later, instead of
having more of them log in than it can serve: a login key is good for seconds only. A bot that is refused, sent away or
not answered tries again after a while, and the others go on. Only when every bot has tried and none was ever let in
does the crowd end, with the reason that the first client was given.

At the end the bots stop walking, send BYE, and are closed LEAVE_S later, whether or not the server has answered.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from random import Random

from terrazzo.client import Bot, ClientApp, ClientGame, Phase
from terrazzo.errors import UsageError
from terrazzo.game import Bounds, LoadedGame
from terrazzo.runtime.orders import Bots, OnReport, Order, Progress, ProgressReport
from terrazzo.runtime.players import UdpPlayer
from terrazzo.wire.environment import Log
from terrazzo.wire.log_events import LogEvent

LOGGING_IN_MAX = 8
AGAIN_S = 5.0
LEAVE_S = 1.0
_ON_THEIR_WAY = (Phase.CONNECTING, Phase.LOGGING_IN, Phase.JOINING)


class _Life:
    """One bot in the world, from its first packet to its last. `on_decided` is called once: it is in, or it is over."""

    def __init__(self, client: ClientApp, bot: Bot, tick_s: float, on_decided: Callable[[], None]) -> None:
        self.client = client
        self._bot = bot
        self._on_decided: Callable[[], None] | None = on_decided
        self._is_leaving = False
        self.player = UdpPlayer(client, tick_s=tick_s, on_tick=self._tick)

    def leave(self) -> None:
        """Send BYE, and walk no further."""
        self._is_leaving = True
        self.player.leave()

    def close(self) -> None:
        """Give up its socket."""
        self.player.close()
        self._decide()

    def _tick(self, now: float) -> None:
        if not self._is_leaving:
            self._bot.tick(now)
        if self.client.phase is Phase.PLAYING:
            self._decide()

    def _decide(self) -> None:
        on_decided, self._on_decided = self._on_decided, None
        if on_decided is not None:
            on_decided()


class BotCrowd:
    """So many bots."""

    def __init__(self, bots: Bots, game: LoadedGame, log: Log, *, tick_s: float) -> None:
        self.has_played = False
        self._bots = bots
        self._game = ClientGame.of(game)
        self._spaces = {number: space.bounds for number, space in enumerate(game.policy.spaces, 1)}
        self._log = log
        self._tick_s = tick_s
        self._numbers = range(bots.first, bots.first + bots.count)
        self._lives: dict[int, _Life] = {}
        self._turns = asyncio.Semaphore(LOGGING_IN_MAX)
        self._refused: dict[int, str] = {}
        """Why each bot was not let in, as long as none ever was."""
        self._stopping = asyncio.Event()

    @property
    def playing(self) -> int:
        """How many are in the world."""
        return sum(life.client.has_body for life in self._lives.values())

    @property
    def logging_in(self) -> int:
        """How many have begun to log in and are not in the world yet."""
        return sum(life.client.phase in _ON_THEIR_WAY for life in self._lives.values())

    def stop(self) -> None:
        """Asks them all to leave."""
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop` is called; UsageError when not one of them is let in."""
        tasks = [asyncio.create_task(self._stay(number)) for number in self._numbers]
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            done, _ = await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._leave()
        finally:
            for task in (stopping, *tasks):
                task.cancel()
            await asyncio.gather(stopping, *tasks, return_exceptions=True)

    async def _leave(self) -> None:
        """All leave at once: between two of them a busy process would read and work for all the others."""
        lives = list(self._lives.values())
        for life in lives:
            life.leave()
        over = [asyncio.ensure_future(life.player.over()) for life in lives]
        if over:
            await asyncio.wait(over, timeout=LEAVE_S)

    async def _stay(self, number: int) -> None:
        while True:
            client = await self._play(number)
            self._log(LogEvent.BOT_OUT, name=client.name, why=client.error)
            if self._stopping.is_set():
                return
            self._note_refused(number, client)
            await asyncio.sleep(AGAIN_S)

    async def _play(self, number: int) -> ClientApp:
        """One stay in the world, as long as it lasts."""
        await self._turns.acquire()
        client = self._make_client(number)
        bot = Bot(client, Random(os.urandom(8)), bounds=self._bounds)
        life = self._lives[number] = _Life(client, bot, self._tick_s, lambda: self._on_decided(client))
        try:
            await life.player.over()
        finally:
            life.close()
            del self._lives[number]
        return client

    def _on_decided(self, client: ClientApp) -> None:
        self.has_played = self.has_played or client.phase is Phase.PLAYING
        self._turns.release()

    def _note_refused(self, number: int, client: ClientApp) -> None:
        if self.has_played:
            return
        self._refused.setdefault(number, f"{client.name} does not get in: {client.error}")
        if len(self._refused) == self._bots.count:
            raise UsageError(next(iter(self._refused.values())))

    def _make_client(self, number: int) -> ClientApp:
        bots = self._bots
        return ClientApp(
            self._game,
            login=(bots.host, bots.udp_port),
            server_key=bytes.fromhex(bots.public_key),
            name=f"{bots.name}-{number}",
            password=bots.password,
            entropy=os.urandom,
            now=time.monotonic(),
            log=self._log,
        )

    def _bounds(self, space: int) -> Bounds | None:
        return self._spaces.get(space)


class BotsMember:
    """The crowd as a member of a cluster; see `members.Member`."""

    def __init__(self, order: Order, game: LoadedGame, log: Log, on_report: OnReport) -> None:
        assert order.bots is not None
        self._crowd = BotCrowd(order.bots, game, log, tick_s=order.config.tick_s)
        self._count = order.bots.count
        self._on_report = on_report

    async def start(self) -> None:
        """See Member."""
        self._on_report(ProgressReport(Progress.STARTED, f"{self._count} bots"))
        self._on_report(ProgressReport(Progress.READY))

    def stop(self) -> None:
        """See Member."""
        self._crowd.stop()

    async def run(self) -> None:
        """See Member."""
        await self._crowd.run()
