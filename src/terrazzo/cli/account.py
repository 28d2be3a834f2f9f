"""`terrazzo account`: where the bytes of a running cluster go, by entity type, property and method.

The command reads the address of the console from cluster.json in the data folder, and gets the console's picture of the
cluster (`/api/snapshot`).
"""

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
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.running import find_world


class AccountLine(msgspec.Struct, frozen=True):
    """A line of the account (`cell/core/account.py`)."""

    type: str
    what: str
    to: str
    messages: int
    bytes: int


class _Picture(msgspec.Struct, frozen=True):
    bandwidth: list[AccountLine]


@click.command()
@json_option
@click.option(
    "--data", type=click.Path(path_type=Path), help="The data folder of the world, if more than one runs here."
)
def account(as_json: bool, data: Path | None) -> None:
    """What a running world has sent so far: bytes by entity type, property, method, and kind of receiver.

    The receivers are ghosts, an entity's own client, and other clients. Most bytes first.
    """
    try:
        lines = fetch(find_world(data))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None
    if as_json:
        print_json({"bytes": sum(line.bytes for line in lines), "bandwidth": lines})
    else:
        _show(lines)


def fetch(data: DataFolder) -> list[AccountLine]:
    """The account of the cluster that runs with this folder."""
    return fetch_picture(data, _Picture).bandwidth


def _show(lines: Sequence[AccountLine]) -> None:
    total = sum(line.bytes for line in lines)
    table = Table(box=None, pad_edge=False)
    for name in ("type", "what", "to"):
        table.add_column(name)
    for name in ("messages", "bytes", "%"):
        table.add_column(name, justify="right")
    for line in lines:
        share = f"{100 * line.bytes / max(total, 1):.1f}"
        names = map(escape, (line.type, line.what, line.to))
        table.add_row(*names, f"{line.messages:,}", f"{line.bytes:,}", share)
    console = Console()
    console.print(table)
    console.print(f"{total:,} bytes since the CellApps started.", highlight=False)
