"""A rival of `terrazzo bench channel`: pyenet, reliable packets on one channel, not encrypted.

ENet packs many packets into a datagram by itself. The sender services its host after every 16 packets and waits while
nearly a whole window (64 KB) is in flight; the receiver services once and then takes all events that are there with
`check_events`, which is faster than servicing for each. pyenet has a loop of its own; there is no event loop under it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import enet

from terrazzo.bench.channel_load import MESSAGE, THE_PING, Tally, batches

_IN_FLIGHT_MAX = 60_000
_WAIT_MS = 100


class Pyenet:
    """See above."""

    batch = 16

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """Every peer has a tally of its own; only one is connected at a time."""
        host = enet.Host(enet.Address(b"127.0.0.1", 0), 4, 1, 0, 0)
        on_ready(str(host.address.port))
        tally = Tally()
        while True:
            event = host.service(_WAIT_MS)
            while event is not None and event.type != enet.EVENT_TYPE_NONE:
                if event.type == enet.EVENT_TYPE_RECEIVE:
                    data = event.packet.data
                    if data[0] == MESSAGE:
                        tally.count += 1
                        tally.total += data[8]
                    else:
                        for answer in tally.take((data,)):
                            event.peer.send(0, enet.Packet(answer, enet.PACKET_FLAG_RELIABLE))
                        host.flush()
                event = host.check_events()

    async def connect(self, place: str) -> None:
        """See Contender."""
        self._host = enet.Host(None, 1, 1, 0, 0)
        self._peer = self._host.connect(enet.Address(b"127.0.0.1", int(place)), 1)
        self._wait_for(enet.EVENT_TYPE_CONNECT)

    async def close(self) -> None:
        """See Contender."""
        self._peer.disconnect()
        self._wait_for(enet.EVENT_TYPE_DISCONNECT)

    async def flood(self, count: int) -> bytes:
        """See Contender."""
        host, peer, packet, reliable = self._host, self._peer, enet.Packet, enet.PACKET_FLAG_RELIABLE
        received: bytes | None = None
        for batch in batches(count, self.batch):
            for message in batch:
                peer.send(0, packet(message, reliable))
            received = self._look(host.service(0)) or received
            while peer.reliableDataInTransit > _IN_FLIGHT_MAX:
                received = self._look(host.service(1)) or received
        return received or self._wait_for(enet.EVENT_TYPE_RECEIVE)

    async def round_trips(self, count: int) -> list[float]:
        """See Contender."""
        times: list[float] = []
        for _ in range(count):
            started = time.perf_counter()
            self._peer.send(0, enet.Packet(THE_PING, enet.PACKET_FLAG_RELIABLE))
            self._wait_for(enet.EVENT_TYPE_RECEIVE)
            times.append(time.perf_counter() - started)
        return times

    def _wait_for(self, kind: int) -> bytes:
        while True:
            event = self._host.service(_WAIT_MS)
            if event.type == kind:
                return self._look(event) or b""

    def _look(self, event: Any) -> bytes | None:
        data: bytes | None = event.packet.data if event.type == enet.EVENT_TYPE_RECEIVE else None
        return data
