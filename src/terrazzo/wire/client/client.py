"""The client's endpoint: one session with a server; the client has the server's public key beforehand.

    HELLO ──RETRY──► OPEN ──WELCOME──► session (see channel.py)
      │  ▲             │
      │  └─cookie old──┤
      └────────────────┴──REFUSE, or no answer in time──► over

Each packet of the handshake is repeated, ever more slowly, until it is answered. Over an ordered transport
it starts with OPEN. Answers are checked: RETRY and REFUSE must repeat a part of the client's fresh key,
WELCOME and everything after it must authenticate.

After Closed the owner polls once more: the last packet has CLOSE for the server. An owner that keeps the
socket for LINGER_S goes on handing packets in and polling, so that a lost CLOSE is sent again.
"""

from __future__ import annotations

from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.channel import ChannelState
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.events import Closed, Connected, Received, SessionEvent
from terrazzo.wire.client.handshake import ClientHello
from terrazzo.wire.client.kernel import FORM, Form, Session
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Suite, Transport
from terrazzo.wire.client.session import Entropy


class ClientEndpoint:
    """One client of one server."""

    def __init__(
        self,
        server_key: bytes,
        *,
        entropy: Entropy,
        now: float,
        transport: Transport = limits.UDP,
        settings: Settings = limits.CLIENT,
        suite: Suite = Suite.CHACHA20_POLY1305,
        app_data: bytes = b"",
        drops: Drops | None = None,
        form: Form = FORM,
    ) -> None:
        """`drops` may be shared by several clients."""
        if len(app_data) > limits.APP_DATA_BYTES_MAX:
            raise ValueRejected(f"application data in the handshake: at most {limits.APP_DATA_BYTES_MAX} bytes")
        self.drops = Drops() if drops is None else drops
        self.session: Session | None = None
        self.reason: Reason | None = None
        self._form = form
        self._transport = transport
        self._settings = settings
        self._suite = suite
        self._entropy = entropy
        self._server_key = server_key
        self._app_data = app_data
        self._private_key = entropy(handshake.KEY_BYTES)
        client_id = int.from_bytes(entropy(4), "little")
        self._hello = ClientHello(limits.VERSION, client_id, suite, handshake.public_key(self._private_key))
        self._es = handshake.agree(self._private_key, server_key)
        self._events: list[SessionEvent] = []
        self._give_up_at = now + settings.handshake_timeout_s
        self._retry_at = now
        self._retry_s = limits.HELLO_RETRY_S
        self._cookie_at = now
        self._open_packet: bytes | None = None
        if not transport.datagram:
            self._make_open(handshake.NO_COOKIE)

    @property
    def client_id(self) -> int:
        """The number that the server's packets to this client bear."""
        return self._hello.client_id

    def on_datagram(self, data: bytes, now: float) -> None:
        """A packet has come from the server's address. Never raises because of what is in it."""
        if len(data) < limits.PACKET_BYTES_MIN and data[:1] != bytes((handshake.REFUSE,)):
            self.drops[Drop.TRUNCATED] += 1
        elif len(data) > self._transport.packet_bytes_max:
            self.drops[Drop.OVERSIZED] += 1
        elif self.session is not None:
            self._on_data(self.session, data, now)
        elif self.reason is not None:
            self.drops[Drop.KIND] += 1
        else:
            self._on_handshake(data, now)

    def poll(self, now: float, budget_bytes: int | None = None) -> list[bytes]:
        """The packets to send to the server now."""
        if self.session is not None:
            datagrams = self.session.poll(now, budget_bytes)
            self._check_closed(self.session)
            return datagrams
        if self.reason is None and now >= self._give_up_at:
            self._fail(Reason.NO_ANSWER)
        if self.reason is not None or now < self._retry_at:
            return []
        self._retry_at = now + self._retry_s
        self._retry_s = min(2 * self._retry_s, limits.HELLO_RETRY_S_MAX)
        if self._transport.datagram and now >= self._cookie_at + limits.COOKIE_LIFE_S / 2:
            self._open_packet = None  # the cookie may be too old, or another address's: ask for a new one
        if self._open_packet is not None:
            return [self._open_packet]
        return [handshake.encode_hello(self._hello, self._transport.packet_bytes_max)]

    def events(self) -> list[SessionEvent]:
        """What has happened since the last call, in order."""
        events, self._events = self._events, []
        return events

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing comes; None when it is over."""
        if self.session is not None:
            return self.session.next_timeout()
        return None if self.reason is not None else min(self._retry_at, self._give_up_at)

    def abort(self) -> None:
        """End at once, in the handshake or after it."""
        if self.session is not None:
            self.session.abort()
        else:
            self._fail(Reason.ABORTED)

    def on_path_lost(self) -> None:
        """The connection under an ordered transport has closed."""
        if self.session is not None:
            self.session.channel.abort(Reason.PATH_LOST)
            self._check_closed(self.session)
        else:
            self._fail(Reason.PATH_LOST)

    def _on_data(self, session: Session, data: bytes, now: float) -> None:
        if data[0] != handshake.DATA:
            self.drops[Drop.KIND if data[0] != handshake.WELCOME else Drop.DUPLICATE] += 1
        elif int.from_bytes(data[1:5], "little") != session.id:
            self.drops[Drop.UNKNOWN] += 1
        else:
            messages = session.on_datagram(session.address, data, now)
            if messages:
                self._events.append(Received(session, messages))
            self._check_closed(session)

    def _on_handshake(self, data: bytes, now: float) -> None:
        try:
            if data[0] == handshake.RETRY:
                self._on_retry(handshake.decode_retry(data), now)
            elif data[0] == handshake.WELCOME:
                self._on_welcome(data, now)
            elif data[0] == handshake.REFUSE:
                self._on_refuse(handshake.decode_refuse(data))
            else:
                self.drops[Drop.KIND] += 1
        except DecodeError:
            self.drops[Drop.TRUNCATED] += 1

    def _on_retry(self, retry: handshake.Retry, now: float) -> None:
        if (retry.client_id, retry.echo) != (self._hello.client_id, self._hello.echo):
            self.drops[Drop.FORGED] += 1
        elif self._open_packet is not None:
            self.drops[Drop.DUPLICATE] += 1
        else:
            self._cookie_at = now
            self._retry_at = now
            self._retry_s = limits.HELLO_RETRY_S
            self._make_open(retry.cookie)

    def _make_open(self, cookie: bytes) -> None:
        head = handshake.encode_open_head(self._hello, cookie)
        self._open_hash = handshake.hash_open(self._server_key, head)
        key = handshake.derive_open_key(self._es, self._open_hash)
        self._open_seal = Cipher(self._suite, key).seal(0, self._app_data, head)
        self._open_packet = head + self._open_seal

    def _on_welcome(self, data: bytes, now: float) -> None:
        welcome = handshake.decode_welcome(data)
        if self._open_packet is None or welcome.client_id != self._hello.client_id:
            self.drops[Drop.KIND] += 1
            return
        head, seal = data[: handshake.WELCOME_HEAD_BYTES], data[handshake.WELCOME_HEAD_BYTES :]
        try:
            ee = handshake.agree(self._private_key, welcome.server_key)
        except DecodeError:
            self.drops[Drop.KEY] += 1
            return
        session_hash = handshake.hash_session(self._open_hash, self._open_seal, head)
        keys = handshake.derive_session_keys(self._es, ee, session_hash)
        if Cipher(self._suite, keys.welcome).open(0, seal, head) is None:
            self.drops[Drop.FORGED] += 1
            return
        self._start(welcome.server_id, keys, now)

    def _start(self, server_id: int, keys: handshake.SessionKeys, now: float) -> None:
        session = self._form.session(
            own_id=self._hello.client_id,
            peer_id=server_id,
            suite=self._suite,
            send_key=keys.to_server,
            receive_key=keys.to_client,
            address="server",
            transport=self._transport,
            settings=self._settings,
            entropy=self._entropy,
            drops=self.drops,
            now=now,
        )
        session.channel.control.ping = True  # the server opens the session with the first packet
        self.session = session
        self._events.append(Connected(session, b""))

    def _on_refuse(self, refuse: handshake.Refuse) -> None:
        if (refuse.client_id, refuse.echo) != (self._hello.client_id, self._hello.echo):
            self.drops[Drop.FORGED] += 1
            return
        known = (Reason.SERVER_FULL, Reason.WRONG_VERSION, Reason.WRONG_SUITE, Reason.BANNED)
        self._fail(Reason(refuse.why) if refuse.why in known else Reason.ABORTED)

    def _fail(self, reason: Reason) -> None:
        if self.reason is None:
            self.reason = reason
            self._events.append(Closed(None, reason, False))

    def _check_closed(self, session: Session) -> None:
        if session.state is ChannelState.CLOSED and self.reason is None and session.reason is not None:
            self.reason = session.reason
            self._events.append(Closed(session, session.reason, session.channel.closed_by_peer))
