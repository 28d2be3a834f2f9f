"""Links: one ordered, reliable connection between two apps. The loss of a link is an event.

`Links` has all links of one app, as a state machine without I/O. A driver (`sim`, `runtime`) provides a `Transport`
that carries frames over connections, and reports what happens to them. `Links` exchanges greetings, checks the identity
of the peer, unpacks bundles, and calls the app.

One connection, from either side:

    we dial:        DIALLING ──opened, Hello sent──▶ GREETING ──Welcome──▶ UP
    the peer dials: WAITING ──Hello accepted, Welcome sent──────────────▶ UP          anything else ▶ closed

A **link** is what the app sees: it begins with the first message to a peer, or with the peer's Hello, and ends in
exactly one `on_link_lost`. What was sent during a link arrives in order, as a prefix; messages wait (bounded) while the
link is being made, and when that fails for `join_s` the link is lost too.

The rules:

- *Incarnations.* A Hello names its sender and its receiver, incarnations included. A newer incarnation of a slot ends
  the link with the older one (the app gets the loss first), and from then on the older one is refused. Data only flows
  after Welcome, so no message of a refused caller is taken.
- *Fencing.* `fence(app)` cuts the link and refuses that incarnation for ever. An app that receives STALE or FENCED was
  declared dead while it ran: `fenced` becomes true and the driver ends the process (race 26).
- *Crossing.* When both dial at once, the dial of the smaller id wins: the smaller one refuses the other's Hello, the
  larger one drops its own dial on the other's Hello. A Hello from a peer with which a link is up means that the peer
  has lost the link: the old link is lost here as well, then the new one is up. Except for an old Hello: connections
  overtake each other, and the Hello of a dial that was dropped may come after the Welcome for which it was dropped. So
  dials are counted; a Hello has its number, a Welcome the last number of the dials that are given up, and a number that
  is not above the greatest number received from a peer is refused. A dial to any incarnation follows the same rules:
  there is none beside a link with that slot, and the link that is up first takes over what waited for the other.
- *Silence.* A quiet link carries heartbeats. A peer that sends nothing for `silence_s` is lost. A driver that was
  itself held up (a tick that came late) does not count the time in which it could not receive (race 30).
"""

from __future__ import annotations

from collections.abc import Iterator

from terrazzo.cluster.app import App, Host, TakesTurns
from terrazzo.cluster.connection import Connection, ConnectionState, Link
from terrazzo.cluster.connection import FrameTransport as Transport
from terrazzo.cluster.connection import LinkLimits as LinkLimits
from terrazzo.wire.common import Hello, LinkRefusal, Refused, Welcome
from terrazzo.wire.ids import ANY_INCARNATION, AppId, AppKind
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import (
    HEARTBEAT,
    REGISTRY,
    BadBundle,
    Message,
    Refusal,
    Refusals,
    Registry,
    bundle_of,
)

Slot = tuple[AppKind, int]
_NOT_FOR_THE_APP = {Refusal, Hello, Welcome, Refused}


class Links:
    """All links of one app."""

    def __init__(
        self,
        me: AppId,
        app: App,
        host: Host,
        transport: Transport,
        *,
        limits: LinkLimits | None = None,
        registry: Registry = REGISTRY,
    ) -> None:
        self.me = me
        self.refusals = Refusals()
        self.fenced = False
        self._app = app
        self._turn_taker = app if isinstance(app, TakesTurns) else None
        self._host = host
        self._transport = transport
        self._limits = limits or LinkLimits()
        self._registry = registry
        self._digest = registry.digest()
        self._links: dict[AppId, Link] = {}
        self._connections: dict[int, Connection] = {}
        self._newest: dict[Slot, int] = {}
        self._fences: dict[Slot, int] = {}
        self._dials = 0
        self._answered_dials: dict[AppId, int] = {}  # the last dial of each peer that was answered or given up
        self._ticked_at = host.now
        self._watched_at = host.now

    # What the app may call, through its host.

    def join(self, peer: AppId) -> None:
        """Begins a link without a message."""
        is_redundant = peer.incarnation == ANY_INCARNATION and any(each.slot == peer.slot for each in self._links)
        if not is_redundant and not self._is_refused(peer):
            self._link_with(peer)

    def fence(self, app: AppId) -> None:
        """Refuses this incarnation, and those before it, from now on; a standing link with it is lost."""
        self._fences[app.slot] = max(self._fences.get(app.slot, 0), app.incarnation)
        for peer in [peer for peer in self._links if peer.slot == app.slot and self._is_refused(peer)]:
            self._lose(peer, "fenced")

    @property
    def peers(self) -> list[AppId]:
        """The peers with which a link is up."""
        return [peer for peer, link in self._links.items() if link.is_up]

    @property
    def takes_turns(self) -> bool:
        """Whether the driver is to call `on_turn` after something has come."""
        return self._turn_taker is not None

    # What the driver calls.

    def on_tick(self) -> None:
        """Runs the app's tick, then sends everything in its outbox."""
        now = self._host.now
        late = now - self._ticked_at
        self._ticked_at = now
        if late > self._limits.late_tick_s:
            for connection in self._connections.values():
                connection.received_at += late
                connection.since += late
        self._app.on_tick()
        self._drain()
        if now - self._watched_at >= self._limits.heartbeat_s / 4:
            self._watched_at = now
            self._watch(now)

    def on_turn(self) -> None:
        """The app's turn; then everything it has to say leaves."""
        if self._turn_taker is not None:
            self._turn_taker.on_turn()
            self._drain()

    def _drain(self) -> None:
        for peer, bundles in self._app.outbox.drain():
            self._send(peer, bundles)

    def on_accepted(self, number: int) -> None:
        """A peer has opened a connection to this app."""
        self._connections[number] = Connection(number, ConnectionState.WAITING, None, self._host.now)

    def on_opened(self, number: int) -> None:
        """A connection that this app dialled is open."""
        connection = self._connections.get(number)
        if connection is None or connection.state is not ConnectionState.DIALLING or connection.peer is None:
            return
        connection.state = ConnectionState.GREETING
        self._write_message(
            connection, Hello(me=self.me, to=connection.peer, digest=self._digest, dial=connection.dial)
        )

    def on_closed(self, number: int) -> None:
        """A connection ended, or a dial failed."""
        connection = self._connections.pop(number, None)
        if connection is None or connection.peer is None:
            return
        link = self._links.get(connection.peer)
        if link is None or link.connection is not connection:
            return
        link.connection = None
        if connection.state is ConnectionState.UP:
            self._lose(connection.peer, "closed")

    def on_data(self, number: int, data: bytes) -> None:
        """One frame of a connection."""
        connection = self._connections.get(number)
        if connection is None:
            return
        connection.received_at = self._host.now
        try:
            items = self._registry.decode_bundle(data)
        except BadBundle as error:
            self._refuse(connection, error.refusal)
            self._drop(connection, "broken bundle")
            return
        if connection.state is ConnectionState.UP:
            self._deliver(connection, items)
        else:
            self._greet(connection, next(items, Refusal.UNEXPECTED))

    # Within.

    def _deliver(self, connection: Connection, items: Iterator[Message | Refusal]) -> None:
        peer, number, open_connections = connection.peer, connection.number, self._connections
        assert peer is not None
        on_message = self._app.on_message
        for item in items:
            if type(item) not in _NOT_FOR_THE_APP:
                on_message(peer, item)  # type: ignore[arg-type]  # every other type is a Message
            else:
                self._refuse(connection, item if isinstance(item, Refusal) else Refusal.UNEXPECTED)
            if number not in open_connections:
                return  # the app has fenced this peer: the rest of its bundle is dropped

    def _greet(self, connection: Connection, item: Message | Refusal) -> None:
        if isinstance(item, Hello) and connection.state is ConnectionState.WAITING:
            self._on_hello(connection, item)
        elif isinstance(item, Welcome) and connection.state is ConnectionState.GREETING:
            self._on_welcome(connection, item)
        elif isinstance(item, Refused) and connection.state is ConnectionState.GREETING:
            self._on_refused(connection, item)
        else:
            self._refuse(connection, item if isinstance(item, Refusal) else Refusal.UNEXPECTED)
            self._drop(connection, "bad greeting")

    def _on_hello(self, connection: Connection, hello: Hello) -> None:
        reason = self._reason_against(hello)
        if reason is not None:
            self._host.log(LogEvent.LINK_REFUSED, peer=hello.me, reason=reason.name)
            self._write_message(connection, Refused(reason))
            self._forget(connection)
            return
        peer = hello.me
        link = self._links.get(peer)
        if link is not None and link.is_up:
            self._lose(peer, "peer dialled anew")
        link = self._link_with(peer, dialling=False)
        if link.connection is not None:
            self._forget(link.connection)
        connection.peer = peer
        link.connection = connection
        self._write_message(connection, Welcome(self.me, self._dials))
        self._stand(link, hello.dial)

    def _reason_against(self, hello: Hello) -> LinkRefusal | None:
        peer = hello.me
        if hello.digest != self._digest:
            return LinkRefusal.PROTOCOL
        if hello.to.slot != self.me.slot or hello.to.incarnation not in (
            ANY_INCARNATION,
            self.me.incarnation,
        ):
            return LinkRefusal.NOT_ME
        if peer.incarnation <= self._fences.get(peer.slot, 0):
            return LinkRefusal.FENCED
        if peer.incarnation < self._newest.get(peer.slot, 0) or peer.slot == self.me.slot:
            return LinkRefusal.STALE
        link = self._links.get(peer)
        is_dialling = (link is None or not link.is_up) and self._is_dialling(peer)
        if (is_dialling and self.me < peer) or hello.dial <= self._answered_dials.get(peer, 0):
            return LinkRefusal.CROSSING
        return None

    def _on_welcome(self, connection: Connection, welcome: Welcome) -> None:
        dialled, peer = connection.peer, welcome.me
        assert dialled is not None
        fits = peer.slot == dialled.slot and dialled.incarnation in (ANY_INCARNATION, peer.incarnation)
        if not fits or self._is_refused(peer):
            self._refuse(connection, Refusal.UNEXPECTED)
            self._lose(dialled, "welcomed by another")
            return
        link = self._links.pop(dialled)
        known = self._links.get(peer)
        if known is not None and known.is_up:
            self._lose(peer, "dialled anew")  # a peer that welcomes a dial has given up its link before
        elif known is not None:
            self._take_over(link, peer)
        link.peer = connection.peer = peer
        self._links[peer] = link
        self._stand(link, welcome.dial)

    def _on_refused(self, connection: Connection, refused: Refused) -> None:
        peer = connection.peer
        assert peer is not None
        self._host.log(LogEvent.LINK_REFUSED_BY_PEER, peer=peer, reason=refused.reason.name)
        if refused.reason is LinkRefusal.CROSSING:
            self._drop(connection, "crossing")
            return
        if refused.reason in (LinkRefusal.STALE, LinkRefusal.FENCED):
            self.fenced = True
        self._lose(peer, refused.reason.name)

    def _stand(self, link: Link, dial: int) -> None:
        """The greeting is done: links with older incarnations and other dials end, and waiting frames are sent."""
        connection = link.connection
        assert connection is not None
        peer = link.peer
        self._newest[peer.slot] = peer.incarnation
        self._answered_dials = {
            known: dial for known, dial in self._answered_dials.items() if known.slot != peer.slot or known == peer
        }
        self._answered_dials[peer] = max(dial, self._answered_dials.get(peer, 0))
        for old in [old for old in self._links if old.slot == peer.slot and old != peer]:
            if old.incarnation != ANY_INCARNATION:
                self._lose(old, "a newer incarnation is here")
            else:
                self._take_over(link, old)
        connection.state = ConnectionState.UP
        waiting, link.waiting, link.waiting_bytes = link.waiting, [], 0
        for bundle in waiting:
            self._write(connection, bundle)
        self._host.log(LogEvent.LINK_UP, peer=peer)
        self._app.on_link_up(peer)

    def _link_with(self, peer: AppId, *, dialling: bool = True) -> Link:
        link = self._links.get(peer)
        if link is None:
            link = self._links[peer] = Link(peer, self._host.now)
            if dialling and not self._is_dialling(peer):
                self._dial(link)
        return link

    def _is_dialling(self, peer: AppId) -> bool:
        """Whether there is a connection with this peer, or with any incarnation of it where either name allows any."""
        return any(
            link.connection is not None and (each == peer or ANY_INCARNATION in (each.incarnation, peer.incarnation))
            for each, link in self._links.items()
            if each.slot == peer.slot
        )

    def _take_over(self, link: Link, other: AppId) -> None:
        """Moves the frames that waited for the same peer under another name to this link."""
        old = self._links.pop(other)
        link.waiting += old.waiting
        link.waiting_bytes += old.waiting_bytes
        if old.connection is not None:
            self._forget(old.connection)

    def _dial(self, link: Link) -> None:
        now = self._host.now
        link.redial_at = now + self._limits.redial_s
        number = self._transport.dial(link.peer)
        self._dials += 1
        link.connection = self._connections[number] = Connection(
            number, ConnectionState.DIALLING, link.peer, now, dial=self._dials
        )

    def _send(self, peer: AppId, bundles: list[bytes]) -> None:
        if self._is_refused(peer):
            assert peer != self.me, "an app has no link with itself"
            self._host.log(LogEvent.LINK_LOST, peer=peer, why="sent to the dead")
            self._app.on_link_lost(peer)
            return
        link = self._link_with(peer)
        if link.is_up and link.connection is not None:
            for bundle in bundles:
                self._write(link.connection, bundle)
            return
        link.waiting += bundles
        link.waiting_bytes += sum(map(len, bundles))
        if link.waiting_bytes > self._limits.waiting_bytes_max:
            self._lose(peer, "too much is waiting")

    def _watch(self, now: float) -> None:
        limits = self._limits
        for connection in list(self._connections.values()):
            if connection.number not in self._connections:
                continue
            if connection.state is ConnectionState.UP:
                if now - connection.received_at > limits.silence_s:
                    self._drop(connection, "silence")
                elif now - connection.wrote_at >= limits.heartbeat_s:
                    self._write(connection, HEARTBEAT)
            elif now - connection.since > limits.greeting_s:
                self._drop(connection, "greeting takes too long")
        for peer, link in list(self._links.items()):
            if link.is_up or self._links.get(peer) is not link:
                continue
            if now - link.since > limits.join_s:
                self._lose(peer, "cannot be joined")
            elif now >= link.redial_at and not self._is_dialling(peer):
                self._dial(link)

    def _lose(self, peer: AppId, why: str) -> None:
        """Ends the link and reports it to the app."""
        link = self._links.pop(peer)
        if link.connection is not None:
            self._forget(link.connection)
        self._app.outbox.discard(peer)
        self._host.log(LogEvent.LINK_LOST, peer=peer, why=why)
        self._app.on_link_lost(peer)

    def _drop(self, connection: Connection, why: str) -> None:
        """Ends a connection from this side; a link that was up on it is lost, one that was being joined dials again."""
        self._transport.close(connection.number)
        self.on_closed(connection.number)
        self._host.log(LogEvent.CONNECTION_DROPPED, peer=connection.peer, why=why)

    def _forget(self, connection: Connection) -> None:
        if self._connections.pop(connection.number, None) is not None:
            self._transport.close(connection.number)

    def _is_refused(self, peer: AppId) -> bool:
        if peer.incarnation == ANY_INCARNATION:
            return False
        if peer.slot == self.me.slot:
            return True  # the peer means an earlier incarnation of this app
        fence = self._fences.get(peer.slot, 0)
        return peer.incarnation <= fence or peer.incarnation < self._newest.get(peer.slot, 0)

    def _refuse(self, connection: Connection, reason: Refusal) -> None:
        self.refusals.count(connection.peer, reason)
        self._host.log(LogEvent.MESSAGE_REFUSED, peer=connection.peer, reason=reason.value)

    def _write_message(self, connection: Connection, message: Message) -> None:
        self._write(connection, bundle_of([self._registry.encode(message)]))

    def _write(self, connection: Connection, data: bytes) -> None:
        connection.wrote_at = self._host.now
        self._transport.write(connection.number, data)
