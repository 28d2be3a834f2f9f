"""Clients and their server in the channel scenario: the client channel over a network that loses, repeats and reorders.

Messages are numbered per session, direction and kind. Reliable ones must arrive exactly once and in order (P4);
unreliable ones at most once, and never an older one after a newer one. No poll may return more bytes for a session than
its budget. Clients change their address now and then, as players behind a router do.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from terrazzo.sim.oracle import check
from terrazzo.sim.scenario import Unrest
from terrazzo.sim.world import World
from terrazzo.wire.client import (
    FORM,
    PLAIN,
    Channel,
    ClientEndpoint,
    Closed,
    Connected,
    Received,
    ServerEndpoint,
    Session,
)

_SERVER = "proxy"
_DATA_KIND = 6
Mutate = Callable[[Channel], None]


class _Side:
    """The messages that one side of one session has sent and received."""

    def __init__(self, name: str, rng: Random) -> None:
        self.name = name
        self.session: Session | None = None
        self.sent = {True: 0, False: 0}
        self.got = {True: 0, False: 0}
        self._rng = rng

    def say(self, *, reliable: bool) -> None:
        """Sends the next message of this kind."""
        assert self.session is not None
        size = self._rng.choice((0, 20, 200)) if not reliable else self._rng.choice((0, 30, 500, 3000))
        text = f"{'R' if reliable else 'U'}{self.sent[reliable]}."
        if self.session.send(text.encode() + bytes(size), reliable=reliable):
            self.sent[reliable] += 1

    def hear(self, message: bytes) -> None:
        """Judges a message that came from the other side."""
        kind, digits = message[:1], message[1:].partition(b".")[0]
        check(kind in (b"R", b"U") and digits.isdigit(), "P4", f"{self.name}: a damaged message came", self.name)
        reliable, number = kind == b"R", int(digits)
        expected = self.got[reliable]
        if reliable:
            check(number == expected, "P4", f"{self.name}: reliable {number} came, expected {expected}", self.name)
        else:
            check(number >= expected, "P4", f"{self.name}: unreliable {number} came again or late", self.name)
        self.got[reliable] = number + 1


class ClientTraffic:
    """A server, its clients, and their messages."""

    def __init__(self, world: World, mutate: Mutate | None) -> None:
        """`mutate` is done to the channel of each session, which then has the plain form: only that can be patched."""
        rng = self._rng = world.rng("clients")
        self._world = world
        self._mutate = mutate
        self._form = FORM if mutate is None else PLAIN
        self._is_working = True
        self._step_s = rng.choice([0.01, 0.02, 0.05])
        self._budget_bytes = rng.choice([400, 1500, 10_000])
        self._talk = 10 ** rng.uniform(-2, -0.5)
        self._wander = rng.choice([0.0, 0.0, 0.005])
        self._conditions = world.datagrams()
        self._server = ServerEndpoint(rng.randbytes(32), entropy=world.rng("server entropy").randbytes, form=self._form)
        self._clients: dict[str, ClientEndpoint] = {}
        self._addresses: dict[str, str] = {}
        self._sides: dict[str, tuple[_Side, _Side]] = {}
        for number in range(1, rng.randrange(2, 4)):
            self._add(f"client-{number}")
        world.network.receive_datagrams(_SERVER, self._on_server_datagram)
        world.clock.after(self._step_s, self._step)

    def quiesce(self) -> None:
        """No new messages are sent, and the network loses nothing any more."""
        self._is_working = False
        for address in self._addresses.values():
            path = self._world.network.path(address, _SERVER)
            path.loss = path.duplication = path.jitter_s = 0.0

    def unrest(self) -> Unrest | None:
        """A reliable message that is still under way."""
        for name, (up, down) in self._sides.items():
            for source, target in ((up, down), (down, up)):
                if source.sent[True] != target.got[True]:
                    what = f"{source.name} has sent {source.sent[True]}, and {target.got[True]} have arrived"
                    return Unrest(what, (name,))
        return None

    def _connect(self, name: str) -> None:
        self._clients[name] = ClientEndpoint(
            self._server.public_key,
            entropy=self._world.rng(f"{name} entropy {self._world.clock.now}").randbytes,
            now=self._world.clock.now,
            app_data=name.encode(),
            form=self._form,
        )

    def _add(self, name: str) -> None:
        self._connect(name)
        self._sides[name] = (_Side(f"{name} up", self._rng), _Side(f"{name} down", self._rng))
        self._move(name)

    def _move(self, name: str) -> None:
        address = f"{name}@{self._rng.randrange(0, 1 << 30)}"
        self._addresses[name] = address
        path = self._world.network.path(address, _SERVER)
        path.latency_s, path.jitter_s, path.loss, path.duplication = self._conditions
        self._world.network.receive_datagrams(
            address, lambda _, data: self._clients[name].on_datagram(data, self._world.clock.now)
        )

    def _on_server_datagram(self, source: str, data: bytes) -> None:
        self._server.on_datagram(source, data, self._world.clock.now)

    def _step(self) -> None:
        """Each side reads what has arrived, adds messages, and sends the packets that it may send."""
        now, network = self._world.clock.now, self._world.network
        for name, client in list(self._clients.items()):
            up, down = self._sides[name]
            for event in client.events():
                self._on_event(event, up, name)
            if self._is_working:
                self._live(name, up, down)
            datagrams = client.poll(now, self._budget_bytes)
            self._check_budget(name, sum(len(data) for data in datagrams if data[0] == _DATA_KIND))
            for data in datagrams:
                network.send_datagram(self._addresses[name], _SERVER, data)
        for event in self._server.events():
            self._on_server_event(event)
        spent: dict[str, int] = {}
        for address, data in self._server.poll(now, self._budget_bytes):
            spent[str(address)] = spent.get(str(address), 0) + (len(data) if data[0] == _DATA_KIND else 0)
            network.send_datagram(_SERVER, str(address), data)
        for place, count in spent.items():
            self._check_budget(place, count)
        self._world.clock.after(self._step_s, self._step)

    def _live(self, name: str, up: _Side, down: _Side) -> None:
        for side in (up, down):
            if side.session is not None and self._rng.random() < self._talk:
                side.say(reliable=self._rng.random() < 0.7)
        if up.session is not None and self._rng.random() < self._wander:
            self._move(name)

    def _on_server_event(self, event: Connected | Received | Closed) -> None:
        if isinstance(event, Connected):
            name = event.app_data.decode()
            self._on_event(event, self._sides[name][1], name)
            return
        for name, (_, down) in self._sides.items():
            if down.session is event.session:
                self._on_event(event, down, name)

    def _on_event(self, event: Connected | Received | Closed, side: _Side, name: str) -> None:
        self._world.trace.add(name, type(event).__name__, side=side.name)
        if isinstance(event, Connected):
            side.session = event.session
            if self._mutate is not None:
                self._mutate(event.session.channel)
        elif isinstance(event, Received):
            for message in event.messages:
                side.hear(message)
        elif event.session is None:
            self._connect(name)  # the handshake got no answer: the player tries again
        else:
            check(False, "P4", f"{side.name}: the session ended by itself: {event.reason.name}", side.name)

    def _check_budget(self, who: str, spent: int) -> None:
        check(spent <= self._budget_bytes, "P4", f"{who}: {spent} bytes in a poll of {self._budget_bytes}", who)
