"""What the tests of the runtime share: both event loops, a way to wait for something, and a check that nothing is left.

Nothing here sleeps: a test waits for an event, and a time limit only ends a test that has failed.
"""

import asyncio
import gc
from collections import deque

import pytest
import uvloop

from terrazzo.runtime.loop import run

LIMIT_S = 10.0
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}

on_both_loops = pytest.mark.parametrize("loop", list(LOOPS))


def play(loop, main):
    """Runs a test's coroutine on a loop; everything it opened must be closed at its end."""

    async def bounded():
        async with asyncio.timeout(LIMIT_S):
            await main
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, left

    run(bounded(), factory=LOOPS[loop])
    gc.collect()  # an unclosed socket or transport raises a warning, and a warning is an error here


class Inbox:
    """Collects what happens, and lets a test wait for it."""

    def __init__(self):
        self.seen = []
        self._new: deque = deque()
        self._waiting = None

    def add(self, item):
        self.seen.append(item)
        self._new.append(item)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def next(self):
        while not self._new:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        return self._new.popleft()

    async def take(self, count):
        return [await self.next() for _ in range(count)]
