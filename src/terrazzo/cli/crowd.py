"""`terrazzo crowd COUNT`: walkers by the thousand, for a world that runs: what it bears, and what players notice."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import click

from terrazzo.cli.output import json_option, print_json
from terrazzo.cli.run import SIGNALS, find_login
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.runtime.crowd import Crowd
from terrazzo.runtime.crowd_report import Watch
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.orders import RunningApp
from terrazzo.runtime.running import find_world
from terrazzo.runtime.walkers import WalkersOrder
from terrazzo.schema.digest import digest
from terrazzo.wire.pairs.login_db import BOT_PREFIX

JOB_WALKERS = 4000
"""Without --jobs, one process for so many walkers."""
SAY_S = 1.0
SETTLE_S = 2.0
"""After the last walker has come in; the report begins then."""
COME_IN_S = 120.0
"""So long the report waits for walkers that are on their way; then it counts those that are in."""


@click.command()
@json_option
@click.argument("count", type=click.IntRange(1, 100_000))
@click.argument("game", type=click.Path(path_type=Path), required=False)
@click.option("--seconds", default=0.0, help="Leave after so many seconds with all walkers in; 0: at Ctrl-C.")
@click.option("--jobs", default=0, help=f"Processes; without it, one for {JOB_WALKERS} walkers.")
@click.option("--name", default="crowd", show_default=True, help="What they are called, followed by a number.")
@click.option("--data", type=click.Path(path_type=Path), help="The data folder of a world here.")
@click.option("--address", metavar="HOST:PORT", help="Of a world elsewhere: the UDP address of a LoginApp.")
@click.option("--key", metavar="HEX", help="Of a world elsewhere: its public key.")
@click.option("--password", default="walker", show_default=True, help="Of a world elsewhere: what they log in with.")
def crowd(
    as_json: bool, count: int, game: Path | None, seconds: float, jobs: int, name: str, data: Path | None,
    address: str | None, key: str | None, password: str,
) -> None:  # fmt: skip
    """Send COUNT walkers into a running world: they log in, walk and answer as players do, and keep no view of it.

    The world is that of GAME that runs here (or the only one, without GAME; --data names its folder), or at --address
    with --key. Here the walkers are bots, which leave nothing in the database. Once a second a line tells what they
    notice; at the end comes the whole report. Exits with 1, and the reason, when not one of them is let in.
    """
    try:
        apps: list[RunningApp] = []
        if address is None and key is None:
            folder = find_world(data, game)
            cluster, password = folder.read_cluster(), folder.bots_password()
            apps, login, name, key = cluster.apps, cluster.login, f"{BOT_PREFIX}{name}", cluster.public_key
            host, port = login.host, login.udp_port
            loaded = load_game(cluster.game if game is None else game)
        elif game is None:
            raise UsageError("name the GAME of the world at --address: the walkers need its digest")
        else:
            (host, port, key), loaded = find_login(address, key), load_game(game)
        orders = share_out(loaded, count, jobs, host=host, port=port, key=key, name=name, password=password)
        report = run_loop(_walk(orders, apps, seconds))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_json(report)
    else:
        show(report)


def share_out(
    game: LoadedGame, count: int, jobs: int, *, host: str, port: int, key: str, name: str, password: str
) -> list[WalkersOrder]:
    """The orders of the processes, each with its part of the walkers."""
    jobs = min(jobs or -(-count // JOB_WALKERS), count)
    parts = [count // jobs + (number < count % jobs) for number in range(jobs)]
    bounds = {number: space.bounds for number, space in enumerate(game.policy.spaces, 1)}
    return [
        WalkersOrder(
            count=part, first=1 + sum(parts[:number]), host=host, udp_port=port, public_key=key, name=name,
            password=password, digest=digest(game.schema), bounds=bounds,
        )
        for number, part in enumerate(parts)
    ]  # fmt: skip


async def _walk(orders: list[WalkersOrder], apps: list[RunningApp], seconds: float) -> dict[str, Any]:
    walkers, stopping = Crowd(orders), asyncio.Event()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    count = sum(order.count for order in orders)
    click.echo(f"{count} walkers are on their way to {orders[0].host}:{orders[0].udp_port}; Ctrl-C ends it.", err=True)
    await walkers.start()
    try:
        await _come_in(walkers, count, stopping)
        await _rest(stopping, SETTLE_S)
        watch = Watch(walkers, apps)
        await _stay(walkers, apps, seconds, stopping)
        return {"crowd": count, **watch.report()}
    finally:
        await walkers.stop()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)


async def _come_in(walkers: Crowd, count: int, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + COME_IN_S + count / 20
    while not stopping.is_set() and loop.time() < until:
        total = walkers.look()
        if total.walking + total.out >= count:
            break
        await _rest(stopping, SAY_S)
        click.echo(f"{total.walking} of {count} are in, {total.out} are out", err=True)
    total = walkers.look()
    if not total.walking and total.out:
        raise UsageError(f"not one walker was let in: {next(iter(total.why))}")


async def _stay(walkers: Crowd, apps: list[RunningApp], seconds: float, stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds if seconds else float("inf")
    while not stopping.is_set() and loop.time() < until:
        before = walkers.look()
        await _rest(stopping, min(SAY_S, until - loop.time()))
        after = walkers.look()
        trips = sorted(after.round_trips_ms)
        trip = f", round trip {trips[len(trips) // 2]:.0f} ms" if trips else ""
        click.echo(
            f"{after.walking} walk, {after.out} are out; "
            f"{after.tally.gaps - before.tally.gaps} gaps over 250 ms, "
            f"{after.tally.packets_missed - before.tally.packets_missed} packets missed{trip}",
            err=True,
        )


async def _rest(stopping: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await stopping.wait()
    except TimeoutError:
        return


def show(report: dict[str, Any]) -> None:
    """The report, for people."""
    for name, value in report.items():
        if isinstance(value, dict):
            for each, part in value.items():
                click.echo(f"{name} {each}: {part:.3f}" if isinstance(part, float) else f"{name} {each}: {part}")
        else:
            click.echo(f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}")
