"""The resend schedule: which channels of an app send in this tick, and when the others are looked at again.

    mark          the channel may have something to send   →  a turn in the round of this tick
    owe_ack       the part has taken a message             →  a turn after `ack_s`, if the channel sends nothing before
    set_timer     the channel awaits an answer, or rests   →  looked at when it is due (`next_due`)

**Order.** Runs must repeat: a list keeps the marked channels in order, and the heap of the timers breaks ties by a
serial. Acknowledgements are all due after the same time, so a queue keeps them, with one entry for each tick.

**The channel decides.** Its `is_marked`, `due` and `ack_due` count: an entry of the list, the heap or the queue that
differs from them is out of date, and is skipped.

**One entry per channel.** A channel has at most one entry of the heap that counts (`Channel.entry`), and that entry is
never later than the channel's `due`. A timer that is put off changes `due` alone; when the entry comes up, a new entry
for the later time replaces it. Only a timer that is set earlier leaves an old entry behind, and so does a channel that
is removed. The heap is cleared of old entries when they are more than half of it and OLD_MAX, so its size is bounded by
the number of channels, however often each of them sends. The queue of acknowledgements holds what was taken in the last
`ack_s`: one entry per channel and tick.

**Backoff.** A frame that has had no answer for `resend_s` is repeated, after that for twice as long, up to
`resend_max_s` (`backoff`). `wake` and `retry_at` are for channels with frames that certainly were lost. A channel that
awaits nothing rests until the time that `Channel.rest` gives.

The schedule sends nothing and asks no resolver: the router does.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from math import inf

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.places import Place

OLD_MAX = 64
"""So many old entries may be in the heap, however few channels there are."""


class ResendSchedule:
    """The schedule of all channels of one app."""

    __slots__ = ("_acks", "_acks_due", "_acks_last", "_old", "_serial", "marked", "timers")

    def __init__(self) -> None:
        self.marked: list[Channel] = []
        """The channels that have a turn in this round, with some that have none any more."""
        self.timers: list[tuple[float, int, Channel]] = []
        self._serial = 0
        self._old = 0
        """Entries of `timers` that do not count any more."""
        self._acks: deque[tuple[float, list[Channel]]] = deque()
        self._acks_due = -inf
        self._acks_last: list[Channel] = []
        """The last entry of the queue."""

    # This round.

    def mark(self, channel: Channel) -> None:
        """The channel has a turn in this round."""
        if not channel.is_marked:
            channel.is_marked = True
            self.marked.append(channel)

    def urge(self, channel: Channel) -> None:
        """The channel has a turn in this round, and sends a frame even if it has no payload."""
        channel.owes_frame = True
        self.mark(channel)

    def unmark(self, channel: Channel) -> bool:
        """Takes the turn of the channel away, since it sends now. False: it has no turn."""
        had_turn, channel.is_marked = channel.is_marked, False
        return had_turn

    def take_marked(self) -> list[Channel]:
        """The channels that have a turn, without that; a channel that is marked from now on has one in the next
        round."""
        marked, self.marked = self.marked, []
        turns = []
        for channel in marked:
            if channel.is_marked:
                channel.is_marked = False
                turns.append(channel)
        return turns

    # Acknowledgements.

    def owe_ack(self, channel: Channel, now: float, limits: ChannelLimits) -> None:
        """A message was taken: it is acknowledged with the next frame, or alone after `ack_s`."""
        if channel.ack_due == inf:
            channel.ack_due = now + limits.ack_s
            if channel.ack_due != self._acks_due or not self._acks:
                self._acks_due, self._acks_last = channel.ack_due, []
                self._acks.append((self._acks_due, self._acks_last))
            self._acks_last.append(channel)

    def urge_owed(self, now: float) -> None:
        """Marks the channels with an acknowledgement that has waited for `ack_s`."""
        while self._acks and self._acks[0][0] <= now:
            due, channels = self._acks.popleft()
            for channel in channels:
                if channel.ack_due == due:
                    self.urge(channel)
        if not self._acks:
            self._acks_last = []

    # Timers.

    def set_timer(self, channel: Channel, at: float) -> None:
        """The channel is looked at then, and not before."""
        channel.due = at
        if at != inf:
            self._serial += 1
            channel.turn = self._serial
            if at < channel.entry_at:
                self._drop_entry(channel)
                self._enter(channel)

    def next_due(self, now: float) -> Channel | None:
        """A channel that is due by now; None: there is none."""
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
        """Adds the entry of a channel that has none."""
        channel.entry, channel.entry_at = channel.turn, channel.due
        heappush(self.timers, (channel.due, channel.turn, channel))

    def _drop_entry(self, channel: Channel) -> None:
        """The entry of a channel, if it has one, does not count any more."""
        if channel.entry_at == inf:
            return
        channel.entry, channel.entry_at = 0, inf
        self._old += 1
        if self._old > OLD_MAX and 2 * self._old > len(self.timers):
            self.timers = [entry for entry in self.timers if entry[2].entry == entry[1]]
            heapify(self.timers)
            self._old = 0

    def backoff(self, channel: Channel, limits: ChannelLimits) -> float:
        """How long the channel awaits an answer before it sends again."""
        return min(limits.resend_s * 2.0 ** min(channel.attempts, 10), limits.resend_max_s)

    def await_answer(self, channel: Channel, now: float, limits: ChannelLimits) -> None:
        """The channel has sent and awaits an answer."""
        if channel.due > now + limits.resend_max_s:  # the channel rested, or has no timer
            self.set_timer(channel, now + self.backoff(channel, limits))

    def has_waited(self, channel: Channel, now: float, limits: ChannelLimits) -> bool:
        """Whether the channel has waited long enough to send again; else it is looked at when it has."""
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
        """Each channel that awaits an answer of the part of this place sends again at `at`."""
        for channel in place.channels.values():
            if channel.awaits_answer():
                self.retry_at(channel, at)

    def forget(self, channel: Channel) -> None:
        """The channel has no turn any more, neither now nor later."""
        channel.due = channel.ack_due = inf
        self._drop_entry(channel)
        channel.is_marked = False
