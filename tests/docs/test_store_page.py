"""docs/store.md has the tables that are there, and its listings work."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import AddLogOn, CreateAccount, run
from terrazzo.game import load_game
from terrazzo.runtime.postgres import PostgresDatabase
from terrazzo.schema.record import encode_record

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "store.md").read_text()


def said() -> dict[str, list[str]]:
    """Table → columns, from the page."""
    rows = re.findall(r"^\| `(\w+)` \| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)
    return {table: re.findall(r"`(\w+)`", columns) for table, columns in rows}


@pytest.fixture
def world(tmp_path):
    """A SQLite file with one player of the plaza in the world."""
    game = load_game(ROOT / "examples" / "plaza")
    database = SqliteDatabase(tmp_path / "world.sqlite")
    record = encode_record(game.player, {"name": "Ada"}, {})
    account = run(database, CreateAccount("Ada", "hash", game.player.name, record))
    assert account is not None
    run(database, AddLogOn(account.dbid))
    database.close()
    return tmp_path / "world.sqlite"


def test_tables_are_those_of_sqlite(world):
    raw = sqlite3.connect(world)
    names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: [row[1] for row in raw.execute(f"PRAGMA table_info({name})")] for name in names}
    raw.close()
    assert said() == {name: columns for name, columns in found.items() if not name.startswith("sqlite_")}


def test_tables_are_those_of_postgres(postgres):
    url = postgres.new_database()
    PostgresDatabase(url).close()
    rows = postgres.sql(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' "
        "ORDER BY table_name, ordinal_position",
        url,
    )
    found: dict[str, list[str]] = {}
    for table, column in (line.split("|") for line in rows.splitlines()):
        found.setdefault(table, []).append(column)
    assert found == {**said(), "migrations": ["step", "applied_at"], "batches": ["number"]}


def test_queries_run(world):
    [listing] = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    raw = sqlite3.connect(world)
    answers = [raw.execute(line).fetchall() for line in listing.splitlines()]
    raw.close()
    assert [answer[0][:2] if answer else None for answer in answers] == [("Avatar", 1), ("Ada", -1), None]


def test_python_listing_reads_a_record(world, monkeypatch, capsys):
    [listing] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(world.parent)
    names: dict[str, sqlite3.Connection] = {}
    exec(listing.replace("examples/plaza", str(ROOT / "examples" / "plaza")), names)
    names["database"].close()
    assert "1 Avatar {" in (told := capsys.readouterr().out)
    assert "'name': 'Ada'" in told
