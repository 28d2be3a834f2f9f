"""The entity channel: a two-way stream between two parts of entities that may both move.

A channel joins a pair of parts (a base and its real, or any caller and callee: promise P2 is this same mechanism).
Each end is in the `Mailbox` of its part, and the mailbox moves with the part. `router.py` carries frames to the apps
where the parts live; this module decides what is delivered, once and in order.

    part X at app A                                            part Y at app B
    ┌ Mailbox: version, generation, horizon, inbox ┐           ┌ Mailbox ...
    │  Channel to Y:  outgoing ── numbered ────────┼── Frame ─▶│  Channel to X:  incoming ─▶ inbox
    │                 incoming ◀───────────────────┼── Frame ──│                 outgoing

**Two streams.** Each direction is a stream of its own, owned by its sender: payloads are numbered from 0, kept until a
cumulative acknowledgement covers them, and sent again when it does not. The receiver admits number `expected` only,
holds early payloads (within the window), and drops those that it had. An admitted payload is in the part's inbox, in
order, until the app takes it; only taken payloads are acknowledged, so "delivered" means that the game has it. All of
this state travels with the parts, so a move loses nothing: frames to the old home are forwarded, or else sent again,
and numbers make repetition harmless (races 7, 11, 16). An acknowledgement goes with the next frame. If there is none,
it goes alone after `ack_s`, or at once where the peer waits for it: much was taken, or the peer repeats itself, or
ends.

**Encodings.** A plain frame, which is nearly every one, is a `row` among those of other channels; any other is a
`frame` of its own (`is_plain`). A row has what its frame would have, and does what it would do (`on_row`): the rules
here are about frames, however they travel.

**Version.** A part's version grows with each move. A frame has the home of its source and the version of that move; the
other side follows the highest version that it has received. Within one life an older frame's numbers are as good as
any, only its address is not followed. A frame also has the version of its destination that its source has `heard`: this
confirms a move. An end that moved `asks` on every channel until it is confirmed, even when it has nothing to send
(races 15, 18).

**Life.** A part restored after a crash begins a new life: the high bits of its version. Its state is that of a backup,
so its past and its peer's may disagree in three ways, each settled by one rule:

- Frames of an earlier life of the source are ignored. Frames sent before their source received anything of the
  destination's present life are ignored too, and answered: their acknowledgements are about a life undone (race 17).
- The restored sender sends the number with which its life was `born`. What the peer had from the former life beyond
  that number is undone: it expects `min(expected, born)`. Earlier payloads are the same, and are not delivered again.
- The restored receiver may find that the peer no longer has what the former life acknowledged. It begins again with the
  `first` that the peer still has; payloads between were lost with the former life. Only a restored stream may skip so.

**Generation.** Idle streams are removed, or every caller would keep a stream to every part that it ever called. When a
stream is acknowledged and idle, its sender sends `is_last`; the receiver removes it and sends `closed`; then the sender
removes it, too. To send again it draws a new generation, larger than all that its part has drawn before. A late copy of
a frame of a removed stream must not pass for the beginning of a new one: the receiver keeps one number per part, its
`horizon`, the highest generation that it has removed, and takes an unknown stream only above it. Generations are drawn
from the clock (milliseconds) where that is larger, so a new one nearly always is above: no round trip is lost. If not,
the receiver asks to `renew`; the sender, of which nothing can have been taken, draws a generation above the horizon and
begins again. So the clock only saves time; that nothing is taken twice rests on the numbers alone. A newer generation
implies that the older one is complete, since a sender only draws one when all was acknowledged (or renewed).

**The end.** A destroyed part's mailbox is `ending`: it takes nothing more, sends its remaining messages, and sends
`is_over` with its last acknowledgement until the peer has `noted` it. So the peer's app gets exactly the list of its
messages that were not delivered (race 19). A stream that comes when the part is ending is named in the
acknowledgement, with nothing taken. Where the last frame names no stream, and neither of the two streams was begun by
the other side, nothing follows from it: it may be a late copy, older than a call that is for the next life; so the call
goes on, as a stranger's does. Its app may get the
answer that there is no such part before that last frame comes; its end of the stream is kept for `stub_s` then
(`may_repeat`). The peer of a pinned channel is notified last, when all others have noted the end: a base
that waits for this before it makes another cell part can be sure that no message of the former one is on its way. A
part that has received frames of a later life ignores the former, and only notes its end. A caller that has no channel
with the part yet gets no answer from it, nor from the record of it: the part may be made again, so the caller's app
asks the base (`termination.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from terrazzo.errors import UsageError
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.messages import Frame, Outgoing, PackedChannel
from terrazzo.wire.entity.streams import InStream, OutStream
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, life_of

if TYPE_CHECKING:
    from terrazzo._speed.rows import RowReader, RowWriter
    from terrazzo.wire.entity.mailbox import Mailbox
    from terrazzo.wire.entity.places import Place


class ChannelFull(UsageError):
    """The peer takes nothing, and `backlog_max` messages or `backlog_bytes` are not acknowledged; send less, or drop
    stale messages."""


class Channel:
    """One end of the channel between two parts."""

    __slots__ = (
        "ack_due", "acked", "attempts", "box", "closed", "confirmed", "due", "entry", "entry_at", "heard", "incoming",
        "is_hooked", "is_marked", "is_noted", "is_waited_for", "outgoing", "owes_frame", "peer", "peer_entity",
        "peer_part", "pinned", "place", "received_at", "refused", "renew", "touched_at", "turn", "waiting_since",
    )  # fmt: skip

    place: Place
    """Where the peer lives; set by `Place.hook`."""

    def __init__(self, box: Mailbox, peer: PartId, *, pinned: bool, now: float) -> None:
        self.box = box
        self.peer = peer
        self.peer_entity, self.peer_part = peer
        self.pinned = pinned
        self.heard: int = NEVER_HEARD
        self.confirmed: int = NEVER_HEARD
        self.outgoing: OutStream | None = None
        self.incoming: InStream | None = None
        # What the next frame carries besides the streams.
        self.owes_frame = False
        self.acked = 0
        self.is_waited_for = False
        """The peer is ending, and ends as soon as all is acknowledged."""
        self.is_noted = False
        self.closed: int | None = None
        self.renew: tuple[int, int] | None = None
        self.refused: int | None = None
        """The generation of a stream that began when this part was ending: nothing of it is taken."""
        self.is_hooked = False
        """Whether `Place.hook` has registered it, and it was not removed since."""
        # The turn and the timers, which `resend_schedule.py` sets.
        self.is_marked = False
        self.due = inf
        self.turn = 0
        """The serial of `due`: of two channels that are due at the same time the lower one is first."""
        self.entry = 0
        """The serial of its entry in the resend schedule; 0: it has none."""
        self.entry_at = inf
        """The time of that entry: `due`, or earlier."""
        self.ack_due = inf
        self.attempts = 0
        self.touched_at = now
        self.received_at = now
        """When the peer last sent a payload, or this end began or arrived here."""
        self.waiting_since = now

    # Sending.

    def check_room(self, payload: bytes, limits: ChannelLimits) -> None:
        """Raises ChannelFull if the backlog has no room for this payload."""
        stream = self.outgoing
        if stream is None or not stream.buffer:
            return
        count, size = len(stream.buffer), stream.size
        if count >= limits.backlog_max or size + len(payload) > limits.backlog_bytes:
            raise ChannelFull(f"{count} messages of {self.box.part}, {size} bytes, wait for {self.peer}")

    def send(self, payload: bytes, now: float) -> None:
        """Appends a payload to the outgoing stream."""
        stream = self.outgoing
        if stream is None or stream.is_last:
            stream = self.outgoing = OutStream(self.box.draw_generation(now))
            self.attempts = 0
        if not stream.buffer:
            self.waiting_since = now
        stream.buffer.append(payload)
        stream.size += len(payload)
        self.touched_at = now

    def has_unsent(self, limits: ChannelLimits) -> bool:
        """Whether a payload within the window was not sent yet."""
        stream = self.outgoing
        if stream is None:
            return False
        sent = stream.sent - stream.first
        return sent < len(stream.buffer) and sent < limits.window

    def row(self, rows: RowWriter, limits: ChannelLimits) -> bool:
        """Adds the next frame to the rows, if it is a plain one. False: it needs a `frame` of its own."""
        if not self.is_plain():
            return False
        box, incoming, stream = self.box, self.incoming, self.outgoing
        ack_generation = acked = generation = -1
        first = born = number = start = end = 0
        buffer: list[bytes] = []
        if incoming is not None:
            ack_generation, self.acked = incoming.generation, incoming.expected - incoming.untaken
            acked = self.number_acked()
        if stream is not None:
            buffer, start = stream.buffer, stream.sent - stream.first
            end = max(self._end_of_next(stream, limits), start)
            generation, first, born, number = stream.generation, stream.first, stream.born, stream.sent
        if not rows.add(
            self.peer_entity, self.peer_part, box.entity, box.kind, box.version, self.heard,
            ack_generation, acked, generation, first, born, number, buffer, start, end,
        ):  # fmt: skip
            return False
        if stream is not None:
            stream.sent = first + end
        self.owes_frame = False
        self.ack_due = inf
        return True

    def is_plain(self) -> bool:
        """Whether the next frame has nothing that only a `Frame` can carry: the peer has confirmed where this end is,
        and nothing begins anew or ends."""
        if self.confirmed < self.box.version or self.heard < 0 or self.box.is_ending or self.is_noted:
            return False
        if self.closed is not None or self.renew is not None or self.refused is not None:
            return False
        return self.outgoing is None or not self.outgoing.is_last

    def number_acked(self) -> int:
        """The number that the next frame acknowledges of the incoming stream."""
        return self.acked

    def frame(self, home: AppId, limits: ChannelLimits) -> Frame:
        """The next frame: all that is to be sent now, or as much of it as fits."""
        incoming = self.incoming
        if incoming is not None:
            self.acked = incoming.expected - incoming.untaken
        frame = Frame(
            self.peer,
            self.box.part,
            home,
            self.box.version,
            self.heard,
            0,
            self._next_outgoing(limits),
            self._ack(),
            self.closed,
            self.renew,
            self.confirmed < self.box.version,
            self.is_over,
            self.is_noted,
        )
        self.owes_frame = self.is_noted = False
        self.closed = self.renew = None
        self.ack_due = inf
        return frame

    def _ack(self) -> tuple[int, int] | None:
        """The acknowledgement: a generation and how much of it was taken. A refused stream is newer than the one that
        was taken before."""
        if self.refused is not None:
            return self.refused, 0
        return None if self.incoming is None else (self.incoming.generation, self.number_acked())

    def _next_outgoing(self, limits: ChannelLimits) -> Outgoing | None:
        stream = self.outgoing
        if stream is None:
            return None
        if not stream.buffer and self.is_over:
            stream.is_last = True
        buffer, start = stream.buffer, stream.sent - stream.first
        end = self._end_of_next(stream, limits)
        number = stream.sent
        stream.sent = max(stream.first + end, number)
        return Outgoing(stream.generation, stream.first, stream.born, number, tuple(buffer[start:end]), stream.is_last)

    def _end_of_next(self, stream: OutStream, limits: ChannelLimits) -> int:
        """Where in the buffer the payloads of the next frame end."""
        buffer, start = stream.buffer, stream.sent - stream.first
        end = len(buffer)
        if end <= start + 1:  # mostly there is one at most
            return end if end <= start else min(end, limits.window)
        most = min(end, limits.window)
        size, end = 0, start
        while end < most and size < limits.frame_bytes:
            size += len(buffer[end])
            end += 1
        return end

    def send_again(self) -> None:
        """The next frames begin with the lowest number that is not acknowledged."""
        if self.outgoing is not None:
            self.outgoing.sent = self.outgoing.first

    def takes(self, incoming: InStream, limits: ChannelLimits) -> bool:
        """Counts a message as taken. Returns whether that must be acknowledged at once."""
        incoming.untaken -= 1
        if self.is_waited_for or incoming.expected - incoming.untaken - self.acked >= limits.window // 2:
            self.owes_frame = True
        return self.owes_frame

    # What the timer is for.

    def awaits_answer(self) -> bool:
        """Whether the channel must send again until the peer answers."""
        stream = self.outgoing
        if stream is not None and (stream.buffer or stream.is_last):
            return True
        return self.confirmed < self.box.version or (self.box.is_ending and self.is_over)

    @property
    def is_over(self) -> bool:
        """Whether frames announce the end of this part to the peer."""
        box = self.box
        return box.is_ending and not (self.pinned and box.open)

    @property
    def is_empty(self) -> bool:
        """Whether the channel has no state that must be kept."""
        if self.is_waited_for:  # the peer has ended, and its last messages have not arrived yet
            return False
        return self.outgoing is None and self.incoming is None and not self.pinned and not self.box.is_ending

    def drop_outgoing(self) -> list[bytes]:
        """The peer takes nothing more: returns the payloads that were not acknowledged, which are kept no longer."""
        stream, self.outgoing = self.outgoing, None
        return [] if stream is None else stream.buffer

    def may_repeat(self, since: float) -> bool:
        """Whether the peer, of which the app has learned that it ends, may still send a payload again that was taken
        here: its last payload came after `since`. An ending part repeats what was not acknowledged, and its frame
        must find the state of its stream, or the payload is taken twice. A part that ends takes nothing any more."""
        return self.incoming is not None and not self.pinned and not self.box.is_ending and self.received_at > since

    def rest(self, now: float, limits: ChannelLimits) -> float | None:
        """For a channel that awaits no answer: when to look again; None where it was idle so long that it sends now."""
        if self.pinned:
            return inf
        idle_s = limits.idle_s if self.outgoing is not None else limits.probe_s
        if now < self.touched_at + idle_s:
            return self.touched_at + idle_s
        if self.outgoing is not None:
            self.outgoing.is_last = True
        else:
            # Only the peer may close its stream: the next frame asks for an answer, in case the peer is gone.
            self.confirmed = NEVER_HEARD
        self.touched_at = self.waiting_since = now
        return None

    # Receiving.

    def on_frame(self, frame: Frame, now: float, limits: ChannelLimits) -> list[bytes]:
        """Takes a frame in. Returns the payloads that will never be delivered, if the peer has ended."""
        life = life_of(self.box.version)
        if life_of(frame.version) < life_of(self.heard) or life_of(frame.heard) > life:
            return []  # the frame is from a former life of the peer, or this end is of a former life itself
        if frame.version > self.heard:
            if self.heard != NEVER_HEARD and life_of(frame.version) > life_of(self.heard):
                self._follow_new_life(frame.stream)
            self.heard = frame.version
        if frame.asks:
            self.owes_frame = True
        if life_of(frame.heard) < life:
            self.owes_frame = True  # the frame is about a former life of this part: the answer has the present one
            return []
        if frame.heard > self.confirmed:
            self.confirmed = frame.heard
            self.attempts = 0
        if frame.ack is not None:
            self._on_ack(*frame.ack, now)
        self._on_closed(frame)
        if self.incoming is not None and self.incoming.is_resuming and frame.stream is None:
            self.incoming = None  # the lost life had received this stream to its end
        lost = []
        if frame.is_over:
            lost = self._on_over(frame.ack)
            self.is_waited_for = True
        if frame.stream is not None:
            self._on_stream(frame.stream, now, limits)
        if frame.is_over and (frame.stream is None or frame.stream.is_last):
            self.incoming = None
            self.is_waited_for = False
            self.is_noted = self.owes_frame = True
        return lost

    def on_row(self, row: RowReader, now: float, limits: ChannelLimits) -> bool:
        """Takes in the frame that a row stands for, as `on_frame` would, if the frame changes nothing but what was
        acknowledged and what was admitted. False: nothing was done."""
        box, incoming = self.box, self.incoming
        if row.version != self.heard or not row.heard == box.version == self.confirmed or box.is_ending:
            return False
        if incoming is not None and incoming.is_resuming:
            return False
        if row.generation >= 0 and (incoming is None or incoming.generation != row.generation):
            return False
        if row.ack_generation >= 0:
            self._on_ack(row.ack_generation, row.acked, now)
        if row.generation >= 0 and row.payloads:
            assert incoming is not None
            if row.number < incoming.expected:
                self.owes_frame = True  # the peer repeats itself: the last acknowledgement may be lost
            self.touched_at = self.received_at = now
            self._admit(incoming, row.number, row.payloads, limits)
        return True

    def _follow_new_life(self, stream: Outgoing | None) -> None:
        incoming = self.incoming
        if incoming is not None and stream is not None and incoming.generation == stream.generation:
            self._undo(incoming, incoming.expected - stream.born)
            incoming.expected = min(incoming.expected, stream.born)
            incoming.held.clear()
        elif incoming is not None:
            self._undo(incoming, incoming.untaken)
            self.incoming = None
        # What was to be sent to the former life must not be sent to this one.
        self.is_noted = self.is_waited_for = False
        self.closed = self.renew = None
        self.send_again()
        self.attempts = 0

    def _undo(self, incoming: InStream, count: int) -> None:
        """Removes the last of this peer's messages from the inbox: the life that sent them is undone."""
        kept = []
        for letter in reversed(self.box.inbox):
            if letter[:2] == (self.peer, incoming.generation) and count > 0:
                count -= 1
                incoming.untaken -= 1
                self.box.inbox_bytes -= len(letter[2])
            else:
                kept.append(letter)
        self.box.inbox = kept[::-1]

    def _on_ack(self, generation: int, expected: int, now: float) -> None:
        stream = self.outgoing
        if stream is None or generation != stream.generation:
            return
        buffer, acked = stream.buffer, expected - stream.first
        if not 0 < acked <= len(buffer):
            return
        for index in range(acked):
            stream.size -= len(buffer[index])
        del buffer[:acked]
        stream.first = expected
        stream.sent = max(stream.sent, expected)
        self.attempts = 0
        self.touched_at = self.waiting_since = now
        if self.box.is_ending and not buffer and self.is_over:
            self.owes_frame = True

    def _on_closed(self, frame: Frame) -> None:
        stream = self.outgoing
        if stream is None:
            return
        if frame.closed == stream.generation and stream.is_last:
            self.outgoing = None
        elif frame.renew is not None and frame.renew[0] == stream.generation and not stream.is_last:
            # The receiver has never taken a payload of this generation and never will (a restored receiver: not in
            # this life), so all remaining payloads begin again under a new generation.
            stream.generation = self.box.draw_generation(0.0, above=frame.renew[1])
            stream.first = stream.born = stream.sent = 0
            self.owes_frame = True

    def _on_over(self, ack: tuple[int, int] | None) -> list[bytes]:
        """The peer takes nothing more: what it has not acknowledged was not delivered. Except if it does not name this
        stream, has taken nothing of it, and has none of its own here: then this may be a late copy of its last frame,
        and the stream is for the life that the peer has now. An ending part keeps such a stream as well. Two parts that
        end together name each other's streams, so neither waits for the other."""
        stream, box = self.outgoing, self.box
        self.pinned = False
        self.confirmed = box.version
        if stream is None:
            return []
        is_begun = stream.first > 0 or self.incoming is not None or (ack is not None and ack[0] == stream.generation)
        if stream.buffer and not is_begun and self.peer.entity != box.part.entity:
            return []
        self.outgoing = None
        return stream.buffer

    def _on_stream(self, stream: Outgoing, now: float, limits: ChannelLimits) -> None:
        incoming = self.incoming
        if incoming is None or stream.generation > incoming.generation:
            incoming = self._begin(stream)
            if incoming is None:
                return
        if stream.generation < incoming.generation:
            if stream.is_last:
                self.closed = stream.generation
                self.owes_frame = True
            return
        if incoming.is_resuming:
            incoming.is_resuming = False
            incoming.expected = max(incoming.expected, stream.first)
        if stream.is_last:
            self._close(stream.generation)
        elif stream.payloads:
            if stream.number < incoming.expected:
                self.owes_frame = True  # the peer repeats itself: the last acknowledgement may be lost
            self.touched_at = self.received_at = now
            self._admit(incoming, stream.number, stream.payloads, limits)

    def _begin(self, stream: Outgoing) -> InStream | None:
        """A stream without state here: it is new, was removed, or only a former life of this part had it."""
        known = self.incoming
        if stream.is_last:
            self._close(stream.generation)
            return None
        if self.box.is_ending:
            self.owes_frame = True
            if stream.payloads:
                self.refused = max(stream.generation, self.refused or 0)  # an older one is a late copy
            return None
        if not stream.payloads:
            return None
        if known is None and stream.generation <= self.box.horizon:
            self.renew = (stream.generation, self.box.horizon)
            self.owes_frame = True
            return None
        if known is not None:
            self.box.horizon = max(self.box.horizon, known.generation)
        self.incoming = InStream(stream.generation, stream.first)
        self.acked = stream.first
        return self.incoming

    def _close(self, generation: int) -> None:
        self.incoming = None
        self.box.horizon = max(self.box.horizon, generation)
        self.closed = generation
        self.owes_frame = True

    def _admit(self, incoming: InStream, number: int, payloads: Sequence[bytes], limits: ChannelLimits) -> None:
        """Admits what is next, holds what is early, drops what is known or beyond the window."""
        box = self.box
        if box.is_ending:
            return
        if number == incoming.expected and len(payloads) == 1 and not incoming.held and not box.is_full(limits):
            self._put_into_inbox(incoming, payloads[0])  # mostly
            return
        for payload in payloads:
            if incoming.expected <= number < incoming.expected + limits.window:
                incoming.held.setdefault(number, payload)
            number += 1
        self.admit_held(limits)

    def admit_held(self, limits: ChannelLimits) -> None:
        """Moves the next held payloads into the inbox, as long as there is room."""
        incoming = self.incoming
        if incoming is None:
            return
        box, held = self.box, incoming.held
        while incoming.expected in held and not box.is_full(limits):
            self._put_into_inbox(incoming, held.pop(incoming.expected))

    def _put_into_inbox(self, incoming: InStream, payload: bytes) -> None:
        """Admits the next payload."""
        box = self.box
        box.inbox.append((self.peer, incoming.generation, payload))
        box.inbox_bytes += len(payload)
        incoming.expected += 1
        incoming.untaken += 1

    # Moving.

    def pack(self) -> PackedChannel:
        """The packed channel, with the last known place of the peer."""
        return PackedChannel(
            self.peer,
            self.pinned,
            self.heard,
            self.confirmed,
            (self.place.version, self.place.app),
            None if self.outgoing is None else self.outgoing.pack(),
            None if self.incoming is None else self.incoming.pack(),
        )

    @classmethod
    def unpack(cls, box: Mailbox, packed: PackedChannel, now: float) -> Channel:
        """The channel, continued from its packed form."""
        channel = cls(box, packed.peer, pinned=packed.pinned, now=now)
        channel.heard, channel.confirmed = packed.heard, packed.confirmed
        if packed.outgoing is not None:
            channel.outgoing = OutStream.unpack(packed.outgoing)
        if packed.incoming is not None:
            channel.incoming = InStream.unpack(packed.incoming)
            channel.acked = channel.incoming.expected - channel.incoming.untaken
        return channel

    def begin_life(self) -> None:
        """This end was restored: both streams go on from the state of the backup."""
        self.confirmed = NEVER_HEARD
        if self.outgoing is not None:
            self.outgoing.born = self.outgoing.next
            self.outgoing.sent = self.outgoing.first
        if self.incoming is not None:
            self.incoming.is_resuming = True
            self.incoming.held.clear()
