"""The open sessions of one endpoint, and what is done for all of them in each turn.

    datagrams ──► session ──► messages ──► events, or rows (`lane.py`)
    poll: sessions to which something has happened, in that order; then those past their deadline ──► datagrams

The endpoint deals with what is rare: handshakes, ends, sessions that are not in the table (`server.py`, `swarm.py`). A
turn may hand over and take datagrams one by one, or in a `Batch`, which is the faster way where the kernel is compiled:
from such a batch `on_batch` takes what is for sessions of the table, and leaves the rest to the endpoint.
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo._speed.datagrams import Batch
from terrazzo.errors import ValueRejected
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.channel import ChannelState
from terrazzo.wire.client.events import Received, SessionEvent
from terrazzo.wire.client.lane import Rows, parse_parcels
from terrazzo.wire.client.session import EndpointAddress, Session
from terrazzo.wire.client.timers import Deadlines


class Table:
    """Sessions by id."""

    def __init__(self, packet_bytes_max: int, retire: Callable[[Session, float], None]) -> None:
        """`retire` is called with a session that is over."""
        self.sessions: dict[int, Session] = {}
        self.events: list[SessionEvent] = []
        self.rows = Rows()
        self._packet_bytes_max = packet_bytes_max
        self._retire = retire
        self._touched: dict[int, Session] = {}
        self._timers = Deadlines()

    @property
    def next_at(self) -> float | None:
        """No later than the next deadline."""
        return self._timers.next_at

    def add(self, session: Session) -> None:
        """One more session; it is polled in this turn."""
        self.sessions[session.id] = session
        session.rows = self.rows
        session.on_touched = self.touch
        self.touch(session)

    def remove(self, session: Session) -> bool:
        """The session is over; False when the table did not have it, or has a later one with this number."""
        if self.sessions.get(session.id) is not session:
            return False
        self._timers.forget(session.id)
        del self.sessions[session.id]
        return True

    def touch(self, session: Session) -> None:
        """Something has happened to a session, which need not be in the table: it is polled in this turn."""
        self._touched[session.id] = session

    def take_events(self) -> list[SessionEvent]:
        """The events since the last call."""
        events, self.events = self.events, []
        return events

    def on_data(self, session: Session, address: EndpointAddress, data: bytes, now: float) -> None:
        """A DATA packet of a session of the table."""
        messages = session.on_datagram(address, data, now)
        if messages is None:
            return
        self.touch(session)
        if messages:
            self.events.append(Received(session, messages))
        if session.state is ChannelState.CLOSED:
            self._retire(session, now)

    def on_batch(self, batch: Batch, at: int, now: float) -> int:
        """Takes the datagrams from number `at` on; gives the number of the first that is not for a session of the
        table, or of the end."""
        while at < len(batch):
            address, data = batch[at]
            if not limits.PACKET_BYTES_MIN <= len(data) <= self._packet_bytes_max or data[0] != handshake.DATA:
                break
            session = self.sessions.get(int.from_bytes(data[1:5], "little"))
            if session is None:
                break
            self.on_data(session, address, data, now)
            at += 1
        return at

    def poll(self, now: float, budget_bytes: int | None) -> list[tuple[EndpointAddress, bytes]]:
        """Everything that sessions send now; the budget is for each of them."""
        out: list[tuple[EndpointAddress, bytes]] = []
        for session in self._take_touched(now):
            address = session.address
            out += [(address, datagram) for datagram in session.poll(now, budget_bytes)]
            self._after_poll(session, now)
        return out

    def poll_batch(self, batch: Batch, now: float, budget_bytes: int | None) -> None:
        """As `poll`, into a batch."""
        for address, data in self.poll(now, budget_bytes):
            batch.add(address, data)

    def send_rows(self, parcels: bytes | bytearray | memoryview, reliable: bool) -> int:
        """Queues the messages of a buffer (`lane.py`); gives how many were not taken."""
        found = list(parse_parcels(parcels))
        if not reliable and max((stop - start for _, start, stop in found), default=0) > limits.UNRELIABLE_BYTES_MAX:
            raise ValueRejected(f"an unreliable message has at most {limits.UNRELIABLE_BYTES_MAX} bytes")
        refused = 0
        for session_id, start, stop in found:
            session = self.sessions.get(session_id)
            refused += session is None or not session.send_part(parcels, start, stop, reliable=reliable)
        return refused

    def _take_touched(self, now: float) -> list[Session]:
        for session_id in self._timers.take_due(now):
            if session_id in self.sessions:
                self.touch(self.sessions[session_id])
        touched, self._touched = self._touched, {}
        return list(touched.values())

    def _after_poll(self, session: Session, now: float) -> None:
        if session.state is ChannelState.CLOSED:
            self._retire(session, now)
            return
        if session.channel.blocked:
            self.touch(session)
        due_at = session.next_timeout()
        if due_at is not None:
            self._timers.set(session.id, due_at)
