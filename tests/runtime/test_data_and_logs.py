"""What a cluster keeps on disk: its key, its lock, its logs; and the threads that write for DBApp."""

import json
import os
import threading

import pytest

from terrazzo.db.memory import MemoryDatabase
from terrazzo.db.store import HashPassword, TakeIds
from terrazzo.errors import UsageError
from terrazzo.runtime import logs
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.logs import AppLog, last_lines
from terrazzo.runtime.orders import ClusterFile, RunningApp
from terrazzo.runtime.storethreads import StoreThreads
from terrazzo.wire.client import public_key
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.log_events import LogEvent


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path):
    folder = DataFolder(tmp_path)
    key = folder.make_key()
    assert folder.key_file.stat().st_mode & 0o777 == 0o600
    assert folder.make_key() == DataFolder(tmp_path).read_key() == key
    assert folder.public_key() == public_key(key).hex()


def test_a_damaged_key_is_not_replaced(tmp_path):
    folder = DataFolder(tmp_path)
    folder.key_file.write_text("not a key")
    with pytest.raises(UsageError, match="put the right one back"):
        folder.make_key()
    assert folder.key_file.read_text() == "not a key"


def test_a_folder_belongs_to_one_cluster_at_a_time(tmp_path):
    first, second = DataFolder(tmp_path), DataFolder(tmp_path)
    first.prepare()
    with pytest.raises(UsageError, match="another cluster is running"):
        second.prepare()
    first.release()
    second.prepare()
    second.release()


def test_a_running_cluster_is_found_by_its_folder(tmp_path):
    folder = DataFolder(tmp_path)
    folder.prepare()
    with pytest.raises(UsageError, match="no cluster is running"):
        folder.read_cluster()
    apps = [RunningApp("db_app-0", 7), RunningApp("login_app-0", 8, "127.0.0.1", 4000, 4001)]
    cluster = ClusterFile("plaza", 6, "beef", "digest", "sockets", True, apps)
    folder.write_cluster(cluster)
    assert folder.read_cluster() == cluster
    assert folder.read_cluster().login == apps[1]
    folder.release()
    assert not folder.cluster_file.exists()


def test_cluster_of_a_killed_launcher_is_reported_as_dead(tmp_path):
    folder = DataFolder(tmp_path)
    folder.prepare()
    folder.write_cluster(ClusterFile("plaza", 6, "beef", "digest", "sockets", True, []))
    assert folder._lock is not None
    os.close(folder._lock)  # as the system does with a process that is killed
    with pytest.raises(UsageError, match=r"is dead: its launcher \(pid 6\) ended without stopping it"):
        DataFolder(tmp_path).read_cluster()
    DataFolder(tmp_path).forget_dead_cluster()
    assert not folder.cluster_file.exists()


def test_file_of_a_running_cluster_is_not_removed(tmp_path):
    folder = DataFolder(tmp_path)
    folder.prepare()
    folder.write_cluster(ClusterFile("plaza", 6, "beef", "digest", "sockets", True, []))
    DataFolder(tmp_path).forget_dead_cluster()
    assert DataFolder(tmp_path).read_cluster().pid == 6
    folder.release()


def logged(tmp_path, *, as_json):
    log = AppLog("cell_app-2", tmp_path, as_json=as_json)
    log(LogEvent.LINK_UP, peer=AppId(AppKind.DB_APP, 0, 1), tries=2, why="it was there")
    log(
        LogEvent.GAME_ERROR,
        error="ValueError: no",
        trace="Traceback:\n  in hit\n  \x1b[2Jraise\n",
        places=[AppId(AppKind.DB_APP, 0, 1)],
    )
    log.close()
    return (tmp_path / "cell_app-2.log").read_text().splitlines()


def test_an_event_is_one_line(tmp_path, capsys):
    up, error, *trace = logged(tmp_path, as_json=False)
    assert up.split(" ", 1)[1] == 'cell_app-2 link up peer=db_app-0.1 tries=2 why="it was there"'
    assert 'game error error="ValueError: no" places=' in error
    assert trace == ["  trace:", "    Traceback:", "      in hit", "      \\u001b[2Jraise"], "below it, as it is"
    assert capsys.readouterr().err.splitlines() == [error, *trace], "errors go to stderr, and nothing else"


def test_an_event_is_one_json_object(tmp_path, capsys):
    up, error = map(json.loads, logged(tmp_path, as_json=True))
    assert (up["app"], up["event"]) == ("cell_app-2", "link up")
    assert up["facts"] == {"peer": "db_app-0.1", "tries": 2, "why": "it was there"}
    assert error["facts"]["places"] == ["db_app-0.1"]
    assert error["facts"]["trace"].startswith("Traceback:\n  in hit")
    assert json.loads(capsys.readouterr().err) == error


def test_a_log_that_is_full_is_rotated_and_no_event_is_lost_before_the_oldest_file_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "FILE_BYTES_MAX", 1000)
    log = AppLog("cell_app-7", tmp_path)
    for number in range(40):
        log(LogEvent.STOPPING, number=number)
    log.close()
    files = sorted(tmp_path.glob("cell_app-7.log*"), reverse=True)
    assert [each.name for each in files] == ["cell_app-7.log.2", "cell_app-7.log.1", "cell_app-7.log"]
    assert all(each.stat().st_size < 1100 for each in files)
    kept = [int(line.rpartition("=")[2]) for each in files for line in each.read_text().splitlines()]
    assert kept == list(range(kept[0], 40))


def test_the_end_of_a_log(tmp_path):
    path = tmp_path / "log"
    assert last_lines(path) == []
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    assert last_lines(path, 2) == ["line 998", "line 999"]


class Passwords:
    """Returns the thread in which it was called."""

    def __init__(self):
        self.is_done = threading.Event()

    def hash(self, password):
        self.is_done.set()
        return threading.current_thread().name

    def check(self, password, password_hash):
        raise RuntimeError("this should not be")


def test_each_lane_of_the_store_has_a_thread(tmp_path):
    passwords = Passwords()
    threads = StoreThreads(MemoryDatabase(), passwords)
    results: list[object] = []
    threads.store.submit(TakeIds(3), results.append, results.append)
    threads.store.submit(HashPassword("secret"), results.append, results.append)
    threads.close()
    threads.store.poll()
    assert sorted(map(str, results)) == ["1", "passwords"]
    assert len(threads.store) == 0
    assert threads.error is None
