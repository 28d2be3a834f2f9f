"""Whose turn it is: which channels of an app have something to say in this tick, and when the others are looked at.

    mark          there may be something to say         →  a turn in the round of this tick
    owe_ack       something was taken                   →  a turn when `ack_s` have passed, if it says nothing before
    set_timer     it waits for an answer, or rests      →  looked at when it is due (`next_due`)

**In order.** Runs must repeat: a dict keeps who is marked in order, the heap of the timers breaks ties by a serial.
Acknowledgements are all due after the same time, so a queue keeps them.

**What counts is what the channel says**, its `due` and its `ack_due`: an entry of the heap or of the queue that says
otherwise is out of date, and passed over.

**One entry a channel.** A channel has at most one entry of the heap that counts (`Channel.entry`), and that entry is
never later than the channel's `due`. A timer that is put off changes `due` alone; when the entry comes up, a new entry
for the later time replaces it. Only a timer that is set earlier leaves an old entry behind, and so does a channel that
is forgotten. The heap is cleared of old entries when they are more than half of it and OLD_MAX, so its size is bounded
by the number of channels, however often each of them speaks. The queue of acknowledgements holds what was taken in the
last `ack_s`: one entry a channel and tick.

**Waiting.** What has had no answer for `resend_s` is repeated, after that for twice as long, up to `resend_max_s`
(`backoff`). `wake` and `retry_at` are for those of whom it is known that they wait in vain. A channel that waits for
nothing rests until `Channel.rest` has it looked at again.

Nothing is sent here, and nobody is asked for: that is up to the switchboard.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from math import inf

from terrazzo.wire.entity.channel import Channel, ChannelLimits
from terrazzo.wire.entity.places import Place

OLD_MAX = 64
"""So many old entries may lie in the heap, however few channels there are."""


class ResendSchedule:
    """The turns of all channels of one app."""

    __slots__ = ("_acks", "_old", "_serial", "marked", "timers")

    def __init__(self) -> None:
        self.marked: dict[Channel, None] = {}
        self.timers: list[tuple[float, int, Channel]] = []
        self._serial = 0
        self._old = 0
        """Entries of `timers` that count no more."""
        self._acks: deque[tuple[float, Channel]] = deque()

    # This round.

    def mark(self, channel: Channel) -> None:
        """It has a turn in this round."""
        self.marked[channel] = None

    def urge(self, channel: Channel) -> None:
        """It has a turn in this round, and speaks even if there is no news."""
        channel.owes_frame = True
        self.mark(channel)

    def unmark(self, channel: Channel) -> bool:
        """It has its turn now. False: it has none."""
        if channel not in self.marked:
            return False
        del self.marked[channel]
        return True

    def take_marked(self) -> dict[Channel, None]:
        """Those who have a turn; who is marked from now on has one in the next round."""
        marked, self.marked = self.marked, {}
        return marked

    # Acknowledgements.

    def owe_ack(self, channel: Channel, now: float, limits: ChannelLimits) -> None:
        """Something was taken: it is acknowledged with whatever is said next, or alone after `ack_s`."""
        if channel.ack_due == inf:
            channel.ack_due = now + limits.ack_s
            self._acks.append((channel.ack_due, channel))

    def urge_owed(self, now: float) -> None:
        """Acknowledgements that have waited long enough."""
        while self._acks and self._acks[0][0] <= now:
            due, channel = self._acks.popleft()
            if channel.ack_due == due:
                self.urge(channel)

    # Timers.

    def set_timer(self, channel: Channel, at: float) -> None:
        """It is looked at then, and not before."""
        channel.due = at
        if at != inf:
            self._serial += 1
            channel.turn = self._serial
            if at < channel.entry_at:
                self._drop_entry(channel)
                self._enter(channel)

    def next_due(self, now: float) -> Channel | None:
        """One whose time has come."""
        while self.timers and self.timers[0][0] <= now:
            at, serial, channel = heappop(self.timers)
            if channel.entry != serial:
                self._old -= 1
                continue
            channel.entry, channel.entry_at = 0, inf
            if channel.due <= at:
                return channel
            if channel.due != inf:  # it was put off
                self._enter(channel)
        return None

    def _enter(self, channel: Channel) -> None:
        """The one entry of a channel that has none."""
        channel.entry, channel.entry_at = channel.turn, channel.due
        heappush(self.timers, (channel.due, channel.turn, channel))

    def _drop_entry(self, channel: Channel) -> None:
        """The entry of a channel, if it has one, counts no more."""
        if channel.entry_at == inf:
            return
        channel.entry, channel.entry_at = 0, inf
        self._old += 1
        if self._old > OLD_MAX and 2 * self._old > len(self.timers):
            self.timers = [entry for entry in self.timers if entry[2].entry == entry[1]]
            heapify(self.timers)
            self._old = 0

    def backoff(self, channel: Channel, limits: ChannelLimits) -> float:
        """How long it waits for an answer before it repeats itself."""
        return min(limits.resend_s * 2.0 ** min(channel.attempts, 10), limits.resend_max_s)

    def await_answer(self, channel: Channel, now: float, limits: ChannelLimits) -> None:
        """It has spoken and waits."""
        if channel.due > now + limits.resend_max_s:  # it was at rest, or has no timer
            self.set_timer(channel, now + self.backoff(channel, limits))

    def has_waited(self, channel: Channel, now: float, limits: ChannelLimits) -> bool:
        """Whether it has waited long enough to repeat itself; else it is looked at when it has."""
        answered_by = channel.waiting_since + self.backoff(channel, limits)
        if now < answered_by:
            self.set_timer(channel, answered_by)
            return False
        return True

    def rest(self, channel: Channel, now: float, limits: ChannelLimits) -> None:
        """It waits for nothing."""
        at = channel.rest(now, limits)
        if at is None:
            channel.due = inf
            self.mark(channel)
        elif at != channel.due:
            self.set_timer(channel, at)

    def retry_at(self, channel: Channel, at: float) -> None:
        """It need not wait any longer than until then."""
        channel.waiting_since = -inf
        if at < channel.due:
            self.set_timer(channel, at)

    def wake(self, place: Place, at: float) -> None:
        """Who waits for the part of this place speaks again: then it may be heard."""
        for channel in place.channels.values():
            if channel.awaits_answer:
                self.retry_at(channel, at)

    def forget(self, channel: Channel) -> None:
        """It has no turn any more, neither now nor later."""
        channel.due = channel.ack_due = inf
        self._drop_entry(channel)
        self.marked.pop(channel, None)
