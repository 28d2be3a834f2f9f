"""`terrazzo soak GAME`: a world with bots runs for some minutes, and the memory of each process is watched.

Exits with 0 when the world ran to the end and no process grew faster than --most allows.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from terrazzo.cli.output import json_option, print_json
from terrazzo.cli.run import SIGNALS, _with_options
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.config import Config, read_config
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.launcher import LocalLauncher
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.soak import Plan, Soaked
from terrazzo.runtime.soak import soak as soak_cluster


@click.command()
@click.argument("game", type=click.Path(path_type=Path))
@click.option("--minutes", default=30.0, show_default=True, type=click.FloatRange(min=0.01), help="How long.")
@click.option("--cells", default=4, show_default=True, type=click.IntRange(1, 1000), help="CellApps.")
@click.option("--bases", default=2, show_default=True, type=click.IntRange(1, 1000), help="BaseApps.")
@click.option("--bots", default=40, show_default=True, type=click.IntRange(0), help="Bots that walk about and talk.")
@click.option("--every", "every_s", default=60.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds.")
@click.option(
    "--skip", "skip_minutes", default=5.0, show_default=True, type=click.FloatRange(min=0.0),
    help="Minutes at the beginning that do not count for the slope.",
)  # fmt: skip
@click.option("--most", default=None, type=float, help="KiB a minute above which a slope is a failure.")
@json_option
def soak(
    game: Path,
    minutes: float,
    cells: int,
    bases: int,
    bots: int,
    every_s: float,
    skip_minutes: float,
    most: float | None,
    as_json: bool,
) -> None:
    """Run the world of GAME with bots, in a data folder of its own, and watch the memory of every process.

    Prints the resident memory of each process in each row, and its slope after the first minutes.
    """
    plan = Plan(minutes, every_s, skip_minutes)
    try:
        config = _with_options(read_config(None), cells=cells, bases=bases, bots=bots)
        with tempfile.TemporaryDirectory(prefix="terrazzo-soak-") as data:
            soaked = run_loop(_soak(game, config, DataFolder(Path(data)), plan, is_quiet=as_json))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    slopes = soaked.slopes(skip_minutes)
    steepest = max((each for each in slopes.values() if each is not None), default=None)
    if as_json:
        print_json(_plain(soaked, slopes, steepest))
    else:
        _show(soaked, slopes)
    is_too_steep = most is not None and (steepest is None or steepest > most)
    raise SystemExit(1 if soaked.exit_code or is_too_steep else 0)


async def _soak(path: Path, config: Config, folder: DataFolder, plan: Plan, *, is_quiet: bool) -> Soaked:
    def complain(line: str) -> None:
        click.echo(line, err=True)

    def on_row(minute: float, row: dict[str, int]) -> None:
        complain(f"minute {minute:g}: {sum(row.values()):,} KiB in {len(row)} processes")

    folder.prepare()
    try:
        cluster = Cluster(
            path, load_game(path), config, folder, LocalLauncher(), say=lambda line: None, complain=complain
        )
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, cluster.stop)
        return await soak_cluster(cluster, folder, plan, on_row if not is_quiet else lambda minute, row: None)
    finally:
        folder.release()


def _plain(soaked: Soaked, slopes: dict[str, float | None], steepest: float | None) -> dict[str, object]:
    return {
        "figures": {"slope_kib_min_max": steepest, "rows": len(soaked.minutes)},
        "minutes": soaked.minutes,
        "processes": {name: {"kib": kib, "slope_kib_min": slopes[name]} for name, kib in soaked.kib.items()},
        "exit_code": soaked.exit_code,
    }


def _show(soaked: Soaked, slopes: dict[str, float | None]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("process")
    for name in ("first KiB", "last KiB", "most KiB", "slope KiB/min"):
        table.add_column(name, justify="right")
    for name, kib in soaked.kib.items():
        grows = slopes[name]
        words = "too few samples" if grows is None else f"{grows:+.1f}"
        table.add_row(name, f"{kib[0]:,}", f"{kib[-1]:,}", f"{max(kib):,}", words)
    Console().print(table)
