"""A client on a perfect network: real endpoints with scripted answers, at its own time."""

import struct

from terrazzo.client import ClientApp
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer
from terrazzo.wire.client import UDP, Suite
from tests.client.fake_cluster import LOGIN, FakeCluster, entropy_of
from tests.client.town import (
    AVATAR,
    CREATURE,
    GAME,
    base_row,
    cell_row,
    describe,
)

HERE, THERE = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
ME, BOB, RAT = 10, 11, 12
OWN, BOBS, RATS = 0, 1, 2
CLIENT = ("192.0.2.7", 5000)


class Play:
    """A client and a cluster on a perfect network."""

    def __init__(self, transport=UDP, suite=Suite.CHACHA20_POLY1305, server_key=None, may_wait=False, **cluster):
        self.now = 100.0
        self.cluster = FakeCluster(transport, **cluster)
        self.logged: list[tuple[str, dict]] = []
        self.events: list[object] = []
        self.sent_to: list[tuple[str, int]] = []
        self.app = ClientApp(
            GAME,
            login=LOGIN,
            server_key=server_key or self.cluster.public_key,
            name="ann",
            password="secret",
            entropy=entropy_of(5),
            now=self.now,
            transport=transport,
            suite=suite,
            log=self._log,
            listener=self.events.append,
            may_wait=may_wait,
        )
        self.tick = self.app.tick

    def _log(self, event, /, **facts):
        self.logged.append((event, facts))

    def step(self, seconds=0.02):
        self.now += seconds
        self.tick(self.now)
        for address, data in self.app.poll(self.now):
            self.sent_to.append(address)
            self.cluster.on_datagram(address, CLIENT, data, self.now)
        self.deliver()

    def deliver(self):
        """Delivers the packets of the cluster."""
        for _, _, data in self.cluster.poll(self.now):
            self.app.on_datagram(data, self.now)

    def until(self, holds, seconds=5.0, step=0.02):
        end = self.now + seconds
        while not holds():
            assert self.now < end, f"not within {seconds} s: {self.app.phase}, {self.app.error!r}"
            self.step(step)

    def join(self):
        """Steps until the server has received READY."""
        self.until(lambda: self.cluster.session is not None)
        self.cluster.say(protocol.encode_base_player(ME, AVATAR, base_row()))
        self.until(lambda: bytes([ToServer.READY]) in self.cluster.heard)
        return self

    def enter(self):
        """Until there is a body, and Bob and a rat beside it."""
        self.join()
        self.cluster.say(
            protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=80)),
            protocol.encode_announce(BOB, BOBS, AVATAR),
            protocol.encode_announce(RAT, RATS, CREATURE),
        )
        self.until(lambda: protocol.encode_want([(BOB, 0), (RAT, 0)]) in self.cluster.heard)
        self.cluster.say(
            describe(AVATAR, BOBS, THERE, health=60, name="Bob"), describe(CREATURE, RATS, THERE, species=9)
        )
        self.until(lambda: RAT in self.app.parts)
        self.cluster.heard.clear()
        return self

    def say(self, *messages, reliable=True):
        """The server sends a message; steps until the client has received it."""
        self.cluster.say(*messages, reliable=reliable)
        before = len(self.events)
        self.until(lambda: len(self.events) > before)
        self.step()

    def heard_by(self, entity):
        return self.app.parts[entity].heard


def moves(messages):
    return [struct.unpack("<6f", each[1:]) for each in messages if each[0] == ToServer.MOVE]
