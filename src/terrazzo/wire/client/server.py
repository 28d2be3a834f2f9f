"""The server's endpoint: everything that comes to one UDP socket, or to all WebSockets, and all its sessions.

A packet goes by its kind: HELLO and OPEN to the greeter (`greeter.py`), DATA to the session with the id
that it bears.

    half-open  ──first authentic DATA──►  open  ──end, by either side──►  lingering  ──a few seconds──►  ·

The owner gets Connected, Received and Closed, in this order. A session that is over lingers to repeat its
CLOSE to a peer that missed it. Sessions are polled when something happened to them or their timer is due,
not all of them each time (`table.py`). No more sessions than `sessions_max`: a client that comes then is refused.
Strangers (`strangers.py`) do not count there: they have limits of their own, and no player is refused because of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from terrazzo._speed.datagrams import Batch
from terrazzo.wire.addresses import subscriber
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.channel import ChannelState
from terrazzo.wire.client.events import Closed, Connected, Received, SessionEvent
from terrazzo.wire.client.greeter import Greeter, HalfOpen
from terrazzo.wire.client.handshake import ClientHello
from terrazzo.wire.client.kernel import FORM, Form, Session
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Suite, Transport
from terrazzo.wire.client.session import EndpointAddress, Entropy
from terrazzo.wire.client.strangers import KnownSources


def address_to_bytes(address: EndpointAddress) -> bytes:
    """The bytes that stand for an address in a cookie: any form that is unique will do."""
    return repr(address).encode()


def address_to_source(address: EndpointAddress) -> str:
    """What of an address counts for limits: of a tuple (host, port, …) the host, and of an IPv6 address its /64."""
    return subscriber(str(address[0] if isinstance(address, tuple) and address else address))


class ServerEndpoint:
    """All sessions of one server."""

    def __init__(
        self,
        private_key: bytes,
        *,
        entropy: Entropy,
        transport: Transport = limits.UDP,
        settings: Settings = limits.SERVER,
        suites: Iterable[Suite] = tuple(Suite),
        address_bytes: Callable[[EndpointAddress], bytes] = address_to_bytes,
        source_of: Callable[[EndpointAddress], str] = address_to_source,
        known: KnownSources | None = None,
        form: Form = FORM,
    ) -> None:
        """`known` may be shared by several endpoints: a player that was at one of them is known at all."""
        self.drops = Drops()
        self._table = form.table(transport.packet_bytes_max, self._retire)
        self.sessions: dict[int, Session] = self._table.sessions
        self.on_vouched: Callable[[EndpointAddress], None] = _ignore
        """Called for each session that is no stranger any more."""
        self._admitted = 0
        self._known = KnownSources() if known is None else known
        self._transport = transport
        self._settings = settings
        self._hellos: dict[int, ClientHello] = {}  # of sessions and of those that linger
        self._lingering: dict[int, tuple[Session, float]] = {}
        self._greeter = Greeter(
            private_key,
            entropy=entropy,
            transport=transport,
            settings=settings,
            suites=suites,
            address_bytes=address_bytes,
            source_of=source_of,
            known=self._known,
            is_taken=self._hellos.__contains__,
            is_full=self._is_full,
            give_up=self._give_up,
            drops=self.drops,
            make_session=form.session,
        )
        self.public_key = self._greeter.public_key

    def ban(self, is_banned: Callable[[str], bool]) -> None:
        """From now on sources for which this holds open no sessions, and those that they have end."""
        self._greeter.is_banned = is_banned
        for session in [each for each in self.sessions.values() if is_banned(each.source)]:
            session.abort(Reason.BANNED)

    def on_datagram(self, address: EndpointAddress, data: bytes, now: float) -> None:
        """A datagram, or a WebSocket's binary message, has come. Never raises because of what is in it."""
        if len(data) < limits.PACKET_BYTES_MIN:
            self.drops[Drop.TRUNCATED] += 1
        elif len(data) > self._transport.packet_bytes_max:
            self.drops[Drop.OVERSIZED] += 1
        elif data[0] == handshake.DATA:
            self._on_data(address, data, now)
        elif data[0] in (handshake.HELLO, handshake.OPEN):
            self._greeter.on_packet(address, data, now)
        else:
            self.drops[Drop.KIND] += 1

    def on_batch(self, batch: Batch, now: float) -> None:
        """As `on_datagram`, for each datagram of a batch."""
        at = self._table.on_batch(batch, 0, now)
        while at < len(batch):
            address, data = batch[at]
            self.on_datagram(address, data, now)
            at = self._table.on_batch(batch, at + 1, now)

    def on_path_lost(self, address: EndpointAddress) -> None:
        """The connection under an ordered transport has closed: its session is over."""
        session_id = self._greeter.on_path_lost(address)
        if session_id in self._greeter.half_open:
            self._greeter.drop(self._greeter.half_open[session_id])
        elif session_id in self.sessions:
            self.sessions[session_id].abort(Reason.PATH_LOST)

    def poll(self, now: float, budget_bytes: int | None = None) -> list[tuple[EndpointAddress, bytes]]:
        """Everything to send now; `budget_bytes` is for each session."""
        out = self._begin_poll(now)
        out += self._table.poll(now, budget_bytes)
        return out

    def poll_batch(self, batch: Batch, now: float, budget_bytes: int | None = None) -> None:
        """As `poll`, into a batch."""
        for address, answer in self._begin_poll(now):
            batch.add(address, answer)
        self._table.poll_batch(batch, now, budget_bytes)

    def events(self) -> list[SessionEvent]:
        """What has happened since the last call, in order."""
        return self._table.take_events()

    def take_rows(self) -> bytes:
        """The rows that sessions have sent into their lanes since the last call (`lane.py`)."""
        return self._table.rows.take()

    def send_rows(self, parcels: bytes | bytearray | memoryview, *, reliable: bool = False) -> int:
        """Queues messages for many sessions from one buffer (`lane.py`); gives how many were not taken, because their
        session is not open. ValueError or ValueRejected, before the first is taken, for a buffer that cannot be."""
        return self._table.send_rows(parcels, reliable)

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing comes; None when there is nothing to wait for."""
        next_at = self._table.next_at
        if self._lingering:
            gone_at = next(iter(self._lingering.values()))[1]
            return gone_at if next_at is None else min(gone_at, next_at)
        return next_at

    def _begin_poll(self, now: float) -> list[tuple[EndpointAddress, bytes]]:
        answers = self._greeter.take_answers()
        self._greeter.forget(now)
        self._forget_lingering(now)
        return answers

    def _is_full(self) -> bool:
        return self._admitted >= self._settings.sessions_max

    def _give_up(self, session_id: int) -> None:
        """A stranger gives way to another one."""
        if session_id in self.sessions:
            self.sessions[session_id].abort(Reason.SERVER_FULL)

    def _on_vouched(self, session: Session) -> None:
        self._greeter.strangers.remove(session.id)
        self.on_vouched(session.address)

    def _on_admitted(self, session: Session) -> None:
        self._on_vouched(session)
        if self._settings.needs_admission:
            self._known.add(session.source)
        if session.id in self.sessions:
            self._admitted += 1

    def _on_data(self, address: EndpointAddress, data: bytes, now: float) -> None:
        session_id = int.from_bytes(data[1:5], "little")
        session = self.sessions.get(session_id)
        if session is not None:
            self._table.on_data(session, address, data, now)
        elif session_id in self._greeter.half_open:
            self._on_first_data(self._greeter.half_open[session_id], address, data, now)
        elif session_id in self._lingering:
            session = self._lingering[session_id][0]
            if session.on_datagram(address, data, now) is not None:
                self._table.touch(session)
        else:
            self.drops[Drop.UNKNOWN] += 1

    def _on_first_data(self, half: HalfOpen, address: EndpointAddress, data: bytes, now: float) -> None:
        """If it authenticates, the client has the keys, and the session is open."""
        session = half.session
        messages = session.on_datagram(address, data, now)
        if messages is None:
            return
        del self._greeter.half_open[session.id]
        self._hellos[session.id] = half.hello
        if self._is_full():
            self.drops[Drop.FULL] += 1
            self._greeter.strangers.remove(session.id)
            session.abort(Reason.SERVER_FULL)
            self._table.touch(session)
            self._linger(session, now)
            return
        self._table.add(session)
        session.on_vouched, session.on_admitted = self._on_vouched, self._on_admitted
        if not self._settings.needs_admission:
            session.admit()
        self._table.events.append(Connected(session, half.app_data))
        if messages:
            self._table.events.append(Received(session, messages))
        if session.state is ChannelState.CLOSED:
            self._retire(session, now)

    def _retire(self, session: Session, now: float) -> None:
        """The session is over: the owner gets Closed."""
        if session.reason is not None and self._table.remove(session):
            self._admitted -= session.is_admitted
            self._greeter.strangers.remove(session.id)
            self._table.events.append(Closed(session, session.reason, session.channel.closed_by_peer))
            self._linger(session, now)

    def _linger(self, session: Session, now: float) -> None:
        """Keep it a little, to repeat its CLOSE to a peer that missed it."""
        if len(self._lingering) >= self._settings.sessions_max:
            self._forget_oldest()
        self._lingering[session.id] = (session, now + limits.LINGER_S)

    def _forget_lingering(self, now: float) -> None:
        while self._lingering and next(iter(self._lingering.values()))[1] <= now:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        session_id = next(iter(self._lingering))
        del self._lingering[session_id]
        self._greeter.release(self._hellos.pop(session_id))


def _ignore(address: EndpointAddress) -> None:
    """No owner has asked for it."""
