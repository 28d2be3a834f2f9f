"""`terrazzo ban`, `unban` and `bans`: the addresses that may not open a session with a world."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click

from terrazzo.cli.output import json_option, print_json
from terrazzo.errors import UsageError
from terrazzo.runtime.bans import Ban, BanFile
from terrazzo.runtime.running import find_world

T = TypeVar("T")

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
FOR_S_MAX = 100 * 365 * 86400.0

data_option = click.option("--data", type=click.Path(path_type=Path), help="The data folder of the world.")


class Duration(click.ParamType[float]):
    """A length of time: a number and its unit."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """See click."""
        found = re.fullmatch(r"(\d{1,9})([smhdw])", str(value))
        seconds = int(found[1]) * UNITS_S[found[2]] if found else 0
        if not 0 < seconds <= FOR_S_MAX:
            self.fail("expected a number and a unit, such as 30m, 1h, 7d", param, ctx)
        return float(seconds)


@click.command()
@click.argument("address")
@click.option("--for", "for_s", type=Duration(), help="How long: 30m, 1h, 7d. Without it, until `terrazzo unban`.")
@click.option("--why", default="", help="A note that `terrazzo bans` shows.")
@data_option
def ban(address: str, for_s: float | None, why: str, data: Path | None) -> None:
    """Ban an address (192.0.2.7), or a network (192.0.2.0/24).

    A single IPv6 address stands for its /64. Players from there are sent away within a second, and nobody from there
    can log in until the ban ends.
    """
    made = _do(data, lambda file: file.ban(address, now=time.time(), for_s=for_s, why=why))
    click.echo(f"{made.network} is banned {_until(made)}.")


@click.command()
@click.argument("address")
@data_option
def unban(address: str, data: Path | None) -> None:
    """Take a ban back."""
    network = _do(data, lambda file: file.unban(address, now=time.time()))
    click.echo(f"{network} is not banned any more.")


@click.command()
@json_option
@data_option
def bans(as_json: bool, data: Path | None) -> None:
    """The addresses that are banned, and until when."""
    found = _do(data, lambda file: file.read(time.time()))
    if as_json:
        print_json({"bans": found})
        return
    for each in found:
        click.echo(f"{each.network}  {_until(each)}{f'  {each.why}' if each.why else ''}")
    if not found:
        click.echo("No address is banned.")


def _do(data: Path | None, act: Callable[[BanFile], T]) -> T:
    try:
        return act(BanFile(find_world(data).root))
    except UsageError as problem:
        raise click.ClickException(str(problem)) from None


def _until(ban: Ban) -> str:
    if ban.until is None:
        return "until it is taken back"
    return f"until {datetime.fromtimestamp(ban.until, UTC):%Y-%m-%d %H:%M:%S} UTC"
