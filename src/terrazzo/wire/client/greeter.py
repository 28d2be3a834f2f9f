"""The server's side of the handshake: what an unknown address may cost, and how a session begins.

What an address costs before it has proved itself: nothing kept, one MAC, one answer smaller than the
question. What it costs after OPEN: two X25519 and a half-open session; so many between two polls, so many
at a time, for so long. When half-open sessions are full the oldest gives way.

        HELLO            OPEN with cookie            first authentic DATA
    ·  ───────►  RETRY  ──────────────────►  half-open  ───────────────►  the server's session

A half-open session becomes a session only with the first DATA that authenticates: a replayed OPEN never gets
that far, and the application never hears of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from terrazzo.errors import DecodeError
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.handshake import Hello, Refuse, Retry, Welcome
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Suite, Transport
from terrazzo.wire.client.session import Address, Entropy, Session


class HalfOpen(NamedTuple):
    """A session whose client has not shown yet that it has the keys."""

    session: Session
    hello: Hello
    welcome: bytes
    app_data: bytes
    until: float


class Greeter:
    """Answers HELLO and OPEN."""

    def __init__(
        self,
        private_key: bytes,
        *,
        entropy: Entropy,
        transport: Transport,
        settings: Settings,
        suites: Iterable[Suite],
        address_bytes: Callable[[Address], bytes],
        is_taken: Callable[[int], bool],
        is_full: Callable[[], bool],
        drops: Drops,
    ) -> None:
        self.public_key = handshake.public_key(private_key)
        self.half_open: dict[int, HalfOpen] = {}
        self._private_key = private_key
        self._entropy = entropy
        self._transport = transport
        self._settings = settings
        self._suites = frozenset(suites)
        self._address_bytes = address_bytes
        self._is_taken = is_taken
        self._is_full = is_full
        self._drops = drops
        self._secret = entropy(handshake.KEY_BYTES)
        self._by_client: dict[bytes, int] = {}  # client's key to session id, until `release`
        self._answers: list[tuple[Address, bytes]] = []
        self._opens_left = settings.opens_per_poll_max

    def on_packet(self, address: Address, data: bytes, now: float) -> None:
        """A HELLO or an OPEN."""
        is_hello = data[0] == handshake.HELLO
        try:
            hello = handshake.decode_hello(data)
            if is_hello and not self._transport.datagram:
                self._drops[Drop.KIND] += 1
            elif is_hello and len(data) < self._transport.packet_bytes_max:
                self._drops[Drop.UNPADDED] += 1
            elif hello.version != limits.VERSION:
                self._drops[Drop.VERSION] += 1
                self._refuse(address, hello, Reason.WRONG_VERSION)
            elif hello.suite not in self._suites:
                self._drops[Drop.SUITE] += 1
                self._refuse(address, hello, Reason.WRONG_SUITE)
            elif is_hello:
                self._on_hello(address, hello, now)
            else:
                self._on_open(address, hello, data, now)
        except DecodeError:
            self._drops[Drop.TRUNCATED] += 1

    def take_answers(self) -> list[tuple[Address, bytes]]:
        """The answers to send now; from here on new OPENs are welcome."""
        self._opens_left = self._settings.opens_per_poll_max
        answers, self._answers = self._answers, []
        return answers

    def forget(self, now: float) -> None:
        """Half-open sessions whose time is over are gone; the table is in order of time."""
        while self.half_open and (half := next(iter(self.half_open.values()))).until <= now:
            self.drop(half)

    def drop(self, half: HalfOpen) -> None:
        """Keep nothing of this half-open session."""
        del self.half_open[half.session.id]
        self.release(half.hello)

    def release(self, hello: Hello) -> None:
        """Nothing is left of the session that this client opened."""
        self._by_client.pop(hello.client_key, None)

    def _on_hello(self, address: Address, hello: Hello, now: float) -> None:
        if self._is_full():
            self._refuse(address, hello, Reason.SERVER_FULL)
            return
        cookie = handshake.make_cookie(self._secret, self._address_bytes(address), hello, now)
        self._answer(address, handshake.encode_retry(Retry(hello.client_id, hello.echo, cookie)))

    def _on_open(self, address: Address, hello: Hello, data: bytes, now: float) -> None:
        cookie = handshake.decode_open_cookie(data)
        if not self._cookie_holds(address, hello, cookie, now):
            self._drops[Drop.COOKIE] += 1
        elif hello.client_key in self._by_client:
            self._on_open_again(address, hello)
        elif self._is_full():
            self._refuse(address, hello, Reason.SERVER_FULL)
        elif self._opens_left <= 0:
            self._drops[Drop.BUSY] += 1
        else:
            self._opens_left -= 1
            self._open(address, hello, data, now)

    def _cookie_holds(self, address: Address, hello: Hello, cookie: bytes, now: float) -> bool:
        if not self._transport.datagram:
            return cookie == handshake.NO_COOKIE
        return handshake.cookie_holds(self._secret, self._address_bytes(address), hello, cookie, now)

    def _on_open_again(self, address: Address, hello: Hello) -> None:
        """The WELCOME was lost: the same one again, to where the client is now."""
        half = self.half_open.get(self._by_client[hello.client_key])
        if half is None or half.hello != hello:
            self._drops[Drop.DUPLICATE] += 1
            return
        half.session.address = address
        self._answer(address, half.welcome)

    def _open(self, address: Address, hello: Hello, data: bytes, now: float) -> None:
        """The address is proved: spend the two agreements and answer with WELCOME."""
        head, seal = data[: handshake.OPEN_HEAD_BYTES], data[handshake.OPEN_HEAD_BYTES :]
        suite = Suite(hello.suite)
        ephemeral = self._entropy(handshake.KEY_BYTES)
        try:
            es = handshake.agree(self._private_key, hello.client_key)
            ee = handshake.agree(ephemeral, hello.client_key)
        except DecodeError:
            self._drops[Drop.KEY] += 1
            return
        open_hash = handshake.hash_open(self.public_key, head)
        app_data = Cipher(suite, handshake.derive_open_key(es, open_hash)).open(0, seal, head)
        if app_data is None:
            self._drops[Drop.FORGED] += 1
            return
        own_id = self._new_id()
        welcome = handshake.encode_welcome_head(Welcome(hello.client_id, own_id, handshake.public_key(ephemeral)))
        keys = handshake.derive_session_keys(es, ee, handshake.hash_session(open_hash, seal, welcome))
        welcome += Cipher(suite, keys.welcome).seal(0, b"", welcome)
        session = Session(
            own_id=own_id,
            peer_id=hello.client_id,
            suite=suite,
            send_key=keys.to_client,
            receive_key=keys.to_server,
            address=address,
            transport=self._transport,
            settings=self._settings,
            entropy=self._entropy,
            drops=self._drops,
            now=now,
        )
        self._keep(HalfOpen(session, hello, welcome, app_data, now + self._settings.half_open_s))
        self._answer(address, welcome)

    def _keep(self, half: HalfOpen) -> None:
        if len(self.half_open) >= self._settings.half_open_max:
            self.drop(next(iter(self.half_open.values())))
        self.half_open[half.session.id] = half
        self._by_client[half.hello.client_key] = half.session.id

    def _new_id(self) -> int:
        while True:
            new_id = int.from_bytes(self._entropy(4), "little")
            if new_id not in self.half_open and not self._is_taken(new_id):
                return new_id

    def _refuse(self, address: Address, hello: Hello, why: Reason) -> None:
        suites = sum(1 << suite for suite in self._suites)
        refuse = Refuse(hello.client_id, hello.echo, why, limits.VERSION, limits.VERSION, suites)
        self._answer(address, handshake.encode_refuse(refuse))

    def _answer(self, address: Address, data: bytes) -> None:
        if len(self._answers) < self._settings.answers_max:
            self._answers.append((address, data))
        else:
            self._drops[Drop.ANSWERS_FULL] += 1
