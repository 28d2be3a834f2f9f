"""Printing for all commands: one JSON object for programs, tables for people."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from terrazzo.errors import Problem

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")


def print_json(data: Any) -> None:
    """One JSON object on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(data), indent=1).decode())


def count(number: int, thing: str) -> str:
    """A number with its noun: `1 error`, `2 errors`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def print_problems(console: Console, problems: list[Problem], *, style: str) -> None:
    """Problems, one a line, in the form that editors can jump to."""
    for each in problems:
        console.print(
            f"[bold]{escape(each.place)}:[/] [{style}]{escape(each.kind)}:[/] {escape(each.message)}",
            soft_wrap=True,
            highlight=False,
        )
