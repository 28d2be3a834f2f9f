"""What the tests of the client channel share: a bad network, channels and endpoints on it, fixed entropy."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from terrazzo._speed import packet
from terrazzo.wire.client import (
    CLIENT,
    FORM,
    SERVER,
    UDP,
    Channel,
    ClientEndpoint,
    Closed,
    Connected,
    Form,
    Received,
    ServerEndpoint,
    Session,
    Settings,
    Suite,
    Transport,
)

STATIC_KEY = bytes(range(32))
HOME = ("192.0.2.1", 1000)
AWAY = ("198.51.100.9", 2000)


def entropy_of(seed: int) -> Callable[[int], bytes]:
    """Bytes that look random and are the same every time."""
    return random.Random(seed).randbytes


class Network:
    """Carries things with loss, copies and delays that reorder; time is a number."""

    def __init__(self, seed: int = 1, loss: float = 0.0, copies: float = 0.0, delay=(0.01, 0.01)) -> None:
        self.random = random.Random(seed)
        self.loss, self.copies, self.delay = loss, copies, delay
        self._count = 0
        self._air: list[tuple[float, int, object, object]] = []

    def send(self, now: float, target: object, thing: object) -> None:
        for _ in range(2 if self.random.random() < self.copies else 1):
            if self.random.random() >= self.loss:
                self._count += 1
                self._air.append((now + self.random.uniform(*self.delay), self._count, target, thing))

    def arrivals(self, now: float):
        self._air.sort(key=lambda flight: flight[:2])
        while self._air and self._air[0][0] <= now:
            yield self._air.pop(0)[2:]


class ChannelPair:
    """Two channels on a network."""

    def __init__(self, network: Network | None = None, transport: Transport = UDP, **settings) -> None:
        self.network = network or Network()
        self.now = 0.0
        self.a = Channel(transport, Settings(**settings), 0.0)
        self.b = Channel(transport, Settings(**settings), 0.0)
        self.got: dict[Channel, list[bytes]] = {self.a: [], self.b: []}

    def step(self, seconds: float = 0.005, budget_bytes: int | None = None) -> None:
        self.now += seconds
        for source, target in ((self.a, self.b), (self.b, self.a)):
            for number, body in source.poll(self.now, budget_bytes):
                self.network.send(self.now, target, (number, body))
        for target, (number, body) in self.network.arrivals(self.now):
            self.got[target] += target.on_packet(number, body, self.now)

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        end = self.now + seconds
        while self.now < end and not until():
            self.step()


class EndpointPair:
    """A server and a client on a perfect or bad network; both ways can be listened to."""

    def __init__(
        self,
        network: Network | None = None,
        *,
        suite: Suite = Suite.CHACHA20_POLY1305,
        transport: Transport = UDP,
        server_settings: Settings = SERVER,
        client_settings: Settings = CLIENT,
        app_data: bytes = b"",
        seed: int = 7,
        form: Form = FORM,
    ) -> None:
        self.network = network or Network()
        self.now = 100.0
        self.client_entropy = entropy_of(seed + 1)
        self.server = ServerEndpoint(
            STATIC_KEY, entropy=entropy_of(seed), transport=transport, settings=server_settings, form=form
        )
        self.client = ClientEndpoint(
            self.server.public_key,
            entropy=self.client_entropy,
            now=self.now,
            transport=transport,
            settings=client_settings,
            suite=suite,
            app_data=app_data,
            form=form,
        )
        self.client_private = entropy_of(seed + 1)(32)
        self.address = HOME
        self.heard: list[tuple[str, bytes]] = []
        self.at_server: list[bytes] = []
        self.at_client: list[bytes] = []
        self.server_session: Session | None = None
        self.connected: list[Connected] = []
        self.closed: dict[str, Closed] = {}

    def step(self, seconds: float = 0.005) -> None:
        self.now += seconds
        for data in self.client.poll(self.now):
            self.heard.append(("up", data))
            self.network.send(self.now, "server", (self.address, data))
        for address, data in self.server.poll(self.now):
            self.heard.append(("down", data))
            self.network.send(self.now, address, data)
        for target, thing in self.network.arrivals(self.now):
            if target == "server":
                address, data = thing
                self.server.on_datagram(address, data, self.now)
            elif target == self.address:
                self.client.on_datagram(thing, self.now)
        self.note("server", self.server.events())
        self.note("client", self.client.events())

    def note(self, who: str, events: Iterable) -> None:
        for event in events:
            if isinstance(event, Received):
                (self.at_server if who == "server" else self.at_client).extend(event.messages)
            elif isinstance(event, Closed):
                assert who not in self.closed, "closed twice"
                self.closed[who] = event
            elif who == "server":
                self.connected.append(event)
                self.server_session = event.session

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        end = self.now + seconds
        while self.now < end and not until():
            self.step()

    def connect(self) -> EndpointPair:
        self.run(9.0, lambda: self.server_session is not None)
        assert self.server_session is not None
        assert self.client.session is not None
        return self

    @property
    def up(self) -> Session:
        assert self.client.session is not None
        return self.client.session

    @property
    def down(self) -> Session:
        assert self.server_session is not None
        return self.server_session


def channel(**settings) -> Channel:
    """One over UDP, begun at time 0."""
    return Channel(UDP, Settings(**settings), 0.0)


def frames(body: bytes) -> packet.Body:
    """What a packet holds."""
    return packet.decode_body(body)


def deliver(source: Channel, target: Channel, now: float) -> list[bytes]:
    """Everything that source has to send, at once, without loss."""
    got = []
    for number, body in source.poll(now):
        got += target.on_packet(number, body, now)
    return got
