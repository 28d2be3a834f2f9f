"""The database in one file, with the SQLite that comes with Python. Its calls block, so no app calls it directly.

Durable: write-ahead log with `synchronous=FULL`, so a commit is on the disk when it returns. Each batch of operations
is one transaction, so that the disk flushes once for all of them; each operation inside has a savepoint, so that a
failed one undoes only itself. One server, one file: the file is locked for as long as it is open, and a second server
that opens it by mistake gets an error.

    entities   dbid, type, record                    dbid 1, 2, 3 …, never given again
    accounts   folded, name, password_hash, dbid     `folded` (`store.fold_name`) makes names unique whatever their case
    log_ons    dbid, entity, base_app                base_app -1: being placed
    counters   name, next                            the next entity id
    taken_in   name                                  files of leftovers that were taken in

Types are stored by name, since type ids change when a game gets a new type. `PRAGMA user_version` counts the steps of
MIGRATIONS that were applied to the file; a released step is never changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from terrazzo.db.store import (
    ENTITY_ID_MAX,
    PLACE_UNKNOWN,
    Account,
    AddLogOn,
    Claim,
    ClearLogOn,
    ClearLogOns,
    CreateAccount,
    FindAccount,
    ListLogOns,
    LoadEntity,
    LogOnRecord,
    Operation,
    Outcome,
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
    TakeIn,
    fold_name,
    take_in,
)
from terrazzo.errors import UsageError

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE entities (dbid INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, record BLOB NOT NULL)",
        """CREATE TABLE accounts (
            folded TEXT PRIMARY KEY, name TEXT NOT NULL, password_hash TEXT NOT NULL,
            dbid INTEGER NOT NULL UNIQUE REFERENCES entities) WITHOUT ROWID""",
        """CREATE TABLE log_ons (
            dbid INTEGER PRIMARY KEY, entity INTEGER NOT NULL, base_app INTEGER NOT NULL)""",
        "CREATE TABLE counters (name TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID",
        "INSERT INTO counters VALUES ('entity', 1)",
    ),
    ("CREATE TABLE taken_in (name TEXT PRIMARY KEY) WITHOUT ROWID",),
)


class SqliteDatabase:
    """See the module. May be used from any thread, by one at a time."""

    def __init__(self, path: str | Path, *, lock_timeout_s: float = 2.0) -> None:
        self.path = str(path)
        self._acts: dict[type[Operation[Any]], Callable[[Any], Any]] = {
            FindAccount: self._find_account,
            CreateAccount: self._create_account,
            LoadEntity: self._load_entity,
            SaveEntity: self._save_entity,
            AddLogOn: self._add_log_on,
            PlaceLogOn: self._place_log_on,
            ClearLogOn: self._clear_log_on,
            ClearLogOns: self._clear_log_ons,
            ListLogOns: self._list_log_ons,
            TakeIds: self._take_ids,
            TakeIn: self._take_in,
        }
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
        if version > len(MIGRATIONS):
            raise UsageError(
                f"the database {self.path} was written by a newer version of the engine (its format is {version}, this "
                f"one knows {len(MIGRATIONS)}); use that version, or another file"
            )
        for step in MIGRATIONS[version:]:
            for statement in step:
                self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        self._db.execute("COMMIT")

    def close(self) -> None:
        """See Database."""
        self._db.close()

    def transact(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """See Database."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            results = [self._run(operation) for operation in operations]
            self._db.execute("COMMIT")
        except sqlite3.Error as problem:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            return [StoreError(f"the database does not work: {problem}") for _ in operations]
        return results

    def _run(self, operation: Operation[Any]) -> Any:
        """Runs one operation in the transaction. Raises sqlite3.Error when the transaction itself is broken."""
        self._db.execute("SAVEPOINT operation")
        try:
            result = self._acts[type(operation)](operation)
        except (sqlite3.Error, OverflowError, StoreError) as problem:
            if not self._db.in_transaction:
                raise  # a full disk, for one, ends the whole transaction
            result = problem if isinstance(problem, StoreError) else StoreError(f"the database refuses: {problem}")
            self._db.execute("ROLLBACK TO operation")
        self._db.execute("RELEASE operation")
        return result

    def _find_account(self, wanted: FindAccount) -> Account | None:
        row = self._db.execute(
            "SELECT name, password_hash, type, dbid FROM accounts JOIN entities USING (dbid) WHERE folded = ?",
            (fold_name(wanted.name),),
        ).fetchone()
        return row and Account(*row)

    def _create_account(self, new: CreateAccount) -> Account | None:
        if self._find_account(FindAccount(new.name)) is not None:
            return None
        dbid = self._add_entity(new.type_name, new.record)
        row = (fold_name(new.name), new.name, new.password_hash, dbid)
        self._db.execute("INSERT INTO accounts VALUES (?, ?, ?, ?)", row)
        return Account(new.name, new.password_hash, new.type_name, dbid)

    def _load_entity(self, wanted: LoadEntity) -> bytes | None:
        where = (wanted.dbid, wanted.type_name)
        row = self._db.execute("SELECT record FROM entities WHERE dbid = ? AND type = ?", where).fetchone()
        return row and bytes(row[0])

    def _save_entity(self, save: SaveEntity) -> int | None:
        if save.dbid == 0:
            return self._add_entity(save.type_name, save.record)
        change = "UPDATE entities SET record = ? WHERE dbid = ? AND type = ?"
        return save.dbid if self._change(change, save.record, save.dbid, save.type_name) else None

    def _add_entity(self, type_name: str, record: bytes) -> int:
        new = self._db.execute("INSERT INTO entities (type, record) VALUES (?, ?)", (type_name, record))
        assert new.lastrowid is not None
        return new.lastrowid

    def _add_log_on(self, new: AddLogOn) -> Claim:
        found = self._db.execute("SELECT dbid, entity, base_app FROM log_ons WHERE dbid = ?", (new.dbid,)).fetchone()
        if found is not None:
            return Claim(LogOnRecord(*found), is_new=False)
        record = LogOnRecord(new.dbid, self._take_ids(TakeIds(1)), PLACE_UNKNOWN)
        self._change("INSERT INTO log_ons VALUES (?, ?, ?)", *record)
        return Claim(record, is_new=True)

    def _place_log_on(self, placed: PlaceLogOn) -> bool:
        change = "UPDATE log_ons SET base_app = ? WHERE dbid = ? AND entity = ?"
        return self._change(change, placed.base_app, placed.dbid, placed.entity) == 1

    def _clear_log_on(self, gone: ClearLogOn) -> bool:
        return self._change("DELETE FROM log_ons WHERE dbid = ? AND entity = ?", gone.dbid, gone.entity) == 1

    def _clear_log_ons(self, gone: ClearLogOns) -> int:
        self._change("DELETE FROM log_ons WHERE base_app = ?1 OR ?1 IS NULL", gone.base_app)
        [left] = self._db.execute("SELECT count(*) FROM log_ons").fetchone()
        return int(left)

    def _list_log_ons(self, _: ListLogOns) -> list[LogOnRecord]:
        return [LogOnRecord(*row) for row in self._db.execute("SELECT dbid, entity, base_app FROM log_ons")]

    def _take_in(self, file: TakeIn) -> list[Outcome]:
        if not self._change("INSERT OR IGNORE INTO taken_in VALUES (?)", file.name):
            return [Outcome.THERE] * len(file.leftovers)
        return [take_in(each, self._load_entity, self._save_entity) for each in file.leftovers]

    def _take_ids(self, wanted: TakeIds) -> int:
        [first] = self._db.execute("SELECT next FROM counters WHERE name = 'entity'").fetchone()
        if first + wanted.count - 1 > ENTITY_ID_MAX:
            raise StoreError("there are no more entity ids")
        self._change("UPDATE counters SET next = ? WHERE name = 'entity'", first + wanted.count)
        return int(first)

    def _change(self, statement: str, *values: object) -> int:
        """Runs a statement; returns the number of rows that it changed."""
        return self._db.execute(statement, values).rowcount
