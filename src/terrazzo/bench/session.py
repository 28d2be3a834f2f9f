"""`terrazzo bench session`: what a client's session costs a server in each tick, beside a bare compiled loop.

    clients ──move──► server socket ──► endpoint: open, window, row        85 bytes, one a client and tick
    clients ◄─────── server socket ◄── endpoint: build, seal             ~250 bytes of places, one a client and tick;
                                                                         in every second tick a reliable word with it

Server and clients are in one process and take turns on real sockets; only the processor time of the server's turns is
counted: `recvmmsg`, opening, delivery into rows, queueing, building, sealing, `sendmmsg`. Ticks are played one after
the other, with a clock that goes on by a tick for each. `limit_us` is what the loop of `benchmarks/session_limit.c`
needs for packets of the same sizes in the same run (`session_limit.py`); the two take turns, and the better half of the
ticks of each counts, so a disturbed moment hits neither. `ws_us` is the same with packets of WebSocket sessions
(AES-GCM), without the sockets: those are aiohttp's. `kib_per_session` is what one end of a session holds in memory.
"""

from __future__ import annotations

import os
import socket
import time
import tracemalloc
from collections.abc import Callable
from struct import pack
from typing import Any

from terrazzo._speed.datagrams import Batch
from terrazzo.bench.session_limit import GROUP, Bare, build
from terrazzo.runtime import batches
from terrazzo.runtime.udp import BATCH_READS_MAX
from terrazzo.runtime.udpbuffers import make_socket
from terrazzo.wire.client import SERVER, WEBSOCKET, ClientEndpoint, ClientSwarm, ServerEndpoint, Settings, Suite
from terrazzo.wire.client.session import EndpointAddress

TICK_S = 0.1
MOVE = bytes((2,)) + bytes(37)
PLACES = bytes((1,)) + bytes(204)
WORD = bytes((7,)) + bytes(23)
KEY = bytes(range(32))
WARM_TICKS = 10
MUCH = 1 << 30
OPEN_TO_ALL = Settings(
    receive_message_bytes_max=SERVER.receive_message_bytes_max,
    sessions_max=MUCH,
    strangers_max=MUCH,
    source_strangers_max=MUCH,
    opens_per_s=MUCH,
    source_opens_per_s=MUCH,
    source_opens_burst=MUCH,
    hellos_per_s=MUCH,
    answers_max=MUCH,
)


class Ours:
    """A server and its clients, on sockets of this machine."""

    def __init__(self, count: int) -> None:
        self.now = 100.0
        self.endpoint = ServerEndpoint(KEY, entropy=os.urandom, settings=OPEN_TO_ALL)
        self._socket = self._bound()
        self._incoming, self._outgoing = Batch(), Batch()
        self._swarms = [(ClientSwarm(entropy=os.urandom), self._bound(), Batch()) for _ in range(0, count, GROUP)]
        self._ticks = 0
        self._come_in(count)
        self._moves = [b"".join(parcel(id, MOVE) for id in swarm.sessions) for swarm, _, _ in self._swarms]
        self._places = b"".join(parcel(id, PLACES) for id in self.endpoint.sessions)
        self._words = b"".join(parcel(id, WORD) for id in self.endpoint.sessions)
        for _ in range(WARM_TICKS):
            self.tick()
        self.tallies = self._tallies()

    def _bound(self) -> socket.socket:
        made = make_socket(socket.AF_INET)
        made.bind(("127.0.0.1", 0))
        return made

    def _come_in(self, count: int) -> None:
        place = self._socket.getsockname()
        for at in range(count):
            swarm, _, _ = self._swarms[at // GROUP]
            swarm.open(place, self.endpoint.public_key, now=self.now)
            if at % 50 == 49 or at == count - 1:
                for _ in range(4):
                    self._exchange()
        while len(self.endpoint.sessions) < count:
            self._exchange()
        for tag, session in enumerate(self.endpoint.sessions.values()):
            session.set_lane(MOVE[0], len(MOVE), tag)
        for swarm, _, _ in self._swarms:
            for session in swarm.sessions.values():
                session.mute(bytes((PLACES[0], WORD[0])))
        self.endpoint.events()

    def _exchange(self) -> None:
        self.now += 0.005
        for at in range(len(self._swarms)):
            self._clients_turn(at)
            self._read()
        self._send()

    def tick(self) -> float:
        """One tick; gives the processor time of the server's part."""
        self.now += TICK_S
        self._ticks += 1
        used_s = 0.0
        for at, moves in enumerate(self._moves):
            self._swarms[at][0].send_rows(moves)
            self._clients_turn(at)
            began = time.thread_time()
            self._read()
            used_s += time.thread_time() - began
        began = time.thread_time()
        self.endpoint.take_rows()
        self.endpoint.send_rows(self._places)
        if self._ticks % 2:
            self.endpoint.send_rows(self._words, reliable=True)
        self._send()
        return used_s + time.thread_time() - began

    def _clients_turn(self, at: int) -> None:
        swarm, made, batch = self._swarms[at]
        while True:
            batches.receive(made, batch, BATCH_READS_MAX)
            if not len(batch):
                break
            swarm.on_batch(batch, self.now)
            batch.clear()
        swarm.poll_batch(batch, self.now)
        batches.send(made, batch)
        batch.clear()

    def _read(self) -> None:
        """The server's turns for what has come, as a shell makes them."""
        while True:
            batches.receive(self._socket, self._incoming, BATCH_READS_MAX)
            count = len(self._incoming)
            self.endpoint.on_batch(self._incoming, self.now)
            self._incoming.clear()
            self._send()
            if count < BATCH_READS_MAX:
                return

    def _send(self) -> None:
        self.endpoint.poll_batch(self._outgoing, self.now)
        batches.send(self._socket, self._outgoing)
        self._outgoing.clear()

    def _tallies(self) -> tuple[int, int, int, int, int]:
        tallies = [session.tally() for session in self.endpoint.sessions.values()]
        return (
            sum(each.packets_received for each in tallies),
            sum(each.packets_sent for each in tallies),
            sum(each.bytes_received for each in tallies),
            sum(each.bytes_sent for each in tallies),
            sum(each.packets_missed for each in tallies)
            + sum(each.tally().packets_missed for each, _, _ in self._swarms),
        )

    def sizes(self) -> tuple[float, float, float, float, int]:
        """Packets in and out since the first ticks, their sizes, and how many were lost."""
        since = [after - before for after, before in zip(self._tallies(), self.tallies, strict=True)]
        return since[0], since[1], since[2] / since[0] + 25, since[3] / since[1] + 25, since[4]

    def close(self) -> None:
        """Gives up the sockets."""
        for made in (self._socket, *(made for _, made, _ in self._swarms)):
            made.close()


class OverWebSocket:
    """The same for sessions over WebSocket: packets are handed over as aiohttp does."""

    def __init__(self, count: int) -> None:
        self.now = 100.0
        self.endpoint = ServerEndpoint(KEY, entropy=os.urandom, transport=WEBSOCKET, settings=OPEN_TO_ALL)
        self._clients: dict[EndpointAddress, ClientEndpoint] = {
            ("127.0.0.1", at): ClientEndpoint(
                self.endpoint.public_key,
                entropy=os.urandom,
                now=self.now,
                transport=WEBSOCKET,
                suite=Suite.AES_256_GCM,
            )
            for at in range(count)
        }
        self._ticks = 0
        for _ in range(4):
            self.tick()
        assert len(self.endpoint.sessions) == count, "every client has come in"
        for tag, session in enumerate(self.endpoint.sessions.values()):
            session.set_lane(MOVE[0], len(MOVE), tag)
        self._places = b"".join(parcel(id, PLACES) for id in self.endpoint.sessions)
        self._words = b"".join(parcel(id, WORD) for id in self.endpoint.sessions)

    _places = _words = b""

    def tick(self) -> float:
        """One tick; gives the processor time of the server's part."""
        self.now += TICK_S
        self._ticks += 1
        packets = []
        for address, client in self._clients.items():
            if client.session is not None:
                client.session.send(MOVE, reliable=False)
            packets += [(address, data) for data in client.poll(self.now)]
            client.events()
        began = time.thread_time()
        for address, data in packets:
            self.endpoint.on_datagram(address, data, self.now)
        self.endpoint.events()
        self.endpoint.take_rows()
        self.endpoint.send_rows(self._places)
        if self._ticks % 2:
            self.endpoint.send_rows(self._words, reliable=True)
        out = self.endpoint.poll(self.now)
        used_s = time.thread_time() - began
        for to, data in out:
            self._clients[to].on_datagram(data, self.now)
        return used_s


def parcel(session_id: int, message: bytes) -> bytes:
    """A message of a buffer for `send_rows`."""
    return pack("<IH", session_id, len(message)) + message


def memory_kib(count: int) -> float:
    """Memory of one end of a session in play, what the endpoint keeps for it included."""
    tracemalloc.start()
    ours = Ours(count)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    ours.close()
    return used / 1024 / count / 2


def cost_us(times: list[float], count: int) -> float:
    """Of a client and tick, in the better half of the ticks."""
    best = sorted(times)[: max(len(times) // 2, 1)]
    return sum(best) / len(best) / count * 1e6


def measure(*, clients: int, ticks: int) -> dict[str, Any]:
    """What `terrazzo bench session` prints."""
    library = build()
    ours = Ours(clients)
    times: dict[str, list[float]] = {"ours": [ours.tick() for _ in range(2)], "bare": [], "ws": []}
    _, _, bytes_in, bytes_out, _ = ours.sizes()
    bare = None if isinstance(library, str) else Bare(library, clients, round(bytes_in), round(bytes_out))
    ws = OverWebSocket(min(clients, 500))
    turns: list[tuple[str, Callable[[], float]]] = [("ours", ours.tick), ("ws", ws.tick)]
    if bare is not None:
        turns.append(("bare", bare.tick))
        for _ in range(3):
            bare.tick()
        bare.lost = 0
    for _ in range(ticks):
        for name, turn in turns:
            times[name].append(turn())
    packets_in, packets_out, bytes_in, bytes_out, lost = ours.sizes()
    played = clients * (ticks + 2)
    our_us = cost_us(times["ours"], clients)
    result: dict[str, Any] = {
        "figures": {
            "session_us": our_us,
            "sessions_per_core": 0.8e6 / our_us / (1 / TICK_S),
            "ws_us": cost_us(times["ws"], min(clients, 500)),
            "datagrams_per_client_tick": (packets_in + packets_out) / played,
            "lost": lost,
            "kib_per_session": memory_kib(min(clients, 500)),
        },
        "packets": {"bytes in": bytes_in, "bytes out": bytes_out, "clients": clients, "ticks": ticks},
    }
    if bare is None:
        result["no limit"] = library
    else:
        limit_us = cost_us(times["bare"], clients)
        result["figures"] |= {"limit_us": limit_us, "limit_ratio": limit_us / our_us, "limit_lost": bare.lost}
        bare.close()
    ours.close()
    return result
