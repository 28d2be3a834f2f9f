"""Every database does the same: the operations of `db.store`, in memory, over SQLite and over PostgreSQL."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.sql import MIGRATIONS
from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import (
    ENTITY_ID_MAX,
    PLACE_UNKNOWN,
    Account,
    AddLogOn,
    CheckOut,
    Claim,
    ClearLogOn,
    ClearLogOns,
    CreateAccount,
    DeleteEntity,
    FindAccount,
    ListLogOns,
    LoadEntity,
    LogOnRecord,
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
    fold_name,
    run,
)
from terrazzo.errors import UsageError
from terrazzo.runtime.postgres import PostgresDatabase


class File:
    """A SQLite file that is opened more than once, and looked at without the engine."""

    def __init__(self, folder):
        self.path = folder / "game.db"

    def open(self):
        return SqliteDatabase(self.path, lock_timeout_s=0.0)

    def crash(self, database):
        """The files are copied while the database is open, as they would be found after a kill."""
        folder = self.path.parent / "after"
        folder.mkdir()
        for file in self.path.parent.glob("game.db*"):
            shutil.copy(file, folder / file.name)
        database.close()
        self.path = folder / "game.db"

    def sql(self, text):
        raw = sqlite3.connect(self.path)
        with raw:
            rows = raw.execute(text).fetchall()
        raw.close()
        return "\n".join("|".join(map(str, row)) for row in rows)

    def be_newer(self):
        self.sql(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")


class Served:
    """The same in PostgreSQL."""

    def __init__(self, postgres):
        self._postgres = postgres
        self.url = postgres.new_database()

    def open(self):
        return PostgresDatabase(self.url, lock_timeout_s=0.5)

    def crash(self, database):
        self._postgres.stop()
        database.close()
        self._postgres.start()

    def sql(self, text):
        return self._postgres.sql(text, self.url)

    def be_newer(self):
        self.sql(f"INSERT INTO migrations VALUES ({len(MIGRATIONS) + 1}, now())")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a database is, on disk."""
    return File(tmp_path) if request.param == "sqlite" else Served(request.getfixturevalue("postgres"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "memory":
        made = MemoryDatabase()
    elif request.param == "sqlite":
        made = File(tmp_path).open()
    else:
        made = Served(request.getfixturevalue("postgres")).open()
    yield made
    made.close()


def new_account(database, name="Ada"):
    made = run(database, CreateAccount(name, "hash", "Avatar", b"first"))
    assert made is not None
    return made


def new_entity(database, record, type_name="Creature"):
    dbid = run(database, SaveEntity(type_name, 0, record))
    assert dbid is not None
    return dbid


def test_an_account_is_found_by_its_name_whatever_the_case(database):
    assert run(database, FindAccount("Ada")) is None
    made = new_account(database, "Ada Straße")
    assert made == Account("Ada Straße", "hash", "Avatar", made.dbid)
    assert made.dbid > 0
    assert run(database, FindAccount("ada STRASSE")) == made
    assert run(database, FindAccount("ada")) is None


def test_a_name_is_given_once_and_a_refused_account_leaves_no_entity(database):
    made = new_account(database, "Ada")
    assert run(database, CreateAccount("aDA", "other", "Avatar", b"second")) is None
    assert run(database, FindAccount("Ada")) == made
    assert run(database, LoadEntity("Avatar", made.dbid)) == b"first"
    assert run(database, SaveEntity("Avatar", 0, b"third")) == made.dbid + 1


def test_name_with_a_zero_character_is_nobodys(database):
    assert run(database, FindAccount("A\0da")) is None


def test_names_that_look_the_same_are_the_same():
    assert fold_name("A\N{COMBINING DIAERESIS}da") == fold_name("ÄDA") == fold_name("äda")
    assert fold_name("\N{FULLWIDTH LATIN CAPITAL LETTER A}da") == "ada"
    assert fold_name("Ada") != fold_name("Ade")


def test_an_entity_is_saved_anew_and_over_itself(database):
    dbid, other = new_entity(database, b"one"), new_entity(database, b"other")
    assert run(database, SaveEntity("Creature", dbid, b"\0two")) == dbid
    assert run(database, LoadEntity("Creature", dbid)) == b"\0two"
    assert run(database, LoadEntity("Creature", other)) == b"other"


def test_an_entity_is_known_by_type_and_dbid(database):
    dbid = new_entity(database, b"one")
    assert run(database, LoadEntity("Avatar", dbid)) is None
    assert run(database, LoadEntity("Creature", dbid + 1)) is None
    assert run(database, SaveEntity("Avatar", dbid, b"two")) is None
    assert run(database, SaveEntity("Creature", dbid + 1, b"two")) is None
    assert run(database, LoadEntity("Creature", dbid)) == b"one"


def test_of_saves_in_one_batch_the_last_counts(database):
    dbid = new_entity(database, b"0", "Avatar")
    saves = [SaveEntity("Avatar", dbid, str(number).encode()) for number in range(1, 10)]
    assert database.transact([*saves, LoadEntity("Avatar", dbid)]) == [dbid] * 9 + [b"9"]


def test_a_log_on_is_had_once(database):
    run(database, TakeIds(6))
    assert run(database, AddLogOn(1)) == Claim(LogOnRecord(1, 7, PLACE_UNKNOWN), is_new=True)
    assert run(database, AddLogOn(1)) == Claim(LogOnRecord(1, 7, PLACE_UNKNOWN), is_new=False)
    assert run(database, AddLogOn(2)).record.entity == 8
    assert run(database, TakeIds(1)) == 9
    assert run(database, PlaceLogOn(1, 7, 3)) is True
    assert run(database, AddLogOn(1)) == Claim(LogOnRecord(1, 7, 3), is_new=False)
    assert run(database, PlaceLogOn(1, 6, 4)) is False
    assert run(database, PlaceLogOn(9, 7, 3)) is False
    assert run(database, ListLogOns()) == [LogOnRecord(1, 7, 3), LogOnRecord(2, 8, PLACE_UNKNOWN)]


def test_only_the_proxy_that_is_logged_on_can_log_off(database):
    entity = run(database, AddLogOn(1)).record.entity
    assert run(database, ClearLogOn(1, entity + 1)) is False
    run(database, PlaceLogOn(1, entity, 3))
    assert run(database, ClearLogOn(1, entity + 1)) is False
    assert run(database, ClearLogOn(1, 0)) is False
    assert run(database, AddLogOn(1)).is_new is False
    assert run(database, ClearLogOn(1, entity)) is True
    assert run(database, ClearLogOn(1, entity)) is False
    assert run(database, AddLogOn(1)).record.entity > entity


def test_log_ons_are_cleared_by_base_app_or_all(database):
    for dbid, base_app in ((1, 1), (2, 2), (3, 2), (4, None)):
        entity = run(database, AddLogOn(dbid)).record.entity
        if base_app is not None:
            run(database, PlaceLogOn(dbid, entity, base_app))
    assert run(database, ClearLogOns(2)) == 2
    assert [each.dbid for each in run(database, ListLogOns())] == [1, 4]
    assert run(database, ClearLogOns(None)) == 0
    assert run(database, AddLogOn(1)).is_new


def test_ids_are_given_once_until_there_are_no_more(database):
    assert [run(database, TakeIds(count)) for count in (1, 100, 5)] == [1, 2, 102]
    with pytest.raises(StoreError, match="no more entity ids"):
        run(database, TakeIds(ENTITY_ID_MAX))
    assert run(database, TakeIds(ENTITY_ID_MAX - 106)) == 107
    with pytest.raises(StoreError):
        run(database, TakeIds(1))


def test_an_operation_that_fails_undoes_only_itself(database):
    results = database.transact([TakeIds(3), TakeIds(ENTITY_ID_MAX), TakeIds(1)])
    assert results[0] == 1
    assert isinstance(results[1], StoreError)
    assert results[2] == 4


def test_memory_database_fails_on_request():
    database = MemoryDatabase()
    database.failing = "the disk is full"
    with pytest.raises(StoreError, match="the disk is full"):
        run(database, SaveEntity("Avatar", 0, b""))
    assert not database.entities


# What is on disk.


def test_what_was_confirmed_survives_the_death_of_the_process(place):
    database = place.open()
    made = new_account(database)
    run(database, SaveEntity("Avatar", made.dbid, b"second"))
    run(database, TakeIds(500))
    run(database, AddLogOn(made.dbid))
    place.crash(database)
    found = place.open()
    assert run(found, FindAccount("ada")) == made
    assert run(found, LoadEntity("Avatar", made.dbid)) == b"second"
    assert run(found, TakeIds(1)) == 502
    assert run(found, AddLogOn(made.dbid)).is_new is False
    found.close()


def test_second_server_is_refused_while_the_database_is_in_use(place):
    database = place.open()
    with pytest.raises(UsageError, match=r"another server.* is running"):
        place.open()
    database.close()
    place.open().close()


def test_a_database_of_a_newer_version_is_left_alone(place):
    place.open().close()
    place.be_newer()
    with pytest.raises(UsageError, match="newer version of the engine"):
        place.open()


def test_an_older_database_is_brought_up_to_date(place, monkeypatch):
    database = place.open()
    made = new_account(database)
    database.close()
    step = ("ALTER TABLE accounts ADD COLUMN mail TEXT NOT NULL DEFAULT 'none'",)
    monkeypatch.setattr("terrazzo.db.sql.MIGRATIONS", (*MIGRATIONS, step))
    newer = place.open()
    assert run(newer, FindAccount("Ada")) == made
    newer.close()
    assert place.sql("SELECT mail FROM accounts") == "none"
    place.open().close()


def test_a_migration_that_breaks_leaves_the_database_as_it_was(place, monkeypatch):
    place.open().close()
    step = ("CREATE TABLE half (a INTEGER)", "CREATE TABLE half (a INTEGER)")
    with monkeypatch.context() as patch:
        patch.setattr("terrazzo.db.sql.MIGRATIONS", (*MIGRATIONS, step))
        with pytest.raises(UsageError, match="already exists"):
            place.open()
    database = place.open()
    assert run(database, AddLogOn(1)).is_new
    database.close()
    place.sql("CREATE TABLE half (a INTEGER)")


def test_a_number_too_big_for_the_database_fails_alone(place):
    database = place.open()
    results = database.transact([AddLogOn(1), AddLogOn(1 << 70), AddLogOn(2)])
    assert isinstance(results[1], StoreError)
    assert [results[0].is_new, results[2].is_new] == [True, True]
    assert [each.dbid for each in run(database, ListLogOns())] == [1, 2]
    database.close()


def test_half_an_operation_is_never_kept(place):
    database = place.open()
    broken = CreateAccount("Ada", None, "Avatar", b"x")  # type: ignore[arg-type]
    results = database.transact([broken, AddLogOn(1)])
    assert isinstance(results[0], StoreError)
    assert results[1].is_new
    database.close()
    assert place.sql("SELECT count(*) FROM entities") == "0"


def test_a_transaction_that_breaks_as_a_whole_fails_as_a_whole(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    database._db.execute("PRAGMA query_only = ON")
    results = database.transact([SaveEntity("Avatar", 0, b"x"), AddLogOn(1)])
    assert [type(each) for each in results] == [StoreError, StoreError]
    database._db.execute("PRAGMA query_only = OFF")
    assert run(database, AddLogOn(1)).is_new
    database.close()


def test_a_commit_that_postgres_refuses_fails_the_batch_as_a_whole(postgres):
    place = Served(postgres)
    database = place.open()
    place.sql("ALTER TABLE batches ADD CHECK (number < 1)")
    results = database.transact([SaveEntity("Avatar", 0, b"x"), AddLogOn(1)])
    assert [str(each).partition(":")[0] for each in results] == ["the database does not work"] * 2
    place.sql("ALTER TABLE batches DROP CONSTRAINT batches_number_check")
    assert run(database, ListLogOns()) == []
    assert run(database, AddLogOn(1)).is_new
    database.close()


# What only a file has.


def test_a_commit_is_flushed_to_the_disk(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    settings = {name: database._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert settings == {"journal_mode": "wal", "synchronous": 2}
    database.close()


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "game.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(UsageError, match="cannot open the database"):
        SqliteDatabase(tmp_path / "game.db")
    with pytest.raises(UsageError, match="cannot open the database"):
        SqliteDatabase(tmp_path / "nowhere" / "game.db")


def test_a_full_disk_fails_what_needs_room_in_its_own_words(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    [pages] = database._db.execute("PRAGMA page_count").fetchone()
    database._db.execute(f"PRAGMA max_page_count = {pages}")
    results = database.transact([AddLogOn(1), SaveEntity("Avatar", 0, bytes(100_000))])
    assert results[0].is_new
    assert "disk is full" in str(results[1])
    assert [each.dbid for each in run(database, ListLogOns())] == [1]
    database.close()


def test_first_save_makes_one_entity_and_its_log_on_record(database):
    first = SaveEntity("Creature", 0, b"one", entity=60, base_app=3)
    dbid = run(database, first)
    assert dbid is not None
    assert run(database, SaveEntity("Creature", 0, b"two", entity=60, base_app=3)) == dbid
    assert run(database, SaveEntity("Creature", 0, b"three", entity=61, base_app=3)) != dbid
    assert run(database, ListLogOns())[0] == LogOnRecord(dbid, 60, 3)
    assert run(database, LoadEntity("Creature", dbid)) == b"two"


def test_entity_is_checked_out_once(database):
    dbid = new_entity(database, b"stored")
    assert run(database, CheckOut("Avatar", dbid)) is None
    assert run(database, CheckOut("Creature", dbid + 1)) is None
    first = run(database, CheckOut("Creature", dbid))
    again = run(database, CheckOut("Creature", dbid))
    assert first is not None
    assert again is not None
    assert (first.is_new, again.is_new, first.record) == (True, False, b"stored")
    assert first.holder == again.holder
    assert run(database, ListLogOns()) == [first.holder]


def test_entity_is_deleted_with_its_account_unless_it_is_in_the_world(database):
    made = new_account(database)
    claim = run(database, AddLogOn(made.dbid))
    assert run(database, DeleteEntity("Avatar", made.dbid)) == claim.record
    assert run(database, LoadEntity("Avatar", made.dbid)) == b"first"
    run(database, ClearLogOn(made.dbid, claim.record.entity))
    assert run(database, DeleteEntity("Creature", made.dbid)) is None
    assert run(database, LoadEntity("Avatar", made.dbid)) == b"first", "it is of another type"
    assert run(database, DeleteEntity("Avatar", made.dbid)) is None
    assert run(database, LoadEntity("Avatar", made.dbid)) is None
    assert run(database, FindAccount("Ada")) is None
    assert run(database, SaveEntity("Avatar", made.dbid, b"again")) is None


def test_log_off_with_a_deletion_deletes_for_the_base_that_has_the_record(database):
    dbid = new_entity(database, b"stored")
    holder = run(database, AddLogOn(dbid)).record
    assert run(database, ClearLogOn(dbid, holder.entity + 1, is_deleted=True)) is False
    assert run(database, LoadEntity("Creature", dbid)) == b"stored"
    assert run(database, ClearLogOn(dbid, holder.entity, is_deleted=True)) is True
    assert run(database, LoadEntity("Creature", dbid)) is None
