"""`terrazzo defs` shows the entity types that the definitions at a path make; `terrazzo check` validates them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from terrazzo.cli.output import count, json_option, print_json, print_problems
from terrazzo.game import check_policy
from terrazzo.schema.listing import listing
from terrazzo.schema.load import load
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.types import VARIABLE


@click.command()
@click.argument("path", type=click.Path())
@json_option
def defs(path: str, as_json: bool) -> None:
    """List the entity types at PATH: a game package, or a folder with entity_defs/.

    Per type: properties with flags, type, size, client-server index and detail level; the methods of each side with
    their exposed index, size and message id. Exits with 1 when the definitions have errors.
    """
    loaded = load(path)
    if as_json:
        print_json(listing(loaded))
    else:
        _show(Console(), loaded)
    sys.exit(1 if loaded.errors else 0)


@click.command()
@click.argument("path", type=click.Path())
@json_option
def check(path: str, as_json: bool) -> None:
    """Validate the definitions at PATH, and the Game that a game's package makes; exits with 1 and the list of errors
    when they do not hold."""
    loaded = check_policy(load(path), Path(path))
    if as_json:
        whole = listing(loaded)
        print_json({key: whole[key] for key in ("errors", "warnings", "digest")})
    else:
        console = Console()
        print_problems(console, loaded.warnings, style="yellow")
        print_problems(console, loaded.errors, style="red")
        errors, warnings = count(len(loaded.errors), "error"), count(len(loaded.warnings), "warning")
        console.print(f"{errors}, {warnings}, {count(len(loaded.schema.entities), 'entity type')}.")
    sys.exit(1 if loaded.errors else 0)


def _show(console: Console, loaded: Loaded) -> None:
    whole = listing(loaded)
    for name, entity in whole["entities"].items():
        console.rule(f"[bold]{name}[/]  (type {entity['type_id']}{'' if entity['client_server'] else ', server only'})")
        _show_properties(console, entity)
        for key in ("client_methods", "exposed_cell_methods", "exposed_base_methods"):
            if entity[key]:
                _show_methods(console, key.replace("_", " "), entity[key])
        for side in ("cell", "base"):
            exposed = {each["name"] for each in entity[f"exposed_{side}_methods"]}
            others = [name for name in entity[f"internal_{side}_methods"] if name not in exposed]
            if others:
                console.print(f"{side} methods for servers only: {', '.join(others)}", highlight=False)
    print_problems(console, loaded.warnings, style="yellow")
    print_problems(console, loaded.errors, style="red")
    console.print(f"digest {whole['digest']}", soft_wrap=True, highlight=False)


def _show_properties(console: Console, entity: dict[str, Any]) -> None:
    index = {each["name"]: str(each["index"]) for each in entity["client_properties"]}
    table = Table(box=None, pad_edge=False, title_justify="left")
    for heading, justify in (
        ("property", "left"), ("flags", "left"), ("type", "left"), ("size", "right"), ("index", "right"),
        ("detail", "left"), ("saved", "left"),
    ):  # fmt: skip
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for each in entity["properties"]:
        table.add_row(
            each["name"], each["flags"], each["type"], _size(each["size"]), index.get(each["name"], ""),
            each["detail_level"] or "", "saved" if each["persistent"] else "",
        )  # fmt: skip
    console.print(table)
    for each in entity["properties"]:
        for receiver, names in each.get("hidden", {}).items():
            reader = receiver.replace("_", " ")
            console.print(f"{each['name']} hides from {reader}: {', '.join(names)}", highlight=False)


def _show_methods(console: Console, title: str, methods: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(title)
    table.add_column("arguments")
    for heading in ("size", "index", "message"):
        table.add_column(heading, justify="right")
    for each in methods:
        message = str(each["message_id"]) if each["sub_id"] is None else f"{each['message_id']}.{each['sub_id']}"
        table.add_row(each["name"], ", ".join(each["args"]), _size(each["size"]), str(each["index"]), message)
    console.print(table)


def _size(size: int) -> str:
    return "varies" if size >= VARIABLE else str(size)
