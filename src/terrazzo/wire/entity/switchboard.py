"""The switchboard: what an app does with the parts that live there.

Parts begin, move and end; they send and take messages; and the app reports where other parts live. A part lives at one
app at a time, and its mailbox with it. The router (`router.py`) carries frames between mailboxes; both use one registry
(`registry.py`). `__init__.py` lists the modules.

**A move** is `depart` at the old home and `arrive` at the new one. The app carries the bytes between the two calls and
keeps them until the arrival is confirmed. Frames that still come to the old home are forwarded. `restore` continues a
backup, in a later life.

**Messages** enter a channel at once and leave with the tick. The app takes what has arrived when it is ready for it
(`with_mail`, `taking`).

**Places.** The router asks the app to `locate` a part. The app answers with `learn`, `gone` or `unsettled`, or not at
all. It may report a destroyed part as `gone` only after `on_ended`, or when the last home of the part is dead: until
then the ending mailbox itself answers, and only that mailbox has the exact list of what was delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from terrazzo.errors import UsageError
from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.letters import Letters
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox, pack_mailbox, read_packed, unpack_mailbox
from terrazzo.wire.entity.messages import Astray, Frame, Frames, PackedPart
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.entity.router import Exchange, Router
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, Version, first_of_life, life_of, next_move
from terrazzo.wire.outbox import Outbox


class Switchboard:
    """The parts of one app: their mailboxes, messages and places."""

    def __init__(
        self,
        me: AppId,
        host: Environment,
        outbox: Outbox,
        exchange: Exchange,
        *,
        limits: ChannelLimits | None = None,
        channel_type: type[Channel] = Channel,
        router_type: type[Router] = Router,
    ) -> None:
        self.me = me
        self._registry = PartRegistry(host, limits or ChannelLimits(), channel_type)
        self.router = router_type(me, host, outbox, exchange, self._registry)
        self.boxes = self._registry.boxes
        self.places = self._registry.places
        self.schedule = self._registry.schedule
        self.counts = self.router.counts
        self._mailed = self._registry.mailed
        self._host = host
        self._exchange = exchange

    @property
    def limits(self) -> ChannelLimits:
        """How much and how long; may be replaced at any time."""
        return self._registry.limits

    @limits.setter
    def limits(self, limits: ChannelLimits) -> None:
        self._registry.limits = limits

    # The tick, and frames from other apps: both are the router's.

    def on_tick(self) -> None:
        """Sends what is to be sent; repeats, retires and removes what is due."""
        self.router.on_tick()

    def on_message(self, source: AppId, message: Frame | Frames | Astray) -> None:
        """A message of the entity channel from another app."""
        if isinstance(message, Frames):
            self.on_frames(source, message)
        else:
            self.router.on_message(source, message)

    def on_frames(
        self, source: AppId, message: Frames, otherwise: Callable[[AppId, Frame], object] | None = None
    ) -> bool:
        """Plain frames of another app, in bulk. A frame of which its channel has more to do than to take it in goes to
        `otherwise`, which should end in `on_message`. False: some of them are malformed, and were refused."""
        return self.router.on_rows(source, message.rows, otherwise or self.router.on_message)

    # What the app may ask.

    def is_here(self, part: PartId) -> bool:
        """Whether a part lives here, or is ending here."""
        return part in self.boxes

    def is_ending(self, part: PartId) -> bool:
        """Whether a part was destroyed here and some of its peers have not noted that yet."""
        box = self.boxes.get(part)
        return box is not None and box.is_ending

    def version_of(self, part: PartId) -> int | None:
        """The version of a part that lives here, or that has ended here not long ago; None: it is not here."""
        return self.router.version_of(part)

    def home_of(self, part: PartId) -> AppId | None:
        """The app where a part lives, as far as is known here."""
        place = self.places.get(part)
        return None if place is None else place.app

    def version_of_place(self, part: PartId) -> int:
        """The version of the place that is known of a part; NEVER_HEARD where none is."""
        place = self.places.get(part)
        return NEVER_HEARD if place is None else place.version

    def has_channel(self, part: PartId, peer: PartId) -> bool:
        """Whether a part that is here has a channel with a peer."""
        return peer in self.boxes[part].channels

    def is_channel_open(self, part: PartId, peer: PartId) -> bool:
        """Whether messages of a peer may still arrive at a part that is here."""
        channel = self.boxes[part].channels.get(peer)
        return channel is not None and (channel.pinned or channel.is_waited_for or channel.incoming is not None)

    def mailbox(self, part: PartId) -> Mailbox:
        """The mailbox of a part that is here, for compiled code that reads what arrived in it."""
        return self.boxes[part]

    # Parts begin, move and end.

    def create(self, part: PartId, life: int = 0) -> None:
        """A new part begins its life here. If an earlier life of it was destroyed, `life` must be higher than that
        one."""
        if part in self.boxes:
            raise UsageError(f"{part} lives here already")
        self._register(Mailbox(part, first_of_life(life)))

    def pin(self, part: PartId, peer: PartId) -> None:
        """Keeps the channel between the two parts for good, so that each end always has the place of the other (a base
        and its real)."""
        channel = self._registry.channel(self.boxes[part], peer)
        channel.pinned = True
        self.schedule.mark(channel)

    def pack(self, part: PartId) -> bytes:
        """The part's mailbox as of now, for a backup."""
        box = self.boxes[part]
        return pack_mailbox(box, box.version)

    def depart(self, part: PartId, to: AppId) -> bytes:
        """The part leaves for `to`: its mailbox in bytes for `arrive` there. What still comes here is forwarded."""
        packed = self.packed(part)
        self.leave(part, to)
        return packed

    def packed(self, part: PartId) -> bytes:
        """The first half of a departure: the mailbox in bytes for `arrive` at another app. It changes nothing here."""
        box = self.boxes[part]
        if box.is_ending:
            raise UsageError(f"{part} is destroyed; it ends where it is")
        return pack_mailbox(box, next_move(box.version))

    def leave(self, part: PartId, to: AppId) -> None:
        """The second half, in the same call of the app: the part is at `to` from now on. What its channels owe their
        peers besides what is packed (an answer, a renewal, a closing) is sent from here, now, since it is not
        packed."""
        for channel in self.boxes[part].channels.values():
            self.router.pay(channel)
        box = self.boxes.pop(part)
        box.is_here = False
        self._mailed.pop(box, None)
        for channel in box.channels.values():
            self._registry.unhook(channel)
        box.channels, box.recent = (
            {},
            None,
        )  # a channel refers to its mailbox: without this, only the garbage collector could free both
        self._registry.place(part).leave(next_move(box.version), to, self._host.now + self._registry.limits.stub_s)

    def arrive(self, packed: bytes) -> bool:
        """Continues a mailbox here. False: this arrival, or a later one, has already happened, so the bytes are a
        copy."""
        state = read_packed(packed)
        place = self._registry.place(state.part)
        is_here = state.part in self.boxes and state.version == place.version
        if is_here or not place.is_arrival_of(state.version, self.me):
            return False
        self._continue(state)
        return True

    def restore(self, packed: bytes, life: int | None = None) -> Version:
        """Continues a mailbox from a backup after a crash, in a new life, so that frames of the old life are ignored.

        `life` should be a number that the manager of the recovery counts up; the default is one more than the highest
        that this app has learned of."""
        state = read_packed(packed)
        known = max(state.version, self._registry.place(state.part).version)
        version = first_of_life(life_of(known) + 1 if life is None else life)
        if version <= known:
            raise UsageError(f"{state.part} cannot be restored as life {life}: version {known:#x} is known")
        box = self._continue(state._replace(version=version))
        for channel in box.channels.values():
            channel.begin_life()
        return version

    def destroy(self, part: PartId) -> None:
        """Destroys the part: it takes no more messages, its last messages are sent, and every peer is notified."""
        box = self.boxes[part]
        box.end()
        self._mailed.pop(box, None)
        for channel in box.channels.values():
            self.schedule.urge(channel)  # an idle channel would only send it with its next probe, minutes later
        self.router.end_if_done(box)

    def _register(self, box: Mailbox) -> None:
        former = self.boxes.get(box.part)
        if former is not None:
            former.is_here = False
            self._mailed.pop(former, None)
        self.boxes[box.part] = box
        box.is_here = True
        place = self._registry.place(box.part)
        place.set_here(box.version, self.me)
        self.schedule.wake(place, self._host.now)

    def _continue(self, state: PackedPart) -> Mailbox:
        box = unpack_mailbox(state, self._host.now, self._registry.channel_type)
        self._register(box)
        if box.inbox:
            self._mailed[box] = None
        for packed in state.channels:
            version, app = packed.place
            if app is not None:
                self.learn(packed.peer, version, app)  # wakes those that wait for the peer, not the channels below
        for channel in box.channels.values():
            self._registry.place(channel.peer).hook(channel)
            channel.send_again()  # frames from the old home may arrive later than frames from here, or never
            self.schedule.mark(channel)
        return box

    # Messages of the parts.

    def send(self, source: PartId, to: PartId, payload: bytes, *, is_urgent: bool = False) -> None:
        """Delivers `payload` to `to`, after everything that `source` has sent to it before, or reports it as
        undelivered.

        An urgent payload is accepted even if the backlog is full: the peer cannot do without it."""
        self._send(source, to, payload, is_urgent)

    def _send(self, source: PartId, to: PartId, payload: bytes, is_urgent: bool) -> None:
        box = self.boxes.get(source)
        if box is None or box.is_ending:
            raise UsageError(f"{source} does not live here; only where it lives can it send")
        if len(payload) > self._registry.limits.payload_bytes_max:
            most = self._registry.limits.payload_bytes_max
            raise UsageError(f"a payload of {len(payload)} bytes; the most is {most}, send parts")
        self._put(self._registry.channel(box, to), payload, is_urgent)

    def _put(self, channel: Channel, payload: bytes, is_urgent: bool) -> None:
        if not is_urgent:
            channel.check_room(payload, self._registry.limits)
        channel.send(payload, self._host.now)
        self.schedule.mark(channel)

    def channel_of(self, source: PartId, to: PartId) -> Channel | None:
        """The channel between a part that lives here and `to`, if there is one. It is that as long as it
        `is_hooked`."""
        box = self.boxes.get(source)
        return None if box is None else self._registry.find(box, to)

    def send_in(self, channel: Channel, payload: bytes) -> None:
        """The same as `send`, for a caller that has the channel, which must be hooked."""
        if channel.box.is_ending or len(payload) > self._registry.limits.payload_bytes_max:
            self._send(channel.box.part, channel.peer, payload, False)  # which raises
        self._put(channel, payload, False)

    def send_now(self, source: PartId, to: PartId) -> None:
        """Sends at once what `source` has for `to`, so that a message that bypasses the channel does not overtake
        it."""
        box = self.boxes.get(source)
        channel = None if box is None else box.channels.get(to)
        if channel is not None and self.schedule.unmark(channel):
            self.router.send_now(channel)

    def with_mail(self) -> list[PartId]:
        """The parts with messages in their inbox, in the order of arrival."""
        return [box.part for box in self._mailed]

    def mailed(self) -> list[Mailbox]:
        """The mailboxes of these parts."""
        return list(self._mailed)

    def mail_count(self) -> int:
        """How many messages the parts here have not taken."""
        return sum(len(box.inbox) for box in self._mailed)

    def taking(self, part: PartId) -> Letters:
        """The messages that have arrived for `part`, in order, one by one, each with its source. Only a message that
        was handed over is acknowledged, so the caller may stop anywhere. Messages that are not taken move with the
        part; if the part is destroyed instead, their senders get them back as undelivered."""
        return Letters(self._registry, self.boxes.get(part), self._host.now)

    def letters(self, box: Mailbox, now: float) -> Letters:
        """The same of a mailbox that is here."""
        return Letters(self._registry, box, now)

    def take(self, part: PartId) -> list[tuple[PartId, bytes]]:
        """All that `taking` gives, as a list."""
        return list(self.taking(part))

    def sent_up_to(self, source: PartId, to: PartId) -> tuple[int, int]:
        """How much `source` has sent to `to` until now, as a mark for `has_taken` at the other end."""
        channel = self._registry.find(self.boxes[source], to)
        stream = None if channel is None else channel.outgoing
        if stream is None:
            return 0, 0
        return stream.generation, stream.first + len(stream.buffer)

    def has_taken(self, part: PartId, peer: PartId, mark: tuple[int, int]) -> bool:
        """Whether `part` has taken all messages of `peer` up to that mark."""
        box = self.boxes.get(part)
        channel = None if box is None else self._registry.find(box, peer)
        stream = None if channel is None else channel.incoming
        if stream is None:
            return mark <= (0, 0)
        return mark <= (stream.generation, stream.expected - stream.untaken)

    # Reports of the app: from its resolver, its links, its manager.

    def learn(self, part: PartId, version: int, app: AppId) -> bool:
        """`part` lives at `app` since `version`. False: that is not newer than what is recorded here."""
        if app == self.me or part in self.boxes:
            return False  # a report that overtakes an arrival must not pass for the arrival itself
        place = self._registry.place(part)
        if not place.learn(version, app):
            return False
        self.schedule.wake(place, self._host.now)
        return True

    def gone(self, part: PartId, reason: str, asked_at: float = inf) -> None:
        """There is no such part any more: the messages for it are reported as undelivered. A channel that was used
        after `asked_at` is left out, since the part may have been made after the answer; the resolver is asked
        again. A part that still ends may repeat its last messages: what was taken of them is kept for that long."""
        place = self.places.get(part)
        if place is None or part in self.boxes:
            return
        for channel in list(place.channels.values()):
            if not place.has(channel):
                continue  # `on_undelivered` of another channel has removed this one
            if channel.touched_at > asked_at:
                place.locate_at = -inf
                self.schedule.retry_at(channel, self._host.now)
                continue
            lost = channel.drop_outgoing()
            if channel.may_repeat(asked_at - self._registry.limits.stub_s):
                self.schedule.rest(channel, self._host.now, self._registry.limits)
            else:
                self._registry.forget(channel)
            if lost:
                self._exchange.on_undelivered(channel.box.part, part, lost, reason)
            self.router.end_if_done(channel.box)

    def unsettled(self, part: PartId) -> None:
        """No app has an answer for now where `part` is, perhaps because it is being made: ask again soon."""
        place, now = self.places.get(part), self._host.now
        if place is None or place.app is not None:
            return
        for channel in place.channels.values():
            if channel.awaits_answer():
                at = now + self.schedule.backoff(channel, self._registry.limits) / 4
                place.locate_at = min(place.locate_at, at)
                self.schedule.retry_at(channel, at)

    def on_link_lost(self, app: AppId) -> None:
        """Frames on their way to `app` may be lost: each channel that awaits an answer from there sends again, before
        other frames to that app in the next tick."""
        for place in self.places.values():
            if place.app == app:
                self.schedule.wake(place, self._host.now)

    def on_app_dead(self, app: AppId) -> None:
        """`app` is declared dead: nothing lives there any more."""
        for place in self.places.values():
            if place.app == app:
                self.router.lose(place)
