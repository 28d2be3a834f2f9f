"""Real clusters for black-box tests: started by the command, watched from outside, entered by real clients.

Nothing here sleeps: a world is waited for by its words, a process by its descriptor, a client by its events. LIMIT_S
ends a test that has failed.
"""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from aiohttp import ClientSession

from terrazzo.client import ClientApp, ClientGame
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.loop import run
from terrazzo.runtime.players import Player, UdpPlayer, WebSocketPlayer
from terrazzo.wire.client import UDP, WEBSOCKET

PLAZA = Path(__file__).parents[2] / "examples" / "plaza"
LIMIT_S = 60.0
TICK_S = 0.05


def command(name, *args):
    """A command line of ours."""
    return [sys.executable, "-c", f"from terrazzo.cli.run import {name}; {name}()", *map(str, args)]


def call(name, *args):
    """Runs a command that ends by itself; its exit code and its output of both kinds."""
    done = subprocess.run(command(name, *args), capture_output=True, text=True, timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, done.stderr


class World:
    """A cluster that was started by `terrazzo run`."""

    def __init__(self, data, *args, game=PLAZA):
        self.folder = DataFolder(data)
        self.lines: list[str] = []
        self.errors: list[str] = []
        given = command("run", game, "--data", data, *args)
        self.process = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._new_line = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(pipe, lines), daemon=True)
            for pipe, lines in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.join()

    def _read(self, pipe, lines):
        with pipe:
            for line in pipe:
                with self._new_line:
                    lines.append(line.rstrip("\n"))
                    self._new_line.notify_all()
        with self._new_line:
            self._new_line.notify_all()

    def wait_for(self, words):
        """Waits until it has printed that."""

        def is_said_or_over():
            return any(words in line for line in self.lines) or not any(each.is_alive() for each in self._readers)

        with self._new_line:
            self._new_line.wait_for(is_said_or_over, timeout=LIMIT_S)
        assert any(words in line for line in self.lines), (self.lines, self.errors)

    def wait_ready(self):
        """Waits until the world is ready; returns its addresses."""
        self.wait_for("The world is ready")
        return self.folder.read_cluster()

    def wait_logged(self, app, words):
        """Waits until the log of an app has that."""
        log, pause = self.folder.logs / f"{app}.log", threading.Event()
        until = time.monotonic() + LIMIT_S
        while words not in log.read_text():
            assert time.monotonic() < until, log.read_text()[-2000:]
            pause.wait(0.02)

    def join(self):
        """Until it has ended; the exit code."""
        code = self.process.wait(timeout=LIMIT_S)
        for reader in self._readers:
            reader.join()
        return code

    def terminate(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.join()


class Watch:
    """Whether processes that are not children of this one have ended."""

    def __init__(self, pids):
        self._open = {os.pidfd_open(pid): pid for pid in pids}

    def wait_gone(self, timeout_s):
        """Waits for their ends; those that are left."""
        poll = select.poll()
        for each in self._open:
            poll.register(each, select.POLLIN)
        until = time.monotonic() + timeout_s
        left = dict(self._open)
        while left and (rest := until - time.monotonic()) > 0:
            for each, _ in poll.poll(rest * 1000):
                poll.unregister(each)
                del left[each]
        for each in self._open:
            os.close(each)
        return list(left.values())


class Visitor:
    """A player in the world: a client over UDP or WebSocket that walks to given places."""

    def __init__(
        self, game: ClientGame, cluster, name, password="secret", http: ClientSession | None = None, *, may_wait=False
    ):
        self.goal: tuple[float, float] | None = None
        self._news = asyncio.Event()
        login = cluster.login
        self.client = ClientApp(
            game,
            login=(login.host, login.udp_port if http is None else login.ws_port),
            server_key=bytes.fromhex(cluster.public_key),
            name=name,
            password=password,
            entropy=os.urandom,
            now=time.monotonic(),
            transport=UDP if http is None else WEBSOCKET,
            log=self._on_log,
            may_wait=may_wait,
        )
        self.violations: list[dict[str, object]] = []
        self.player: Player
        if http is None:
            self.player = UdpPlayer(self.client, tick_s=TICK_S, on_tick=self._tick)
        else:
            self.player = WebSocketPlayer(self.client, http, tick_s=TICK_S, on_tick=self._tick)

    def _on_log(self, event, /, **facts):
        if event == "client violation":
            self.violations.append(facts)

    @property
    def place(self):
        assert self.client.view.player is not None
        x, _, z = self.client.view.player.position
        return x, z

    def _tick(self, now):
        if self.goal is not None and self.client.has_body:
            x, z = self.place
            step_x, step_z = (max(-0.6, min(0.6, to - at)) for at, to in zip((x, z), self.goal, strict=True))
            self.client.move((x + step_x, 0.0, z + step_z), 0.0)
        self.client.tick(now)
        self._news.set()

    async def until(self, what):
        """Until it is so; looked at once per tick."""
        while not what():
            assert not self.client.is_over, self.client.error
            self._news.clear()
            await self._news.wait()

    async def enter(self):
        await self.until(lambda: self.client.has_body and self.client.player is not None)

    async def walk(self, x, z):
        self.goal = (x, z)
        await self.until(lambda: self.place == (x, z))

    async def leave(self):
        self.player.leave()
        await self.player.over()
        await self.close()
        return self.client.error

    async def close(self):
        self.player.close()
        if isinstance(self.player, WebSocketPlayer):
            await self.player.closed()


async def homes(cluster, http, has_come):
    """In which CellApps each avatar is real, by id: as the console's page shows it, as soon as `has_come(homes)`."""
    [page] = [each.text for each in cluster.apps if each.name == "console-0"]
    async with http.ws_connect(f"{page}api/live") as live:
        async for message in live:
            found: dict[int, set[str]] = {}
            for space in json.loads(message.data)["spaces"]:
                for each in space["entities"]:
                    if each["type"] == "Avatar" and each["real"]:
                        found.setdefault(each["id"], set()).add(each["app"])
            if has_come(found):
                return found
    raise AssertionError("the console has closed the door")


def play(main):
    """Runs a test's coroutine."""

    async def bounded():
        async with asyncio.timeout(LIMIT_S):
            return await main

    return run(bounded())
