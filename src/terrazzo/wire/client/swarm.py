"""Many clients of one or several servers in one program, behind one socket: what a crowd of walkers is made of.

    open ──► a `ClientEndpoint` makes the handshake ──► Connected; the session is in the table, as at a server
                                                  └──► Closed without a session; its number is in `failed`

A session works as that of a single client does, with one exception: when it is over it does not linger to repeat its
CLOSE. The number of a session is its id, which the packets of its server bear.
"""

from __future__ import annotations

from terrazzo._speed.datagrams import Batch
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.client import ClientEndpoint
from terrazzo.wire.client.events import Closed, SessionEvent
from terrazzo.wire.client.kernel import FORM, Form, Session
from terrazzo.wire.client.lane import SessionTally
from terrazzo.wire.client.limits import Drop, Drops, Settings, Transport
from terrazzo.wire.client.session import EndpointAddress, Entropy
from terrazzo.wire.client.timers import Deadlines

_ANSWERS = (handshake.RETRY, handshake.WELCOME, handshake.REFUSE)


class ClientSwarm:
    """The clients behind one socket."""

    def __init__(
        self,
        *,
        entropy: Entropy,
        transport: Transport = limits.UDP,
        settings: Settings = limits.CLIENT,
        form: Form = FORM,
    ) -> None:
        self.drops = Drops()
        self.failed: list[int] = []
        """The numbers of sessions that could not be opened."""
        self._table = form.table(transport.packet_bytes_max, self._retire)
        self.sessions: dict[int, Session] = self._table.sessions
        self._entropy = entropy
        self._transport = transport
        self._settings = settings
        self._form = form
        self._opening: dict[int, tuple[EndpointAddress, ClientEndpoint]] = {}
        self._timers = Deadlines()
        self._ended = SessionTally()

    @property
    def opening(self) -> int:
        """How many handshakes are under way."""
        return len(self._opening)

    def open(self, address: EndpointAddress, server_key: bytes, *, now: float, app_data: bytes = b"") -> int:
        """Begins a session with a server; gives its number."""
        while True:
            client = ClientEndpoint(
                server_key,
                entropy=self._entropy,
                now=now,
                transport=self._transport,
                settings=self._settings,
                app_data=app_data,
                drops=self.drops,
                form=self._form,
            )
            number = client.client_id
            if number not in self.sessions and number not in self._opening:
                break
        self._opening[number] = (address, client)
        self._timers.set(number, now)
        return number

    def close(self, number: int, now: float) -> None:
        """Ends a session gracefully, or gives up its handshake."""
        if number in self.sessions:
            self.sessions[number].close(now)
        elif number in self._opening:
            self._opening[number][1].abort()
            self._after_handshake(number, now)

    def close_all(self, now: float) -> None:
        """Ends all sessions gracefully, and gives up all handshakes."""
        for number in [*self._opening, *self.sessions]:
            self.close(number, now)

    def abort_all(self) -> None:
        """Ends all sessions at once, and gives up all handshakes."""
        self.close_all(0.0)
        for session in list(self.sessions.values()):
            session.abort()

    def on_datagram(self, address: EndpointAddress, data: bytes, now: float) -> None:
        """A datagram has come. Never raises because of what is in it."""
        if len(data) < limits.PACKET_BYTES_MIN and data[:1] != bytes((handshake.REFUSE,)):
            self.drops[Drop.TRUNCATED] += 1
        elif len(data) > self._transport.packet_bytes_max:
            self.drops[Drop.OVERSIZED] += 1
        elif data[0] == handshake.DATA:
            session = self.sessions.get(int.from_bytes(data[1:5], "little"))
            if session is None:
                self.drops[Drop.UNKNOWN] += 1
            else:
                self._table.on_data(session, address, data, now)
        elif data[0] in _ANSWERS:
            self._on_answer(int.from_bytes(data[2:6], "little"), data, now)
        else:
            self.drops[Drop.KIND] += 1

    def on_batch(self, batch: Batch, now: float) -> None:
        """As `on_datagram`, for each datagram of a batch."""
        at = self._table.on_batch(batch, 0, now)
        while at < len(batch):
            address, data = batch[at]
            self.on_datagram(address, data, now)
            at = self._table.on_batch(batch, at + 1, now)

    def poll(self, now: float, budget_bytes: int | None = None) -> list[tuple[EndpointAddress, bytes]]:
        """Everything to send now; `budget_bytes` is for each session."""
        return self._poll_handshakes(now) + self._table.poll(now, budget_bytes)

    def poll_batch(self, batch: Batch, now: float, budget_bytes: int | None = None) -> None:
        """As `poll`, into a batch."""
        for address, data in self._poll_handshakes(now):
            batch.add(address, data)
        self._table.poll_batch(batch, now, budget_bytes)

    def events(self) -> list[SessionEvent]:
        """What has happened since the last call, in order."""
        return self._table.take_events()

    def take_rows(self) -> bytes:
        """As `ServerEndpoint.take_rows`."""
        return self._table.rows.take()

    def send_rows(self, parcels: bytes | bytearray | memoryview, *, reliable: bool = False) -> int:
        """As `ServerEndpoint.send_rows`."""
        return self._table.send_rows(parcels, reliable)

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing comes; None when there is nothing to wait for."""
        ends = [at for at in (self._timers.next_at, self._table.next_at) if at is not None]
        return min(ends, default=None)

    def tally(self) -> SessionTally:
        """What all sessions have counted, those that are over too."""
        total = self._ended
        for session in self.sessions.values():
            total = total.plus(session.tally())
        return total

    def _on_answer(self, number: int, data: bytes, now: float) -> None:
        if number in self._opening:
            self._opening[number][1].on_datagram(data, now)
            self._after_handshake(number, now)
        else:
            self.drops[Drop.DUPLICATE if number in self.sessions else Drop.UNKNOWN] += 1

    def _poll_handshakes(self, now: float) -> list[tuple[EndpointAddress, bytes]]:
        out: list[tuple[EndpointAddress, bytes]] = []
        for number in self._timers.take_due(now):
            address, client = self._opening[number]
            out += [(address, data) for data in client.poll(now)]
            self._after_handshake(number, now)
        return out

    def _after_handshake(self, number: int, now: float) -> None:
        """The handshake goes on, or is over: then its session is in the table, or it has failed."""
        address, client = self._opening[number]
        due_at = client.next_timeout()
        if client.session is None and due_at is not None:
            self._timers.set(number, due_at)
            return
        del self._opening[number]
        self._timers.forget(number)
        if client.session is None:
            self.failed.append(number)
        else:
            client.session.address = address
            self._table.add(client.session)
        self._table.events += client.events()

    def _retire(self, session: Session, now: float) -> None:
        """The session is over: the owner gets Closed."""
        if session.reason is not None and self._table.remove(session):
            self._ended = self._ended.plus(session.tally())
            self._table.events.append(Closed(session, session.reason, session.channel.closed_by_peer))
