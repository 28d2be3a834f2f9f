"""`terrazzo bench NAME`: measures against a rival in the same run; `figures` in the JSON are the names issues ask
for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from terrazzo.cli.output import json_option, print_json
from terrazzo.errors import UsageError


@click.group()
def bench() -> None:
    """Measure a part of the engine against something else in the same run."""


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print a benchmark's result: `figures`, and whatever explains them."""
    if as_json:
        print_json(result)
        return
    console = Console()
    for heading, part in result.items():
        if isinstance(part, dict):
            table = Table(box=None, pad_edge=False)
            table.add_column(heading)
            table.add_column("", justify="right")
            for name, value in part.items():
                table.add_row(name, f"{value:.3g}" if isinstance(value, float) else str(value))
            console.print(table)
        else:
            console.print(f"{heading}: {part}", highlight=False)


@bench.command()
@json_option
@click.option("--rounds", default=200, show_default=True, help="Turns that each contender gets.")
def codec(as_json: bool, rounds: int) -> None:
    """Encode and decode an avatar: our codec against msgspec's msgpack of the same data."""
    from terrazzo.bench.codec import measure

    show(measure(rounds), as_json)


@bench.command()
@json_option
@click.option("--rounds", default=10, show_default=True, help="Turns that each contender gets.")
@click.option("--seconds", default=0.2, show_default=True, help="How long a contender sends in each turn, about.")
@click.option("--messages", default=0, help="Send so many in each turn instead.")
@click.option("--pings", default=200, show_default=True, help="Round trips in each turn.")
@click.option("--only", multiple=True, help="Only this contender; repeatable.")
def channel(as_json: bool, rounds: int, seconds: float, messages: int, pings: int, only: tuple[str, ...]) -> None:
    """64-byte reliable messages: our client channel and links against websockets, aioquic and pyenet."""
    from terrazzo.bench.channel import measure

    show(measure(rounds=rounds, seconds=seconds, messages=messages, pings=pings, only=only), as_json)


@bench.command()
@json_option
@click.option("--clients", default=2000, show_default=True, help="Sessions of the server.")
@click.option("--ticks", default=60, show_default=True, help="Turns that each contender gets.")
def session(as_json: bool, clients: int, ticks: int) -> None:
    """What a client's session costs a server in each tick, beside a bare compiled loop with the same packets."""
    from terrazzo.bench.session import measure

    show(measure(clients=clients, ticks=ticks), as_json)


@bench.command()
@json_option
@click.option("--rounds", default=15, show_default=True, help="Turns that each contender gets.")
@click.option("--seed", default=1, show_default=True, help="The seed of the walks.")
def aoi(as_json: bool, rounds: int, seed: int) -> None:
    """Entities that enter and leave areas: our kernel against a plain C one and SciPy's cKDTree."""
    from terrazzo.bench.aoi import measure

    show(measure(rounds=rounds, seed=seed), as_json)


@bench.command()
@json_option
@click.option("--clients", default=0, help="Only so many, once; without it, as many as one core sustains are found.")
@click.option("--ticks", default=50, show_default=True, help="Measured in each run.")
@click.option("--beyond", default=1.5, show_default=True, help="At last, so many times what it sustains; 0: not.")
@click.option("--seed", default=1, show_default=True, help="The seed of the walks.")
@click.option("--scale", is_flag=True, help="Instead: what a tick takes with more around, more changes, at a border.")
def cell(as_json: bool, clients: int, ticks: int, beyond: float, seed: int, scale: bool) -> None:
    """How many clients one core's CellApp sustains, and what becomes of more."""
    if scale:
        from terrazzo.bench.cell_scale import measure_scale

        show(measure_scale(clients or 1500, ticks, seed), as_json)
        return
    from terrazzo.bench.cell import measure

    show(measure(clients=clients, ticks=ticks, beyond=beyond, seed=seed), as_json)


@bench.command()
@json_option
@click.option(
    "--clients", default=0, help="Only so many, in two steps; without it, as many as a core sustains are sought."
)
@click.option("--seconds", default=8.0, show_default=True, help="Measured in each step.")
@click.option("--ws-clients", default=60, show_default=True, help="Over WebSocket, after the others; 0: none.")
@click.option("--cores", default=0.0, help="What all processes may use; without it, nine tenths of this machine.")
def base(as_json: bool, clients: int, seconds: float, ws_clients: int, cores: float) -> None:
    """How many clients one core's BaseApp sustains: a real process, a stand-in of a CellApp, a crowd."""
    from terrazzo.bench.base import measure

    _show_run(measure(clients=clients, seconds=seconds, ws_clients=ws_clients, cores=cores, say=_say), as_json)


@bench.command()
@json_option
@click.option("--bots", default=100, show_default=True, help="Whole clients, in two steps.")
@click.option("--walkers", default=400, show_default=True, help="Walkers of a crowd, in two steps.")
@click.option("--seconds", default=8.0, show_default=True, help="Measured in each step.")
def bots(as_json: bool, bots: int, walkers: int, seconds: float) -> None:
    """How many bots, which see 62 others each, and how many walkers one core plays."""
    from terrazzo.bench.bots import measure

    _show_run(measure(bots=bots, walkers=walkers, seconds=seconds, say=_say), as_json)


@bench.command()
@json_option
@click.option("--logins", default=3000, show_default=True, type=click.IntRange(2, 100_000), help="Of each database.")
@click.option("--scrypt-logins", default=300, show_default=True, type=click.IntRange(2, 10_000), help="With scrypt.")
def login(as_json: bool, logins: int, scrypt_logins: int) -> None:
    """Logins with a new account per second of CPU of all server processes, on SQLite and PostgreSQL."""
    from terrazzo.bench.login import measure

    _show_run(measure(logins=logins, scrypt_logins=scrypt_logins, say=_say), as_json)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _show_run(run: Coroutine[Any, Any, dict[str, Any]], as_json: bool) -> None:
    try:
        found = asyncio.run(run)
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    show(found, as_json)


@bench.command()
@json_option
@click.option("--ticks", default=100, show_default=True, help="Measured in each turn.")
@click.option("--rounds", default=3, show_default=True, help="Turns that each contender gets.")
@click.option("--minute", default=60.0, show_default=True, help="Seconds of the scripted minute.")
@click.option("--seed", default=1, show_default=True, help="Of the minute.")
def sync(as_json: bool, ticks: int, rounds: int, minute: float, seed: int) -> None:
    """Changed properties, from the assignment to 62 clients' packets; and the bytes of a scripted minute of play."""
    from terrazzo.bench.sync import measure

    show(measure(ticks=ticks, rounds=rounds, minute_s=minute, seed=seed), as_json)


@bench.command()
@json_option
@click.option("--clients", default=1500, show_default=True, help="In the world; some of them stand at the border.")
@click.option("--rounds", default=100, show_default=True, help="How often those at the border go over and back.")
@click.option("--ticks", default=80, show_default=True, help="While the border moves to and fro.")
@click.option("--seed", default=1, show_default=True, help="The seed of the walks.")
def migrate(as_json: bool, clients: int, rounds: int, ticks: int, seed: int) -> None:
    """What it costs to move a player to another CellApp, and whether the player notices."""
    from terrazzo.bench.migrate import measure

    show(measure(clients=clients, rounds=rounds, ticks=ticks, seed=seed), as_json)


@bench.command()
@json_option
@click.option("--worlds", default=20, show_default=True, help="Worlds, each with its own phases of the ticks.")
@click.option("--seconds", default=15.0, show_default=True, help="Virtual seconds that are measured in each.")
@click.option("--seed", default=1, show_default=True, help="Of the first world.")
def latency(as_json: bool, worlds: int, seconds: float, seed: int) -> None:
    """From a client's move to another client's view, and a call to the cell part and back, in ticks."""
    from terrazzo.bench.latency import measure

    show(measure(worlds=worlds, seconds=seconds, seed=seed), as_json)
