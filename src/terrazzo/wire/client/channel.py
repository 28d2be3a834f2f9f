"""The client channel: a pure state machine that makes messages arrive over packets that may not.

It deals in packet numbers and bodies, not in keys and addresses. `send` queues, `poll` gives the bodies to
send now, `on_packet` takes a body that has come and gives the messages in it. The rules it keeps:

- Reliable messages arrive exactly once, in the order sent. Unreliable ones arrive at most once, and never
  after a later packet's unreliable ones. The reliable messages that a packet completes are delivered before
  its unreliable ones; otherwise the two kinds promise each other nothing.
- A packet with a number that has come before changes nothing.
- A packet that cannot be right ends the channel with PROTOCOL: it was authenticated, so the peer is at fault.
- Every queue has a limit. A peer that does not take its reliable messages is left (SLOW_READER).

    OPEN ──close(), or the peer's END──► ENDING ──everything and END acknowledged, peer's too──► CLOSED
      │                                    │                                                      ▲
      └────────abort(), CLOSE, silence, slow reader, protocol fault, no end in time───────────────┘

In ENDING each side sends what it still has, then END with the final offset; both are repeated like all other
content until acknowledged. In CLOSED, CLOSE is sent once, and once more for each packet that still comes
from a peer that has not received it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from terrazzo._speed import packet
from terrazzo.errors import DecodeError, ValueRejected
from terrazzo.wire.client import limits
from terrazzo.wire.client.acks import Acks
from terrazzo.wire.client.assembly import Assembly, Chunk
from terrazzo.wire.client.control import Control
from terrazzo.wire.client.lane import Lane, Muting, SessionTally
from terrazzo.wire.client.limits import Drop, Drops, Reason, Settings, Transport
from terrazzo.wire.client.outbox import StreamOutbox
from terrazzo.wire.client.recovery import Recovery, Sent

# What a packet with one unreliable message may hold besides: a full acknowledgement, the frame's own head.
_MESSAGE_OVERHEAD_BYTES = limits.OVERHEAD_BYTES + packet.ACK_HEAD_BYTES + packet.ACK_BITS_BYTES_MAX + 5


class ChannelState(Enum):
    """Where a channel is in its life."""

    OPEN = "open"
    ENDING = "ending"
    CLOSED = "closed"


class Stats:
    """What a channel has counted; bytes are those of packet bodies."""

    def __init__(self) -> None:
        self.packets_sent = 0
        self.packets_received = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self.probes = 0
        self.unreliable_dropped = 0


class Channel:
    """One end of a channel."""

    def __init__(self, transport: Transport, settings: Settings, now: float, drops: Drops | None = None) -> None:
        self.state = ChannelState.OPEN
        self.reason: Reason | None = None
        self.closed_by_peer = False
        self.stats = Stats()
        self.drops = Drops() if drops is None else drops
        self.acks = Acks(now)
        self.control = Control()
        self.recovery = Recovery(datagram=transport.datagram)
        self.outbox = StreamOutbox()
        self.assembly = Assembly(settings.receive_message_bytes_max)
        self.next_number = 0
        self.blocked = False  # the last poll's budget held something back
        self.is_confined = False  # the peer has not logged in
        self.lane: Lane | None = None  # for unreliable messages of one kind
        self.muting = Muting()
        self.answered: bytes | None = None  # the peer's last answer to a challenge of ours
        self._packet_bytes_max = transport.packet_bytes_max
        self._settings = settings
        self.heard_at = now
        self._last_sent_at = now
        self._last_call_at: float | None = None
        self._blocked_until = now
        self._end_by = now
        self._unreliable_newest = -1
        self._probe = False
        self._end_sent = False
        self._end_acked = False
        self._peer_end: int | None = None
        self._say_close = False

    # Sending.

    def send(self, message: bytes, *, reliable: bool = True) -> bool:
        """Queue one message; False when the channel does not take it any more."""
        return self.send_many((message,), reliable=reliable)

    def send_many(self, messages: Sequence[bytes], *, reliable: bool = True) -> bool:
        """Queue messages, all or none; False when the channel does not take them any more."""
        if self.state is not ChannelState.OPEN:
            return False
        if not reliable:
            return self._send_unreliable(messages)
        try:
            self.outbox.add(messages, self._settings.send_message_bytes_max)
        except ValueError as error:
            raise ValueRejected(f"{error}; send it in parts") from None
        if len(self.outbox.stream) > self._settings.send_queue_bytes_max:
            self._finish(Reason.SLOW_READER)
        return self.state is ChannelState.OPEN

    def _send_unreliable(self, messages: Sequence[bytes]) -> bool:
        if max(map(len, messages), default=0) > limits.UNRELIABLE_BYTES_MAX:
            raise ValueRejected(
                f"an unreliable message has at most {limits.UNRELIABLE_BYTES_MAX} bytes; send it reliably"
            )
        bytes_max = self._settings.unreliable_queue_bytes_max
        self.stats.unreliable_dropped += self.outbox.add_unreliable(messages, bytes_max)
        return True

    def close(self, now: float) -> None:
        """End gracefully: flush, wait for acknowledgements, let the peer do the same."""
        if self.state is ChannelState.OPEN:
            self.state = ChannelState.ENDING
            self._end_by = now + self._settings.end_timeout_s

    def abort(self, reason: Reason = Reason.ABORTED) -> None:
        """End at once: one CLOSE goes out, nothing else."""
        self._finish(reason)

    def confine(self) -> None:
        """The peer has not logged in: take only what it needs for that."""
        self.is_confined = True
        self.assembly.confine()

    def set_free(self) -> None:
        """The peer has logged in."""
        self.is_confined = False
        self.assembly.set_free()

    def tally(self) -> SessionTally:
        """What the channel has counted."""
        stats, muting = self.stats, self.muting
        return SessionTally(
            stats.packets_sent,
            stats.packets_received,
            self.acks.received.newest + 1 - stats.packets_received,
            stats.bytes_sent,
            stats.bytes_received,
            self.outbox.resent_bytes,
            muting.muted,
            muting.muted_bytes,
            muting.gaps,
            muting.gap_max_s,
        )

    def poll(self, now: float, budget_bytes: int | None = None) -> list[tuple[int, bytes]]:
        """The packets to send now, as (number, body); overhead included, never more bytes than the budget."""
        self._on_time(now)
        left = 1 << 62 if budget_bytes is None else budget_bytes
        self.blocked = False
        packets: list[tuple[int, bytes]] = []
        while True:
            room = min(left, self._packet_bytes_max) - limits.OVERHEAD_BYTES
            body = self._close_body(room) if self.state is ChannelState.CLOSED else self._next_body(room, now)
            if body is None:
                break
            packets.append((self.next_number, body))
            left -= len(body) + limits.OVERHEAD_BYTES
            self.next_number += 1
            self._last_sent_at = now
            self.stats.packets_sent += 1
            self.stats.bytes_sent += len(body)
        if self.blocked and budget_bytes is not None:
            self._drop_unfitting(budget_bytes)
            self._blocked_until = now + limits.BLOCKED_S
        return packets

    def next_timeout(self) -> float | None:
        """When `poll` must be called although nothing came and nothing was sent; None when it is over."""
        if self.state is ChannelState.CLOSED:
            return None
        silence_by = self.heard_at + self._settings.silence_s
        if self._last_call_at is not None:
            silence_by = self._last_call_at + limits.LAST_CALL_S
        times = [
            self.acks.due_at,
            self.recovery.loss_at,
            self.recovery.probe_at,
            self._last_sent_at + self._settings.keep_alive_s,
            silence_by,
            self._end_by if self.state is ChannelState.ENDING else None,
        ]
        return max(self._blocked_until, min(time for time in times if time is not None))

    # Receiving.

    def on_packet(self, number: int, body: bytes, now: float) -> list[bytes]:
        """A packet has come, and is authentic; gives the messages it delivers, in order."""
        if not self.acks.received.fresh(number):
            self.drops[Drop.REPLAYED] += 1
            return []
        try:
            parsed = packet.decode_body(body)
            if self.state is ChannelState.CLOSED:
                self._after_end(number, parsed)
                return []
            placed = self.assembly.place(parsed.chunks) if parsed.chunks else []
            if placed and self.assembly.is_early(placed):
                self.drops[Drop.EARLY] += 1
                return []
            if placed and not self.assembly.admits(placed):
                self.drops[Drop.HELD_FULL] += 1
                return []
            self.acks.note(number, eliciting=parsed.eliciting, now=now)
            self.stats.packets_received += 1
            self.stats.bytes_received += len(body)
            self.heard_at = now
            self._last_call_at = None
            return self._act_on(number, parsed, placed, now)
        except DecodeError:
            self._finish(Reason.PROTOCOL)
            return []

    def _act_on(self, number: int, parsed: packet.Body, placed: list[Chunk], now: float) -> list[bytes]:
        if parsed.ack is not None:
            self._on_ack(parsed.ack, now)
        messages = self.muting.take(self.assembly.add(placed), now, reliable=True) if placed else []
        if parsed.end >= 0:
            self._on_end(parsed.end, now)
        if self._peer_end is not None and self.assembly.expected > self._peer_end:
            raise DecodeError("the stream goes on behind its end")
        if parsed.messages and number > self._unreliable_newest:
            self._unreliable_newest = number
            if self.is_confined:
                self.drops[Drop.EARLY] += 1
            else:
                messages += self._loose(parsed.messages, now)
        if parsed.challenge is not None:
            self.control.answer = parsed.challenge
        if parsed.answer is not None:
            self.answered = parsed.answer
        if parsed.close >= 0:
            self._on_close(parsed.close)
        elif self.state is ChannelState.ENDING:
            self._check_ended()
        return messages

    def _loose(self, messages: list[bytes], now: float) -> list[bytes]:
        """The unreliable messages to deliver: neither in the lane nor muted."""
        if self.lane is not None:
            messages = self.lane.take(messages, now, self.drops)
        return self.muting.take(messages, now, reliable=False)

    def _on_ack(self, ack: packet.Ack, now: float) -> None:
        newest = packet.expand(ack.newest, self.next_number)
        received = packet.expand(ack.received, self.outbox.base)
        if newest >= self.next_number or received > self.outbox.sent:
            raise DecodeError("an acknowledgement of what was never sent")
        acked, lost = self.recovery.on_ack(newest, ack.bits, ack.delay * limits.ACK_DELAY_UNIT_S, now)
        self.outbox.acknowledge(received)
        if self._end_sent and any(sent.end for sent in acked):
            self._end_acked = True
        self._send_again(lost)

    def _on_end(self, low: int, now: float) -> None:
        final = packet.expand(low, self.assembly.expected)
        if self._peer_end not in (None, final):
            raise DecodeError("a second end of the stream, at another offset")
        self._peer_end = final
        self.close(now)

    def _on_close(self, code: int) -> None:
        """The peer is gone. Its reason is taken as ABORTED where it is ENDED and this end was not ending, or local."""
        try:
            reason = Reason(code)
        except ValueError:
            reason = Reason.ABORTED
        if reason >= limits.LOCAL_REASONS or (reason is Reason.ENDED and self.state is not ChannelState.ENDING):
            reason = Reason.ABORTED
        self._finish(reason, by_peer=True)

    # The end.

    def _after_end(self, number: int, parsed: packet.Body) -> None:
        """A packet after the end: without a CLOSE of its own in it, the peer has not received ours."""
        self.acks.received.mark(number)
        self._say_close = parsed.close < 0

    def _check_ended(self) -> None:
        if self._end_acked and not self.outbox.stream and self.assembly.expected == self._peer_end:
            self._finish(Reason.ENDED)

    def _finish(self, reason: Reason, *, by_peer: bool = False) -> None:
        if self.state is ChannelState.CLOSED:
            return
        self.state = ChannelState.CLOSED
        self.reason = reason
        self.closed_by_peer = by_peer
        self._say_close = not by_peer
        self.outbox = StreamOutbox()
        self.assembly = Assembly(self._settings.receive_message_bytes_max)
        self.recovery.in_flight.clear()

    # Time.

    def _on_time(self, now: float) -> None:
        if self.state is ChannelState.CLOSED:
            return
        if now >= self.heard_at + self._settings.silence_s:
            self._on_silence(now)
        if self.state is ChannelState.ENDING and now >= self._end_by:
            self._finish(Reason.END_TIMEOUT)
        if self.recovery.loss_at is not None and now >= self.recovery.loss_at:
            self._send_again(self.recovery.find_lost(now))
        probe_at = self.recovery.probe_at
        if probe_at is not None and now >= probe_at and not self._probe:
            self._send_probe()
        if now >= self._last_sent_at + self._settings.keep_alive_s:
            self.control.ping = True

    def _on_silence(self, now: float) -> None:
        """No packet for too long. A PING goes out before the channel ends, for this process may have been stopped."""
        if self._last_call_at is None:
            self._last_call_at = now
            self.control.ping = True
        elif now >= self._last_call_at + limits.LAST_CALL_S:
            self._finish(Reason.SILENT)

    def _send_probe(self) -> None:
        """No evidence came: send the oldest packet's content again, beyond the window if it is full."""
        self.stats.probes += 1
        self._send_again([self.recovery.on_probe()])
        self._probe = True
        self.control.ping = True

    def _send_again(self, lost: list[Sent]) -> None:
        for sent in lost:
            if sent.spans:
                self.outbox.send_again(sent.spans)
            if sent.end and not self._end_acked:
                self._end_sent = False

    # Making packets.

    def _next_body(self, room: int, now: float) -> bytes | None:
        """The next packet's body, or None when there is nothing to send or no room to send it."""
        outbox = self.outbox
        if self.state is ChannelState.ENDING and not self._end_sent and outbox.all_sent:
            self.control.end = outbox.end
        waits = (outbox.stream_waits or outbox.unreliable) and (self._probe or self.recovery.has_room)
        ack_due = self.acks.due_at is not None and now >= self.acks.due_at
        if not (waits or ack_due or self.control.waits):
            return None
        ack = self.acks.make(self.assembly.expected, room - self.control.reserved_bytes, now)
        left = room - (packet.ACK_HEAD_BYTES + len(ack[3]) if ack else 0)
        control = self.control.take(left) if self.control.waits else b""
        spans, messages = outbox.take(left - len(control)) if waits else ([], [])
        if not (ack or control or spans or messages):
            self.blocked = True
            return None
        if ack:
            self.acks.on_sent()
        if spans or messages or (control and control[0] != packet.ANSWER):
            end = control[:1] == bytes((packet.END,))
            self._end_sent |= end
            self._probe = False
            given_up = self.recovery.on_sent(Sent(self.next_number, now, spans, end))
            if given_up is not None:
                self._send_again([given_up])
        return packet.encode_body(ack, control, outbox.stream, outbox.base, spans, messages)

    def _close_body(self, room: int) -> bytes | None:
        if not self._say_close or self.reason is None or self.reason >= limits.LOCAL_REASONS or room < 2:
            return None
        self._say_close = False
        return bytes((packet.CLOSE, self.reason))

    def _drop_unfitting(self, budget_bytes: int) -> None:
        """An unreliable message that no packet of this budget can carry must not stand before the others."""
        queue = self.outbox.unreliable
        while queue and len(queue[0]) > budget_bytes - _MESSAGE_OVERHEAD_BYTES:
            self.outbox.drop_unreliable()
            self.stats.unreliable_dropped += 1
