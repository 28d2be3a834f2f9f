"""A session: one peer's channel, its keys, and the path to it. What an application holds and sends with.

    DATA   06 | receiver's connection id u32 | packet number, low 32 bits | sealed body | tag 16

A packet that arrives is looked at in this order, and dropped and counted at the first that does not hold:
its number is new; it authenticates; the channel can take it. Nothing changes before all of that.

The path. Packets go to the address that the newest authentic packet came from, so that a client
goes on playing when its address changes. The new address has not proved that it wants our packets: an
attacker may have sent on a captured one from a false address. Until it answers a random challenge, no more
bytes go there than came from it.

A session begins as a stranger (`strangers.py`) if the server's settings require it: it may be given up in favour of
others, and may send only what a login needs. The application calls `vouch` when it has begun to work for the session,
which is not given up from then on, and `admit` when the peer has logged in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from struct import Struct

from terrazzo._speed import packet
from terrazzo.wire.client import handshake, limits
from terrazzo.wire.client.channel import Channel, ChannelState
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.lane import Lane, Rows, SessionTally
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Suite, Transport

EndpointAddress = Hashable
Entropy = Callable[[int], bytes]

_HEADER = Struct("<BII")


class Session:
    """One open session."""

    def __init__(
        self,
        *,
        own_id: int,
        peer_id: int,
        suite: Suite,
        send_key: bytes,
        receive_key: bytes,
        address: EndpointAddress,
        transport: Transport,
        settings: Settings,
        entropy: Entropy,
        drops: Drops,
        now: float,
        source: str = "",
    ) -> None:
        """`source` is where the peer came from, as far as limits by address are concerned."""
        self.id = own_id
        self.address = address
        self.source = source
        self.is_admitted = False
        self.channel = Channel(transport, settings, now, drops)
        self.on_touched: Callable[[Session], None] = _ignore
        self.on_vouched: Callable[[Session], None] = _ignore
        self.on_admitted: Callable[[Session], None] = _ignore
        self.rows: Rows | None = None
        """Of the endpoint, for the session's lane."""
        self._peer_id = peer_id
        self._seal = Cipher(suite, send_key).seal
        self._open = Cipher(suite, receive_key).open
        self._packets_max = limits.PACKETS_MAX[suite]
        self._movable = transport.datagram
        self._entropy = entropy
        self._lane_per_s = settings.lane_per_s
        self._drops = drops
        self._forgeries = 0
        self._token: bytes | None = None  # the challenge that the present address has not answered yet
        self._challenge_at = 0.0
        self._path_allowance = 0

    @property
    def state(self) -> ChannelState:
        """Where the session is in its life."""
        return self.channel.state

    @property
    def reason(self) -> Reason | None:
        """Why it ended, if it did."""
        return self.channel.reason

    @property
    def path_proved(self) -> bool:
        """Whether the present address has shown that it wants our packets."""
        return self._token is None

    @property
    def heard_at(self) -> float:
        """When the last packet of the peer came."""
        return self.channel.heard_at

    @property
    def round_trip_s(self) -> float | None:
        """The smoothed round trip; None before it was measured."""
        recovery = self.channel.recovery
        return recovery.smoothed_s if recovery.samples else None

    def probe(self) -> None:
        """Ask the peer for a packet, whether there is something to send or not."""
        self.on_touched(self)
        self.channel.control.ping = True

    def send(self, message: bytes, *, reliable: bool = True) -> bool:
        """Queue one message; False when the session is over or ending."""
        return self.send_many((message,), reliable=reliable)

    def send_many(self, messages: Sequence[bytes], *, reliable: bool = True) -> bool:
        """Queue messages, all or none; False when the session is over or ending."""
        self.on_touched(self)
        return self.channel.send_many(messages, reliable=reliable)

    def send_part(self, data: bytes | bytearray | memoryview, start: int, stop: int, *, reliable: bool = True) -> bool:
        """As `send`, of a part of a buffer."""
        view = memoryview(data).cast("B")
        if not 0 <= start <= stop <= len(view):
            raise ValueError("a part that the buffer does not have")
        return self.send_many((bytes(view[start:stop]),), reliable=reliable)

    def set_lane(self, first_byte: int, size: int, tag: int) -> None:
        """From now on, unreliable messages of this first byte and size become rows of the endpoint (`lane.py`)."""
        if self.rows is None:
            raise ValueError("a session has a lane at an endpoint only")
        self.channel.lane = Lane(self.rows, self.id, first_byte, size, tag, self._lane_per_s)

    def clear_lane(self) -> None:
        """All messages are delivered in events again."""
        self.channel.lane = None

    def mute(self, kinds: bytes) -> None:
        """From now on, messages that begin with one of these bytes are counted and not delivered."""
        self.channel.muting.set(kinds)

    def tally(self) -> SessionTally:
        """What the session has counted."""
        return self.channel.tally()

    def close(self, now: float) -> None:
        """End gracefully: both ends get everything that was sent."""
        self.on_touched(self)
        self.channel.close(now)

    def abort(self, reason: Reason = Reason.ABORTED) -> None:
        """End at once."""
        self.on_touched(self)
        self.channel.abort(reason)

    def vouch(self) -> None:
        """The application works for this session: it is not given up in favour of others."""
        self.on_vouched(self)

    def admit(self) -> None:
        """The peer has logged in: it may send everything from now on."""
        if not self.is_admitted and self.state is not ChannelState.CLOSED:
            self.is_admitted = True
            self.channel.set_free()
            self.on_admitted(self)

    def on_datagram(self, address: EndpointAddress, data: bytes, now: float) -> list[bytes] | None:
        """A DATA packet with this session's id: the messages it delivers, or None if it was dropped."""
        channel = self.channel
        received = channel.acks.received
        newest = received.newest
        number = packet.expand(int.from_bytes(data[5:9], "little"), newest + 1)
        if not received.fresh(number):
            self._drops[Drop.REPLAYED] += 1
            return None
        body = self._open(number, data[limits.HEADER_BYTES :], data[: limits.HEADER_BYTES])
        if body is None:
            self._on_forgery()
            return None
        if address != self.address:
            if not self._movable:
                self._drops[Drop.ADDRESS] += 1
                return None
            if number > newest:
                self._move(address, now)
        messages = channel.on_packet(number, body, now)
        if self._token is not None and address == self.address:
            self._on_unproved_path(len(data), now)
        return messages

    def poll(self, now: float, budget_bytes: int | None = None) -> list[bytes]:
        """The datagrams to send to `address` now."""
        if self.channel.next_number >= self._packets_max - 2 * limits.WINDOW_PACKETS_MAX:
            self.channel.abort(Reason.KEYS_WORN)
        if self._token is not None:
            budget_bytes = self._unproved_budget(now, budget_bytes)
        datagrams: list[bytes] = []
        for number, body in self.channel.poll(now, budget_bytes):
            header = _HEADER.pack(handshake.DATA, self._peer_id, number & 0xFFFFFFFF)
            datagrams.append(header + self._seal(number, body, header))
        if self._token is not None:
            self._path_allowance -= sum(map(len, datagrams))
        return datagrams

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing happens."""
        timeout = self.channel.next_timeout()
        return timeout if timeout is None or self._token is None else min(timeout, self._challenge_at)

    def _on_forgery(self) -> None:
        """A key may fail to open only so many packets; with more, a forged one might pass."""
        self._drops[Drop.FORGED] += 1
        self._forgeries += 1
        if self._forgeries >= limits.FORGERIES_MAX:
            self.abort(Reason.KEYS_WORN)

    def _move(self, address: EndpointAddress, now: float) -> None:
        self.address = address
        self.channel.recovery.reset_window()
        self._token = self._entropy(packet.CHALLENGE_BYTES)
        self._challenge_at = now
        self._path_allowance = 0

    def _on_unproved_path(self, size: int, now: float) -> None:
        """A packet has come from the address that has a challenge to answer."""
        self._path_allowance += size
        if self.channel.answered == self._token:
            self._token = None
        elif self._challenge_at == inf and self._path_allowance >= limits.CHALLENGE_PACKET_BYTES:
            self._challenge_at = now

    def _unproved_budget(self, now: float, budget_bytes: int | None) -> int:
        """Ask for the proof, and ask again while it does not come; gives what may be sent meanwhile.

        Nothing else may use up what the next challenge needs, or a lost one could never be asked again.
        """
        allowance = self._path_allowance
        if now < self._challenge_at:
            allowance -= limits.CHALLENGE_PACKET_BYTES
        elif allowance >= limits.CHALLENGE_PACKET_BYTES:
            self.channel.control.challenge = self._token
            self._challenge_at = now + self.channel.recovery.probe_s
        else:
            self._challenge_at = inf
            allowance = 0
        return allowance if budget_bytes is None else min(allowance, budget_bytes)


def _ignore(session: Session) -> None:
    """The listener of a session that is in no table."""
