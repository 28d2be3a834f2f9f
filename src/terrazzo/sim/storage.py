"""A simulated disk: it keeps what it has confirmed, answers late, and may fail.

Each `write` and `read` is answered after a latency of its own, so two of them may finish in another order than they
were requested in. A value is durable from the moment in which it is confirmed. When the owner crashes, each unconfirmed
write is kept or lost as a whole, by a random draw, and gets no answer. While there are `failures`, all requests are
refused; `slowness` multiplies the time that each takes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from terrazzo.sim.clock import Clock

Written = Callable[[bool], None]
ReadDone = Callable[[bool, bytes | None], None]


class Disk:
    """The storage of one process; survives its crashes."""

    def __init__(self, clock: Clock, rng: Random, *, latency_s: float = 0.005) -> None:
        self.kept: dict[str, bytes] = {}
        self.latency_s = latency_s
        self.slowness = 1.0
        self.failures = 0  # the number of faults at present
        self._clock = clock
        self._rng = rng
        self._owner = 0
        self._pending: dict[int, tuple[str, bytes]] = {}
        self._number = 0
        self._applied: dict[str, int] = {}

    def write(self, key: str, value: bytes, then: Written) -> None:
        """Keeps `value`; `then(True)` once it is durable, `then(False)` if it is refused."""
        self._number += 1
        if not self.failures:
            self._pending[self._number] = (key, value)
        self._clock.after(self._delay(), self._write_done, self._owner, self._number, then)

    def read(self, key: str, then: ReadDone) -> None:
        """`then(True, value or None)`, or `then(False, None)` if it is refused."""
        self._clock.after(self._delay(), self._read_done, self._owner, key, self.failures > 0, then)

    def owner_crashed(self) -> None:
        """Drops all answers; each write that was under way is kept or lost."""
        self._owner += 1
        pending, self._pending = self._pending, {}
        for number, (key, value) in pending.items():
            if self._rng.random() < 0.5:
                self._keep(number, key, value)

    def _delay(self) -> float:
        return self.latency_s * self.slowness * self._rng.uniform(0.5, 3.0)

    def _write_done(self, owner: int, number: int, then: Written) -> None:
        if owner != self._owner:
            return
        pending = self._pending.pop(number, None)
        if pending is not None:
            self._keep(number, *pending)
        then(pending is not None)

    def _keep(self, number: int, key: str, value: bytes) -> None:
        """Of two writes of one key the one asked later counts, whichever is done later."""
        if number > self._applied.get(key, 0):
            self._applied[key] = number
            self.kept[key] = value

    def _read_done(self, owner: int, key: str, failed: bool, then: ReadDone) -> None:
        if owner == self._owner:
            then(not failed, None if failed else self.kept.get(key))
