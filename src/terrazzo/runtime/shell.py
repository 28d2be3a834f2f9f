"""What drives an endpoint of the client channel, whatever carries its packets.

An endpoint (`wire.client`) is polled; a shell decides when. It works in turns:

    packets have come ──▶ endpoint ──▶ on_turn(events) ──▶ poll ──▶ packets leave ──▶ next timer
    flush(), a timer  ───────────────────────────────────▶ poll ──▶ …

Everything that is there is read before anything is answered, so that a burst costs one acknowledgement and the owner's
answers share packets. `on_turn` is called in every turn in which packets came, with or without events: what
the owner sends in it leaves at its end, and an owner that has more to send than the channel may carry adds to it there.
It must not raise: what it raises goes to the loop's exception handler, and the turn is not finished.
An owner that sends at another time calls `flush` afterwards, once for any number of messages and sessions.

*Pace.* Without a tick, a turn ends with a poll. With one, packets leave at most once per tick, and the budget is what
each session may send in it: this is how a server holds to a number of bytes a second. What comes in is handled at once
in both cases.

*The end.* `close` lets every session end gracefully and then gives up the socket; `abort` does not wait. Both leave no
timer, task or socket behind.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from terrazzo.wire.client import ClientEndpoint, ServerEndpoint, SessionEvent
from terrazzo.wire.client.session import EndpointAddress

Out = TypeVar("Out")
Clock = Callable[[], float]
OnTurn = Callable[[list[SessionEvent]], None]


class Endpoint(Protocol[Out]):
    """What both endpoints have in common."""

    def poll(self, now: float, budget_bytes: int | None = None) -> list[Out]: ...
    def events(self) -> list[SessionEvent]: ...
    def next_timeout(self) -> float | None: ...


@dataclass(frozen=True)
class Pace:
    """How often packets leave, and how many bytes of them each time for each session."""

    tick_s: float | None = None
    budget_bytes: int | None = None


AT_ONCE = Pace()

TIMER_STEP_S = 0.001
"""A timer that is not due yet is set no shorter than this. Loops round to milliseconds: a timer for less rings at once,
finds nothing due, and would be set again, thousands of times a second."""


class Shell(ABC, Generic[Out]):
    """The turns of one endpoint. Made on a running loop; `Out` is a packet as the endpoint's poll gives it."""

    def __init__(
        self, endpoint: Endpoint[Out], on_turn: OnTurn, *, pace: Pace = AT_ONCE, clock: Clock = time.monotonic
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._endpoint = endpoint
        self._on_turn = on_turn
        self._pace = pace
        self._clock = clock
        self._poll_from = clock()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._flush_waits = False
        self._turn_waits = False
        self._closing = False
        self._released = False
        self._over = self._loop.create_future()

    # For the owner.

    def flush(self) -> None:
        """What was sent shall leave: at the end of this turn of the loop, or with the next tick."""
        if self._pace.tick_s is not None:
            self._ring_at(self._poll_from)
        elif not self._flush_waits:
            self._flush_waits = True
            self._loop.call_soon(self._flush)

    async def close(self) -> None:
        """Ends every session gracefully, then gives up the socket."""
        self._closing = True
        try:
            if not self._released:
                self._begin_end(self._clock())
                self._poll(self._clock())
                await self._over
        finally:
            self.abort()
        await self._wait_released()

    def abort(self) -> None:
        """Ends everything at once; each peer is sent one packet with CLOSE, which may be lost."""
        if self._released:
            return
        self._closing = True
        self._end_now()
        self._exchange(self._clock(), None)
        self._report_events()
        self._released = True
        if self._timer is not None:
            self._timer.cancel()
        if not self._over.done():
            self._over.set_result(None)
        self._release()

    # For the shells.

    def _on_packets_read(self) -> None:
        """Packets have come and the endpoint has them."""
        if self._released:
            return
        self._on_turn(self._endpoint.events())
        if self._closing:
            self._begin_end(self._clock())  # of sessions that have begun meanwhile
        if self._pace.tick_s is None:
            self._poll(self._clock())
        else:
            self._ring_at(self._poll_from)

    def _take_turn_soon(self) -> None:
        """As `_on_packets_read`, at the end of this turn of the loop, once for all that comes in it."""
        if not self._turn_waits:
            self._turn_waits = True
            self._loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        self._turn_waits = False
        self._on_packets_read()

    def _poll(self, now: float) -> None:
        if self._released or not self._may_send():
            return
        self._exchange(now, self._pace.budget_bytes)
        if self._pace.tick_s is not None:
            self._poll_from = now + self._pace.tick_s
        self._report_events()
        if self._closing and self._is_over() and not self._over.done():
            self._over.set_result(None)
        due_at = self._endpoint.next_timeout()
        if due_at is not None:
            self._ring_at(max(due_at, self._poll_from))

    def _report_events(self) -> None:
        """What a poll has brought about (a session is over); what the owner answers leaves with the next one."""
        events = self._endpoint.events()
        if events:
            self._on_turn(events)
            if not self._released:
                self.flush()

    def _flush(self) -> None:
        self._flush_waits = False
        self._poll(self._clock())

    def _ring_at(self, at: float) -> None:
        """Poll at this time at the latest. A timer that is set earlier stays: it rings, and the next one is set."""
        if self._released or (self._timer is not None and self._timer_at <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        wait_s = at - self._clock()
        self._timer = self._loop.call_later(max(wait_s, TIMER_STEP_S) if wait_s > 0 else 0.0, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._poll(self._clock())

    def _exchange(self, now: float, budget_bytes: int | None) -> None:
        """Polls the endpoint and sends what it gives."""
        self._transmit(self._endpoint.poll(now, budget_bytes))

    async def _wait_released(self) -> None:
        """What `_release` began in the background is done."""

    def _may_send(self) -> bool:
        """Whether what was sent before has left; if not, the shell polls when it has."""
        return True

    @abstractmethod
    def _transmit(self, packets: list[Out]) -> None:
        """Sends the packets."""

    @abstractmethod
    def _begin_end(self, now: float) -> None:
        """Begins the graceful end of every session."""

    @abstractmethod
    def _end_now(self) -> None:
        """Ends every session at once."""

    @abstractmethod
    def _is_over(self) -> bool:
        """Whether every session has come to its end."""

    @abstractmethod
    def _release(self) -> None:
        """Gives up sockets and tasks."""


class ServerShell(Shell[tuple[EndpointAddress, bytes]]):
    """The turns of a server's endpoint."""

    def __init__(
        self, endpoint: ServerEndpoint, on_turn: OnTurn, *, pace: Pace = AT_ONCE, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(endpoint, on_turn, pace=pace, clock=clock)
        self.endpoint = endpoint

    def _begin_end(self, now: float) -> None:
        for session in list(self.endpoint.sessions.values()):
            session.close(now)

    def _end_now(self) -> None:
        for session in list(self.endpoint.sessions.values()):
            session.abort()

    def _is_over(self) -> bool:
        return not self.endpoint.sessions


class ClientShell(Shell[bytes]):
    """The turns of a client's endpoint, which must have been made with a `now` of the same clock."""

    def __init__(
        self, endpoint: ClientEndpoint, on_turn: OnTurn, *, pace: Pace = AT_ONCE, clock: Clock = time.monotonic
    ) -> None:
        super().__init__(endpoint, on_turn, pace=pace, clock=clock)
        self.endpoint = endpoint

    def _begin_end(self, now: float) -> None:
        if self.endpoint.session is not None:
            self.endpoint.session.close(now)
        else:
            self.endpoint.abort()

    def _end_now(self) -> None:
        self.endpoint.abort()

    def _is_over(self) -> bool:
        return self.endpoint.reason is not None
