"""What every contender of `terrazzo bench channel` carries: messages of 64 bytes, and the code that looks at them.

    0  u8   kind           MESSAGE counted; LAST counted and confirmed; PING sent back as it is; CONFIRM the answer
    8  u8   value          the receiver adds these up
    …       filling        of CONFIRM: u64 count, u64 sum of values, from byte 8 on

The receiver's application code (`Tally.take`) looks at every message by itself. The sender stops its clock when it has
the CONFIRM, and the count and the sum must be right.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from struct import Struct
from typing import Protocol

SIZE = 64
MESSAGE, LAST, PING, CONFIRM = 1, 2, 3, 4
WARMING = 1000
"""Messages, and a tenth as many pings, before the clock starts: code is loaded, windows are open."""

_CONFIRM = Struct("<8xQQ")


def make(kind: int, value: int = 0) -> bytes:
    """One message."""
    return bytes((kind, 0, 0, 0, 0, 0, 0, 0, value)) + bytes(SIZE - 9)


MESSAGES = [make(MESSAGE, value) for value in range(256)]
THE_LAST = make(LAST)
THE_PING = make(PING)


def batches(count: int, size: int) -> Iterable[list[bytes]]:
    """`count` messages in lists of at most `size`, with LAST at the very end."""
    row = (MESSAGES * (size // len(MESSAGES) + 1))[:size]
    for _ in range((count - 1) // size):
        yield row
    yield [*row[: (count - 1) % size], THE_LAST]


def expected(count: int, size: int) -> bytes:
    """The CONFIRM of those batches."""
    return confirm(count, sum(message[8] for batch in batches(count, size) for message in batch))


def confirm(count: int, total: int) -> bytes:
    """What the receiver answers to LAST."""
    return bytes((CONFIRM,)) + _CONFIRM.pack(count, total)[1:] + bytes(SIZE - _CONFIRM.size)


class Tally:
    """The receiver's application code."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0

    def take(self, messages: Iterable[bytes]) -> list[bytes]:
        """Looks at every message; gives what is to be sent back."""
        answers: list[bytes] = []
        count, total = self.count, self.total
        for message in messages:
            kind = message[0]
            if kind == MESSAGE:
                count += 1
                total += message[8]
            elif kind == PING:
                answers.append(message)
            elif kind == LAST:
                answers.append(confirm(count + 1, total + message[8]))
                count = total = 0
        self.count, self.total = count, total
        return answers


class Contender(Protocol):
    """One way to carry messages. A round is one connection: `serve` runs in one process, the others in another."""

    batch: int
    """Messages that the sender hands over at a time."""

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """Receives for ever; calls `on_ready` with where, as soon as it does."""

    async def connect(self, place: str) -> None: ...
    async def close(self) -> None: ...

    async def flood(self, count: int) -> bytes:
        """Sends messages as fast as they go; gives the answer to the last."""

    async def round_trips(self, count: int) -> list[float]:
        """One message at a time, there and back: seconds of each."""


async def play_round(
    contender: Contender, place: str, *, messages: int, seconds: float, pings: int
) -> dict[str, float]:
    """One round: the rate of a flood (of so many messages, or 0: about so many seconds) and round-trip percentiles."""
    await contender.connect(place)
    try:
        await _checked(contender, WARMING)
        await contender.round_trips(max(WARMING // 10, 1))
        trips = sorted(await contender.round_trips(pings))
        if not messages:
            trial = 5 * WARMING
            messages = max(int(seconds * trial / await _checked(contender, trial)), trial)
        took = await _checked(contender, messages)
    finally:
        await contender.close()
    return {
        "messages": messages,
        "messages_per_s": messages / took,
        "rtt_p50_us": trips[len(trips) // 2] * 1e6,
        "rtt_p99_us": trips[len(trips) * 99 // 100] * 1e6,
    }


async def _checked(contender: Contender, count: int) -> float:
    """Seconds of a flood of which every message arrived."""
    wanted = expected(count, contender.batch)
    started = time.perf_counter()
    answer = await contender.flood(count)
    took = time.perf_counter() - started
    assert answer == wanted, "messages were lost or changed"
    return took


async def timed_trips(count: int, trip: Callable[[], Awaitable[object]]) -> list[float]:
    """Round trips where one can simply be waited for."""
    times: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        await trip()
        times.append(time.perf_counter() - started)
    return times
