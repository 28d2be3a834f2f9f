"""A cluster of real processes on loopback, as `terrazzo run` starts it, for a command that measures or tries it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.config import Config, Launch
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.launcher import Launcher, LocalLauncher
from terrazzo.runtime.orders import ClusterFile

READY_S = 180.0
"""A cluster that is not ready by then has failed. It is a matter of seconds, but not on a busy machine."""


class OwnCluster:
    """The cluster while it runs, and how it ended."""

    def __init__(self, game: LoadedGame, folder: DataFolder) -> None:
        self.game = game
        self.folder = folder
        self.complaints: list[str] = []
        self.code = 0
        """The exit code, after the end."""

    @property
    def file(self) -> ClusterFile:
        """Its processes and their doors."""
        return self.folder.read_cluster()

    @property
    def failure(self) -> str:
        """What went wrong until its end; empty: nothing."""
        if self.code or self.complaints:
            return f"the cluster ended with {self.code}: {' '.join(self.complaints)}"
        return ""


@asynccontextmanager
async def own_cluster(
    game_path: Path, config: Config, root: Path, *, launcher: Launcher | None = None, with_console: bool = False
) -> AsyncIterator[OwnCluster]:
    """A cluster that is ready, with its data below `root`; it ends in order with the context. UsageError when it does
    not start; how it ended is for the caller to judge."""
    folder = DataFolder(root / "data")
    folder.prepare()
    own = OwnCluster(load_game(game_path), folder)
    config = msgspec.structs.replace(config, launch=Launch(patience_s=READY_S))
    cluster = Cluster(
        game_path, own.game, config, folder, launcher or LocalLauncher(),
        say=lambda line: None, complain=own.complaints.append, with_console=with_console,
    )  # fmt: skip
    running = asyncio.create_task(cluster.run())
    try:
        async with asyncio.timeout(READY_S):
            while not cluster.is_ready:
                if running.done():
                    raise UsageError(f"the cluster did not start: {' '.join(own.complaints)}")
                await asyncio.sleep(0.05)
        yield own
    finally:
        cluster.stop()
        own.code = await running
        folder.release()
