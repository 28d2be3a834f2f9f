"""The order of an attacker, and what every attacker has: its time, its sources, its counts."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable
from itertools import cycle

import msgspec

from terrazzo.bench.attack_raw import Target
from terrazzo.errors import UsageError

PAUSE_S = 0.01
STARTED = "started"
"""The first line of an attacker."""


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """The order of an attacker."""

    name: str
    host: str
    udp_port: int
    tcp_port: int
    path: str
    public_key: str
    sources: list[str]
    seconds: float
    most: int
    """Sessions or connections at a time, or packets a second: what the attack does not exceed."""
    digest: str = ""
    """Of the game's schema, for attackers that get as far as a login request."""
    victim: str = ""
    """The name of the player that is in the world."""

    def target(self) -> Target:
        """Where to. UsageError for anything that is not this machine."""
        if not ipaddress.ip_address(self.host).is_loopback:
            raise UsageError(f"{self.host} is not this machine: attacks are for loopback addresses only")
        return Target(self.host, self.udp_port, self.tcp_port, bytes.fromhex(self.public_key))


class Attacker:
    """The time, the sources and the counts of one attack."""

    def __init__(self, order: Attack) -> None:
        self.order = order
        self.target = order.target()
        self.sources = cycle(order.sources)
        self.counts: dict[str, int] = {}
        self._until = time.monotonic() + order.seconds

    def count(self, what: str, by: int = 1) -> None:
        """For the report."""
        self.counts[what] = self.counts.get(what, 0) + by

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._until

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection from the next source."""
        made = await asyncio.open_connection(self.target.host, self.target.tcp_port, local_addr=(next(self.sources), 0))
        self.count("connections")
        return made

    async def at_rate(self, send: Callable[[], object]) -> None:
        """Calls `send` as often a second as the order allows."""
        began_at, sent = time.monotonic(), 0
        while self.goes_on:
            due = int((time.monotonic() - began_at) * self.order.most)
            while sent < due:
                send()
                sent += 1
            await asyncio.sleep(PAUSE_S)
