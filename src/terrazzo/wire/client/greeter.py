"""The server's side of the handshake: what an unknown address may cost, and how a session begins.

What an address costs before it has proved itself: nothing kept, one MAC, one answer smaller than the
question; so many a second. An OPEN is looked at in the order of what that costs: its form, its cookie, whether it has
come before, whether its cookie is spent, whether there is room, whether its source may open one now; then one X25519
and the seal, which an OPEN that is not honest does not pass, and which spends its cookie; and only then the second
X25519. So a cookie is good for one forged OPEN, and the next one costs a HELLO, which is sixteen times as large.

What is kept after OPEN: a half-open session for so long, which is a stranger (`strangers.py`).

        HELLO            OPEN with cookie            first authentic DATA
    ·  ───────►  RETRY  ──────────────────►  half-open  ───────────────►  the server's session

A half-open session becomes a session only with the first DATA that authenticates: a replayed OPEN never gets
that far, and there is no event of it for the application.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from terrazzo.errors import DecodeError
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.handshake import ClientHello, KeyPair, Refuse, Retry, ServerWelcome
from terrazzo.wire.client.kernel import Session
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Suite, Transport
from terrazzo.wire.client.session import EndpointAddress, Entropy
from terrazzo.wire.client.strangers import KnownSources, Strangers
from terrazzo.wire.rates import Bucket, RateLimit


class HalfOpen(NamedTuple):
    """A session before its client has proved that it has the keys."""

    session: Session
    hello: ClientHello
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
        address_bytes: Callable[[EndpointAddress], bytes],
        source_of: Callable[[EndpointAddress], str],
        known: KnownSources,
        is_taken: Callable[[int], bool],
        is_full: Callable[[], bool],
        give_up: Callable[[int], None],
        drops: Drops,
        make_session: type[Session],
    ) -> None:
        """`give_up` ends a session that is a stranger and not half-open any more."""
        self._keys = KeyPair(private_key)
        self.public_key = self._keys.public
        self.half_open: dict[int, HalfOpen] = {}
        self.strangers: Strangers[int] = Strangers(
            total_max=settings.strangers_max, per_source_max=settings.source_strangers_max, known=known
        )
        self.is_banned: Callable[[str], bool] = _is_never_banned
        """Whether a source may not open sessions."""
        self._entropy = entropy
        self._transport = transport
        self._settings = settings
        self._suites = frozenset(suites)
        self._address_bytes = address_bytes
        self._is_taken = is_taken
        self._is_full = is_full
        self._source_of = source_of
        self._known = known
        self._give_up = give_up
        self._drops = drops
        self._make_session = make_session
        self._secret = entropy(handshake.KEY_BYTES)
        self._by_client: dict[bytes, int] = {}  # client's key to session id, until `release`
        self._by_path: dict[
            EndpointAddress, int | None
        ] = {}  # over ordered transports: a connection has one OPEN in its life
        self._spent: dict[bytes, float] = {}  # cookies that came with a wrong seal, until they do not hold any more
        self._answers: list[tuple[EndpointAddress, bytes]] = []
        self._hellos = Bucket(per_s=settings.hellos_per_s)
        self._opens = {is_known: Bucket(per_s=settings.opens_per_s) for is_known in (False, True)}
        self._source_opens = RateLimit(per_s=settings.source_opens_per_s, burst=settings.source_opens_burst)

    def on_packet(self, address: EndpointAddress, data: bytes, now: float) -> None:
        """A HELLO or an OPEN."""
        is_hello = data[0] == handshake.HELLO
        try:
            hello = handshake.decode_hello(data)
            if is_hello and not self._transport.datagram:
                self._drops[Drop.KIND] += 1
            elif is_hello and len(data) < self._transport.packet_bytes_max:
                self._drops[Drop.UNPADDED] += 1
            elif self.is_banned(self._source_of(address)):
                self._drops[Drop.BANNED] += 1
                self._refuse(address, hello, Reason.BANNED)
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

    def take_answers(self) -> list[tuple[EndpointAddress, bytes]]:
        """The answers to send now."""
        answers, self._answers = self._answers, []
        return answers

    def forget(self, now: float) -> None:
        """Drops half-open sessions and spent cookies that have timed out; both tables are in order of time."""
        while self.half_open and (half := next(iter(self.half_open.values()))).until <= now:
            self.drop(half)
        while self._spent and next(iter(self._spent.values())) <= now:
            del self._spent[next(iter(self._spent))]

    def drop(self, half: HalfOpen) -> None:
        """Keep nothing of this half-open session."""
        del self.half_open[half.session.id]
        self.strangers.remove(half.session.id)
        self.release(half.hello)

    def on_path_lost(self, address: EndpointAddress) -> int | None:
        """A connection is gone; gives the id of the session that it had."""
        return self._by_path.pop(address, None)

    def release(self, hello: ClientHello) -> None:
        """Nothing is left of the session that this client opened."""
        self._by_client.pop(hello.client_key, None)

    def _on_hello(self, address: EndpointAddress, hello: ClientHello, now: float) -> None:
        if not self._hellos.take(now):
            self._drops[Drop.BUSY] += 1
            return
        if self._is_full():
            self._drops[Drop.FULL] += 1
            self._refuse(address, hello, Reason.SERVER_FULL)
            return
        cookie = handshake.make_cookie(self._secret, self._address_bytes(address), hello, now)
        self._answer(address, handshake.encode_retry(Retry(hello.client_id, hello.echo, cookie)))

    def _on_open(self, address: EndpointAddress, hello: ClientHello, data: bytes, now: float) -> None:
        cookie = handshake.decode_open_cookie(data)
        if not self._cookie_holds(address, hello, cookie, now):
            self._drops[Drop.COOKIE] += 1
        elif hello.client_key in self._by_client:
            self._on_open_again(address, hello)
        elif cookie in self._spent:
            self._drops[Drop.SPENT] += 1
        elif address in self._by_path:
            self._drops[Drop.SECOND] += 1
        elif self._is_full():
            self._drops[Drop.FULL] += 1
            self._refuse(address, hello, Reason.SERVER_FULL)
        elif (too_many := self._is_too_many(source := self._source_of(address), now)) is not None:
            self._drops[too_many] += 1
            if not self._transport.datagram:  # where nothing is lost, nothing is sent again
                self._refuse(address, hello, Reason.SERVER_FULL)
        else:
            self._open(address, source, hello, data, now)

    def _is_too_many(self, source: str, now: float) -> Drop | None:
        """Whether this source, or all together, open more sessions than they may. Known sources have a share of their
        own, so that a player can come back while others attack."""
        if not self._source_opens.take(source, now):
            return Drop.RATE
        return None if self._opens[source in self._known].take(now) else Drop.BUSY

    def _cookie_holds(self, address: EndpointAddress, hello: ClientHello, cookie: bytes, now: float) -> bool:
        if not self._transport.datagram:
            return cookie == handshake.NO_COOKIE
        return handshake.cookie_holds(self._secret, self._address_bytes(address), hello, cookie, now)

    def _on_open_again(self, address: EndpointAddress, hello: ClientHello) -> None:
        """The WELCOME was lost: the same one again, to where the client is now."""
        half = self.half_open.get(self._by_client[hello.client_key])
        if half is None or half.hello != hello:
            self._drops[Drop.DUPLICATE] += 1
            return
        half.session.address = address
        self._answer(address, half.welcome)

    def _open(self, address: EndpointAddress, source: str, hello: ClientHello, data: bytes, now: float) -> None:
        """The address is proved and there is room: see whether the seal opens, and answer with WELCOME."""
        head, seal = data[: handshake.OPEN_HEAD_BYTES], data[handshake.OPEN_HEAD_BYTES :]
        suite = Suite(hello.suite)
        peer = handshake.read_public_key(hello.client_key)
        try:
            es = self._keys.agree(peer)
        except DecodeError:
            self._spend(address, head, Drop.KEY, now)
            return
        open_hash = handshake.hash_open(self.public_key, head)
        app_data = Cipher(suite, handshake.derive_open_key(es, open_hash)).open(0, seal, head)
        if app_data is None:
            self._spend(address, head, Drop.FORGED, now)
            return
        ephemeral = KeyPair(self._entropy(handshake.KEY_BYTES))
        ee = ephemeral.agree(peer)
        own_id = self._new_id()
        welcome = handshake.encode_welcome_head(ServerWelcome(hello.client_id, own_id, ephemeral.public))
        keys = handshake.derive_session_keys(es, ee, handshake.hash_session(open_hash, seal, welcome))
        welcome += Cipher(suite, keys.welcome).seal(0, b"", welcome)
        session = self._make_session(
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
            source=source,
        )
        if self._settings.needs_admission:
            session.channel.confine()
        self._answer(address, welcome)
        self._keep(HalfOpen(session, hello, welcome, app_data, now + self._settings.half_open_s), now)

    def _spend(self, address: EndpointAddress, head: bytes, why: Drop, now: float) -> None:
        """What came with this cookie, or over this connection, was not honest: no other OPEN is looked at there. The
        table is bounded by how many OPENs are looked at in a cookie's life."""
        self._drops[why] += 1
        if self._transport.datagram:
            self._spent[head[-handshake.COOKIE_BYTES :]] = now + limits.COOKIE_LIFE_S
        else:
            self._by_path[address] = None

    def _keep(self, half: HalfOpen, now: float) -> None:
        session = half.session
        self.half_open[session.id] = half
        self._by_client[half.hello.client_key] = session.id
        if not self._transport.datagram:
            self._by_path[session.address] = session.id
        other = self.strangers.add(session.id, session.source)
        if other is not None:
            self._drops[Drop.CROWDED] += 1
            if other in self.half_open:
                self._end(self.half_open[other], now)
            else:
                self._give_up(other)

    def _end(self, half: HalfOpen, now: float) -> None:
        """A half-open session gives way; if its client is honest, it learns of that."""
        half.session.abort(Reason.SERVER_FULL)
        for datagram in half.session.poll(now):
            self._answer(half.session.address, datagram)
        self.drop(half)

    def _new_id(self) -> int:
        while True:
            new_id = int.from_bytes(self._entropy(4), "little")
            if new_id not in self.half_open and not self._is_taken(new_id):
                return new_id

    def _refuse(self, address: EndpointAddress, hello: ClientHello, why: Reason) -> None:
        suites = sum(1 << suite for suite in self._suites)
        refuse = Refuse(hello.client_id, hello.echo, why, limits.VERSION, limits.VERSION, suites)
        self._answer(address, handshake.encode_refuse(refuse))

    def _answer(self, address: EndpointAddress, data: bytes) -> None:
        if len(self._answers) < self._settings.answers_max:
            self._answers.append((address, data))
        else:
            self._drops[Drop.ANSWERS_FULL] += 1


def _is_never_banned(source: str) -> bool:
    """No owner has bans."""
    return False
