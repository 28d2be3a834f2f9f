"""`terrazzo outage`: players write while the database and the cluster go down, and no confirmed write may be lost."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from terrazzo.cli.output import json_option, print_json
from terrazzo.errors import UsageError
from terrazzo.runtime.loop import run as run_loop


@click.command()
@json_option
@click.option("--players", default=200, show_default=True, type=click.IntRange(1, 1000))
@click.option("--seconds", default=5.0, show_default=True, type=click.FloatRange(0.1, 600.0), help="Between outages.")
@click.option("--only", multiple=True, type=click.Choice(["sqlite", "postgres"]), help="Only this store; repeatable.")
def outage(as_json: bool, players: int, seconds: float, only: tuple[str, ...]) -> None:
    """Let players write into saved properties while PostgreSQL crashes and a whole cluster is restarted and killed.

    Everything is started for this, on this machine. Exits with 0 when no confirmed write was lost and every player came
    back by itself.
    """
    from terrazzo.bench.outage import measure

    def say(line: str) -> None:
        click.echo(line, err=True)

    try:
        report = run_loop(measure(players=players, seconds=seconds, only=only, say=say))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_json(report)
    else:
        _show(report)
    sys.exit(0 if report["is_sound"] else 1)


def _show(report: dict[str, Any]) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for name in ("store", "outage"):
        table.add_column(name)
    for name in ("writes", "p50", "longest pause"):
        table.add_column(name, justify="right")
    for store, found in report["stores"].items():
        for phase, each in found["phases"].items():
            table.add_row(store, phase, f"{each['writes']:,}", f"{each['p50_s']:.3f} s", f"{each['longest_s']:.2f} s")
    console.print(table)
    for failure in report["failures"]:
        console.print(failure, highlight=False)
    if report["is_sound"]:
        writes = sum(found["writes"] for found in report["stores"].values())
        console.print(f"No confirmed write was lost, of {writes:,}.", highlight=False)
