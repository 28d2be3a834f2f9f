"""What could not be saved: the file that is kept, and what the next start makes of it."""

import errno
import os
import resource
import signal
from hashlib import sha256

import pytest

from terrazzo.base.saving import Unsaved
from terrazzo.client import ClientGame
from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.sqlite import SqliteDatabase
from terrazzo.db.store import Database, LoadEntity, SaveEntity, run
from terrazzo.errors import UsageError
from terrazzo.game import load_game
from terrazzo.runtime import leftovers
from terrazzo.runtime.leftovers import keep_unsaved, set_reserve_aside, take_in
from terrazzo.runtime.postgres import PostgresDatabase
from tests.runtime.worlds import PLAZA, Visitor, World, play


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request, tmp_path):
    made: Database
    if request.param == "memory":
        made = MemoryDatabase()
    elif request.param == "sqlite":
        made = SqliteDatabase(tmp_path / "game.db")
    else:
        made = PostgresDatabase(request.getfixturevalue("postgres").new_database())
    run(made, SaveEntity("Avatar", 0, b"old"))
    yield made
    made.close()


class Log:
    def __init__(self):
        self.outcomes = []

    def __call__(self, event, /, **facts):
        self.outcomes.append(facts["outcome"])


def unsaved(record=b"new", *, dbid=1, replaces=(b"older", b"old")):
    return Unsaved("Avatar", dbid, record, [sha256(each).hexdigest() for each in replaces], "Avatar 'Ann'")


def files(folder):
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("unsaved"))


def test_leftovers_are_taken_in_once_and_the_file_is_deleted(tmp_path, database):
    words = keep_unsaved(tmp_path, "base_app-0", [unsaved()])
    [name] = files(tmp_path)
    assert "could not save Avatar 'Ann'" in words
    assert name in words
    copy = (tmp_path / name).read_bytes()
    log = Log()
    take_in(tmp_path, database, log)
    assert log.outcomes == ["taken in"]
    assert run(database, LoadEntity("Avatar", 1)) == b"new"
    assert files(tmp_path) == []
    run(database, SaveEntity("Avatar", 1, b"newer still"))
    (tmp_path / name).write_bytes(copy)  # as if the start had been killed before it deleted the file
    take_in(tmp_path, database, log)
    assert run(database, LoadEntity("Avatar", 1)) == b"newer still"
    assert (log.outcomes[1:], files(tmp_path)) == (["already there"], [])


def test_an_entity_that_was_never_saved_is_made_once(tmp_path, database):
    keep_unsaved(tmp_path, "base_app-0", [unsaved(dbid=0)])
    [name] = files(tmp_path)
    copy = (tmp_path / name).read_bytes()
    for _ in range(2):
        (tmp_path / name).write_bytes(copy)
        take_in(tmp_path, database, Log())
    assert run(database, LoadEntity("Avatar", 2)) == b"new"
    assert run(database, LoadEntity("Avatar", 3)) is None


def test_newer_record_is_never_overwritten_and_the_file_is_put_aside(tmp_path, database):
    keep_unsaved(tmp_path, "base_app-0", [unsaved(replaces=(b"older",)), unsaved(dbid=9)])
    log = Log()
    take_in(tmp_path, database, log)
    assert run(database, LoadEntity("Avatar", 1)) == b"old"
    assert ["newer" in log.outcomes[0], "no such entity" in log.outcomes[1]] == [True, True]
    [name] = files(tmp_path)
    assert name.endswith(".refused")
    take_in(tmp_path, database, log)
    assert len(log.outcomes) == 2


def test_a_database_that_does_not_work_keeps_the_file_and_the_start_fails(tmp_path):
    database = SqliteDatabase(tmp_path / "game.db")
    run(database, SaveEntity("Avatar", 0, b"old"))
    [pages] = database._db.execute("PRAGMA page_count").fetchone()
    database._db.execute(f"PRAGMA max_page_count = {pages}")
    keep_unsaved(tmp_path, "base_app-0", [unsaved(b"x" * 100_000)])
    with pytest.raises(UsageError, match=r"cannot be taken in: .*full.*move the file away"):
        take_in(tmp_path, database, Log())
    assert len(files(tmp_path)) == 1
    database._db.execute(f"PRAGMA max_page_count = {pages + 1000}")
    take_in(tmp_path, database, Log())
    assert run(database, LoadEntity("Avatar", 1)) == b"x" * 100_000
    assert files(tmp_path) == []
    database.close()


def test_a_file_that_cannot_be_read_ends_the_start(tmp_path):
    (tmp_path / "unsaved-base_app-0-1.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        take_in(tmp_path, MemoryDatabase(), Log())


def test_a_full_disk_has_room_for_it(tmp_path, monkeypatch):
    set_reserve_aside(tmp_path)
    reserve = tmp_path / "reserve"
    assert reserve.stat().st_size == leftovers.RESERVE_BYTES
    write = leftovers._write

    def full(path, data):
        if reserve.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, data)

    monkeypatch.setattr(leftovers, "_write", full)
    assert "is kept in" in keep_unsaved(tmp_path, "base_app-0", [unsaved()])
    assert len(files(tmp_path)) == 1


def test_record_that_cannot_be_kept_is_reported_as_lost(tmp_path):
    assert "it is LOST" in keep_unsaved(tmp_path / "nowhere", "base_app-0", [unsaved()])


async def change_and_leave(game, cluster, before_leaving):
    visitor = Visitor(game, cluster, "ann")
    await visitor.enter()
    player = visitor.client.player
    assert player is not None
    player.cell.paint(0x123456)
    await visitor.until(lambda: player.colour == 0x123456)
    before_leaving()
    return await visitor.leave()


async def come_again(game, cluster):
    visitor = Visitor(game, cluster, "ann")
    await visitor.enter()
    assert visitor.client.player is not None
    colour = visitor.client.player.colour
    assert await visitor.leave() == ""
    return colour


def test_cluster_with_a_full_disk_fails_and_the_next_start_has_everything(tmp_path):
    data, game = tmp_path / "data", ClientGame.of(load_game(PLAZA))
    with World(data, "--cells", 1, "--no-console") as world:
        cluster = world.wait_ready()
        [db_app] = [each.pid for each in cluster.apps if each.name == "db_app-0"]

        def fill_the_disk():
            resource.prlimit(db_app, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

        error = play(change_and_leave(game, cluster, fill_the_disk))
        assert "did not confirm that everything is saved" in error
        world.process.send_signal(signal.SIGTERM)
        assert world.join() == 1
        said = "\n".join(world.errors)
        assert "could not save Avatar" in said
        assert "ann" in said
        assert not any("Everything has ended" in line for line in world.lines)
    [kept] = data.glob("unsaved-*.json")
    assert kept.name in said
    with World(data, "--cells", 1, "--no-console") as world:
        assert play(come_again(game, world.wait_ready())) == 0x123456
        assert world.terminate() == 0
    assert list(data.glob("unsaved-*")) == []
    assert 'outcome="taken in"' in (data / "logs" / "db_app-0.log").read_text()


async def change_and_lose_the_database(game, cluster, db_app):
    visitor = Visitor(game, cluster, "ann")
    await visitor.enter()
    player = visitor.client.player
    assert player is not None
    player.cell.paint(0x654321)
    await visitor.until(lambda: player.colour == 0x654321)
    os.kill(db_app, signal.SIGKILL)
    await visitor.player.over()
    await visitor.close()


def test_cluster_with_a_killed_dbapp_keeps_what_could_not_be_saved(tmp_path):
    data, game = tmp_path / "data", ClientGame.of(load_game(PLAZA))
    with World(data, "--cells", 1, "--no-console") as world:
        cluster = world.wait_ready()
        [db_app] = [each.pid for each in cluster.apps if each.name == "db_app-0"]
        play(change_and_lose_the_database(game, cluster, db_app))
        assert world.join() == 1
    assert len(list(data.glob("unsaved-*.json"))) == 1
    with World(data, "--cells", 1, "--no-console") as world:
        assert play(come_again(game, world.wait_ready())) == 0x654321
        assert world.terminate() == 0
