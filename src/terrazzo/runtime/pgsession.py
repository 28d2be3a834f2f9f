"""One session with PostgreSQL, as a server of a world needs it: connected, alone, and with tables of the right format.

    connect ── the server, the database, the password ──▶ lock ──▶ tables ──▶ the number of the last batch

- *Alone.* A session holds an advisory lock of its database (LOCK) until it ends, so no second server works with it.
  PostgreSQL releases the lock only after the session's last transaction was committed or undone: a session that has
  the lock sees all that any earlier one did, and nothing of it can follow. A session of this same process that
  PostgreSQL has not noticed to be dead (a broken network) is ended by the next one, which has kept its `Backend`.
- *Tables.* `migrations` has a row for each step of `sql.MIGRATIONS` that was applied; `batches` has one row with the
  number of the last batch that changed something (`postgres.py`).

Every error is a UsageError with what to do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg

from terrazzo.db import sql
from terrazzo.errors import UsageError

CONNECT_S = 5.0
ANSWER_S = 30.0
"""A server that does not answer for so long counts as lost."""

START_S = 10.0
"""How long a server that is starting is waited for."""

LOCK = int.from_bytes(b"terrazzo", "big")
LOCK_WAIT_MS = 5000
"""How long an operation waits for rows that are locked from outside (a person with psql); then it fails."""

_HOLDER = f"""
    SELECT pid, backend_start, coalesce(client_addr::text, 'this machine') AS host
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND classid = {LOCK >> 32} AND objid = {LOCK & 0xFFFFFFFF}
      AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class Backend(NamedTuple):
    """A session as PostgreSQL names it."""

    pid: int
    backend_start: Any


def shown(url: str) -> str:
    """The URL without its password."""
    try:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2]
        options = [each for each in parts.query.split("&") if each and not each.startswith("password")]
        user = parts.username
    except ValueError:
        return "postgresql://…"
    query = f"?{'&'.join(options)}" if options else ""
    return f"{parts.scheme}://{f'{user}@' if user else ''}{place}{parts.path}{query}"


async def connect(url: str) -> asyncpg.Connection:
    """A connection; raises whatever kept it from being made."""
    settings = {"application_name": "terrazzo", "lock_timeout": str(LOCK_WAIT_MS)}
    connection = await asyncpg.connect(
        url, timeout=CONNECT_S, command_timeout=ANSWER_S, server_settings=settings, max_cached_statement_lifetime=0
    )
    if await connection.fetchval("SHOW synchronous_commit") == "off":
        await connection.execute("SET synchronous_commit = on")  # what is confirmed must be on disk
    return connection


async def first_connection(url: str) -> asyncpg.Connection:
    """A connection at the start of a server; UsageError with what to do. A server that is just starting is waited
    for."""
    until = time.monotonic() + START_S
    while True:
        try:
            return await connect(url)
        except asyncpg.CannotConnectNowError as problem:
            if time.monotonic() >= until:
                raise UsageError(_cannot(url, problem)) from None
            await asyncio.sleep(0.1)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as problem:
            raise UsageError(_cannot(url, problem)) from None


def _cannot(url: str, problem: Exception) -> str:
    return f"cannot open the database {shown(url)}: {_why(url, problem)}"


def _why(url: str, problem: Exception) -> str:
    if isinstance(problem, asyncpg.InvalidCatalogNameError):
        return f"{problem}; make it with `createdb --encoding=UTF8 NAME`, and its user the owner (--owner=USER)"
    if isinstance(problem, asyncpg.InvalidPasswordError):
        where = "in the URL (postgresql://USER:PASSWORD@HOST/NAME), in PGPASSWORD or in ~/.pgpass"
        return f"{problem}; give the right one {where}"
    if isinstance(problem, asyncpg.InvalidAuthorizationSpecificationError):
        return f"{problem}; make the user with `createuser`, or allow it in pg_hba.conf"
    if isinstance(problem, asyncpg.TooManyConnectionsError):
        return f"{problem}; raise max_connections of PostgreSQL, or end other programs that use it"
    if isinstance(problem, TimeoutError):
        return f"no answer within {CONNECT_S:g} s; check host and port, and whether a firewall is between"
    if isinstance(problem, OSError):
        return f"{problem}; check host and port, and that PostgreSQL is running (`pg_isready`)"
    return str(problem)


async def backend_of(connection: asyncpg.Connection) -> Backend:
    """The session of this connection."""
    row = await connection.fetchrow("SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")
    return Backend(*row)


async def take_lock(connection: asyncpg.Connection, url: str, own: Collection[Backend], patience_s: float) -> None:
    """Takes the lock; sessions of this process (`own`) that still hold it are ended. UsageError when another server
    holds it."""
    until = time.monotonic() + patience_s
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LOCK):
        holder = await connection.fetchrow(_HOLDER)
        if holder is not None and Backend(holder["pid"], holder["backend_start"]) in own:
            await connection.execute(f"SELECT pg_terminate_backend({holder['pid']})")
        elif time.monotonic() >= until:
            where = f", on {holder['host']} (pid {holder['pid']} of PostgreSQL)," if holder is not None else ""
            raise UsageError(
                f"cannot open the database {shown(url)}: another server{where} is running with it; stop that one, or "
                f"give this world a database of its own"
            )
        await asyncio.sleep(0.05)


async def bring_up_to_date(connection: asyncpg.Connection, url: str) -> None:
    """Makes the tables, or applies the migrations that are missing: all or nothing."""
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding != "UTF8":
        raise UsageError(
            f"the database {shown(url)} has the encoding {encoding}, and players may have any name: make it anew with "
            f"`createdb --encoding=UTF8 --template=template0`"
        )
    try:
        async with connection.transaction():
            await _migrate(connection, url)
    except asyncpg.PostgresError as problem:
        raise UsageError(f"cannot open the database {shown(url)}: {problem}{_advice(problem)}") from None


async def _migrate(connection: asyncpg.Connection, url: str) -> None:
    if await connection.fetchval("SELECT to_regclass('migrations')") is None:
        await connection.execute("CREATE TABLE migrations (step INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)")
        await connection.execute("CREATE TABLE batches (number BIGINT NOT NULL)")
        await connection.execute("INSERT INTO batches VALUES (0)")
    version = await connection.fetchval("SELECT coalesce(max(step), 0) FROM migrations")
    if version > len(sql.MIGRATIONS):
        raise UsageError(
            f"the database {shown(url)} was written by a newer version of the engine (its format is {version}, this "
            f"one knows {len(sql.MIGRATIONS)}); use that version, or another database"
        )
    for step, statements in enumerate(sql.MIGRATIONS[version:], version + 1):
        for statement in statements:
            await connection.execute(statement.format_map(sql.POSTGRES_WORDS))
        await connection.execute("INSERT INTO migrations VALUES ($1, now())", step)


def _advice(problem: asyncpg.PostgresError) -> str:
    if isinstance(problem, asyncpg.InsufficientPrivilegeError):
        return "; make its user the owner: ALTER DATABASE NAME OWNER TO USER"
    if isinstance(problem, asyncpg.SyntaxOrAccessError):
        return "; if another program has tables there, give the world a database of its own"
    return ""
