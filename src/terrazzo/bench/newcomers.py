"""New players for `terrazzo bench login`, in a process of their own: `python -m terrazzo.bench.newcomers`.

    NewcomersOrder (one JSON line)           ──▶ stdin
    "ready", when the first few have been in ◀── stdout
    an empty line: go                        ──▶ stdin
    NewcomersReport (one JSON line)          ◀── stdout, when all have left

Each is a whole client over UDP with a socket of its own: it logs in with a name that the database does not have, joins
its BaseApp, and leaves as soon as it has its entity, with the server's confirmation. `at_once` of them are on their way
at any time.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from typing import Any

import msgspec

from terrazzo.client.link import Address, ClientLink, Phase
from terrazzo.runtime.collector import calm_collector
from terrazzo.runtime.loop import run as run_loop
from terrazzo.runtime.players import UdpPlayer
from terrazzo.sync.protocol import ToClient

READY = "ready"
TICK_S = 1.0
"""A newcomer has nothing to do in its ticks."""


class NewcomersOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What one process of newcomers is to do."""

    count: int
    first: int
    """How many log in before the others, so that every process of the cluster has done all of it once."""
    at_once: int
    host: str
    udp_port: int
    public_key: str
    digest: str
    """Of the game's schema."""
    name: str


class Packets(msgspec.Struct):
    """The packets of one direction."""

    count: int = 0
    size: int = 0
    """Of all of them together."""

    def add(self, size: int) -> None:
        """One more."""
        self.count += 1
        self.size += size


class NewcomersReport(msgspec.Struct):
    """What became of them, without the first ones."""

    logins: int = 0
    """How many got their entity, and left in order."""
    why: dict[str, int] = {}
    """Why others did not."""
    cpu_s: float = 0.0
    login_ms: list[float] = []
    """From the first packet to the entity."""
    up: Packets = msgspec.field(default_factory=Packets)
    down: Packets = msgspec.field(default_factory=Packets)


class Newcomer(ClientLink):
    """A client that wants its entity, and nothing more."""

    def __init__(self, report: NewcomersReport, **link: Any) -> None:
        self.entered_at: float | None = None
        self._report = report
        super().__init__(**link)

    def tick(self, now: float) -> None:
        """Nothing to do."""

    def on_datagram(self, data: bytes, now: float) -> None:
        """See ClientLink."""
        self._report.down.add(len(data))
        super().on_datagram(data, now)

    def poll(self, now: float) -> list[tuple[Address, bytes]]:
        """See ClientLink."""
        packets = super().poll(now)
        for _, data in packets:
            self._report.up.add(len(data))
        return packets

    def _on_messages(self, messages: list[bytes], now: float) -> None:
        for message in messages:
            number = message[0] if message else -1
            if number == ToClient.BASE_PLAYER and self.phase is Phase.JOINING:
                self.entered_at = now
                self._on_player()
                self.leave(now)
            elif number == ToClient.LOGGED_OFF:
                self._on_logged_off(message[2:].decode(errors="replace"), now)


async def bring(order: NewcomersOrder, numbers: range) -> NewcomersReport:
    """Newcomers with these numbers, `at_once` at a time; returns when all are gone."""
    report, why = NewcomersReport(), Counter[str]()
    waiting = iter(numbers)

    async def one_after_the_other() -> None:
        for number in waiting:
            began_at = time.monotonic()
            newcomer = Newcomer(
                report, digest=order.digest, login=(order.host, order.udp_port),
                server_key=bytes.fromhex(order.public_key), name=f"{order.name}-{number}", password="a long password",
                entropy=os.urandom, now=began_at,
            )  # fmt: skip
            player = UdpPlayer(newcomer, tick_s=TICK_S)
            await player.over()
            player.close()
            if newcomer.entered_at is not None and not newcomer.error:
                report.logins += 1
                report.login_ms.append(round(1000 * (newcomer.entered_at - began_at), 1))
            else:
                why[newcomer.error or "left before it had its entity"] += 1

    await asyncio.gather(*(one_after_the_other() for _ in range(order.at_once)))
    report.why = dict(why)
    return report


async def work(order: NewcomersOrder, loop_in: asyncio.StreamReader) -> NewcomersReport:
    """The first ones; on the word, the others."""
    await bring(order, range(-order.first, 0))
    print(READY, flush=True)
    await loop_in.readline()
    used = time.process_time()
    report = await bring(order, range(order.count))
    report.cpu_s = time.process_time() - used
    return report


def main() -> int:
    """Carries out the order of stdin."""
    calm_collector()

    async def from_stdin() -> NewcomersReport:
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        return await work(msgspec.json.decode(await lines.readline(), type=NewcomersOrder), lines)

    report = run_loop(from_stdin())
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
