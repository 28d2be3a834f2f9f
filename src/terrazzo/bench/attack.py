"""`terrazzo attack`: what a player notices while a client without a login attacks the doors of a real cluster.

A small cluster of real processes runs on loopback. A player is in the world all the time (`attack_player.py`); first
nothing disturbs it, then one attack after the other does (`attackers.py`, each in a process of its own, from another
address than the player's). During each, a new player logs in over UDP and one over WebSocket. The report has, for each
attack: update gaps and times of actions (and how many times longer they were than undisturbed), the logins, memory and
open files of the processes, and what the doors refused, by reason.

`is_sound` is: every honest login succeeded; the player stayed in and waited, in the middle, no longer than undisturbed
in the same run (this may be left out, since attackers and servers share the machine); no process has grown by more than
GROWTH_MAX_MIB in an attack; attacks were counted among the refusals that `terrazzo refusals` shows; every process
lived, and the cluster ended in order.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout

from terrazzo.bench import attack_game
from terrazzo.bench.attack_order import STARTED, Attack
from terrazzo.bench.attack_player import Login, Watcher, log_in
from terrazzo.bench.clusters import own_cluster
from terrazzo.client import ClientGame
from terrazzo.errors import UsageError
from terrazzo.runtime.config import Apps, Config
from terrazzo.runtime.orders import CONSOLE, WS_PATH, ClusterFile

FILES_MAX = 1024
"""Open files that a process may have, as many systems give it: what the attackers try to use up."""
LOGINS_AT = 0.5
"""When new players log in, as a part of the attack's time."""
REST_S = 1.5
"""Between two attacks."""


class Plan(NamedTuple):
    """One attack: which, at which app's door, and how much of it."""

    attack: str
    app: str
    most: int
    refusals: tuple[str, ...] = ()
    """One of these must have been counted, so that an operator sees the attack. None: all that it does is allowed to
    any client, within bounds."""
    sources: int = 0
    """From so many addresses; 0: as the command says."""


GUESSED = ("login wrong", "login logging_on", "login rate")
PLANS = {
    "A1 sessions, one WebSocket, LoginApp": Plan("sessions_ws", "login_app-0", 10_000, ("websocket second",)),
    "A1 sessions, one WebSocket, BaseApp": Plan("sessions_ws", "base_app-0", 10_000, ("websocket second",)),
    "A1 sessions, many WebSockets, LoginApp": Plan("sessions_many_ws", "login_app-0", 400, ("connections",)),
    "A1 sessions, UDP, LoginApp": Plan("sessions_udp", "login_app-0", 10_000, ("udp rate", "udp crowded")),
    "A1 sessions, UDP, LoginApp, 50 addresses": Plan("sessions_udp", "login_app-0", 10_000, ("udp",), 50),
    "A2 half-sent requests, LoginApp": Plan("requests", "login_app-0", 1100, ("connections",)),
    "A2 half-sent requests, BaseApp": Plan("requests", "base_app-0", 1100, ("connections",)),
    "A2 half-sent requests, console": Plan("requests", "console-0", 1100, ("connections",)),
    "A3 forged OPENs, one cookie, BaseApp": Plan("opens", "base_app-0", 8700, ("udp spent",)),
    "A3 forged OPENs, new cookies, BaseApp": Plan("fresh", "base_app-0", 50, ("udp",)),
    "A8 unfinished streams, LoginApp": Plan("streams", "login_app-0", 400, ("udp early",)),
    "HELLOs and noise, BaseApp": Plan("hellos", "base_app-0", 5000, ("udp",)),
    "HELLOs and noise, BaseApp, 50 addresses": Plan("hellos", "base_app-0", 5000, ("udp",), 50),
    "replayed packets, BaseApp": Plan("replays", "base_app-0", 5000, ("udp",)),
    "empty WebSocket messages and pings, BaseApp": Plan("frames", "base_app-0", 2, ("connections",)),
    "pipelined requests and endless headers, BaseApp": Plan("pages", "base_app-0", 4, ("connections",)),
    "connections in and out, BaseApp": Plan("churn", "base_app-0", 8, ("connections",)),
    "half-open handshakes, LoginApp": Plan("half_open", "login_app-0", 400),
    "password guesses, LoginApp": Plan("guesses", "login_app-0", 50, ("login wrong", "login rate")),
    "password guesses, LoginApp, 50 addresses": Plan(
        "guesses", "login_app-0", 50, ("login wrong", "login logging_on"), 50
    ),
    "wrong digests, LoginApp": Plan("digests", "login_app-0", 50, ("login digest", "login rate")),
    "malformed and oversized requests, LoginApp": Plan("malformed", "login_app-0", 50, ("login malformed",)),
    "forged login keys, BaseApp": Plan("forged_keys", "base_app-0", 50, ("players wrong_key",)),
    "login keys that were used, LoginApp and BaseApp": Plan("old_keys", "login_app-0", 10, ("players wrong_key",)),
    "calls that no client may make, BaseApp": Plan("calls", "login_app-0", 5, ("players bad_message",)),
    "clients that never acknowledge, BaseApp": Plan("deaf", "login_app-0", 10),
}

GROWTH_MAX_MIB = 64
"""What a process may grow by in one attack. All that strangers may cost it by the default settings is less."""
SLOWER_MAX, SLOWER_S = 2.0, 0.1
"""The player is disturbed if what it waits for takes, in the middle, so many times what it took undisturbed, and longer
by so much."""

Say = Callable[[str], None]


async def measure(
    *, seconds: float, only: tuple[str, ...], sources: int, same_address: bool, with_times: bool, say: Say
) -> dict[str, Any]:
    """The whole report; `with_times`: whether it is a failure when the player waits longer than undisturbed."""
    plans = choose(only)
    with tempfile.TemporaryDirectory(prefix="terrazzo-attack-") as root:
        _, files_hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES_MAX, files_hard), files_hard))
        config = Config(apps=Apps(cells=2, bases=1))
        async with own_cluster(Path(attack_game.__file__), config, Path(root), with_console=True) as own:
            stage = Stage(ClientGame.of(own.game), own.file, 0 if same_address else sources, seconds, say)
            rounds = await stage.play(plans)
        return judge(rounds, plans, own.failure, with_times=with_times)


def choose(only: tuple[str, ...]) -> dict[str, Plan]:
    """The attacks with names that begin with one of the words; all of them without any."""
    chosen = {name: plan for name, plan in PLANS.items() if not only or name.startswith(only)}
    if not chosen:
        raise UsageError(f"no attack begins with {' or '.join(only)}; there are: {'; '.join(PLANS)}")
    return chosen


class Stage:
    """The cluster, the player in it, and one attack after the other."""

    def __init__(self, game: ClientGame, cluster: ClusterFile, sources: int, seconds: float, say: Say) -> None:
        """`sources`: how many addresses the attackers have; 0: the player's own."""
        self._game, self._cluster = game, cluster
        self._sources, self._seconds, self._say = sources, seconds, say
        self._victim = ""
        self._pids = {app.name: app.pid for app in cluster.apps}

    async def play(self, plans: dict[str, Plan]) -> dict[str, dict[str, Any]]:
        """All rounds, the undisturbed one first."""
        watcher = Watcher(self._game, self._cluster)
        await watcher.wait_until_in()
        self._victim = watcher.name
        rounds: dict[str, dict[str, Any]] = {}
        try:
            for name, plan in {"undisturbed": None, **plans}.items():
                await asyncio.sleep(REST_S)
                watcher.take()
                rounds[name] = await self._round(watcher, plan)
                self._say(f"{name}: {_summary(rounds[name])}")
        finally:
            await watcher.leave()
        return rounds

    async def _round(self, watcher: Watcher, plan: Plan | None) -> dict[str, Any]:
        refused = await self._refused()
        before = {name: _memory_mib(pid) for name, pid in self._pids.items()}
        files = {name: _files(pid) for name, pid in self._pids.items()}
        attacker = None if plan is None else await self._start(plan)
        watcher.take()
        most_files = dict(files)
        sampling = asyncio.create_task(self._sample_files(most_files))
        done, logins = await asyncio.gather(self._finish(attacker), self._logins())
        sampling.cancel()
        gaps, actions = watcher.take()
        after = {name: _memory_mib(pid) for name, pid in self._pids.items()}
        now_refused = await self._refused()
        return {
            "attacker": done,
            "update_gap_s": _spread(gaps),
            "action_s": _spread(actions),
            "logins": logins,
            "memory_mib": {name: [before[name], after[name]] for name in before},
            "files": {name: [files[name], most_files[name]] for name in files},
            "refused": {what: n - refused.get(what, 0) for what, n in now_refused.items() if n > refused.get(what, 0)},
            "is_playing": watcher.is_playing,
            "error": watcher.error,
        }

    async def _start(self, plan: Plan) -> asyncio.subprocess.Process:
        """Starts the attacker; it has begun when this returns."""
        app = next(each for each in self._cluster.apps if each.name == plan.app)
        count = (plan.sources or self._sources) if self._sources else 0
        page = urlsplit(app.text) if plan.app.startswith(CONSOLE) else None
        order = Attack(
            name=plan.attack,
            host=page.hostname or "" if page else app.host,
            udp_port=app.udp_port,
            tcp_port=page.port or 0 if page else app.ws_port,
            path="/api/live" if page else WS_PATH,
            public_key=self._cluster.public_key,
            sources=[f"127.0.0.{2 + number}" for number in range(count)] if count else ["127.0.0.1"],
            seconds=self._seconds,
            most=plan.most,
            digest=self._game.digest,
            victim=self._victim,
        )
        order.target()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "terrazzo.bench.attackers",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(order))
        process.stdin.close()
        line = await process.stdout.readline()
        if line.decode().strip() != STARTED:
            raise UsageError(f"the attacker {plan.attack} did not start")
        return process

    async def _finish(self, attacker: asyncio.subprocess.Process | None) -> dict[str, int]:
        """Until the attack is over; gives what the attacker did."""
        if attacker is None or attacker.stdout is None:
            await asyncio.sleep(self._seconds)
            return {}
        out = await attacker.stdout.read()
        code = await attacker.wait()
        if code:
            raise UsageError(f"the attacker ended with exit code {code}: see what it wrote above")
        return msgspec.json.decode(out, type=dict[str, int])

    async def _logins(self) -> list[Login]:
        await asyncio.sleep(self._seconds * LOGINS_AT)
        return [await log_in(self._game, self._cluster, is_udp=is_udp) for is_udp in (True, False)]

    async def _sample_files(self, most: dict[str, int]) -> None:
        """Keeps the largest number of open files of each process."""
        while True:
            for name, pid in self._pids.items():
                most[name] = max(most[name], _files(pid))
            await asyncio.sleep(0.25)

    async def _refused(self) -> dict[str, int]:
        """What the doors have refused so far, as the console shows it; nothing while the console does not answer."""
        page = next(each.text for each in self._cluster.apps if each.name.startswith(CONSOLE))
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=5.0)) as http,
                http.get(f"{page}api/snapshot") as answer,
            ):
                told = await answer.json()
        except (ClientError, OSError, TimeoutError):
            return {}
        return {f"{each['app']} {each['door']} {each['reason']}": each["count"] for each in told.get("refusals", [])}


def _spread(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {"count": len(values), "p50": 0.0, "p99": 0.0, "max": max(values, default=0.0)}
    cuts = quantiles(values, n=100, method="inclusive")
    return {"count": len(values), "p50": cuts[49], "p99": cuts[98], "max": max(values)}


def _memory_mib(pid: int) -> float:
    """Resident memory; 0 of a process that is gone, or on a system without /proc."""
    try:
        text = Path(f"/proc/{pid}/statm").read_text()
    except OSError:
        return 0.0
    return round(int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20), 1)


def _files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def _summary(result: dict[str, Any]) -> str:
    gaps, actions = result["update_gap_s"], result["action_s"]
    logins = ", ".join(
        f"{login.over} {login.seconds:.2f} s" if login.is_in else f"{login.over} NOT IN ({login.error})"
        for login in result["logins"]
    )
    return (
        f"gap p50 {gaps['p50']:.3f} p99 {gaps['p99']:.3f} max {gaps['max']:.3f} s; "
        f"action p50 {actions['p50']:.3f} p99 {actions['p99']:.3f} max {actions['max']:.3f} s; logins: {logins}"
    )


def judge(
    rounds: dict[str, dict[str, Any]], plans: dict[str, Plan], failure: str, *, with_times: bool
) -> dict[str, Any]:
    """The report, with everything that is not as it should be. `failure`: of the cluster itself."""
    calm = rounds["undisturbed"]
    failures = [failure] if failure else []
    for name, each in rounds.items():
        found = [f"{login.over} login failed: {login.error}" for login in each["logins"] if not login.is_in]
        if not each["is_playing"]:
            found.append(f"the player is out: {each['error']}")
        if name != "undisturbed":
            each["ratios"] = _ratios(each, calm)
            found += _judge_memory(each) + _judge_refusals(each, plans[name])
            found += _judge_times(each, calm) if with_times else []
        failures += [f"{name}: {fault}" for fault in found]
    return {"is_sound": not failures, "failures": failures, "rounds": rounds}


def _ratios(each: dict[str, Any], calm: dict[str, Any]) -> dict[str, float]:
    return {
        f"{what} {cut}": round(each[what][cut] / calm[what][cut], 2)
        for what in ("update_gap_s", "action_s")
        for cut in ("p50", "p99", "max")
        if calm[what][cut]
    }


def _judge_memory(each: dict[str, Any]) -> list[str]:
    return [
        f"{app} has grown from {before:.0f} to {after:.0f} MiB; {GROWTH_MAX_MIB} more are allowed"
        for app, (before, after) in each["memory_mib"].items()
        if after > before + GROWTH_MAX_MIB
    ]


def _judge_refusals(each: dict[str, Any], plan: Plan) -> list[str]:
    refused = each["refused"]
    if not plan.refusals or any(wanted in counted for wanted in plan.refusals for counted in refused):
        return []
    return [f"nothing was counted as {' or '.join(plan.refusals)}; the doors counted {refused or 'nothing'}"]


def _judge_times(each: dict[str, Any], calm: dict[str, Any]) -> list[str]:
    faults = []
    for what, words in (("update_gap_s", "between two updates"), ("action_s", "for the result of an action")):
        found, usual = each[what]["p50"], calm[what]["p50"]
        if found > max(SLOWER_MAX * usual, usual + SLOWER_S):
            faults.append(f"the player waited {found:.3f} s {words}, and {usual:.3f} s undisturbed")
    return faults
