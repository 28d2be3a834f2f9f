"""The switchboard: carries the frames of all mailboxes of one app to wherever their peers live.

A part lives at one app at a time. The switchboard holds the mailboxes of the parts that live here, and a **place** for
each part it has to do with: the highest version it knows and the app of that version. One table serves both ends:

    frame for a part that lives here        → its channel takes it in
    frame for a part that left              → the place it left behind is the forwarding stub: passed on, hop counted
    frame for a part unknown here           → Astray, to the app that passed the frame on
    frame of a stranger for one that ended  → as if it was unknown: it may live again elsewhere, in a later life
    our own frame, place known              → to that app            our own frame, place unknown → locate()

So old homes forward for `stub_s`; who has moved tells its peers (see `channel.py`); and when neither helps (a
forwarder died, a stub expired, a link broke in between) there is a resolver of last resort, injected: `locate(part)`
asks whoever knows for sure (a base's manager, a real's base) and answers later with `learn(...)` or `gone(...)`. It
is called when no place is known, when frames go astray, and when several attempts had no answer.

A forward goes back to the app it came from only where the part itself has gone there from here since: on that link it
is ahead of the frame. It ends after `hops_max` hops; what is lost so is sent again.

The resolver may say `gone` of a destroyed part only after `on_ended`, or when its last home is dead: until then the
ending mailbox itself answers, and it alone knows exactly what was delivered. It answers only those with whom it has a
channel, so it comes to an end; then all others hear that they went astray.

Work is done at the tick: the app takes the mail of the parts that have some (`with_mail`, `taking`), and `on_tick`
sends one round of frames for each channel that has something to say (a dict keeps them in order: runs must repeat), and
looks at those whose time has come (a heap).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf
from typing import Protocol

import msgspec

from terrazzo.errors import UsageError
from terrazzo.wire.app import Host, Outbox
from terrazzo.wire.channel import Channel, ChannelLimits
from terrazzo.wire.entity_messages import Astray, Frame, PackedPart
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, Version, first_of_life, life_of, next_move
from terrazzo.wire.mailbox import Mailbox, pack_mailbox, unpack_mailbox

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(PackedPart)
_SWEEP_S = 1.0
_LOCAL_ROUNDS = 8
"""How often two parts of one app may answer each other within a tick; what is left waits for the next."""


class Exchange(Protocol):
    """What an app does for its switchboard."""

    def locate(self, part: PartId) -> None:
        """Find out where `part` lives; answer with `learn` or `gone`, now or later, or not at all."""

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """These messages of `source`, and no others, were not and will not be delivered to `to`."""

    def on_ended(self, part: PartId) -> None:
        """A destroyed part has nothing left to send and every peer knows; the resolver may say `gone` now."""


class Place:
    """Where a part lives, as far as is known here."""

    __slots__ = ("app", "channels", "expires_at", "left", "locate_at", "version")

    def __init__(self, expires_at: float) -> None:
        self.version: int = NEVER_HEARD
        self.app: AppId | None = None
        self.left: int = NEVER_HEARD
        """The version with which it left for `app`, if it went there from here."""
        self.channels: dict[PartId, Channel] = {}
        self.locate_at = -inf
        self.expires_at = expires_at


class Switchboard:
    """All mailboxes of one app."""

    def __init__(
        self,
        me: AppId,
        host: Host,
        outbox: Outbox,
        exchange: Exchange,
        *,
        limits: ChannelLimits | None = None,
        channel_type: type[Channel] = Channel,
    ) -> None:
        self.me = me
        self.limits = limits or ChannelLimits()
        self.boxes: dict[PartId, Mailbox] = {}
        self.places: dict[PartId, Place] = {}
        self.counts = {"forwarded": 0, "astray": 0, "too many hops": 0, "resent": 0, "located": 0}
        self._host = host
        self._outbox = outbox
        self._exchange = exchange
        self._channel_type = channel_type
        self._mailed: dict[PartId, None] = {}
        """Parts whose inbox may have something in it, in the order in which it came."""
        self._dirty: dict[Channel, None] = {}
        self._timers: list[tuple[float, int, Channel]] = []
        self._timer_serial = 0
        self._acks: deque[tuple[float, Channel]] = deque()
        """Channels that owe an acknowledgement, in the order in which it is due: all are due after the same time."""
        self._local: deque[Frame] = deque()
        self._ended: dict[PartId, tuple[int, float]] = {}
        self._sweep_at = host.now + _SWEEP_S

    # What the app does with parts.

    def create(self, part: PartId, life: int = 0) -> None:
        """A new part begins its life here; one whose former self was destroyed needs a higher life than that had."""
        if part in self.boxes:
            raise UsageError(f"{part} lives here already")
        self._settle(Mailbox(part, first_of_life(life)))

    def pin(self, part: PartId, peer: PartId) -> None:
        """Keeps the channel between the two for good: both always know where the other is (a base and its real)."""
        channel = self._channel(self.boxes[part], peer)
        channel.pinned = True
        self._mark(channel)

    def send(self, source: PartId, to: PartId, payload: bytes, *, is_urgent: bool = False) -> None:
        """Delivers `payload` to `to`, after everything `source` has sent to it before, or reports that it cannot.

        What is urgent goes even if too much waits already: one word that the peer cannot do without."""
        box = self.boxes.get(source)
        if box is None or box.is_ending:
            raise UsageError(f"{source} does not live here; only where it lives can it send")
        if len(payload) > self.limits.payload_bytes_max:
            most = self.limits.payload_bytes_max
            raise UsageError(f"a payload of {len(payload)} bytes; the most is {most}, send parts")
        channel = self._channel(box, to)
        if not is_urgent:
            channel.check_room(payload, self.limits)
        channel.send(payload, self._host.now)
        self._mark(channel)

    def with_mail(self) -> list[PartId]:
        """The parts for which something has arrived, in the order in which it came."""
        return list(self._mailed)

    def taking(self, part: PartId) -> Iterator[tuple[PartId, bytes]]:
        """What has arrived for `part`, in order, with who sent it, one by one: only what was handed over is
        acknowledged, so that one may stop anywhere. What is not taken moves with the part; if the part is destroyed
        instead, those who sent it are told that it was not delivered."""
        box = self.boxes.get(part)
        if box is None:
            return
        was_full = box.is_full(self.limits)
        for _ in range(len(box.inbox)):
            if not box.inbox or self.boxes.get(part) is not box:
                return  # whoever was handed the last one has sent the part away, or ended it
            source, generation, payload = box.inbox.pop(0)
            box.inbox_bytes -= len(payload)
            channel = box.channels.get(source)
            if channel is not None and channel.incoming is not None and channel.incoming.generation == generation:
                if channel.takes(channel.incoming, self.limits):
                    self._mark(channel)
                elif channel.ack_due == inf:
                    channel.ack_due = self._host.now + self.limits.ack_s
                    self._acks.append((channel.ack_due, channel))
            yield source, payload
        if was_full:
            box.admit_held(self.limits)
        if not box.inbox:
            self._mailed.pop(part, None)

    def take(self, part: PartId) -> list[tuple[PartId, bytes]]:
        """All that `taking` gives, for whoever surely wants all."""
        return list(self.taking(part))

    def pack(self, part: PartId) -> bytes:
        """The part's mailbox as of now, for a backup."""
        box = self.boxes[part]
        return self._packed(box, box.version)

    def depart(self, part: PartId, to: AppId) -> bytes:
        """The part leaves for `to`: its mailbox in bytes for `arrive` there. What still comes here is forwarded."""
        packed = self.packed(part)
        self.leave(part, to)
        return packed

    def packed(self, part: PartId) -> bytes:
        """The first half of a departure: the mailbox in bytes for `arrive` elsewhere. Nothing has changed yet."""
        box = self.boxes[part]
        if box.is_ending:
            raise UsageError(f"{part} is destroyed; it ends where it is")
        return self._packed(box, next_move(box.version))

    def leave(self, part: PartId, to: AppId) -> None:
        """The second half, in the same breath: the part is at `to` from now on."""
        box, place = self.boxes[part], self._place(part)
        self._remove(box)
        place.app = to
        place.version = place.left = next_move(box.version)
        place.expires_at = self._host.now + self.limits.stub_s

    def arrive(self, packed: bytes) -> bool:
        """Continues a mailbox here. False when this arrival, or a later one, has been seen already: it is a copy."""
        state = _DECODER.decode(packed)
        place = self._place(state.part)
        is_back = place.app is not None and place.version == state.version and state.part not in self.boxes
        if place.version >= state.version and not (is_back and place.app != self.me):
            return False
        self._continue(state)
        return True

    def restore(self, packed: bytes, life: int | None = None) -> Version:
        """Continues a mailbox from a backup after a crash, in a new life that beats every survivor of the old one.

        `life` is best a number that the manager of the recovery counts up; without it, one more than any known here."""
        state = _DECODER.decode(packed)
        known = max(state.version, self._place(state.part).version)
        version = first_of_life(life_of(known) + 1 if life is None else life)
        if version <= known:
            raise UsageError(f"{state.part} cannot be restored as life {life}: version {known:#x} is known")
        box = self._continue(state._replace(version=version))
        for channel in box.channels.values():
            channel.begin_life()
        return version

    def version_of(self, part: PartId) -> int | None:
        """The version under which a part lives here, or has ended here not long ago: what comes for it is answered.
        None: it is not here."""
        box = self.boxes.get(part)
        if box is not None:
            return box.version
        return self._ended[part][0] if part in self._ended else None

    def destroy(self, part: PartId) -> None:
        """The part is no more: it takes nothing, its last messages are sent, and every peer is told."""
        box = self.boxes[part]
        box.is_ending = True
        box.open.update(peer for peer, channel in box.channels.items() if not channel.pinned)
        box.inbox_bytes = 0
        box.inbox.clear()  # it was not acknowledged, so the peers find it among what is lost
        self._mailed.pop(part, None)
        for channel in box.channels.values():
            channel.owes_frame = True  # a channel at rest would only say it with its next probe, minutes later
            self._mark(channel)
        self._end_if_done(box)

    # What the app hears from its resolver, its links, its manager.

    def learn(self, part: PartId, version: int, app: AppId) -> bool:
        """`part` lives at `app` since `version`. False when that is no news."""
        if app == self.me or part in self.boxes:
            return False  # what lives here we know; a rumour that runs ahead of an arrival must not pass for it
        place = self._place(part)
        if version < place.version or (version == place.version and place.app is not None):
            return False
        place.version, place.app = version, app
        self._wake(place)
        return True

    def gone(self, part: PartId, reason: str, asked_at: float = inf) -> None:
        """There is no such part any more; whoever waits for it is told. What was sent after the question was asked is
        not meant: the part may have been made since it was answered. For that it is asked again."""
        place = self.places.get(part)
        if place is None or part in self.boxes:
            return
        for channel in list(place.channels.values()):
            if channel.touched_at > asked_at:
                place.locate_at = -inf
                self._retry_at(channel, self._host.now)
                continue
            lost = channel.outgoing.buffer if channel.outgoing is not None else []
            self._forget(channel)
            if lost:
                self._exchange.on_undelivered(channel.box.part, part, lost, reason)
            self._end_if_done(channel.box)

    def unsettled(self, part: PartId) -> None:
        """Nobody says for now where `part` is, perhaps it is being made: who waits for it asks again soon."""
        place, now = self.places.get(part), self._host.now
        if place is None or place.app is not None:
            return
        for channel in place.channels.values():
            if channel.awaits_answer:
                at = now + self._backoff(channel) / 4
                place.locate_at = min(place.locate_at, at)
                self._retry_at(channel, at)

    def on_link_lost(self, app: AppId) -> None:
        """What was on its way to `app` may be lost: what waits for an answer from there is said again, before anything
        else that is said there in the next tick."""
        for place in self.places.values():
            if place.app == app:
                self._wake(place)

    def on_app_dead(self, app: AppId) -> None:
        """`app` is declared dead: nothing lives there any more."""
        for place in self.places.values():
            if place.app == app:
                self._lose(place)

    def _lose(self, place: Place) -> None:
        """A part is not where it was thought to be: who waits for it asks soon, even if it was asked for just now."""
        now = self._host.now
        place.app, place.left = None, NEVER_HEARD
        place.locate_at = min(place.locate_at, now + self.limits.resend_s / 4)
        for channel in place.channels.values():
            if channel.awaits_answer:
                self._retry_at(channel, max(now, place.locate_at))

    def on_message(self, source: AppId, message: Frame | Astray) -> None:
        """A message of this channel's kind from another app."""
        if isinstance(message, Frame):
            self._on_frame(message, source)
            return
        place = self.places.get(message.part)
        if place is not None and place.app == source and message.part not in self.boxes:
            self._lose(place)

    def said(self, source: PartId, to: PartId) -> tuple[int, int]:
        """What `source` has sent to `to` until now, as a mark that `has_taken` understands at the other end."""
        channel = self.boxes[source].channels.get(to)
        stream = None if channel is None else channel.outgoing
        return (0, 0) if stream is None else (stream.generation, stream.next)

    def has_taken(self, part: PartId, peer: PartId, mark: tuple[int, int]) -> bool:
        """Whether `part` has taken all that `peer` had said to it by then."""
        box = self.boxes.get(part)
        channel = None if box is None else box.channels.get(peer)
        stream = None if channel is None else channel.incoming
        return mark <= ((0, 0) if stream is None else (stream.generation, stream.expected - stream.untaken))

    def say_now(self, source: PartId, to: PartId) -> None:
        """What `source` has for `to` is sent at once: something else is, which must not be ahead of it."""
        box = self.boxes.get(source)
        channel = None if box is None else box.channels.get(to)
        if channel is not None and channel in self._dirty:
            del self._dirty[channel]
            self._speak(channel, self._host.now)

    def on_tick(self) -> None:
        """Sends what is to be sent; repeats, retires and forgets what is due."""
        now = self._host.now
        while self._timers and self._timers[0][0] <= now:
            due, _, channel = heappop(self._timers)
            if channel.due == due:
                self._on_due(channel, now)
        while self._acks and self._acks[0][0] <= now:
            due, channel = self._acks.popleft()
            if channel.ack_due == due:
                channel.owes_frame = True
                self._mark(channel)
        for _ in range(_LOCAL_ROUNDS):
            if not (self._dirty or self._local):
                break
            dirty, self._dirty = self._dirty, {}
            for channel in dirty:
                self._speak(channel, now)
            for _ in range(len(self._local)):
                self._on_frame(self._local.popleft(), self.me)
        if now >= self._sweep_at:
            self._sweep(now)

    # Frames in.

    def _on_frame(self, frame: Frame, via: AppId) -> None:
        box = self.boxes.get(frame.to)
        if box is None or (box.is_ending and frame.source not in box.channels):
            self._on_stray(frame, via)
            return
        known = self.places.get(frame.source)
        if known is not None and life_of(frame.version) < life_of(known.version):
            self._answer_former(frame, box)
            return
        channel = self._channel(box, frame.source)
        place = channel.place
        if frame.home != self.me and (frame.version != place.version or frame.home != place.app):
            self._follow(frame)
        lost = channel.on_frame(frame, self._host.now, self.limits)
        if box.inbox:
            self._mailed[box.part] = None
        if lost:
            self._exchange.on_undelivered(box.part, frame.source, lost, "destroyed")
        if frame.is_noted and box.is_ending and life_of(frame.heard) == life_of(box.version):
            if frame.stream is not None and frame.stream.payloads:
                box.strays[via] = None  # whoever goes on calling is a stranger from here on
            self._forget(channel)
            self._end_if_done(box)
        elif channel.owes_frame or not channel.pinned or channel.has_unsent(self.limits):
            self._mark(channel)  # nothing else could have changed of a channel that is kept for good

    def _on_stray(self, frame: Frame, via: AppId) -> None:
        """A frame for a part that is not here, or has ended, or ends and has no channel with whoever speaks."""
        box, version, stream = self.boxes.get(frame.to), self.version_of(frame.to), frame.stream
        # Who has something to be delivered may find a later life. The other part of the same entity counts the lives.
        is_stranger = stream is not None and not stream.is_last and frame.source.entity != frame.to.entity
        if box is not None and box.open and frame.is_over:
            # Those who end together must not wait for each other. There is no later life as long as its own base has
            # not heard of the end.
            is_stranger = False
        if version is not None and life_of(frame.heard) <= life_of(version) and not is_stranger:
            self._repeat_end(frame, version)
        elif box is not None:
            box.strays[via] = None
        else:
            self._pass_on(frame, via)

    def _repeat_end(self, frame: Frame, version: int) -> None:
        """Says once more, for a part that has ended, that it is over; but two that have ended need not go on."""
        if frame.is_noted:
            self._note_end(frame, version)
            return
        box = Mailbox(frame.to, version)
        box.is_ending = True
        channel = self._channel_type(box, frame.source, pinned=False, now=self._host.now)
        channel.on_frame(frame, self._host.now, self.limits)
        if channel.owes_frame:
            self._post(channel.frame(self.me, self.limits), frame.home)

    def _answer_former(self, frame: Frame, box: Mailbox) -> None:
        """A former life of a part speaks: it is not heard, but if it ends, it may know that nobody waits for it."""
        if not frame.is_noted:
            self._note_end(frame, box.version)

    def _note_end(self, frame: Frame, version: int) -> None:
        """Answers a last word, and with nothing that needs an answer."""
        if frame.is_over:
            note = Frame(frame.source, frame.to, self.me, version, frame.version, 0, is_noted=True)
            self._post(note, frame.home)

    def _follow(self, frame: Frame) -> None:
        """A frame says where its source lives: the highest version is believed, and before any rumour of the same."""
        place = self._place(frame.source)
        if frame.version > place.version or (frame.version == place.version and frame.home != place.app):
            # What is under way to where it was before is passed on, but not to a later life.
            is_found = place.app is None or life_of(frame.version) > life_of(place.version)
            place.version, place.app, place.left = frame.version, frame.home, NEVER_HEARD
            place.locate_at = -inf
            if is_found:
                self._wake(place)

    def _pass_on(self, frame: Frame, via: AppId) -> None:
        place = self.places.get(frame.to)
        is_ahead = place is not None and (place.app != via or place.version == place.left)
        if place is not None and place.app is not None and place.app != self.me and is_ahead:
            if frame.hops >= self.limits.hops_max:
                self.counts["too many hops"] += 1
                return
            self.counts["forwarded"] += 1
            self._outbox.send(place.app, msgspec.structs.replace(frame, hops=frame.hops + 1))
            return
        self.counts["astray"] += 1
        self._host.log("astray", part=frame.to, source=frame.source, via=via)
        # To whoever passed it on: it forgets its stub, and the next copy finds out one hop earlier.
        self._say_astray(frame.to, via)

    def _say_astray(self, part: PartId, to: AppId) -> None:
        if to != self.me:
            self._outbox.send(to, Astray(part))
        elif part in self.places:
            self._lose(self.places[part])

    # Frames out.

    def _mark(self, channel: Channel) -> None:
        self._dirty[channel] = None

    def _speak(self, channel: Channel, now: float) -> None:
        """One round of a channel: says what there is to say, then sets its timer or forgets it."""
        if not self._is_ours(channel):
            return  # it was forgotten in this very round
        awaits_answer, limits = channel.awaits_answer, self.limits
        if channel.owes_frame or (awaits_answer and channel.due == inf) or channel.has_unsent(limits):
            place = channel.place
            if place.app is None:
                self._locate(channel.peer, place, now)
                if not self._is_ours(channel):
                    return  # it was found that the peer is gone
            else:
                if channel.heard == NEVER_HEARD:
                    channel.heard = place.version  # a channel without history takes the resolver's word
                self._post(channel.frame(self.me, limits), place.app)
                while channel.has_unsent(limits):
                    self._post(channel.frame(self.me, limits), place.app)
        if awaits_answer:
            if channel.due > now + self.limits.resend_max_s:
                self._set_timer(channel, now + self._backoff(channel))  # it was at rest, or has no timer
        elif channel.is_empty:
            self._forget(channel)
        else:
            self._rest(channel, now)

    def _post(self, frame: Frame, app: AppId) -> None:
        if app == self.me:
            self._local.append(frame)
        else:
            self._outbox.send(app, frame)

    def _backoff(self, channel: Channel) -> float:
        return min(self.limits.resend_s * 2.0 ** min(channel.attempts, 10), self.limits.resend_max_s)

    def _on_due(self, channel: Channel, now: float) -> None:
        """The timer of a channel: repeats what had no answer; begins to retire what is idle."""
        channel.due = inf
        if channel.awaits_answer:
            answered_by = channel.waiting_since + self._backoff(channel)
            if now < answered_by:
                self._set_timer(channel, answered_by)
                return
            channel.attempts += 1
            self.counts["resent"] += 1
            if channel.attempts % self.limits.locate_after == 0:
                self._locate(channel.peer, self._place(channel.peer), now)
                if not self._is_ours(channel):
                    return  # it was found that the peer is gone
            channel.send_again()
            channel.owes_frame = True
            self._mark(channel)
            return
        self._rest(channel, now)

    def _rest(self, channel: Channel, now: float) -> None:
        at = channel.rest(now, self.limits)
        if at is None:
            channel.due = inf
            self._mark(channel)
        elif at != channel.due:
            self._set_timer(channel, at)

    def _locate(self, peer: PartId, place: Place, now: float) -> None:
        if now >= place.locate_at:
            place.locate_at = now + self.limits.locate_s
            self.counts["located"] += 1
            self._exchange.locate(peer)

    def _retry_at(self, channel: Channel, at: float) -> None:
        channel.waiting_since = -inf
        if at < channel.due:
            self._set_timer(channel, at)

    def _wake(self, place: Place) -> None:
        """Who waits for the part of this place speaks again at once: now it may be heard."""
        for channel in place.channels.values():
            if channel.awaits_answer:
                self._retry_at(channel, self._host.now)

    def _set_timer(self, channel: Channel, at: float) -> None:
        channel.due = at
        if at != inf:
            self._timer_serial += 1
            heappush(self._timers, (at, self._timer_serial, channel))

    # Boxes, channels, places.

    def _settle(self, box: Mailbox) -> None:
        self.boxes[box.part] = box
        place = self._place(box.part)
        place.version, place.app = box.version, self.me
        self._wake(place)

    def _continue(self, state: PackedPart) -> Mailbox:
        box = unpack_mailbox(state, self._host.now, self._channel_type)
        self._settle(box)
        if box.inbox:
            self._mailed[box.part] = None
        for channel in box.channels.values():
            self._hook(channel)
            channel.send_again()  # what was sent from elsewhere may come later than what is said from here, or never
            self._mark(channel)
        for packed in state.channels:
            version, app = packed.place
            if app is not None:
                self.learn(packed.peer, version, app)
        return box

    def _packed(self, box: Mailbox, version: int) -> bytes:
        places = {}
        for peer in box.channels:
            place = self._place(peer)
            places[peer] = (place.version, place.app)
        return _ENCODER.encode(pack_mailbox(box, places, version))

    def _remove(self, box: Mailbox) -> None:
        del self.boxes[box.part]
        self._mailed.pop(box.part, None)
        for channel in list(box.channels.values()):
            self._unhook(channel)

    def _channel(self, box: Mailbox, peer: PartId) -> Channel:
        channel = box.channels.get(peer)
        if channel is None:
            channel = self._channel_type(box, peer, pinned=False, now=self._host.now)
            box.channels[peer] = channel
            self._hook(channel)
        return channel

    def _hook(self, channel: Channel) -> None:
        """A place is kept as long as it has channels, so a channel may keep it, too."""
        channel.place = self._place(channel.peer)
        channel.place.channels[channel.box.part] = channel

    def _is_ours(self, channel: Channel) -> bool:
        """Whether the channel is kept here: neither forgotten, nor gone elsewhere with its part."""
        return channel.place.channels.get(channel.box.part) is channel

    def _forget(self, channel: Channel) -> None:
        box = channel.box
        box.channels.pop(channel.peer, None)
        self._unhook(channel)
        if channel.peer in box.open:
            box.open.discard(channel.peer)
            if not box.open:
                for last in box.channels.values():
                    last.owes_frame = True
                    self._mark(last)

    def _unhook(self, channel: Channel) -> None:
        channel.due = channel.ack_due = inf
        self._dirty.pop(channel, None)
        place = self.places.get(channel.peer)
        if place is not None and place.channels.get(channel.box.part) is channel:
            del place.channels[channel.box.part]
            place.expires_at = max(place.expires_at, self._host.now + self.limits.stub_s)

    def _place(self, part: PartId) -> Place:
        place = self.places.get(part)
        if place is None:
            place = self.places[part] = Place(self._host.now + self.limits.stub_s)
        return place

    def _end_if_done(self, box: Mailbox) -> None:
        if box.is_ending and not box.channels and self.boxes.get(box.part) is box:
            del self.boxes[box.part]
            self._ended[box.part] = (box.version, self._host.now + self.limits.stub_s)
            for app in box.strays:
                self._say_astray(box.part, app)
            self._exchange.on_ended(box.part)

    def _sweep(self, now: float) -> None:
        """Forgets stubs, hints and tombstones whose time is over."""
        self._sweep_at = now + _SWEEP_S
        for part in [part for part, place in self.places.items() if place.expires_at <= now]:
            if not self.places[part].channels and part not in self.boxes:
                del self.places[part]
        for part in [part for part, (_, expires_at) in self._ended.items() if expires_at <= now]:
            version, _ = self._ended.pop(part)
            place = self.places.get(part)
            if place is not None and place.version <= version:  # unless it lives again, in a later life
                place.app = None
