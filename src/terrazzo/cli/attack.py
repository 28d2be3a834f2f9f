"""`terrazzo attack`: attacks a cluster of its own on this machine, and prints what a player noticed of it."""

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
@click.option("--seconds", default=8.0, show_default=True, type=click.FloatRange(1.0, 120.0), help="Of each attack.")
@click.option("--only", multiple=True, metavar="WORDS", help="Only attacks that begin so, as in: A3; repeatable.")
@click.option("--sources", default=1, show_default=True, type=click.IntRange(1, 200), help="Attacking addresses.")
@click.option("--same-address", is_flag=True, help="Attack from the honest player's own address.")
@click.option("--times/--no-times", default=True, help="Whether a player that waits longer is a failure.")
def attack(as_json: bool, seconds: float, only: tuple[str, ...], sources: int, same_address: bool, times: bool) -> None:
    """Attack a small cluster, started for this on loopback, and measure what an honest player notices.

    Nothing but this machine can be attacked. Exits with 0 when every honest login succeeded, the player in the world
    was not disturbed, no process has grown beyond its bound, attacks were counted as refusals, and every process lived.
    """
    from terrazzo.bench.attack import measure

    def say(line: str) -> None:
        click.echo(line, err=True)

    try:
        report = run_loop(
            measure(seconds=seconds, only=only, sources=sources, same_address=same_address, with_times=times, say=say)
        )
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_json(report)
    else:
        _show(report)
    sys.exit(0 if report["is_sound"] else 1)


def _show(report: dict[str, Any]) -> None:
    console = Console(width=200)
    table = Table(box=None, pad_edge=False)
    table.add_column("attack")
    for name in ("gap p50", "p99", "max", "action p50", "p99", "max", "UDP login", "WS login", "LoginApp", "BaseApp"):
        table.add_column(name, justify="right")
    for name, each in report["rounds"].items():
        table.add_row(name, *_cells(each))
    console.print(table)
    console.print("Seconds, in brackets how many times the undisturbed ones; MiB before and after.", highlight=False)
    for name, each in report["rounds"].items():
        if each["refused"]:
            counts = ", ".join(f"{count:,} {what}" for what, count in each["refused"].items())
            console.print(f"{name}: refused {counts}", highlight=False)
        files = {app: most for app, (_, most) in each["files"].items() if app.split("-")[0] in _WITH_DOORS}
        console.print(f"{name}: open files {files}; the attacker: {each['attacker']}", highlight=False)
    for failure in report["failures"]:
        console.print(failure, highlight=False)


_WITH_DOORS = ("login_app", "base_app", "console")


def _cells(each: dict[str, Any]) -> list[str]:
    ratios = each.get("ratios", {})
    cells = []
    for what in ("update_gap_s", "action_s"):
        for cut in ("p50", "p99", "max"):
            ratio = ratios.get(f"{what} {cut}")
            cells.append(f"{each[what][cut]:.3f}" + ("" if ratio is None else f" ({ratio:.1f})"))
    cells += [f"{login.seconds:.2f}" if login.is_in else "NO" for login in each["logins"]]
    for app in ("login_app-0", "base_app-0"):
        before, after = each["memory_mib"][app]
        cells.append(f"{before:.0f}→{after:.0f}")
    return cells
