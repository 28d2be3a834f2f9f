"""The courier: carries frames between the mailboxes of one app and wherever their peers live.

    frame for a part that lives here        → its channel takes it in
    frame for a part that left              → the place it left behind is the forwarding stub: passed on, hop counted
    frame for a part unknown here           → Astray, to the app that passed the frame on
    frame of a stranger for one that ended  → as if it was unknown: it may live again elsewhere, in a later life
    our own frame, place known              → to that app            our own frame, place unknown → locate()

So old homes forward for `stub_s`; who has moved tells its peers (see `channel.py`); and when neither helps (a
forwarder died, a stub expired, a link broke in between) there is a resolver of last resort, injected: `locate(part)`
asks whoever knows for sure (a base's manager, a real's base), and the switchboard hears the answer later. It is called
when no place is known, when frames go astray, and when several attempts had no answer. A forward ends after `hops_max`
hops; what is lost so is sent again.

**Astray** is sent to the app that passed the frame on and to the home of the frame's source, and says how much its
sender knows of the part. Where the place is that very app, and the version is that of the place or more, the part has
left that app and no trace of it is there: the place is lost. Where the version is less, that app has not heard of the
move: mostly the part is on its way, and the news of it was faster. A true place must not be lost for that, since no
other may come to be known; what was lost is sent again soon.

An ending mailbox answers only those with whom it has a channel, so it comes to an end; then all others hear that they
went astray (`termination.py`).

Work is done at the tick: `on_tick` looks at the channels whose time has come (`resend_schedule.py`), then sends one
round of frames for each that has something to say. Two parts of one app talk within it, without the network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from math import inf
from typing import Protocol

import msgspec

from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import Astray, Frame
from terrazzo.wire.entity.places import Place
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.entity.termination import EndedParts, is_answered
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, life_of
from terrazzo.wire.outbox import Outbox

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


class Router:
    """Carries frames between the mailboxes of one app and the apps of their peers."""

    def __init__(
        self, me: AppId, host: Environment, outbox: Outbox, exchange: Exchange, registry: PartRegistry
    ) -> None:
        self.me = me
        self.counts = {"forwarded": 0, "astray": 0, "too many hops": 0, "resent": 0, "located": 0}
        self._registry = registry
        self._schedule = registry.schedule
        self._host = host
        self._outbox = outbox
        self._exchange = exchange
        self._ended_parts = EndedParts(me, registry.channel_type)
        self._local: deque[Frame] = deque()
        self._sweep_at = host.now + _SWEEP_S

    # The tick.

    def on_tick(self) -> None:
        """Sends what is to be sent; repeats, retires and forgets what is due."""
        now = self._host.now
        while (channel := self._schedule.next_due(now)) is not None:
            self._on_due(channel, now)
        self._schedule.urge_owed(now)
        for _ in range(_LOCAL_ROUNDS):
            if not (self._schedule.marked or self._local):
                break
            for channel in self._schedule.take_marked():
                self._speak(channel, now)
            for _ in range(len(self._local)):
                self._on_frame(self._local.popleft(), self.me)
        if now >= self._sweep_at:
            self._sweep(now)

    def _on_due(self, channel: Channel, now: float) -> None:
        """The timer of a channel: repeats what had no answer; begins to retire what is idle."""
        channel.due = inf
        if not channel.awaits_answer:
            self._schedule.rest(channel, now, self._registry.limits)
        elif self._schedule.has_waited(channel, now, self._registry.limits):
            channel.attempts += 1
            self.counts["resent"] += 1
            if channel.attempts % self._registry.limits.locate_after == 0:
                self._locate(channel.peer, channel.place, now)
                if not channel.place.has(channel):
                    return  # it was found that the peer is gone
            channel.send_again()
            self._schedule.urge(channel)

    def _sweep(self, now: float) -> None:
        """Forgets stubs, hints and tombstones whose time is over."""
        self._sweep_at = now + _SWEEP_S
        self._registry.sweep(now)
        for part, version in self._ended_parts.forget_old(now):
            place = self._registry.places.get(part)
            if place is not None and place.version <= version:  # unless it lives again, in a later life
                place.app = None

    # Frames in, and on.

    def on_message(self, source: AppId, message: Frame | Astray) -> None:
        """A message of this channel's kind from another app."""
        if isinstance(message, Frame):
            self._on_frame(message, source)
            return
        self._on_astray(source, message)

    def _on_frame(self, frame: Frame, via: AppId) -> None:
        box = self._registry.boxes.get(frame.to)
        if box is None or (box.is_ending and frame.source not in box.channels):
            self._on_stray(frame, via)
            return
        known = self._registry.places.get(frame.source)
        if known is not None and known.is_former(frame.version):
            self._on_former(frame, box)
            return
        channel = self._registry.channel(box, frame.source)
        place = channel.place
        if frame.home != self.me and (frame.version != place.version or frame.home != place.app):
            self._follow(frame)
        lost = channel.on_frame(frame, self._host.now, self._registry.limits)
        if box.inbox:
            self._registry.mailed[box.part] = None
        if lost:
            self._exchange.on_undelivered(box.part, frame.source, lost, "destroyed")
        if frame.is_noted and box.is_ending and life_of(frame.heard) == life_of(box.version):
            if frame.stream is not None and frame.stream.payloads:
                box.strays[via] = box.strays[frame.home] = None  # the caller is a stranger from here on
            if channel.is_noted:
                self._reply(frame, self._ended_parts.note(frame, box.version))  # who end together are both done with it
            self._registry.forget(channel)
            self.end_if_done(box)
        elif channel.owes_frame or not channel.pinned or channel.has_unsent(self._registry.limits):
            self._schedule.mark(channel)  # nothing else could have changed of a channel that is kept for good

    def _on_former(self, frame: Frame, box: Mailbox) -> None:
        """A former life of a part speaks: it is not heard, but if it ends, it may know that nobody waits for it. And if
        it was to be told that the part here ends, and has noted that, nobody else is to be told."""
        if not frame.is_noted:
            self._reply(frame, self._ended_parts.note(frame, box.version))
            return
        channel = box.channels.get(frame.source)
        is_meant = box.is_ending and life_of(frame.heard) == life_of(box.version)
        if channel is None or not is_meant or life_of(channel.heard) > life_of(frame.version):
            return
        if channel.outgoing is None or not channel.outgoing.buffer:  # else the later life may hear it
            self._registry.forget(channel)
            self.end_if_done(box)

    def _follow(self, frame: Frame) -> None:
        """A frame says where its source lives."""
        place = self._registry.place(frame.source)
        if place.follow(frame.version, frame.home):
            self._schedule.wake(place, self._host.now)

    def _on_stray(self, frame: Frame, via: AppId) -> None:
        """A frame for a part that is not here, or has ended, or ends and has no channel with whoever speaks."""
        box, version = self._registry.boxes.get(frame.to), self.version_of(frame.to)
        if version is not None and is_answered(frame, version, box):
            self._reply(frame, self._ended_parts.repeat(frame, version, self._host.now, self._registry.limits))
        elif box is not None:
            box.strays[via] = box.strays[frame.home] = None
        else:
            self._pass_on(frame, via)

    def _pass_on(self, frame: Frame, via: AppId) -> None:
        place = self._registry.places.get(frame.to)
        to = None if place is None else place.onward(via, self.me)
        if to is None:
            self.counts["astray"] += 1
            self._host.log("astray", part=frame.to, source=frame.source, via=via)
            self._say_astray(frame.to, dict.fromkeys((via, frame.home)))
        elif frame.hops >= self._registry.limits.hops_max:
            self.counts["too many hops"] += 1
        else:
            self.counts["forwarded"] += 1
            self._outbox.send(to, msgspec.structs.replace(frame, hops=frame.hops + 1))

    def _say_astray(self, part: PartId, to: Iterable[AppId]) -> None:
        """Tells the app that passed a frame on, which forgets its stub, so that the next copy finds out a hop earlier;
        and the home of the frame's source, which need not wait for its resend timer."""
        message = Astray(part, self._version_known(part))
        for app in to:
            if app != self.me:
                self._outbox.send(app, message)
            else:
                self._on_astray(self.me, message)

    def _on_astray(self, source: AppId, message: Astray) -> None:
        place = self._registry.places.get(message.part)
        if place is None or place.app is None or message.part in self._registry.boxes:
            return
        if place.app == source and message.version >= place.version:
            self.lose(place)
        else:
            self._doubt(message.part, place)

    def lose(self, place: Place) -> None:
        """A part is not where it was thought to be: who waits for it asks soon, even if it was asked for just now."""
        now = self._host.now
        place.lose(now + self._registry.limits.resend_s / 4)
        self._schedule.wake(place, max(now, place.locate_at))

    def _doubt(self, part: PartId, place: Place) -> None:
        """A frame was lost because some app did not know where a part is, and the place here is not disproved by that:
        the app of the place has not heard of the move yet, or another app has forgotten its stub. So the place stays,
        which may be the true one; what waits for the part is sent again soon, and the resolver is asked as well."""
        now, is_awaited = self._host.now, False
        for channel in place.channels.values():
            if channel.awaits_answer:
                is_awaited = True
                self._schedule.retry_at(channel, now + self._schedule.backoff(channel, self._registry.limits) / 4)
        if is_awaited:
            self._locate(part, place, now)

    # Frames out.

    def _speak(self, channel: Channel, now: float) -> None:
        """One round of a channel: says what there is to say, then sets its timer or forgets it."""
        place = channel.place
        if not place.has(channel):
            return  # it was forgotten in this very round
        awaits_answer, limits = channel.awaits_answer, self._registry.limits
        if channel.owes_frame or (awaits_answer and channel.due == inf) or channel.has_unsent(limits):
            if place.app is None:
                self._locate(channel.peer, place, now)
                if not place.has(channel):
                    return  # it was found that the peer is gone
            else:
                if channel.heard == NEVER_HEARD:
                    channel.heard = place.version  # a channel without history takes the resolver's word
                self._post(channel.frame(self.me, limits), place.app)
                while channel.has_unsent(limits):
                    self._post(channel.frame(self.me, limits), place.app)
        if awaits_answer and place.app is None:
            self._schedule.retry_at(channel, place.locate_at)  # as soon as it may be asked for again
        elif awaits_answer:
            self._schedule.await_answer(channel, now, limits)
        elif channel.is_empty:
            self._registry.forget(channel)
        else:
            self._schedule.rest(channel, now, limits)

    def speak_now(self, channel: Channel) -> None:
        """One round of a channel, outside of the tick."""
        self._speak(channel, self._host.now)

    def pay(self, channel: Channel) -> None:
        """Sends at once what a channel owes its peer, if it owes something."""
        if channel.owes_frame and channel.place.app is not None:
            self._post(channel.frame(self.me, self._registry.limits), channel.place.app)

    def _locate(self, peer: PartId, place: Place, now: float) -> None:
        if now >= place.locate_at:
            place.locate_at = now + self._registry.limits.locate_s
            self.counts["located"] += 1
            self._exchange.locate(peer)

    def _reply(self, frame: Frame, answer: Frame | None) -> None:
        if answer is not None:
            self._post(answer, frame.home)

    def _post(self, frame: Frame, app: AppId) -> None:
        if app == self.me:
            self._local.append(frame)
        else:
            self._outbox.send(app, frame)

    # Versions and ends.

    def version_of(self, part: PartId) -> int | None:
        """The version of a part that lives here, or that has ended here not long ago; None: it is not here."""
        box = self._registry.boxes.get(part)
        return box.version if box is not None else self._ended_parts.version_of(part)

    def _version_known(self, part: PartId) -> int:
        """The highest version of a part that this app has learned of."""
        place = self._registry.places.get(part)
        ended = self._ended_parts.version_of(part)
        return max(NEVER_HEARD if place is None else place.version, NEVER_HEARD if ended is None else ended)

    def end_if_done(self, box: Mailbox) -> None:
        """Removes the mailbox of an ending part that has no channel left, and reports the end."""
        registry = self._registry
        if box.is_ending and not box.channels and registry.boxes.get(box.part) is box:
            del registry.boxes[box.part]
            self._ended_parts.remember(box, self._host.now + registry.limits.stub_s)
            self._say_astray(box.part, box.strays)
            self._exchange.on_ended(box.part)
