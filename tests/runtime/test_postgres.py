"""PostgreSQL that is lost and found again: what was under way is done once; and what keeps a server from starting."""

import sys
import threading

import pytest

from terrazzo.db.store import (
    AddLogOn,
    CreateAccount,
    FindAccount,
    ListLogOns,
    LoadEntity,
    SaveEntity,
    StoreError,
    run,
)
from terrazzo.errors import UsageError
from terrazzo.runtime import pgsession
from terrazzo.runtime.databases import open_database
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.pgsession import shown
from terrazzo.runtime.postgres import PostgresDatabase
from tests.tools.wire_cut import Cut, Network

BATCH = [SaveEntity("Avatar", 0, b"new"), SaveEntity("Avatar", 1, b"old"), AddLogOn(7)]


@pytest.fixture
def network(postgres):
    made = Network(postgres.folder, b"COMMIT")
    yield made
    made.close()


@pytest.fixture
def url(postgres):
    return postgres.new_database()


@pytest.fixture
def database(postgres, network, url):
    """A server's database beyond a network that can break; it has one entity."""
    made = PostgresDatabase(url.replace(str(postgres.folder), str(network.folder)))
    run(made, SaveEntity("Avatar", 0, b"first"))
    yield made
    made.close()


def begun(database, *operations):
    """A batch in a thread of its own; its results, or what it raised, when the thread has ended."""
    results: list = []

    def work():
        try:
            results.extend(database.transact(operations))
        except UsageError as problem:
            results.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, results


def until(what):
    """Looks again and again; the test's own limit ends it if that never comes."""
    pause = threading.Event()
    for _ in range(2000):
        if what():
            return
        pause.wait(0.01)
    raise AssertionError("it has not come")


@pytest.mark.parametrize("cut", Cut)
def test_batch_with_a_cut_off_commit_is_done_once(postgres, url, network, database, cut):
    network.cut = cut
    two, one, claim = database.transact(BATCH)
    network.deliver()
    assert network.cuts == 1
    assert (one, claim.is_new) == (1, True)
    assert postgres.sql("SELECT dbid, record FROM entities ORDER BY dbid", url) == f"1|\\x6f6c64\n{two}|\\x6e6577"
    assert database.transact([SaveEntity("Avatar", two, b"newer"), AddLogOn(7)])[1].is_new is False
    assert postgres.sql("SELECT number FROM batches", url) == "3"


def test_failed_operation_stays_failed_when_the_answer_of_its_commit_is_lost(network, database):
    network.cut = Cut.ANSWER
    failed, claim = database.transact([AddLogOn(1 << 70), AddLogOn(8)])
    assert isinstance(failed, StoreError)
    assert claim.is_new
    assert [each.dbid for each in run(database, ListLogOns())] == [8]


def test_reading_is_repeated_when_the_connection_is_lost(network, database):
    network.hang_up()
    assert run(database, LoadEntity("Avatar", 1)) == b"first"
    assert database.away == ""


def test_batch_waits_while_postgres_is_stopped_and_is_done_when_it_is_back(postgres, database):
    postgres.stop()
    try:
        thread, results = begun(database, *BATCH)
        until(lambda: database.away)
    finally:
        postgres.start()
    thread.join()
    assert (results[1], results[2].is_new) == (1, True)
    assert database.away == ""


def test_end_of_the_server_ends_the_waiting(database, network):
    network.is_up = False
    network.hang_up()
    thread, results = begun(database, *BATCH)
    until(lambda: database.away)
    database.stop_waiting()
    thread.join()
    assert "was out of reach until the end" in str(results[0])
    thread, results = begun(database, *BATCH)
    thread.join()
    assert "was out of reach until the end" in str(results[0])


@pytest.mark.parametrize("is_running", [True, False], ids=["still running", "gone again"])
def test_server_ends_when_another_one_has_used_the_database_meanwhile(url, network, database, is_running):
    network.is_up = False
    network.hang_up()
    other = PostgresDatabase(url)
    run(other, SaveEntity("Avatar", 1, b"theirs"))
    if not is_running:
        other.close()
    network.is_up = True
    database._lock_timeout_s = 0.1
    with pytest.raises(UsageError, match="another server.* is running" if is_running else "another server has used"):
        run(database, SaveEntity("Avatar", 1, b"ours"))
    if not is_running:
        other = PostgresDatabase(url)
    assert run(other, LoadEntity("Avatar", 1)) == b"theirs"
    other.close()


def test_rows_that_a_person_has_locked_fail_the_operation_and_nothing_else(monkeypatch, postgres, url):
    monkeypatch.setattr(pgsession, "LOCK_WAIT_MS", 50)
    database, person = PostgresDatabase(url), PostgresDatabase(postgres.new_database())
    run(database, SaveEntity("Avatar", 0, b"first"))
    connection = person._loop.run_until_complete(pgsession.connect(url))
    person._loop.run_until_complete(connection.execute("BEGIN; SELECT * FROM entities FOR UPDATE"))
    failed, claim = database.transact([SaveEntity("Avatar", 1, b"second"), AddLogOn(1)])
    assert "lock timeout" in str(failed)
    assert claim.is_new
    person._loop.run_until_complete(connection.close())
    assert run(database, SaveEntity("Avatar", 1, b"third")) == 1
    person.close()
    database.close()


def test_text_of_a_failure_contains_no_row(url):
    database = PostgresDatabase(url)
    [failed] = database.transact([CreateAccount("Ada", "the hash", None, b"")])  # type: ignore[arg-type]
    assert "violates not-null constraint" in str(failed)
    assert "the hash" not in str(failed)
    assert run(database, FindAccount("Ada")) is None
    database.close()


# What keeps a server from starting.


def test_url_decides_which_database_it_is(tmp_path, url):
    folder = DataFolder(tmp_path)
    for given in ("", f"sqlite://{tmp_path}/other.sqlite", url):
        database = open_database(given, folder)
        assert run(database, SaveEntity("Avatar", 0, b"x")) == 1
        database.close()
    assert {each.name for each in tmp_path.glob("*.sqlite")} == {"world.sqlite", "other.sqlite"}


@pytest.mark.parametrize("wrong", ["mysql://host/world", "world.sqlite", "sqlite://", "sqlite:///"])
def test_url_of_no_database_is_refused(tmp_path, wrong):
    with pytest.raises(UsageError, match=r"\[store\].*give postgresql://USER@HOST/NAME"):
        open_database(wrong, DataFolder(tmp_path))


def test_missing_asyncpg_is_refused_with_the_install_command(monkeypatch, tmp_path):
    for name in [each for each in sys.modules if each.startswith("terrazzo.runtime.p")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(UsageError, match=r"pip install 'terrazzo\[postgres\]'"):
        open_database("postgresql://host/world", DataFolder(tmp_path))


def test_each_obstacle_is_one_sentence_with_advice(postgres):
    postgres.sql("CREATE ROLE secretive LOGIN PASSWORD 'right'")
    latin = postgres.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    taken = postgres.new_database()
    postgres.sql("CREATE TABLE entities (name TEXT)", taken)
    closed = postgres.new_database()
    name = closed.partition("@/")[2].partition("?")[0]
    wrong = postgres.url(name, "secretive:false")
    obstacles = {
        postgres.url("nowhere"): r'database "nowhere" does not exist; make it with `createdb',
        postgres.url(name, "nobody"): r'role "nobody" does not exist; make the user',
        wrong: r'password authentication failed for user "secretive"; give the right one',
        postgres.url(name, "secretive:right"): r"permission denied.*make its user the owner",
        "postgresql://127.0.0.1:1/world": r"check host and port, and that PostgreSQL is running",
        latin: r"has the encoding LATIN1.*--encoding=UTF8",
        taken: r'relation "entities" already exists; .*a database of its own',
    }
    for url, words in obstacles.items():
        with pytest.raises(UsageError, match=words) as problem:
            PostgresDatabase(url)
        assert "false" not in str(problem.value)


def test_password_is_not_shown():
    assert shown("postgresql://ada:se%40cret@host:5433/world") == "postgresql://ada@host:5433/world"
    assert shown("postgres://host/world?password=secret&sslmode=require") == "postgres://host/world?sslmode=require"
    assert "secret" not in shown("postgresql://ada:secret@[::1/world")
