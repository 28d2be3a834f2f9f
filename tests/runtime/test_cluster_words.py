"""The output of a cluster about bots that fail and ports that other programs have."""

import asyncio

from terrazzo.runtime.orders import Progress
from tests.runtime.test_cluster_order import stage  # noqa: F401  # a fixture
from tests.runtime.worlds import play


async def ready(it):
    life = asyncio.create_task(it.cluster.run())
    await it.turns()
    it.report(Progress.STARTED)
    it.report(Progress.READY)
    await it.turns()
    it.report(Progress.STARTED, "bots-0", text="5 bots")
    return life


def test_world_goes_on_when_no_bot_is_let_in(stage):  # noqa: F811
    async def main():
        it = stage(bots=5)
        life = await ready(it)
        it.report(Progress.FAILED, "bots-0", text="bot-1 does not get in: the game is full")
        it.launcher.members["bots-0"].end("ended with exit code 1")
        await it.turns()
        assert it.complained == [
            "bots-0: bot-1 does not get in: the game is full",
            "The world goes on without these bots.",
        ]
        assert not life.done()
        assert [name for name in it.launcher.stopped if name != "bots-0"] == []
        it.cluster.stop()
        assert await life == 0
        assert len(it.complained) == 2

    play(main())


def test_world_goes_on_when_the_process_of_the_bots_is_killed(stage):  # noqa: F811
    async def main():
        it = stage(bots=5)
        life = await ready(it)
        it.launcher.members["bots-0"].end("was ended by SIGKILL")
        await it.turns()
        assert it.complained[0].endswith("was ended by SIGKILL; the world goes on. Its last words:")
        assert not life.done()
        it.cluster.stop()
        assert await life == 0

    play(main())


def test_bots_that_do_not_end_are_killed_and_the_exit_code_is_0(stage, monkeypatch):  # noqa: F811
    monkeypatch.setattr("terrazzo.runtime.cluster.STAGE_S", 0.0)

    async def main():
        it = stage(bots=5, stubborn=("bots-0",))
        life = await ready(it)
        it.cluster.stop()
        assert await life == 0
        assert [line for line in it.complained if "bots" in line] == ["bots-0 did not end within 0 s and was killed."]

    play(main())


def test_ports_of_other_programs_are_printed_with_those_taken_instead(stage):  # noqa: F811
    async def main():
        it = stage(with_console=True)
        life = asyncio.create_task(it.cluster.run())
        await it.turns()
        it.report(Progress.STARTED)
        await it.turns()
        it.report(Progress.STARTED, "console-0", text="http://127.0.0.1:7300/")
        it.report(Progress.READY)
        await it.turns()
        assert it.said[-1] == (
            "Another program has the usual ports (7310), so the world has others this time: "
            "login_udp_port = 4000, login_ws_port = 4001."
        )
        it.cluster.stop()
        assert await life == 0

    play(main())
