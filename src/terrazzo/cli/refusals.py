"""`terrazzo refusals`: what the doors of a running cluster have refused to clients, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from terrazzo.cli.output import json_option, print_json
from terrazzo.cli.picture import fetch_picture
from terrazzo.errors import UsageError
from terrazzo.runtime.running import find_world


class RefusalLine(msgspec.Struct, frozen=True):
    """How often one door has refused something for one reason."""

    app: str
    door: str
    reason: str
    count: int
    sentence: str


class _Picture(msgspec.Struct, frozen=True):
    refusals: list[RefusalLine]


@click.command()
@json_option
@click.option("--data", type=click.Path(path_type=Path), help="The data folder of the cluster.")
def refusals(as_json: bool, data: Path | None) -> None:
    """What a running world has refused to clients so far: by app, door and reason, most first."""
    try:
        lines = fetch_picture(find_world(data), _Picture).refusals
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_json({"count": sum(line.count for line in lines), "refusals": lines})
    else:
        _show(lines)


def _show(lines: Sequence[RefusalLine]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("count", justify="right")
    for name in ("app", "door", "reason", "what happened"):
        table.add_column(name)
    for line in lines:
        table.add_row(f"{line.count:,}", *map(escape, (line.app, line.door, line.reason, line.sentence)))
    Console().print(table if lines else "Nothing was refused.", highlight=False)
