"""The database in one file, with the SQLite that comes with Python. Its calls block, so no app calls it directly.

Durable: write-ahead log with `synchronous=FULL`, so a commit is on the disk when it returns. Each batch of operations
is one transaction, so that the disk flushes once for all of them. One server, one file: the file is locked for as long
as it is open, and a second server that opens it by mistake gets an error.

`sql.py` has the tables and the statements of the operations. `PRAGMA user_version` is the number of migrations that
were applied to the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from terrazzo.db import sql
from terrazzo.db.store import Operation, StoreError
from terrazzo.errors import UsageError

VERSION_MIN = (3, 35)
"""The first SQLite with RETURNING."""


class SqliteDatabase:
    """See the module. May be used from any thread, by one at a time."""

    away = ""

    def __init__(self, path: str | Path, *, lock_timeout_s: float = 2.0) -> None:
        self.path = str(path)
        if sqlite3.sqlite_version_info < VERSION_MIN:
            raise UsageError(f"this Python has SQLite {sqlite3.sqlite_version}; the engine needs 3.35 or newer")
        try:
            self._db = sqlite3.connect(self.path, timeout=lock_timeout_s, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as problem:
            raise UsageError(f"cannot open the database {self.path}: {problem}") from None
        try:
            self._open()
        except sqlite3.Error as problem:
            self._db.close()
            hint = "; another server is running with it" if "locked" in str(problem) else ""
            raise UsageError(f"cannot open the database {self.path}: {problem}{hint}") from None
        except UsageError:
            self._db.close()
            raise

    def _open(self) -> None:
        for setting in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._db.execute(f"PRAGMA {setting}").fetchall()
        self._db.execute("BEGIN IMMEDIATE")
        [version] = self._db.execute("PRAGMA user_version").fetchone()
        if version > len(sql.MIGRATIONS):
            raise UsageError(
                f"the database {self.path} was written by a newer version of the engine (its format is {version}, this "
                f"one knows {len(sql.MIGRATIONS)}); use that version, or another file"
            )
        for step in sql.MIGRATIONS[version:]:
            for statement in step:
                self._db.execute(statement.format_map(sql.SQLITE_WORDS))
        self._db.execute(f"PRAGMA user_version = {len(sql.MIGRATIONS)}")
        self._db.execute("COMMIT")

    def close(self) -> None:
        """See Database."""
        self._db.close()

    def stop_waiting(self) -> None:
        """See Database: a file is always there."""

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """See Database."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                results = [self._steps(operation) for operation in operations]
            except (sqlite3.Error, OverflowError, StoreError):
                if self._db.in_transaction:  # a full disk, for one, ends it
                    self._db.execute("ROLLBACK")
                self._db.execute("BEGIN IMMEDIATE")
                results = [self._confined(operation) for operation in operations]
            self._db.execute("COMMIT")
        except sqlite3.Error as problem:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            return [StoreError(f"the database does not work: {problem}") for _ in operations]
        return results

    def _confined(self, operation: Operation[Any]) -> Any:
        """The result of one operation, or the StoreError for which it undid itself. Raises sqlite3.Error when the
        transaction itself is broken."""
        self._db.execute(sql.SAVEPOINT)
        try:
            result = self._steps(operation)
        except (sqlite3.Error, OverflowError, StoreError) as problem:
            if not self._db.in_transaction:
                raise
            result = problem if isinstance(problem, StoreError) else StoreError(f"the database refuses: {problem}")
            self._db.execute(sql.UNDO)
        self._db.execute(sql.RELEASE)
        return result

    def _steps(self, operation: Operation[Any]) -> Any:
        steps = sql.steps_of(operation)
        try:
            text, values = next(steps)
            while True:
                text, values = steps.send(self._db.execute(text, values).fetchall())
        except StopIteration as end:
            return end.value
