"""`terrazzo migrate GAME`: what is stored, beside what the game saves now, and how the one becomes the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from terrazzo.cli.output import count, json_option, print_json
from terrazzo.db.migration import ChangeKind, LayoutChange, Orders, apply, examine
from terrazzo.db.store import Database, StoreError
from terrazzo.errors import UsageError
from terrazzo.game import LoadedGame, load_game
from terrazzo.runtime.config import read_config
from terrazzo.runtime.databases import open_database
from terrazzo.runtime.datafolder import DataFolder, default_folder
from terrazzo.runtime.leftovers import take_in
from terrazzo.runtime.privacy import set_umask


@click.command()
@click.argument("game", type=click.Path(path_type=Path))
@click.option("--apply", "is_applied", is_flag=True, help="Change the records; without it, nothing is changed.")
@click.option("--drop", "drops", multiple=True, metavar="NAME", help="Allow a loss: Avatar.gold, or a whole type.")
@click.option(
    "--rename", "renames", multiple=True, metavar="NAME=NEW",
    help="What is stored under NAME has another name now: Avatar.gold=coins, Avatar=Hero.",
)  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), help="The data folder of the world; beside GAME if not given.")
@click.option("--config", "config_path", type=click.Path(path_type=Path), help="The TOML file of the cluster.")
@json_option
def migrate(
    game: Path,
    is_applied: bool,
    drops: tuple[str, ...],
    renames: tuple[str, ...],
    data: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Show what would change in the stored records of GAME, as its definitions have changed; with --apply, change it.

    All records are changed in one transaction, or none. Nothing that is stored is lost without --drop. The world must
    not be running; make a backup first. Exits with 1 when something would be lost that --drop does not name.
    """
    try:
        orders = Orders(frozenset(drops), dict(map(_rename, renames)))
        loaded, config = load_game(game), read_config(config_path)
        folder = DataFolder(data or config.data.folder or default_folder(game))
        if not folder.root.exists():
            raise UsageError(f"there is no world in {folder.root}: name its data folder with --data")
        set_umask()
        folder.prepare()
        try:
            folder.belong_to(game)
            database = open_database(config.store.url, folder)
            try:
                changes, records, is_done = _migrate(database, loaded, folder, orders, is_applied)
            finally:
                database.close()
        finally:
            folder.release()
    except (UsageError, StoreError) as problem:
        raise click.ClickException(str(problem)) from None
    is_blocked = any(each.is_blocked for each in changes)
    if as_json:
        shown = [{**vars(each), "kind": each.kind.value, "is_blocked": each.is_blocked} for each in changes]
        print_json({"records": records, "changes": shown, "is_blocked": is_blocked, "is_applied": is_done})
    else:
        _show(changes, records, folder, is_blocked=is_blocked, is_done=is_done)
    sys.exit(1 if is_blocked else 0)


def _rename(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"--rename {text}: write NAME=NEW, such as Avatar.gold=coins")
    return old, new


def _migrate(
    database: Database, game: LoadedGame, folder: DataFolder, orders: Orders, is_applied: bool
) -> tuple[list[LayoutChange], int, bool]:
    """The changes, the number of records, and whether the records are changed now."""
    if is_applied:
        take_in(folder.root, database, lambda event, /, **facts: None)  # it has the layout of the last run
        migration, is_done = apply(database, game.schema, orders)
    else:
        migration, is_done = examine(database, game.schema, orders), False
    return migration.changes(), migration.records, is_done


def _show(changes: list[LayoutChange], records: int, folder: DataFolder, *, is_blocked: bool, is_done: bool) -> None:
    click.echo(f"{count(records, 'stored record')} of the world in {folder.root}")
    for each in changes:
        click.echo(f"  {each.kind.value:12}  {each.what}{_details(each)}")
        if each.is_blocked:
            click.echo(f"  {'':12}  NOT ALLOWED: {each.advice}")
    if not changes:
        click.echo("What is stored fits the game.")
    elif is_blocked:
        click.echo("Nothing was changed: allow each loss, or mend the game.")
    elif is_done:
        click.echo("The records fit the game now.")
    else:
        click.echo("Nothing was changed: --apply makes these changes.")


def _details(each: LayoutChange) -> str:
    words = []
    if each.kind is ChangeKind.RENAMED:
        words.append(f" is {each.becomes} now")
    elif each.was and each.becomes:
        words.append(f": {each.was} becomes {each.becomes}")
    elif each.was or each.becomes:
        words.append(f": {each.was or each.becomes}")
    if each.records:
        words.append(f", {count(each.records, 'record')}")
    if each.lost and each.kind is ChangeKind.CONVERTED:
        words.append(f", of which {each.lost} do not convert")
    if each.examples:
        words.append(f" (dbid {_listed(each.examples, each.lost or each.records)})")
    return "".join(words)


def _listed(dbids: Iterable[int], of: int) -> str:
    shown = list(dbids)
    return ", ".join(map(str, shown)) + (", …" if of > len(shown) else "")
