"""Turns of real processes: an app that takes turns answers although its tick is far away."""

import asyncio

from terrazzo.runtime.doors import EventQueue
from terrazzo.wire.client import Closed, Reason
from tests.runtime.apps import Cluster, Parrot, Say
from tests.runtime.support import on_both_loops, play

FAR_S = 3600.0


class Echo(Parrot):
    """Sends back in its turn what it has received."""

    def __init__(self, host):
        super().__init__(host)
        self.turns = 0
        self._answered = 0

    def on_turn(self):
        self.turns += 1
        for source, word in self.heard.seen[self._answered :]:
            self.outbox.send(source, word)
        self._answered = len(self.heard.seen)


@on_both_loops
def test_answer_does_not_wait_for_the_tick(loop):
    async def main():
        cluster = Cluster()
        echo, other = await cluster.start(1, factory=Echo, tick_s=FAR_S), await cluster.start(2)
        other.app.say(echo.id, Say(1), Say(2))
        assert await other.app.heard.take(2) == [(echo.id, Say(1)), (echo.id, Say(2))]
        assert echo.app.ticks <= 1
        await cluster.stop()

    play(loop, main())


@on_both_loops
def test_messages_within_the_pace_of_turns_share_one_turn(loop):
    async def main():
        cluster = Cluster()
        echo, other = await cluster.start(1, factory=Echo, tick_s=FAR_S, turn_s=FAR_S), await cluster.start(2)
        other.app.say(echo.id, Say(1), Say(2))
        await echo.app.heard.take(2)
        await other.app.tick()
        assert echo.app.turns <= 1, "the first turn came with the link"
        await cluster.stop()

    play(loop, main())


@on_both_loops
def test_packets_of_a_door_ask_for_a_turn_and_its_answer_is_flushed(loop):
    async def main():
        cluster = Cluster()
        flushed = asyncio.Event()
        echo = await cluster.start(1, factory=Echo, tick_s=FAR_S, after_turn=flushed.set)
        mailbox = EventQueue()
        mailbox.on_packets = echo.turn_soon
        mailbox.add([Closed(None, Reason.SILENT, False)])
        await flushed.wait()
        assert echo.app.turns == 1
        await cluster.stop()

    play(loop, main())


@on_both_loops
def test_an_app_that_has_ended_gets_no_turn(loop):
    async def main():
        cluster = Cluster()
        echo = await cluster.start(1, factory=Echo, tick_s=FAR_S)
        echo.turn_soon()
        await cluster.stop()
        turns = echo.app.turns
        echo.turn_soon()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert echo.app.turns == turns

    play(loop, main())
