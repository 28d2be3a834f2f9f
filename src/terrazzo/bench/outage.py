"""`terrazzo outage`: players change what is saved while the database and the cluster go down and come back.

Real processes and real clients over UDP, once over SQLite and once over a PostgreSQL that this command starts. Each
player (`outage_player.py`) writes numbers into a saved property; a write is confirmed to it when it is durable. Then:

    calm         nothing disturbs them
    database     PostgreSQL is stopped as in a crash, twice, AWAY_S each time, and started again
    restart      the whole cluster is ended in order while they write, and started again with the same data
    killed       all processes of the cluster are killed at the same moment, and it is started again
    check        they leave, and log in once more

They log in again by themselves. After every login a player compares what its entity has with what was confirmed to it.
The report has, for each phase, the writes and how long a player waited for the confirmation of one: the longest pause
is what a player notices of an outage. Times are not judged: a slow machine is slow. `is_sound` is: no confirmed write
was lost, every player came back, and every cluster that was not killed ended in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from terrazzo.bench import outage_game
from terrazzo.bench.clusters import OwnCluster, own_cluster
from terrazzo.bench.outage_player import Writer
from terrazzo.bench.postgres import Postgres, missing
from terrazzo.client import ClientGame
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.config import Apps, Config, LoginSettings, StorePart, StrangerSettings
from terrazzo.runtime.orders import ClusterFile

AWAY_S = 2.0
CRASHES = 2
ALL_BACK_S = 120.0
"""All players must be in, and each must have had a write confirmed, within this time after an outage."""
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
STORES = {"sqlite": SQLITE, "postgres": POSTGRES}

Say = Callable[[str], None]


async def measure(*, players: int, seconds: float, only: tuple[str, ...] = (), say: Say) -> dict[str, Any]:
    """The whole report."""
    stores: dict[str, dict[str, Any]] = {}
    failures: list[str] = []
    why_not = missing()
    for store in [STORES[name] for name in only or STORES]:
        if store == POSTGRES and why_not:
            say(f"PostgreSQL is left out: {why_not}")
            continue
        with tempfile.TemporaryDirectory(prefix="terrazzo-outage-") as root:
            server = await asyncio.to_thread(Postgres) if store == POSTGRES else None
            say(f"{store}, {players} players:")
            try:
                ground = _Ground(Path(root), server, players, seconds, say)
                stores[store] = await ground.play()
            finally:
                if server is not None:
                    await asyncio.to_thread(server.close)
        failures += [f"{store}: {fault}" for fault in ground.faults]
    if not stores:
        raise UsageError(f"there is no store to try: {why_not}")
    return {
        "is_sound": not failures,
        "failures": failures,
        "players": players,
        **({"no PostgreSQL": why_not} if why_not else {}),
        "stores": stores,
    }


class _Ground:
    """One store, its clusters one after the other, and the players."""

    def __init__(self, root: Path, server: Postgres | None, players: int, seconds: float, say: Say) -> None:
        self._root = root
        self._server = server
        self._seconds = seconds
        self._say = say
        self._config = _config("" if server is None else server.new_database())
        self._cluster: ClusterFile | None = None
        self._ends: list[str] = []
        self._phases: dict[str, Any] = {}
        game = ClientGame.of(load_game(outage_game.__file__))
        self._writers = [Writer(game, f"writer-{number}", lambda: self._cluster) for number in range(players)]

    @property
    def faults(self) -> list[str]:
        """What was found wrong."""
        return self._ends + [fault for each in self._writers for fault in each.faults]

    async def play(self) -> dict[str, Any]:
        """All phases."""
        lives = self._come()
        try:
            async with self._running():
                await self._all_confirmed()
                self._take_pauses()
                await asyncio.sleep(self._seconds)
                self._note("calm")
                if self._server is not None:
                    await self._crash_database(self._server)
                    self._note("database")
            async with self._running(is_killed=True) as own:
                await self._all_confirmed()
                self._note("restart")
                await asyncio.sleep(self._seconds)
                self._take_pauses()
                for app in own.file.apps:
                    os.kill(app.pid, signal.SIGKILL)
            async with self._running():
                await self._all_confirmed()
                self._note("killed")
                await self._leave(lives)
                lives = self._come()
                await self._wait("come back", lambda each: each.is_in)
                await self._leave(lives)
        finally:
            for life in lives:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)
        return {"phases": self._phases, "writes": sum(each.confirmed for each in self._writers)}

    @asynccontextmanager
    async def _running(self, *, is_killed: bool = False) -> AsyncIterator[OwnCluster]:
        """A cluster that the players find."""
        async with own_cluster(Path(outage_game.__file__), self._config, self._root) as own:
            self._cluster = own.file
            try:
                yield own
            finally:
                self._cluster = None
        if own.failure and not is_killed:
            self._ends.append(own.failure)

    async def _crash_database(self, server: Postgres) -> None:
        for _ in range(CRASHES):
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(AWAY_S)
            await asyncio.to_thread(server.start)
            await self._all_confirmed()

    # The players.

    def _come(self) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(each.live()) for each in self._writers]

    async def _leave(self, lives: list[asyncio.Task[None]]) -> None:
        """All leave when nothing is under way."""
        for each in self._writers:
            each.is_writing = False
        await self._wait("get their last write confirmed", lambda each: each.is_in and not each.has_pending)
        await asyncio.gather(*(each.leave() for each in self._writers))
        await asyncio.gather(*lives)

    async def _all_confirmed(self) -> None:
        """Until each has had a write confirmed that was begun after this moment."""
        goals = {id(each): each.sent + 1 for each in self._writers}
        await self._wait("write again", lambda each: each.confirmed >= goals[id(each)])

    async def _wait(self, what: str, is_done: Callable[[Writer], bool]) -> None:
        until = time.monotonic() + ALL_BACK_S
        while left := [each for each in self._writers if not is_done(each)]:
            if time.monotonic() > until:
                whys = {each.last_error or "no answer" for each in left}
                raise UsageError(f"{len(left)} players could not {what} within {ALL_BACK_S:g} s: {'; '.join(whys)}")
            await asyncio.sleep(0.1)

    # The report.

    def _take_pauses(self) -> list[float]:
        taken = [pause for each in self._writers for pause in each.pauses_s]
        for each in self._writers:
            each.pauses_s.clear()
        return taken

    def _note(self, phase: str) -> None:
        pauses = self._take_pauses()
        self._phases[phase] = {
            "writes": len(pauses),
            "p50_s": round(median(pauses), 3),
            "longest_s": round(max(pauses), 3),
        }
        self._say(f"  {phase}: {len(pauses)} writes, the longest pause {max(pauses):.2f} s")


def _config(url: str) -> Config:
    """Two CellApps, two BaseApps; nothing that is there against strangers holds up players of one address."""
    return Config(
        apps=Apps(cells=2, bases=2),
        store=StorePart(url=url),
        login=LoginSettings(attempts_per_s=1e6, attempts_burst=1_000_000, total_per_s=1e6),
        strangers=StrangerSettings(
            total_max=10_000, address_max=10_000, address_per_s=1e6, address_burst=1_000_000, login_s=60.0
        ),
    )
