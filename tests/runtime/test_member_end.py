"""The end of a member: what it waits for, and how long that may take."""

import os
import signal
import time
from typing import Any, cast

from terrazzo.runtime import doors, links, members
from terrazzo.runtime.config import Config
from terrazzo.runtime.entrances import BaseMember
from terrazzo.runtime.orders import Order, Progress, ProgressReport
from terrazzo.wire.ids import AppId, AppKind
from tests.runtime.test_cluster_order import stage  # noqa: F401  # a fixture
from tests.runtime.test_cluster_words import ready
from tests.runtime.worlds import Watch, World, play


class Ending:
    """A driver and an app at their end."""

    def __init__(self, *, is_stopped):
        self.links = self
        self.peers = [AppId(AppKind.DB_APP, 0, 1), AppId(AppKind.CELL_APP, 1, 1)]
        self.is_stopped = is_stopped
        self.has_stopped = False

    def stop(self):
        self.has_stopped = True

    def words_of_end(self):
        return "2 cell parts to end at cell_app-1.1, and 0 entities to be saved"

    def unsaved(self):
        return []


def ticked(tmp_path, *, is_stopped, left_s):
    """A BaseApp after a tick at its end, with so much time left, and its reports."""
    told: list[ProgressReport] = []
    order = Order(kind="base_app", index=0, game="", config=Config(), data=str(tmp_path), sockets="")
    member: Any = BaseMember(order, cast(Any, None), lambda event, /, **facts: None, told.append)
    member.app = member.driver = it = Ending(is_stopped=is_stopped)
    member._end_by = time.monotonic() + left_s
    member._on_ticked()
    return member, it, told


def test_base_app_that_is_done_too_late_reports_nothing_as_undone(tmp_path):
    member, it, _ = ticked(tmp_path, is_stopped=True, left_s=-1.0)
    assert it.has_stopped
    assert member._undone is None


def test_base_app_that_is_not_done_in_time_names_what_it_waited_for(tmp_path):
    member, it, _ = ticked(tmp_path, is_stopped=False, left_s=-1.0)
    assert it.has_stopped
    assert member._undone == "it still waited for 2 cell parts to end at cell_app-1.1, and 0 entities to be saved"


def test_member_reports_what_its_end_waits_for_once(tmp_path):
    member, it, told = ticked(tmp_path, is_stopped=False, left_s=9.0)
    member._on_ticked()
    assert told == [ProgressReport(Progress.ENDING, it.words_of_end())]
    it.is_stopped = True
    member._on_ticked()
    assert told[1:] == [ProgressReport(Progress.ENDING, "links to close: cell_app-1.1, db_app-0.1")]


def test_member_that_is_killed_is_named_with_what_it_waited_for(stage, monkeypatch):  # noqa: F811
    monkeypatch.setattr("terrazzo.runtime.cluster.STAGE_S", 0.0)

    async def main():
        it = stage(bots=1, stubborn=("base_app-0",))
        life = await ready(it)
        it.report(Progress.ENDING, "base_app-0", text="3 cell parts to end")
        it.cluster.stop()
        assert await life == 1
        assert "base_app-0 did not end within 0 s and was killed; it waited for 3 cell parts to end." in it.complained

    play(main())


def test_member_has_time_for_its_end_in_order_and_for_peers_that_close_late():
    assert members.END_S + links.CLOSE_S + 2 * doors.CLOSE_S < members.GONE_S - 1.0


def test_base_app_ends_although_a_cell_app_does_nothing(tmp_path):
    with World(tmp_path, "--cells", "1", "--bases", "1", "--no-console") as world:
        pids = {each.name: each.pid for each in world.wait_ready().apps}
        cell, base = pids["cell_app-0"], Watch([pids["base_app-0"]])
        os.kill(cell, signal.SIGSTOP)
        try:
            world.process.send_signal(signal.SIGTERM)
            assert base.wait_gone(30.0) == []
        finally:
            os.kill(cell, signal.SIGCONT)
        assert world.join() == 0, world.errors
