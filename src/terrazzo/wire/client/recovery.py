"""What is in flight, how long a round trip takes, what counts as lost, and how much may be in flight.

A packet number is never used twice, so it is always clear which sending an acknowledgement answers: every
round-trip sample is unambiguous. What a lost packet carried goes out again in a new packet.

A packet counts as lost when three later ones were acknowledged, or when a later one
was and 9/8 of a round trip has passed. Only where no evidence can come (the last packets of a burst) a
timer asks for it: the probe, doubled each time it goes unanswered, carries the oldest unacknowledged bytes
and makes the peer acknowledge.

The window is counted in packets. It grows by the packets acknowledged until the first loss, then by one per
round trip; a loss cuts it to 0.7, once per round trip. Its floor keeps play alive on a line that loses at
random.

On an ordered transport nothing is ever lost: an acknowledgement covers all before it, no timer runs.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo._speed import packet
from terrazzo.wire.client import limits


class Sent(NamedTuple):
    """A packet in flight: the spans of the reliable stream in it, and whether it had END."""

    number: int
    sent_at: float
    spans: list[tuple[int, int]]
    end: bool


class Recovery:
    """The sender's knowledge of its packets in flight."""

    def __init__(self, *, datagram: bool) -> None:
        self.in_flight: dict[int, Sent] = {}
        self.newest_acked = -1
        self.smoothed_s = limits.RTT_INITIAL_S
        self.variance_s = limits.RTT_INITIAL_S / 2
        self.latest_s = limits.RTT_INITIAL_S
        self.samples = 0
        self.lost = 0
        self._datagram = datagram
        self._last_sent_at = 0.0
        self._loss_at: float | None = None
        self._backoffs = 0
        self.reset_window()

    def reset_window(self) -> None:
        """Start over on a path that nothing is known about."""
        self.window = float(limits.WINDOW_PACKETS_INITIAL)
        self._threshold = float(limits.WINDOW_PACKETS_MAX)
        self._cut_before = -1

    @property
    def has_room(self) -> bool:
        """Whether the window lets one more packet out."""
        return len(self.in_flight) < self.window

    @property
    def probe_s(self) -> float:
        """How long to wait for an acknowledgement before asking for one."""
        wait = self.smoothed_s + max(4 * self.variance_s, limits.TIMER_STEP_S) + limits.ACK_DELAY_S
        return min(wait * 2.0**self._backoffs, max(limits.PROBE_S_MAX, wait))

    @property
    def probe_at(self) -> float | None:
        """When the next probe is due, if something is in flight that can be lost."""
        if not self.in_flight or not self._datagram:
            return None
        return self._last_sent_at + self.probe_s

    @property
    def loss_at(self) -> float | None:
        """When a packet that has been overtaken will count as lost."""
        return self._loss_at

    def on_sent(self, sent: Sent) -> Sent | None:
        """A packet that wants to be acknowledged has gone out. Gives the one that was given up for it: too many are in
        flight with a peer that sends and acknowledges nothing."""
        self.in_flight[sent.number] = sent
        self._last_sent_at = sent.sent_at
        if len(self.in_flight) <= limits.FLIGHT_PACKETS_MAX:
            return None
        self.lost += 1
        return self.in_flight.pop(next(iter(self.in_flight)))

    def on_ack(self, newest: int, bits: bytes, delay_s: float, now: float) -> tuple[list[Sent], list[Sent]]:
        """The peer acknowledges; gives what has arrived and what is now known to be lost."""
        flying = len(self.in_flight)
        if self._datagram:
            acked = packet.take_acked(self.in_flight, newest, bits)
        else:
            acked = [self.in_flight.pop(number) for number in list(self.in_flight) if number <= newest]
        if newest > self.newest_acked:
            self.newest_acked = newest
        if not acked:
            return acked, self.find_lost(now)
        if acked[0].number == newest:
            self._sample(now - acked[0].sent_at, delay_s)
        self._backoffs = 0
        if flying * 2 >= self.window:
            self._grow(len(acked))
        return acked, self.find_lost(now)

    def find_lost(self, now: float) -> list[Sent]:
        """Take out of flight the packets that are lost by the evidence."""
        self._loss_at = None
        if not self._datagram:
            return []
        patience = max(limits.LOSS_DELAY_FACTOR * max(self.smoothed_s, self.latest_s), limits.TIMER_STEP_S)
        lost: list[Sent] = []
        for number, sent in self.in_flight.items():
            if number >= self.newest_acked:
                break
            if number <= self.newest_acked - limits.LOSS_PACKETS or sent.sent_at + patience <= now:
                lost.append(sent)
            else:
                self._loss_at = sent.sent_at + patience
                break
        for sent in lost:
            del self.in_flight[sent.number]
        if lost:
            self.lost += len(lost)
            self._cut(lost[-1].number)
        return lost

    def on_probe(self) -> Sent:
        """The probe is due: gives the oldest packet in flight, for the probe to carry its content."""
        self._backoffs = min(self._backoffs + 1, limits.PROBE_BACKOFF_MAX)
        if self._backoffs >= limits.BACKOFFS_TO_MIN_WINDOW:
            self.window = float(limits.WINDOW_PACKETS_MIN)
        return next(iter(self.in_flight.values()))

    def _sample(self, rtt_s: float, delay_s: float) -> None:
        """One measured round trip; the time the peer took to answer is not the path's."""
        rtt_s = max(rtt_s - min(delay_s, limits.ACK_DELAY_S, max(rtt_s, 0.0)), 0.0)
        self.latest_s = rtt_s
        self.samples += 1
        if self.samples == 1:
            self.smoothed_s = rtt_s
            self.variance_s = rtt_s / 2
            return
        self.variance_s += (abs(self.smoothed_s - rtt_s) - self.variance_s) / 4
        self.smoothed_s += (rtt_s - self.smoothed_s) / 8

    def _grow(self, acked: int) -> None:
        self.window += acked if self.window < self._threshold else acked / self.window
        self.window = min(self.window, float(limits.WINDOW_PACKETS_MAX))

    def _cut(self, newest_lost: int) -> None:
        """Less in flight from now on; losses of packets sent before a cut are what the cut was for."""
        if newest_lost < self._cut_before:
            return
        self.window = max(self.window * limits.WINDOW_CUT, float(limits.WINDOW_PACKETS_MIN))
        self._threshold = self.window
        self._cut_before = next(reversed(self.in_flight), newest_lost) + 1
