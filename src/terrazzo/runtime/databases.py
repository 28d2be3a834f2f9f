"""Which database a cluster uses: `[store] url` of its settings (`docs/store.md`).

""                                SQLite, in the file `world.sqlite` of the data folder
sqlite:///srv/game/world.sqlite   SQLite, in the file /srv/game/world.sqlite
postgresql://user@host/name       PostgreSQL
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import Database
from terrazzo.errors import UsageError
from terrazzo.runtime.datafolder import DataFolder


def open_database(url: str, folder: DataFolder) -> Database:
    """Opens the database; UsageError with what to do. Blocks, and must run in a thread without an event loop."""
    scheme, _, rest = url.partition("://")
    if not url:
        return SqliteDatabase(folder.database)
    if scheme == "sqlite" and rest.startswith("/") and rest.strip("/"):
        return SqliteDatabase(Path("/", unquote(urlsplit(url).path).lstrip("/")))
    if scheme in ("postgresql", "postgres"):
        return _open_postgres(url)
    raise UsageError(
        f"url of [store] begins with {scheme + '://' if rest else 'no scheme'}: give postgresql://USER@HOST/NAME, "
        f"sqlite:///PATH with the whole path of the file, or nothing for SQLite in the data folder"
    )


def _open_postgres(url: str) -> Database:
    try:
        from terrazzo.runtime.postgres import PostgresDatabase  # asyncpg is optional
    except ModuleNotFoundError as missing:
        if missing.name != "asyncpg":
            raise
        raise UsageError(
            "the settings name a PostgreSQL database, and the package asyncpg is not installed: "
            "pip install 'terrazzo[postgres]'"
        ) from None
    return PostgresDatabase(url)
