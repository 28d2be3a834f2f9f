"""The switchboard: the parts that live at one app, as that app deals with them.

They begin, move and end; they have mail; and there is news of where others are. A part lives at one app at a time, and
its mailbox with it. What passes between mailboxes is the business of the lower half, the courier. Each subject has a
file, which opens with its rules:

    router.py   frames in, on, and out
    mailbox.py   one part: its channels, its inbox, and how they move with it
    channel.py   a pair of parts: what is delivered, once and in order
    places.py    where parts are: which news is believed
    resend_schedule.py    whose turn it is to speak
    termination.py   what is answered for parts that end or have ended

**A move** is `depart` here and `arrive` there, with the bytes in between in the hands of the app: it keeps them until
it is sure that they have arrived. What still comes here is passed on. `restore` continues a backup, in a later life.

**Mail** is sent at once into a channel, and leaves with the tick. The app takes what has come at its own pace
(`with_mail`, `taking`).

**News.** The app is asked to `locate` a part, and answers with `learn`, `gone` or `unsettled`, or not at all. It may
say `gone` of a destroyed part only after `on_ended`, or when its last home is dead: until then the ending mailbox
itself answers, and it alone knows exactly what was delivered.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from terrazzo.errors import UsageError
from terrazzo.wire.entity.channel import Channel, ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox, pack_mailbox, read_packed, unpack_mailbox
from terrazzo.wire.entity.messages import Astray, Frame, PackedPart
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.entity.router import Exchange, Router
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, Version, first_of_life, life_of, next_move
from terrazzo.wire.outbox import Outbox


class Switchboard:
    """All mailboxes of one app."""

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
        """Sends what is to be sent; repeats, retires and forgets what is due."""
        self.router.on_tick()

    def on_message(self, source: AppId, message: Frame | Astray) -> None:
        """A message of the entity channel from another app."""
        self.router.on_message(source, message)

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

    def version_heard(self, part: PartId) -> int:
        """The version of the place that is known of a part; NEVER_HEARD where none is."""
        place = self.places.get(part)
        return NEVER_HEARD if place is None else place.version

    # Parts: they begin, move and end.

    def create(self, part: PartId, life: int = 0) -> None:
        """A new part begins its life here; one whose former self was destroyed needs a higher life than that had."""
        if part in self.boxes:
            raise UsageError(f"{part} lives here already")
        self._register(Mailbox(part, first_of_life(life)))

    def pin(self, part: PartId, peer: PartId) -> None:
        """Keeps the channel between the two for good: both always know where the other is (a base and its real)."""
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
        """The first half of a departure: the mailbox in bytes for `arrive` elsewhere. Nothing has changed yet."""
        box = self.boxes[part]
        if box.is_ending:
            raise UsageError(f"{part} is destroyed; it ends where it is")
        return pack_mailbox(box, next_move(box.version))

    def leave(self, part: PartId, to: AppId) -> None:
        """The second half, in the same breath: the part is at `to` from now on. What its channels owe their peers
        besides what is packed (an answer, a renewal, a closing) is sent from here, now: it does not move."""
        for channel in self.boxes[part].channels.values():
            self.router.pay(channel)
        box = self.boxes.pop(part)
        self._mailed.pop(part, None)
        for channel in box.channels.values():
            self._registry.unhook(channel)
        box.channels = {}  # a channel refers to its mailbox: without this, only the garbage collector could free both
        self._registry.place(part).leave(next_move(box.version), to, self._host.now + self._registry.limits.stub_s)

    def arrive(self, packed: bytes) -> bool:
        """Continues a mailbox here. False when this arrival, or a later one, has been seen already: it is a copy."""
        state = read_packed(packed)
        place = self._registry.place(state.part)
        is_here = state.part in self.boxes and state.version == place.version
        if is_here or not place.is_arrival_of(state.version, self.me):
            return False
        self._continue(state)
        return True

    def restore(self, packed: bytes, life: int | None = None) -> Version:
        """Continues a mailbox from a backup after a crash, in a new life that beats every survivor of the old one.

        `life` is best a number that the manager of the recovery counts up; without it, one more than any known here."""
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
        """The part is no more: it takes nothing, its last messages are sent, and every peer is told."""
        box = self.boxes[part]
        box.end()
        self._mailed.pop(part, None)
        for channel in box.channels.values():
            self.schedule.urge(channel)  # a channel at rest would only say it with its next probe, minutes later
        self.router.end_if_done(box)

    def _register(self, box: Mailbox) -> None:
        self.boxes[box.part] = box
        place = self._registry.place(box.part)
        place.settle(box.version, self.me)
        self.schedule.wake(place, self._host.now)

    def _continue(self, state: PackedPart) -> Mailbox:
        box = unpack_mailbox(state, self._host.now, self._registry.channel_type)
        self._register(box)
        if box.inbox:
            self._mailed[box.part] = None
        for channel in box.channels.values():
            self._registry.place(channel.peer).hook(channel)
            channel.send_again()  # what was sent from elsewhere may come later than what is said from here, or never
            self.schedule.mark(channel)
        for packed in state.channels:
            version, app = packed.place
            if app is not None:
                self.learn(packed.peer, version, app)
        return box

    # Their mail.

    def send(self, source: PartId, to: PartId, payload: bytes, *, is_urgent: bool = False) -> None:
        """Delivers `payload` to `to`, after everything `source` has sent to it before, or reports that it cannot.

        What is urgent goes even if too much waits already: one word that the peer cannot do without."""
        box = self.boxes.get(source)
        if box is None or box.is_ending:
            raise UsageError(f"{source} does not live here; only where it lives can it send")
        if len(payload) > self._registry.limits.payload_bytes_max:
            most = self._registry.limits.payload_bytes_max
            raise UsageError(f"a payload of {len(payload)} bytes; the most is {most}, send parts")
        channel = self._registry.channel(box, to)
        if not is_urgent:
            channel.check_room(payload, self._registry.limits)
        channel.send(payload, self._host.now)
        self.schedule.mark(channel)

    def say_now(self, source: PartId, to: PartId) -> None:
        """What `source` has for `to` is sent at once: something else is, which must not be ahead of it."""
        box = self.boxes.get(source)
        channel = None if box is None else box.channels.get(to)
        if channel is not None and self.schedule.unmark(channel):
            self.router.speak_now(channel)

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
        was_full = box.is_full(self._registry.limits)
        for _ in range(len(box.inbox)):
            if not box.inbox or self.boxes.get(part) is not box:
                return  # whoever was handed the last one has sent the part away, or ended it
            source, generation, payload = box.inbox.pop(0)
            box.inbox_bytes -= len(payload)
            channel = box.channels.get(source)
            if channel is not None and channel.incoming is not None and channel.incoming.generation == generation:
                if channel.takes(channel.incoming, self._registry.limits):
                    self.schedule.mark(channel)
                else:
                    self.schedule.owe_ack(channel, self._host.now, self._registry.limits)
            yield source, payload
        if was_full:
            box.admit_held(self._registry.limits)
        if not box.inbox:
            self._mailed.pop(part, None)

    def take(self, part: PartId) -> list[tuple[PartId, bytes]]:
        """All that `taking` gives, for whoever surely wants all."""
        return list(self.taking(part))

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

    # What the app hears from its resolver, its links, its manager.

    def learn(self, part: PartId, version: int, app: AppId) -> bool:
        """`part` lives at `app` since `version`. False when that is no news."""
        if app == self.me or part in self.boxes:
            return False  # what lives here we know; a rumour that runs ahead of an arrival must not pass for it
        place = self._registry.place(part)
        if not place.learn(version, app):
            return False
        self.schedule.wake(place, self._host.now)
        return True

    def gone(self, part: PartId, reason: str, asked_at: float = inf) -> None:
        """There is no such part any more; whoever waits for it is told. What was sent after the question was asked is
        not meant: the part may have been made since it was answered. For that it is asked again."""
        place = self.places.get(part)
        if place is None or part in self.boxes:
            return
        for channel in list(place.channels.values()):
            if not place.has(channel):
                continue  # the part that was told of another one has asked, or ended, meanwhile
            if channel.touched_at > asked_at:
                place.locate_at = -inf
                self.schedule.retry_at(channel, self._host.now)
                continue
            lost = channel.outgoing.buffer if channel.outgoing is not None else []
            self._registry.forget(channel)
            if lost:
                self._exchange.on_undelivered(channel.box.part, part, lost, reason)
            self.router.end_if_done(channel.box)

    def unsettled(self, part: PartId) -> None:
        """Nobody says for now where `part` is, perhaps it is being made: who waits for it asks again soon."""
        place, now = self.places.get(part), self._host.now
        if place is None or place.app is not None:
            return
        for channel in place.channels.values():
            if channel.awaits_answer:
                at = now + self.schedule.backoff(channel, self._registry.limits) / 4
                place.locate_at = min(place.locate_at, at)
                self.schedule.retry_at(channel, at)

    def on_link_lost(self, app: AppId) -> None:
        """What was on its way to `app` may be lost: what waits for an answer from there is said again, before anything
        else that is said there in the next tick."""
        for place in self.places.values():
            if place.app == app:
                self.schedule.wake(place, self._host.now)

    def on_app_dead(self, app: AppId) -> None:
        """`app` is declared dead: nothing lives there any more."""
        for place in self.places.values():
            if place.app == app:
                self.router.lose(place)
