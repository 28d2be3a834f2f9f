"""`terrazzo bench login`: full logins with a new account per second of processor time of all server processes.

A cluster of real processes runs as `terrazzo run` starts it, one of each kind, with its database. Clients come from
other processes (`newcomers.py`): whole logins over UDP with names that the database does not have, until each client
has its entity; then it leaves, is saved and logged off, which counts, too. Processor time is what Linux has in /proc:
of LoginApp, DBApp, managers, BaseApp and CellApp, and of every process of PostgreSQL. The time of the clients does not
count, so the machine needs no cores to spare, and what else runs there disturbs little.

    logins_per_cpu_s_sqlite      scrypt aside: the DBApp hashes at the lowest cost (`login_db.py`)
    logins_per_cpu_s_postgres    the same with a PostgreSQL that this command starts; absent where there is none
    with_scrypt                  the real DBApp, with the real cost of a password, over SQLite
    limit_ratio                  the first figure, as a part of what a bare loop does (`login_limit.py`)

`cpu_ms_per_login` of each run shows which process spends it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from terrazzo._speed import COMPILED
from terrazzo.bench import login_game
from terrazzo.bench.clusters import own_cluster
from terrazzo.bench.login_limit import bare_logins_per_cpu_s
from terrazzo.bench.newcomers import READY, NewcomersOrder, NewcomersReport, Packets
from terrazzo.bench.postgres import Postgres, missing
from terrazzo.errors import UsageError
from terrazzo.runtime.config import Apps, Config, LoginSettings, StorePart, StrangerSettings
from terrazzo.runtime.cpuload import used_s, used_s_with_children
from terrazzo.runtime.launcher import LocalLauncher
from terrazzo.schema.digest import digest

PROCESSES = 2
"""Of clients."""
AT_ONCE, AT_ONCE_WITH_SCRYPT = 24, 6
"""Clients of each of them that are on their way at any time."""
FIRST, FIRST_WITH_SCRYPT = 40, 6
"""Logins before those that are measured, of each process."""
POSTGRES = "postgres"

Say = Callable[[str], None]


class LoginRun(msgspec.Struct):
    """One cluster, measured."""

    logins: int
    not_in: dict[str, int]
    """Clients that did not get in, or did not leave in order, by reason."""
    seconds: float
    cpu_s: dict[str, float]
    """Of each process."""
    clients_cpu_s: float
    login_p50_ms: float
    up: Packets
    down: Packets

    @property
    def per_cpu_s(self) -> float:
        """Logins per processor second of all server processes."""
        return self.logins / sum(self.cpu_s.values())

    def explain(self) -> dict[str, Any]:
        """What makes the figure up."""
        used = sum(self.cpu_s.values())
        return {
            "logins": self.logins,
            "not in": self.not_in or 0,
            "seconds": round(self.seconds, 2),
            "server cores used": round(used / self.seconds, 2),
            "client cores used": round(self.clients_cpu_s / self.seconds, 2),
            "login p50 ms": self.login_p50_ms,
            "packets up": round(self.up.count / self.logins, 1),
            "packets down": round(self.down.count / self.logins, 1),
            **{f"{name} cpu ms": round(1000 * s / self.logins, 3) for name, s in self.cpu_s.items()},
            "all cpu ms": round(1000 * used / self.logins, 3),
        }


async def measure(*, logins: int = 3000, scrypt_logins: int = 300, say: Say = lambda line: None) -> dict[str, Any]:
    """The figures, and what explains them."""
    with tempfile.TemporaryDirectory(prefix="terrazzo-bench-login-") as root:
        runs = {"SQLite": await _run(Path(root) / "sqlite", logins, say)}
        why_not = missing()
        if why_not:
            say(f"PostgreSQL is left out: {why_not}")
        else:
            runs["PostgreSQL"] = await _run_postgres(Path(root) / "postgres", logins, say)
        runs["SQLite with scrypt"] = await _run(Path(root) / "scrypt", scrypt_logins, say, has_scrypt=True)
        found = runs["SQLite"]
        bare = bare_logins_per_cpu_s(logins, found.up, found.down, found.logins, Path(root))
    return report(runs, bare, why_not)


def report(runs: dict[str, LoginRun], bare: float, why_not: str) -> dict[str, Any]:
    """The figures of these runs; one that was not measured is absent."""
    found = runs["SQLite"]
    figures = {"logins_per_cpu_s_sqlite": found.per_cpu_s}
    if "PostgreSQL" in runs:
        figures["logins_per_cpu_s_postgres"] = runs["PostgreSQL"].per_cpu_s
    figures["with_scrypt"] = runs["SQLite with scrypt"].per_cpu_s
    figures["limit_ratio"] = found.per_cpu_s / bare
    return {
        "bench": "login",
        "compiled": COMPILED,
        "figures": figures,
        "bare_logins_per_cpu_s": bare,
        **({"no PostgreSQL": why_not} if why_not else {}),
        **{name: run.explain() for name, run in runs.items()},
    }


async def _run_postgres(root: Path, logins: int, say: Say) -> LoginRun:
    server = await asyncio.to_thread(Postgres)
    try:
        return await _run(root, logins, say, url=await asyncio.to_thread(server.new_database), postmaster=server.pid)
    finally:
        await asyncio.to_thread(server.close)


async def _run(
    root: Path, logins: int, say: Say, *, url: str = "", postmaster: int = 0, has_scrypt: bool = False
) -> LoginRun:
    modules = {} if has_scrypt else {"db_app": "terrazzo.bench.login_db"}
    root.mkdir()
    game_path = Path(login_game.__file__)
    async with own_cluster(game_path, _config(url), root, launcher=LocalLauncher(modules)) as own:
        login, count = own.file.login, max(logins // PROCESSES, 1)
        order = NewcomersOrder(
            count=count, first=min(FIRST_WITH_SCRYPT if has_scrypt else FIRST, count),
            at_once=AT_ONCE_WITH_SCRYPT if has_scrypt else AT_ONCE, host=login.host, udp_port=login.udp_port,
            public_key=own.file.public_key, digest=digest(own.game.schema), name="",
        )  # fmt: skip
        pids = {app.name: app.pid for app in own.file.apps}

        def used() -> dict[str, float]:
            apps = {name: used_s(pid) for name, pid in pids.items()}
            return {**apps, POSTGRES: used_s_with_children(postmaster)} if postmaster else apps

        run = await _measure(order, used)
    if own.failure:
        raise UsageError(own.failure)
    store = "PostgreSQL" if url else "SQLite"
    say(f"{store}{', with scrypt' if has_scrypt else ''}: {run.per_cpu_s:.0f} logins per processor second")
    return run


async def _measure(order: NewcomersOrder, used: Callable[[], dict[str, float]]) -> LoginRun:
    """All processes of clients, between their word that they are ready and the end of the last one."""
    groups = [await _start(msgspec.structs.replace(order, name=f"newcomer-{n}")) for n in range(PROCESSES)]
    try:
        for each in groups:
            if (await _line(each)).decode().strip() != READY:
                raise UsageError("a process of clients has failed: see what it wrote above")
        before, began_at = used(), time.monotonic()
        for each in groups:
            assert each.stdin is not None
            each.stdin.write(b"\n")
        reports = [msgspec.json.decode(await _line(each), type=NewcomersReport) for each in groups]
        seconds, after = time.monotonic() - began_at, used()
    finally:
        for each in groups:
            if each.returncode is None:
                assert each.stdin is not None
                each.stdin.close()
                await each.wait()
    return _add_up(reports, seconds, {name: after[name] - before[name] for name in after})


def _add_up(reports: list[NewcomersReport], seconds: float, cpu_s: dict[str, float]) -> LoginRun:
    why = sum((Counter(each.why) for each in reports), start=Counter[str]())
    times = [ms for each in reports for ms in each.login_ms]
    if not times:
        raise UsageError(f"no client got in: {'; '.join(why)}")
    up, down = Packets(), Packets()
    for each in reports:
        up.count, up.size = up.count + each.up.count, up.size + each.up.size
        down.count, down.size = down.count + each.down.count, down.size + each.down.size
    return LoginRun(
        logins=len(times), not_in=dict(why), seconds=seconds, cpu_s=cpu_s,
        clients_cpu_s=sum(each.cpu_s for each in reports), login_p50_ms=median(times), up=up, down=down,
    )  # fmt: skip


async def _start(order: NewcomersOrder) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "terrazzo.bench.newcomers",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(order) + b"\n")
    return process


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise UsageError("a process of clients has failed: see what it wrote above")
    return line


def _config(url: str) -> Config:
    """One app of each kind; nothing that is there against strangers slows the clients down."""
    return Config(
        apps=Apps(cells=1, bases=1),
        store=StorePart(url=url),
        login=LoginSettings(attempts_per_s=1e6, attempts_burst=1_000_000, total_per_s=1e6),
        strangers=StrangerSettings(
            total_max=10_000, address_max=10_000, address_per_s=1e6, address_burst=1_000_000, login_s=60.0
        ),
    )
