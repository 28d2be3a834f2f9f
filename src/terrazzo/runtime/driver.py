"""Runs one app: its ticks, its links, its end. What `sim.world.Process` does with virtual time, this does with real.

    start ──▶ running: ticks by the schedule, messages as they come, turns soon after them ──▶ ended
                                stop() ── STOPPED: one last tick sends what the app has to send, links end in order
                                fenced ── FENCED: declared dead while it ran; nothing more is sent
                        app raises     ── FAILED: a broken invariant of ours; nothing more is sent, `run` raises it

The driver is the app's `Host`, and the listener of its connections. It calls the app from the event loop only,
one call at a time, with a `now` that stands still during the call. All that an app writes leaves with its turn or its
tick, as one bundle to each peer (`cluster.links` does this). `schedule.py` decides how late ticks are made up for.

A turn comes at the end of the loop's round in which something came, if the last turn was `turn_s` ago; else as soon as
it is. So the first message of a while is answered at once, and a busy app answers all of `turn_s` together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from enum import Enum
from random import Random
from typing import Any

from terrazzo.cluster.app import TURN_S, App, Host, ProcessLoad
from terrazzo.cluster.links import LinkLimits, Links
from terrazzo.runtime.cpuload import CpuLoad, Lateness
from terrazzo.runtime.links import FindPeer, LinkTransport, PeerAddress, TransportLimits
from terrazzo.runtime.schedule import TickSchedule
from terrazzo.runtime.shell import Clock
from terrazzo.wire.environment import Log
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent

LATE_TICKS_MAX = 3
"""Missed ticks that are made up for in a row."""


class Ending(Enum):
    """How an app's life ended."""

    STOPPED = "stopped"
    FENCED = "fenced"
    FAILED = "failed"


class Driver:
    """One app and everything around it, on a running loop."""

    def __init__(
        self,
        id: AppId,
        factory: Callable[[Host], App],
        *,
        tick_s: float,
        turn_s: float = TURN_S,
        places: FindPeer,
        seed: int,
        log: Log,
        link_limits: LinkLimits | None = None,
        transport_limits: TransportLimits | None = None,
        late_ticks_max: int = LATE_TICKS_MAX,
        clock: Clock = time.monotonic,
        after_tick: Callable[[], None] | None = None,
        after_turn: Callable[[], None] | None = None,
    ) -> None:
        """`after_tick` and `after_turn` are for drivers of more than links: the messages of the app can leave then."""
        self.id = id
        self.rng = Random(f"{seed}/{id}")
        self.now = clock()
        self.log = log
        self.unsent_outside: Callable[[], int] = int
        """What the doors have not sent, in bytes."""
        self._cpu_load = CpuLoad()
        self._lateness = Lateness()
        self.ending: Ending | None = None
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._tick_s = tick_s
        self._late_ticks_max = late_ticks_max
        self._timer: asyncio.TimerHandle | None = None
        self._ended = asyncio.Event()
        self._error: BaseException | None = None
        self._after_tick = after_tick
        self._turn_s = turn_s
        self._turned_at = self.now - turn_s
        self._turn: asyncio.Handle | None = None
        self._after_turn = after_turn
        self._joins: list[AppId] | None = []  # asked for by the app while it is being made
        self._transport = LinkTransport(self, places, log=log, rng=self.rng, limits=transport_limits)
        self.app = factory(self)
        self.links = Links(id, self.app, self, self._transport, limits=link_limits)
        joins, self._joins = self._joins or [], None
        for peer in joins:
            self.links.join(peer)
        self.schedule = TickSchedule(self.now, tick_s, late_ticks_max)

    # The life.

    async def start(self, listen: Sequence[PeerAddress] = ()) -> list[PeerAddress]:
        """Listens, then ticks; gives the places with the ports that were taken."""
        places = [await self._transport.listen(place) for place in listen]
        self.log(LogEvent.STARTED, id=self.id, places=places)
        self.schedule = TickSchedule(self._clock(), self._tick_s, self._late_ticks_max)
        self._wait_for_tick()
        return places

    def stop(self) -> None:
        """Asks for the end in order; `run` returns when it has come."""
        self._end(Ending.STOPPED)

    def call(self, act: Callable[[], None]) -> None:
        """Into the app from outside, as a message would come: with the present time, and only while it lives."""
        self._hand_over(act)

    def turn_soon(self) -> None:
        """Something has come for the app, by a door or from a thread: it gets a turn."""
        if self._turn is None and self.links.takes_turns and self.ending is None:
            wait_s = self._turned_at + self._turn_s - self._clock()
            if wait_s > 0.0:
                self._turn = self._loop.call_later(wait_s, self._take_turn)
            else:
                self._turn = self._loop.call_soon(self._take_turn)

    async def run(self) -> Ending:
        """Waits for the end, brings it about in order, and gives its kind; raises what the app has raised."""
        try:
            await self._ended.wait()
        finally:
            self._end(Ending.STOPPED)  # also when this coroutine is cancelled
            if self.ending is Ending.STOPPED:
                self._call(self.links.on_tick)
            await self._transport.stop()
            self.log(LogEvent.ENDED, id=self.id, how=self.ending)
        if self._error is not None:
            raise self._error
        assert self.ending is not None
        return self.ending

    def _end(self, how: Ending) -> None:
        if self.ending is None:
            self.ending = how
            for handle in (self._timer, self._turn):
                if handle is not None:
                    handle.cancel()
            self._ended.set()

    # Ticks and turns.

    def _wait_for_tick(self) -> None:
        if self.ending is None:
            self._timer = self._loop.call_later(max(self.schedule.due_at - self._clock(), 0.0), self._tick)

    def _tick(self) -> None:
        self._lateness.note((self._clock() - self.schedule.due_at) / self._tick_s)
        self._enter(self.links.on_tick)
        if self._after_tick is not None:
            self._enter(self._after_tick)
        given_up = self.schedule.advance(self._clock())
        if given_up:
            self.log(LogEvent.TICKS_SKIPPED, count=given_up)
        self._wait_for_tick()

    def _take_turn(self) -> None:
        self._turn = None
        self._turned_at = self._clock()
        self._enter(self.links.on_turn)
        if self._after_turn is not None:
            self._enter(self._after_turn)

    # Host: what the app sees, besides `now`, `rng` and `log`.

    def process_load(self) -> ProcessLoad:
        """See Host."""
        unsent = self._transport.unsent_bytes() + self.unsent_outside()
        return ProcessLoad(self._cpu_load(), self._lateness.ticks, unsent)

    def join(self, peer: AppId) -> None:
        """See Host. An app may ask for it while it is being made, before there are links."""
        if self._joins is not None:
            self._joins.append(peer)
        else:
            self.links.join(peer)

    def fence(self, app: AppId) -> None:
        """See Host."""
        self.links.fence(app)

    # ConnectionListener: what becomes of connections.

    def on_accepted(self, number: int) -> None:
        """See ConnectionListener."""
        self._hand_over(self.links.on_accepted, number)

    def on_opened(self, number: int) -> None:
        """See ConnectionListener."""
        self._hand_over(self.links.on_opened, number)

    def on_closed(self, number: int) -> None:
        """See ConnectionListener."""
        self._hand_over(self.links.on_closed, number)

    def on_data(self, number: int, data: bytes) -> None:
        """See ConnectionListener."""
        self._hand_over(self.links.on_data, number, data)

    def _hand_over(self, act: Callable[..., None], *args: Any) -> None:
        """Something comes from outside: it is handed to the app, which gets a turn."""
        self._enter(act, *args)
        self.turn_soon()

    def _enter(self, act: Callable[..., None], *args: Any) -> None:
        if self.ending is None:
            self._call(act, *args)
            if self.links.fenced:
                self._end(Ending.FENCED)

    def _call(self, act: Callable[..., None], *args: Any) -> None:
        """Into the app: what it raises ends it, for its state can no longer be trusted."""
        self.now = self._clock()
        try:
            act(*args)
        except Exception as error:
            self.log(LogEvent.APP_FAILED, id=self.id, error=repr(error))
            self._error = error
            self._end(Ending.FAILED)
            self.ending = Ending.FAILED
