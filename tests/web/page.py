"""The browser client in a Node process of its own, and the fake cluster that its sockets lead to.

Node runs on its own clock, so it is driven by the real time, and so are the endpoints.
"""

from __future__ import annotations

import json
import os
import select
import struct
import tempfile
import time
from typing import Any

from terrazzo.schema.export import export_schema
from terrazzo.sync import protocol
from terrazzo.sync.protocol import ToServer
from terrazzo.wire.client import WEBSOCKET
from terrazzo.wire.client.session import Session
from tests.client.fake_cluster import LOGIN, FakeCluster
from tests.client.play import BOB, BOBS, HERE, ME, RAT, RATS, THERE
from tests.client.town import AVATAR, CREATURE, SCHEMA, base_row, cell_row, describe
from tests.web.node import start

JSON, DATA, OPEN, CLOSE = range(4)
PATIENCE_S = 30.0


class Page:
    """The web client in a Node process; its sockets lead to a fake cluster, or to nothing."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.cluster = cluster or FakeCluster(WEBSOCKET)
        self.events: list[dict[str, Any]] = []
        self.sockets: dict[int, tuple[str, int]] = {}
        self.packets: list[bytes] = []
        self.copies = 1
        self.is_holding = False
        self.held: list[tuple[int, bytes]] = []
        self.refused: set[int] = set()
        """Ports without a listener."""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = start("player.mjs", self._complaints)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._waiting = b""

    def close(self) -> None:
        self.tell("quit")
        ended = self._process.wait(10)
        complaints = self.complaints()
        for each in (self._stdin, self._stdout, self._complaints):
            each.close()
        assert (ended, complaints) == (0, "")

    def complaints(self) -> str:
        """What the script has written to its console since the last call."""
        self._complaints.seek(0)
        text = self._complaints.read().decode()
        self._complaints.seek(0)
        self._complaints.truncate()
        return text

    def tell(self, command: str, **options: Any) -> None:
        self.put(JSON, 0, json.dumps({"command": command, **options}).encode())

    def put(self, kind: int, socket: int, payload: bytes = b"") -> None:
        frame = memoryview(struct.pack("<IBB", len(payload) + 2, kind, socket) + payload)
        while frame:
            frame = frame[self._stdin.write(frame) :]

    def step(self) -> None:
        if select.select([self._stdout], [], [], 0.005)[0]:
            data = os.read(self._stdout.fileno(), 1 << 16)
            assert data, "the script has ended"
            self._waiting += data
        while len(self._waiting) >= 4 and len(self._waiting) >= 4 + struct.unpack_from("<I", self._waiting)[0]:
            end = 4 + struct.unpack_from("<I", self._waiting)[0]
            frame, self._waiting = self._waiting[4:end], self._waiting[end:]
            self._on_frame(frame[0], frame[1], frame[2:])
        for place, source, data in self.cluster.poll(time.monotonic()):
            assert self.sockets.get(source[1]) == place
            self.held += [(source[1], data)] * self.copies
        if not self.is_holding:
            held, self.held = self.held, []
            for socket, data in held:
                self.put(DATA, socket, data)

    def until(self, holds: Any) -> Any:
        """Steps until it holds; gives what it gave."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            assert time.monotonic() < give_up_at, f"did not come about; events: {self.events[-5:]}"
            self.step()
        return found

    def event(self, name: str) -> dict[str, Any]:
        """The first event of this name that has not been asked for."""

        def find() -> dict[str, Any] | None:
            return next((each for each in self.events if each["event"] == name), None)

        found: dict[str, Any] = self.until(find)
        self.events.remove(found)
        return found

    def _on_frame(self, kind: int, socket: int, payload: bytes) -> None:
        if kind == JSON:
            self.events.append(json.loads(payload))
        elif kind == OPEN:
            self._on_open(socket, payload.decode())
        elif kind == DATA:
            self.packets.append(payload)
            if socket in self.sockets:
                self.cluster.on_datagram(self.sockets[socket], ("page", socket), payload, time.monotonic())
        elif socket in self.sockets:
            self.cluster.endpoints[self.sockets.pop(socket)].on_path_lost(("page", socket))

    def _on_open(self, socket: int, url: str) -> None:
        host, _, port = url.removeprefix("ws://").removesuffix("/play").partition(":")
        if int(port or 0) in self.refused:
            self.put(CLOSE, socket)
            return
        if port:
            self.sockets[socket] = (host, int(port))
        self.put(OPEN, socket)

    # Stories.

    def login(self, **options: Any) -> None:
        given = {
            "url": f"ws://{LOGIN[0]}:{LOGIN[1]}/play",
            "serverKey": self.cluster.public_key.hex(),
            "name": "ann",
            "password": "secret",
            "schema": export_schema(SCHEMA),
        }
        self.tell("login", **{**given, **options})

    def join(self) -> Session:
        self.login()
        self.until(lambda: self.cluster.session is not None)
        self.cluster.say(protocol.encode_base_player(ME, AVATAR, base_row()))
        assert self.event("logged in")["id"] == ME
        self.until(lambda: bytes([ToServer.READY]) in self.cluster.heard)
        assert self.cluster.session is not None
        return self.cluster.session

    def enter(self) -> Session:
        session = self.join()
        self.cluster.say(
            protocol.encode_cell_player(AVATAR, 1, HERE, (0.5, 0.0, 0.0), cell_row(health=80, gold=1 << 60)),
            protocol.encode_announce(BOB, BOBS, AVATAR),
            protocol.encode_announce(RAT, RATS, CREATURE),
        )
        self.until(lambda: protocol.encode_want([(BOB, 0), (RAT, 0)]) in self.cluster.heard)
        self.cluster.say(
            describe(AVATAR, BOBS, THERE, health=60, name="Bob"), describe(CREATURE, RATS, THERE, species=9)
        )
        self.until(lambda: len([each for each in self.events if each["event"] == "enter"]) == 3)
        return session


def said(page):
    return [each for each in page.cluster.heard if each[0] >= 12]
