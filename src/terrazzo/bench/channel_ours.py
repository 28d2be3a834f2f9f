"""Our contenders of `terrazzo bench channel`: the client channel, and a link between two apps.

*client* is `UdpServer` and `UdpClient` on uvloop: encrypted (ChaCha20-Poly1305), reliable, ordered. The sender hands
over 16 messages at a time (`send_many`) and keeps up to 256 KiB waiting in the channel; it adds more whenever
acknowledgements have made room, in `on_turn`. Round trips are answered in `on_turn` at both ends.

*link* is two apps under a `Driver` each, over a unix socket: typed messages (msgspec), encoded one by one into
the outbox, one bundle per tick, decoded and checked one by one at the other end before `on_message` sees them. Ticks
are a millisecond apart, BUNDLE messages in each, with at most WINDOW bundles that the receiver has not acknowledged; it
does so in its own ticks. A round trip waits for a tick at each end: it measures the tick, and not the link.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from terrazzo.bench.channel_load import MESSAGE, THE_PING, Tally, batches, timed_trips
from terrazzo.cluster.app import Host
from terrazzo.cluster.links import LinkLimits
from terrazzo.runtime.driver import Driver
from terrazzo.runtime.links import PeerAddress, UnixPlace
from terrazzo.runtime.udp import UdpClient, UdpServer
from terrazzo.wire.client import ClientEndpoint, Closed, Received, ServerEndpoint, SessionEvent, public_key
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import Message, message
from terrazzo.wire.outbox import Outbox

_KEY = bytes(range(32))
_WAITING_BYTES = 256 * 1024


class OurClient:
    """The encrypted client channel over UDP."""

    batch = 16

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """Every session has a tally of its own."""
        tallies: dict[int, Tally] = {}

        def on_turn(events: list[SessionEvent]) -> None:
            for event in events:
                if isinstance(event, Received):
                    answers = tallies.setdefault(event.session.id, Tally()).take(event.messages)
                    if answers:
                        event.session.send_many(answers)
                elif isinstance(event, Closed) and event.session is not None:
                    tallies.pop(event.session.id, None)

        server = UdpServer(ServerEndpoint(_KEY, entropy=os.urandom), on_turn)
        on_ready(str(server.address[1]))
        await asyncio.Event().wait()

    async def connect(self, place: str) -> None:
        """Shakes hands."""
        self._waiting: Iterator[list[bytes]] = iter(())
        self._pings = 0
        self._times: list[float] = []
        self._answer = asyncio.get_running_loop().create_future()
        endpoint = ClientEndpoint(public_key(_KEY), entropy=os.urandom, now=time.monotonic())
        self._client = UdpClient(endpoint, self._on_turn, ("127.0.0.1", int(place)))
        await self._answer

    async def close(self) -> None:
        """Ends the session gracefully."""
        await self._client.close()

    async def flood(self, count: int) -> bytes:
        """See Contender."""
        self._answer = asyncio.get_running_loop().create_future()
        self._waiting = iter(batches(count, self.batch))
        self._fill()
        self._client.flush()
        answer: bytes = await self._answer
        return answer

    async def round_trips(self, count: int) -> list[float]:
        """See Contender."""
        self._answer = asyncio.get_running_loop().create_future()
        self._times, self._pings = [], count + 1
        self._ping()
        self._client.flush()
        await self._answer
        return [after - before for before, after in zip(self._times, self._times[1:], strict=False)]

    def _on_turn(self, events: list[SessionEvent]) -> None:
        for event in events:
            if isinstance(event, Received) and self._pings:
                self._ping()
            elif not self._answer.done():
                self._answer.set_result(event.messages[0] if isinstance(event, Received) else None)
        self._fill()

    def _ping(self) -> None:
        self._times.append(time.perf_counter())
        self._pings -= 1
        session = self._client.endpoint.session
        assert session is not None
        if self._pings:
            session.send(THE_PING)
        else:
            self._answer.set_result(None)

    def _fill(self) -> None:
        session = self._client.endpoint.session
        if session is None:
            return
        stream = session.channel.outbox.stream
        while len(stream) < _WAITING_BYTES:
            batch = next(self._waiting, None)
            if batch is None:
                return
            session.send_many(batch)


@message(9990)
class Carry(Message, frozen=True):
    """What the benchmark's two apps send: 64 bytes."""

    data: bytes


@message(9991)
class Heard(Message, frozen=True):
    """How many of this flood have come; the sender keeps to its window."""

    count: int


_TICK_S = 0.001
BUNDLE = 2000
WINDOW = 16


class _Receiver(Tally):
    """The app that receives."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.outbox = Outbox()
        self._peer: AppId | None = None
        self._told = 0

    def on_message(self, source: AppId, message: Message) -> None:
        assert type(message) is Carry
        data = message.data
        if data[0] == MESSAGE:
            self.count += 1
            self.total += data[8]
        else:
            for answer in self.take((data,)):
                self.outbox.send(source, Carry(answer))

    def on_link_up(self, peer: AppId) -> None:
        self._peer = peer
        self.count = self.total = self._told = 0

    def on_link_lost(self, peer: AppId) -> None:
        self._peer = None

    def on_tick(self) -> None:
        if self._peer is not None and self.count != self._told:
            self._told = self.count
            self.outbox.send(self._peer, Heard(self._told))


class _Sender:
    """The app that speaks: a bundle per tick, while the window lets it."""

    def __init__(self, host: Host) -> None:
        self.outbox = Outbox()
        self.waiting: Iterator[list[bytes]] = iter(())
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._host = host
        self._sent = self._heard = 0
        self._is_joined = False

    def say(self, waiting: Iterable[list[bytes]]) -> None:
        """Begins a flood; `answer` will be the receiver's answer to it."""
        self.answer = asyncio.get_running_loop().create_future()
        self.waiting = iter(waiting)
        self._sent = self._heard = 0

    def on_message(self, source: AppId, message: Message) -> None:
        if isinstance(message, Heard):
            self._heard = message.count
        elif isinstance(message, Carry):
            self.answer.set_result(message.data)

    def on_link_up(self, peer: AppId) -> None:
        self.answer.set_result(b"")

    def on_link_lost(self, peer: AppId) -> None:
        self.answer.set_exception(ConnectionError("the link is lost"))

    def on_tick(self) -> None:
        if not self._is_joined:
            self._is_joined = True
            self._host.join(_RECEIVER)
        if self._sent - self._heard > (WINDOW - 1) * BUNDLE:
            return
        send = self.outbox.send
        batch = next(self.waiting, ())
        for data in batch:
            send(_RECEIVER, Carry(data))
        self._sent += len(batch)


_RECEIVER = AppId(AppKind.CELL_APP, 1, 1)
_LIMITS = LinkLimits(silence_s=30.0)


class OurLink:
    """Two apps and the link between them."""

    batch = BUNDLE
    _lives = 0

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """Listens on a unix socket."""
        driver = Driver(_RECEIVER, _Receiver, tick_s=_TICK_S, places=_nowhere, seed=0, log=_quiet, link_limits=_LIMITS)
        with tempfile.TemporaryDirectory() as folder:
            place = UnixPlace(str(Path(folder) / "receiver"))
            await driver.start([place])
            on_ready(place.path)
            await driver.run()

    async def connect(self, place: str) -> None:
        """Each round is the next incarnation of the sender."""
        self._lives += 1
        id = AppId(AppKind.CELL_APP, 2, self._lives)

        def places(_: AppId) -> PeerAddress:
            return UnixPlace(place)

        self._driver = Driver(id, self._make, tick_s=_TICK_S, places=places, seed=0, log=_quiet, link_limits=_LIMITS)
        await self._driver.start()
        self._life = asyncio.create_task(self._driver.run())
        await self._sender.answer

    async def close(self) -> None:
        """Stops the sender in order."""
        self._driver.stop()
        await self._life

    async def flood(self, count: int) -> bytes:
        """See Contender."""
        return await self._say(batches(count, self.batch))

    async def round_trips(self, count: int) -> list[float]:
        """See Contender."""
        return await timed_trips(count, lambda: self._say([[THE_PING]]))

    async def _say(self, waiting: Iterable[list[bytes]]) -> bytes:
        self._sender.say(waiting)
        return await self._sender.answer

    def _make(self, host: Host) -> _Sender:
        self._sender = _Sender(host)
        return self._sender


def _nowhere(peer: AppId) -> None:
    """The receiver dials no peer."""


def _quiet(event: str, /, **facts: object) -> None:
    """The log of a benchmark is not read."""
