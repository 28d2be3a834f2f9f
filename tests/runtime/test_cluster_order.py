"""What a cluster does with its members, seen through a launcher that starts nothing: orders, words, the end."""

import asyncio
from itertools import count

import msgspec
import pytest

from terrazzo.game import load_game
from terrazzo.runtime.cluster import Cluster
from terrazzo.runtime.config import Apps, Config, Launch
from terrazzo.runtime.datafolder import DataFolder
from terrazzo.runtime.orders import Progress, ProgressReport
from tests.runtime.worlds import PLAZA, play


class Member:
    """Ends when it is stopped, unless it is stubborn."""

    def __init__(self, launcher, order, hear, pid):
        self.name = order.name
        self.order = order
        self.hear = hear
        self.pid = pid
        self._launcher = launcher
        self._end = asyncio.get_running_loop().create_future()

    def stop(self):
        self._launcher.stopped.append(self.name)
        if self.name not in self._launcher.stubborn:
            self.end("")

    def kill(self):
        self.end("was ended by SIGKILL")

    def end(self, how):
        if not self._end.done():
            self._end.set_result(how)

    async def wait(self):
        return await asyncio.shield(self._end)


class Launcher:
    """Members of nothing."""

    def __init__(self, stubborn=()):
        self.members: dict[str, Member] = {}
        self.stopped: list[str] = []
        self.stubborn = stubborn
        self._pids = count(100)

    async def launch(self, order, hear):
        member = self.members[order.name] = Member(self, order, hear, next(self._pids))
        return member


class Stage:
    """A cluster in a test: its launcher, and its output."""

    def __init__(self, tmp_path, *, bots=0, patience_s=20.0, stubborn=(), with_console=False):
        self.launcher = Launcher(stubborn)
        self.said: list[str] = []
        self.complained: list[str] = []
        self.folder = DataFolder(tmp_path)
        self.folder.prepare()
        config = Config(apps=Apps(cells=2, bases=1, bots=bots), launch=Launch(patience_s=patience_s))
        self.cluster = Cluster(
            PLAZA, load_game(PLAZA), config, self.folder, self.launcher,
            say=self.said.append, complain=self.complained.append, with_console=with_console,
        )  # fmt: skip

    async def turns(self):
        """Lets everything happen that can."""
        for _ in range(20):
            await asyncio.sleep(0)

    def report(self, step, *names, text=""):
        for name in names or list(self.launcher.members):
            ports = ("127.0.0.1", 4000, 4001) if name.startswith(("login", "base_app-")) else ()
            is_populated = step is Progress.READY and name.startswith("base_app-")
            self.launcher.members[name].hear(
                msgspec.structs.replace(ProgressReport(step, text, *ports), is_populated=is_populated)
            )


@pytest.fixture
def stage(tmp_path):
    made: list[Stage] = []

    def make(**settings):
        made.append(Stage(tmp_path, **settings))
        return made[0]

    yield make
    for each in made:
        each.folder.release()


def test_from_start_to_end(stage):
    async def main():
        it = stage(bots=5, with_console=True)
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        assert list(it.launcher.members) == [
            "db_app-0", "cell_app_mgr-0", "base_app_mgr-0", "login_app-0", "cell_app-0", "cell_app-1", "base_app-0",
        ]  # fmt: skip
        it.report(Progress.STARTED)
        await it.turns()
        assert it.launcher.members["console-0"].order.login_url == "ws://127.0.0.1:4001/play"
        it.report(Progress.STARTED, "console-0", text="http://127.0.0.1:8000/")
        assert "http://127.0.0.1:8000/" in it.said[-1]
        it.report(Progress.READY)
        await it.turns()
        assert any(line.startswith("The world is ready") for line in it.said)
        bots = it.launcher.members["bots-0"].order.bots
        assert (bots.count, bots.udp_port, bots.public_key) == (5, 4000, it.folder.public_key())
        assert it.folder.read_cluster().is_ready
        it.cluster.stop()
        assert await life == 0
        assert it.complained == []
        return it.launcher.stopped

    stopped = play(main())
    first, second, cells, managers, last = stopped[:1], stopped[1:4], stopped[4:6], stopped[6:8], stopped[8:]
    assert first == ["bots-0"], "nobody has to send them away"
    assert set(second) == {"console-0", "login_app-0", "base_app-0"}
    assert set(cells) == {"cell_app-0", "cell_app-1"}
    assert set(managers) == {"cell_app_mgr-0", "base_app_mgr-0"}
    assert last == ["db_app-0"]


def test_members_that_are_not_ready_are_named_after_a_while(stage, monkeypatch):
    async def main():
        it, loop, timers = stage(patience_s=77.0), asyncio.get_running_loop(), {}
        call_later = loop.call_later

        def noted(delay, callback, *args, **options):
            timers[delay] = callback
            return call_later(delay, callback, *args, **options)

        monkeypatch.setattr(loop, "call_later", noted)
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        it.report(Progress.STARTED, "db_app-0", "cell_app_mgr-0")
        it.report(Progress.WAITING, "cell_app_mgr-0", text="the cells: 0 of 2 CellApps have joined")
        await it.turns()
        assert it.complained == []
        timers[77.0]()
        it.cluster.stop()
        assert await life == 0
        return it.complained

    complained = play(main())
    assert complained[0] == "The world is not ready after 77 s:"
    assert "  cell_app_mgr-0 waits for the cells: 0 of 2 CellApps have joined" in complained
    assert "  cell_app-1 has not started yet" in complained
    assert not any("db_app" in line for line in complained)


@pytest.mark.parametrize("name", ["cell_app-1", "db_app-0", "base_app-0"])
def test_a_member_that_dies_is_named_and_the_rest_ends(stage, name):
    async def main():
        it = stage()
        (it.folder.logs / f"{name}.log").write_text("its last word\n")
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        it.report(Progress.STARTED)
        it.report(Progress.READY)
        await it.turns()
        victim = it.launcher.members[name]
        victim.end("was ended by SIGKILL")
        assert await life == 1
        said = f"{name} (pid {victim.pid}) was ended by SIGKILL; the cluster ends. Its last words:"
        assert it.complained == [said, "  its last word"]
        assert set(it.launcher.stopped) == set(it.launcher.members) - {name}

    play(main())


def test_failed_member_is_reported_with_the_reason(stage):
    async def main():
        it = stage()
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        it.report(Progress.FAILED, "login_app-0", text="UDP port 4000 is in use")
        it.launcher.members["login_app-0"].end("ended with exit code 1")
        assert await life == 1
        assert it.complained == ["login_app-0: UDP port 4000 is in use"]

    play(main())


def test_second_stop_kills_all_members(stage):
    async def main():
        it = stage(stubborn=("base_app-0", "db_app-0"))
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        it.cluster.stop()
        await it.turns()
        assert "base_app-0" in it.launcher.stopped
        assert not life.done()
        it.cluster.stop()
        assert await life == 1

    play(main())


def test_an_order_survives_the_way_to_its_process(stage):
    async def main():
        it = stage(bots=2)
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        orders = [member.order for member in it.launcher.members.values()]
        for order in orders:
            assert msgspec.json.decode(msgspec.json.encode(order), type=type(order)) == order
        it.cluster.stop()
        await life

    play(main())
