"""A LoginApp and a BaseApp with nothing behind them: real endpoints, scripted answers, in memory."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from terrazzo.client import Address
from terrazzo.sync.protocol import LoginReply, LoginRequest, ToServer, encode_logged_off
from terrazzo.wire.client import UDP, Closed, Connected, Received, ServerEndpoint, Session, Transport

LOGIN: Address = ("login.test", 7000)
BASE: Address = ("base.test", 7001)
KEY = b"a key for one use"

Answer = Callable[[LoginRequest], LoginReply | bytes | None]


def entropy_of(seed: int) -> Callable[[int], bytes]:
    return random.Random(seed).randbytes


def welcome(request: LoginRequest) -> LoginReply:
    return LoginReply(host=BASE[0], udp_port=BASE[1], ws_port=BASE[1], key=KEY.hex())


class FakeCluster:
    """Takes packets for its two addresses, records what it receives, sends what a test sets."""

    def __init__(self, transport: Transport = UDP, *, answer: Answer = welcome, private_key: bytes = bytes(range(32))):
        self.answer = answer
        self.endpoints = {
            place: ServerEndpoint(private_key, entropy=entropy_of(seed), transport=transport)
            for seed, place in enumerate((LOGIN, BASE))
        }
        self.public_key = self.endpoints[LOGIN].public_key
        self.requests: list[LoginRequest] = []
        self.keys: list[bytes] = []
        self.session: Session | None = None
        self.login_session: Session | None = None
        """That of the last login request."""
        self.heard: list[bytes] = []
        self.closed: dict[Address, Closed] = {}
        self.is_reachable = {LOGIN: True, BASE: True}
        self.saves = True
        """Whether a client that leaves gets the confirmation of its save at once."""
        self.on_message: Callable[[bytes], None] = lambda message: None

    def on_datagram(self, place: Address, source: Address, data: bytes, now: float) -> None:
        if self.is_reachable[place]:
            self.endpoints[place].on_datagram(source, data, now)
            for event in self.endpoints[place].events():
                self._on_event(place, event, now)

    def poll(self, now: float) -> list[tuple[Address, Address, bytes]]:
        """(from, to, packet) of everything to be sent."""
        out = [
            (place, source, data) for place, endpoint in self.endpoints.items() for source, data in endpoint.poll(now)
        ]
        for place, endpoint in self.endpoints.items():
            for event in endpoint.events():
                self._on_event(place, event, now)
        return out  # type: ignore[return-value]

    def say(self, *messages: bytes, reliable: bool = True) -> None:
        """The BaseApp sends its client a message."""
        assert self.session is not None
        assert self.session.send_many(messages, reliable=reliable)

    def say_login(self, reply: LoginReply) -> None:
        """The LoginApp sends its last client one more reply."""
        assert self.login_session is not None
        assert self.login_session.send(msgspec.json.encode(reply))

    def _on_event(self, place: Address, event: Connected | Received | Closed, now: float) -> None:
        if isinstance(event, Closed):
            self.closed[place] = event
        elif isinstance(event, Connected):
            if place == BASE:
                self.session = event.session
                self.keys.append(event.app_data)
        elif place == LOGIN:
            self._on_request(event)
        else:
            for message in event.messages:
                self.heard.append(message)
                self.on_message(message)
                if message == bytes([ToServer.BYE]) and self.saves:
                    self.confirm(event.session, now)

    def confirm(self, session: Session, now: float) -> None:
        """Everything of the player is saved."""
        session.send(encode_logged_off(1, "goodbye"))
        session.close(now)

    def _on_request(self, event: Received) -> None:
        for message in event.messages:
            request = msgspec.json.decode(message, type=LoginRequest)
            self.requests.append(request)
            self.login_session = event.session
            reply = self.answer(request)
            if reply is not None:
                event.session.send(reply if isinstance(reply, bytes) else msgspec.json.encode(reply))
