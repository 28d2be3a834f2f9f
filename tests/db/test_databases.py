"""Every database does the same: the operations of `db.store`, over SQLite and in memory."""

from __future__ import annotations

import shutil
import sqlite3

import pytest

from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.sqlite import MIGRATIONS, SqliteDatabase
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
    PlaceLogOn,
    SaveEntity,
    StoreError,
    TakeIds,
    fold_name,
    run,
)
from terrazzo.errors import UsageError


@pytest.fixture(params=["memory", "sqlite"])
def database(request, tmp_path):
    made = MemoryDatabase() if request.param == "memory" else SqliteDatabase(tmp_path / "game.db")
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


def test_memory_fails_when_told_to():
    database = MemoryDatabase()
    database.failing = "the disk is full"
    with pytest.raises(StoreError, match="the disk is full"):
        run(database, SaveEntity("Avatar", 0, b""))
    assert not database.entities


# What only a file has.


def test_what_was_confirmed_survives_the_death_of_the_process(tmp_path):
    """The files are copied while the database is open, as they would be found after a kill."""
    database = SqliteDatabase(tmp_path / "game.db")
    made = new_account(database)
    run(database, SaveEntity("Avatar", made.dbid, b"second"))
    run(database, TakeIds(500))
    run(database, AddLogOn(made.dbid))
    (tmp_path / "after").mkdir()
    for file in tmp_path.glob("game.db*"):
        shutil.copy(file, tmp_path / "after" / file.name)
    database.close()
    found = SqliteDatabase(tmp_path / "after" / "game.db")
    assert run(found, FindAccount("ada")) == made
    assert run(found, LoadEntity("Avatar", made.dbid)) == b"second"
    assert run(found, TakeIds(1)) == 502
    assert run(found, AddLogOn(made.dbid)).is_new is False
    found.close()


def test_a_commit_is_flushed_to_the_disk(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    settings = {name: database._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")}
    assert settings == {"journal_mode": "wal", "synchronous": 2}
    database.close()


def test_a_second_server_is_told_that_the_file_is_in_use(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    with pytest.raises(UsageError, match="another server is running"):
        SqliteDatabase(tmp_path / "game.db", lock_timeout_s=0.0)
    database.close()
    SqliteDatabase(tmp_path / "game.db", lock_timeout_s=0.0).close()


def test_a_file_of_a_newer_version_is_left_alone(tmp_path):
    SqliteDatabase(tmp_path / "game.db").close()
    with sqlite3.connect(tmp_path / "game.db") as raw:
        raw.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    raw.close()
    with pytest.raises(UsageError, match="newer version of the engine"):
        SqliteDatabase(tmp_path / "game.db")


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "game.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(UsageError, match="cannot open the database"):
        SqliteDatabase(tmp_path / "game.db")
    with pytest.raises(UsageError, match="cannot open the database"):
        SqliteDatabase(tmp_path / "nowhere" / "game.db")


def test_an_older_file_is_brought_up_to_date(tmp_path, monkeypatch):
    database = SqliteDatabase(tmp_path / "game.db")
    made = new_account(database)
    database.close()
    step = ("ALTER TABLE accounts ADD COLUMN mail TEXT NOT NULL DEFAULT ''",)
    monkeypatch.setattr("terrazzo.db.sqlite.MIGRATIONS", (*MIGRATIONS, step))
    newer = SqliteDatabase(tmp_path / "game.db")
    assert newer._db.execute("SELECT mail FROM accounts").fetchall() == [("",)]
    assert run(newer, FindAccount("Ada")) == made
    newer.close()
    SqliteDatabase(tmp_path / "game.db").close()


def test_a_migration_that_breaks_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    SqliteDatabase(tmp_path / "game.db").close()
    step = ("CREATE TABLE half (a)", "CREATE TABLE half (a)")
    with monkeypatch.context() as patch:
        patch.setattr("terrazzo.db.sqlite.MIGRATIONS", (*MIGRATIONS, step))
        with pytest.raises(UsageError, match="already exists"):
            SqliteDatabase(tmp_path / "game.db")
    database = SqliteDatabase(tmp_path / "game.db")
    assert database._db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    database.close()


def test_a_number_too_big_for_the_file_fails_alone(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    results = database.transact([AddLogOn(1 << 70), AddLogOn(1)])
    assert isinstance(results[0], StoreError)
    assert results[1].is_new
    database.close()


def test_half_an_operation_is_never_kept(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    broken = CreateAccount("Ada", None, "Avatar", b"x")  # type: ignore[arg-type]
    results = database.transact([broken, AddLogOn(1)])
    assert isinstance(results[0], StoreError)
    assert results[1].is_new
    assert run(database, LoadEntity("Avatar", 1)) is None
    database.close()


def test_a_transaction_that_breaks_as_a_whole_fails_as_a_whole(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    database._db.execute("PRAGMA query_only = ON")
    results = database.transact([SaveEntity("Avatar", 0, b"x"), AddLogOn(1)])
    assert [type(each) for each in results] == [StoreError, StoreError]
    database._db.execute("PRAGMA query_only = OFF")
    assert run(database, AddLogOn(1)).is_new
    database.close()


def test_a_full_disk_fails_the_batch_with_its_own_words(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    [pages] = database._db.execute("PRAGMA page_count").fetchone()
    database._db.execute(f"PRAGMA max_page_count = {pages}")
    results = database.transact([AddLogOn(1), SaveEntity("Avatar", 0, bytes(100_000))])
    assert ["disk is full" in str(each) for each in results] == [True, True]
    assert run(database, ListLogOns()) == []
    database.close()
