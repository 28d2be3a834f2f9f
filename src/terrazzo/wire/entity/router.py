"""The router: carries frames between the mailboxes of one app and the apps where their peers live.

    frame for a part that lives here              → its channel takes it in
    frame for a part that left                    → forwarded by the place that the part left behind, hop counted
    frame for a part without a place here         → Astray, to the app that passed the frame on
    frame of a stranger for a part that ended     → the same: the part may live again at another app, in a later life
    own frame, place known                        → to that app            own frame, place unknown → locate()

Old homes forward for `stub_s`, and a part that has moved notifies its peers (`channel.py`). When neither helps (a
forwarder died, a stub expired, a link broke in between), there is a resolver of last resort, injected: `locate(part)`
asks an authority (a base's manager, a real's base), and the switchboard gets the answer later. The router calls it when
no place is known, when frames go astray, and when several attempts had no answer. A forward ends after `hops_max` hops;
a frame that is lost so is sent again.

**Astray** is sent to the app that passed the frame on and to the home of the frame's source, with the highest version
of the part that its sender has learned of. If the receiver has that sender as the place of the part, and the version is
that of the place or higher, then the part has left the sender without a trace: the place is lost. If the version is
lower, the sender has not learned of the move yet: mostly the part is on its way, and the report of the move was faster.
A true place must not be lost for that, since no other report may come; the lost frame is sent again soon.

An ending mailbox answers only the peers with which it has a channel, so it comes to an end; then all other senders
receive Astray for their frames (`termination.py`).

Work is done at the tick: `on_tick` looks at the channels that are due (`resend_schedule.py`), then sends one round of
frames for each channel that has something to send. Two parts of one app exchange frames within it, without the network.

**In bulk.** The plain frames of a tick to one app go into rows (`_speed/rows.py`), and leave as one `Frames` at the end
of the tick, or before a `Frame` to that app: so frames leave in the order in which they were made. A row that comes in
is given to its channel at once, if it changes nothing but what was acknowledged and admitted; any other row is taken as
the Frame that it stands for. So what a row does is what its frame would do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from math import inf
from typing import Protocol

import msgspec

from terrazzo._speed.rows import RowReader, RowWriter
from terrazzo.wire.entity.ahead import Ahead
from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.entity.limits import ChannelLimits
from terrazzo.wire.entity.mailbox import Mailbox
from terrazzo.wire.entity.messages import Astray, Frame, Frames, frame_of_row
from terrazzo.wire.entity.places import Place
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.entity.termination import EndedParts, is_answered
from terrazzo.wire.environment import Environment
from terrazzo.wire.ids import NEVER_HEARD, AppId, PartId, life_of
from terrazzo.wire.log_events import Count, EventCounts, LogEvent
from terrazzo.wire.outbox import Outbox

_SWEEP_S = 1.0
_ROWS_BYTES = 32_768
"""So many bytes of rows are a message. One more row, of `frame_bytes` and a payload more at most, still fits."""
_LOCAL_ROUNDS = 8
"""How often two parts of one app may answer each other within a tick; other frames wait for the next tick."""


class Exchange(Protocol):
    """What an app does for its switchboard."""

    def locate(self, part: PartId) -> None:
        """Finds out where `part` lives, and answers with `learn` or `gone`, now or later, or not at all."""

    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None:
        """These messages of `source`, and no others, were not and will not be delivered to `to`."""

    def on_ended(self, part: PartId) -> None:
        """A destroyed part has nothing left to send, and every peer has noted its end; the resolver may report it as
        `gone` from now on."""


class Router:
    """Carries frames between the mailboxes of one app and the apps of their peers."""

    def __init__(
        self, me: AppId, host: Environment, outbox: Outbox, exchange: Exchange, registry: PartRegistry
    ) -> None:
        self.me = me
        self.counts = EventCounts()
        self._registry = registry
        self._schedule = registry.schedule
        self._host = host
        self._outbox = outbox
        self._exchange = exchange
        self._ended_parts = EndedParts(me, registry.channel_type)
        self._ahead = Ahead()
        self._local: deque[Frame] = deque()
        self._rows: dict[AppId, RowWriter] = {}
        """The rows of this tick by app."""
        self._sweep_at = host.now + _SWEEP_S

    # The tick.

    def on_tick(self) -> None:
        """Sends what is to be sent; repeats, retires and removes what is due."""
        now = self._host.now
        while (channel := self._schedule.next_due(now)) is not None:
            self._on_due(channel, now)
        self._schedule.urge_owed(now)
        for _ in range(_LOCAL_ROUNDS):
            if not (self._schedule.marked or self._local):
                break
            channels = self._schedule.take_marked()
            for at in range(len(channels)):
                self._ahead.speak(channels, at)
                self._send(channels[at], now)
            for _ in range(len(self._local)):
                self._on_frame(self._local.popleft(), self.me)
        self._flush()
        if now >= self._sweep_at:
            self._sweep(now)

    def _on_due(self, channel: Channel, now: float) -> None:
        """The timer of a channel: repeats what had no answer; begins to retire what is idle."""
        channel.due = inf
        if not channel.awaits_answer():
            self._schedule.rest(channel, now, self._registry.limits)
        elif self._schedule.has_waited(channel, now, self._registry.limits):
            channel.attempts += 1
            self.counts.add(Count.RESENT)
            if channel.attempts % self._registry.limits.locate_after == 0:
                self._locate(channel.peer, channel.place, now)
                if not channel.is_hooked:
                    return  # the resolver has reported the peer as gone
            channel.send_again()
            self._schedule.urge(channel)

    def _sweep(self, now: float) -> None:
        """Removes stubs, hints and records of ended parts that have expired."""
        self._sweep_at = now + _SWEEP_S
        self._registry.sweep(now)
        for part, version in self._ended_parts.forget_old(now):
            place = self._registry.places.get(part)
            if place is not None and place.version <= version:  # else it lives again, in a later life
                place.app = None

    # Frames in, and on.

    def on_message(self, source: AppId, message: Frame | Astray) -> None:
        """A message of the entity channel from another app."""
        if isinstance(message, Frame):
            self._on_frame(message, source)
            return
        self._on_astray(source, message)

    def on_rows(self, via: AppId, data: bytes, otherwise: Callable[[AppId, Frame], object]) -> bool:
        """Rows from another app. A row for a channel that is not in its steady state goes to `otherwise`, as a
        Frame. False: a row is malformed, and it and those after it were refused."""
        row, registry, now = RowReader(data), self._registry, self._host.now
        while row.next():
            # A tuple is found where an equal PartId is, and is made faster.
            box = registry.boxes.get((row.to, row.to_part))  # type: ignore[call-overload]
            channel = None if box is None else registry.find_by_number(box, row.source, row.source_part)
            if channel is None or not self._on_row(channel, row, via, now):
                otherwise(via, frame_of_row(row, via))
        return not row.is_malformed

    def _on_row(self, channel: Channel, row: RowReader, via: AppId, now: float) -> bool:
        """What `_on_frame` does with the frame of this row, if it is that of a channel in its steady state. False:
        nothing was done."""
        place, box, registry = channel.place, channel.box, self._registry
        if row.version != place.version or (place.app is not via and place.app != via):
            return False
        if not channel.on_row(row, now, registry.limits):
            return False
        place.app = via  # the same app; so the next comparison is one of identity
        if box.inbox:
            registry.mailed[box] = None
        if channel.owes_frame or not channel.pinned or channel.has_unsent(registry.limits):
            self._schedule.mark(channel)
        return True

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
            self._registry.mailed[box] = None
        if lost:
            self._exchange.on_undelivered(box.part, frame.source, lost, "destroyed")
        if frame.is_noted and box.is_ending and life_of(frame.heard) == life_of(box.version):
            if frame.stream is not None and frame.stream.payloads:
                box.strays[via] = box.strays[frame.home] = None  # the caller is a stranger from here on
            if channel.is_noted:
                self._reply(frame, self._ended_parts.note(frame, box.version))  # neither waits for the other
            self._registry.forget(channel)
            self.end_if_done(box)
        elif channel.owes_frame or not channel.pinned or channel.has_unsent(self._registry.limits):
            self._schedule.mark(channel)  # a pinned channel has no other reason to send

    def _on_former(self, frame: Frame, box: Mailbox) -> None:
        """A frame of a former life of a part: it is ignored, but if that life ends, the end is noted, so that it does
        not wait. If the part here is ending and the former life has noted that, the channel is done."""
        if not frame.is_noted:
            self._reply(frame, self._ended_parts.note(frame, box.version))
            return
        channel = box.channels.get(frame.source)
        is_meant = box.is_ending and life_of(frame.heard) == life_of(box.version)
        if channel is None or not is_meant or life_of(channel.heard) > life_of(frame.version):
            return
        if channel.outgoing is None or not channel.outgoing.buffer:  # else the later life may get it
            self._registry.forget(channel)
            self.end_if_done(box)

    def _follow(self, frame: Frame) -> None:
        """Updates the place of a frame's source from the frame."""
        place = self._registry.place(frame.source)
        if place.follow(frame.version, frame.home):
            self._schedule.wake(place, self._host.now)

    def _on_stray(self, frame: Frame, via: AppId) -> None:
        """A frame for a part that is not here, has ended, or is ending and has no channel with the source."""
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
            self.counts.add(LogEvent.ASTRAY)
            self._host.log(LogEvent.ASTRAY, part=frame.to, source=frame.source, via=via)
            self._send_astray(frame.to, dict.fromkeys((via, frame.home)))
        elif frame.hops >= self._registry.limits.hops_max:
            self.counts.add(Count.TOO_MANY_HOPS)
        else:
            self.counts.add(Count.FORWARDED)
            self._outbox.send(to, msgspec.structs.replace(frame, hops=frame.hops + 1))

    def _send_astray(self, part: PartId, to: Iterable[AppId]) -> None:
        """Sends Astray. The app that passed the frame on drops its stub, so that the next copy fails a hop earlier; the
        home of the frame's source need not wait for its resend timer."""
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
            self._keep_and_retry(message.part, place)

    def lose(self, place: Place) -> None:
        """A part is not at its place: channels that wait for it ask soon, even if the last question was just now."""
        now = self._host.now
        place.lose(now + self._registry.limits.resend_s / 4)
        self._schedule.wake(place, max(now, place.locate_at))

    def _keep_and_retry(self, part: PartId, place: Place) -> None:
        """A frame was lost because an app had no place for the part, which does not disprove the place here: the app of
        the place has not learned of the move yet, or another app has dropped its stub. So the place stays; channels
        that wait for the part send again soon, and the resolver is asked as well."""
        now, is_awaited = self._host.now, False
        for channel in place.channels.values():
            if channel.awaits_answer():
                is_awaited = True
                self._schedule.retry_at(channel, now + self._schedule.backoff(channel, self._registry.limits) / 4)
        if is_awaited:
            self._locate(part, place, now)

    # Frames out.

    def _send(self, channel: Channel, now: float) -> None:
        """One round of a channel: sends what there is to send, then sets the timer of the channel or removes it."""
        place = channel.place
        if not channel.is_hooked:
            return  # it was removed in this very round
        awaits_answer, limits = channel.awaits_answer(), self._registry.limits
        if channel.owes_frame or (awaits_answer and channel.due == inf) or channel.has_unsent(limits):
            if place.app is None:
                self._locate(channel.peer, place, now)
                if not place.has(channel):
                    return  # the resolver has reported the peer as gone
            else:
                if channel.heard == NEVER_HEARD:
                    channel.heard = place.version  # a channel without history takes the version of the place
                self._post_next(channel, place.app, limits)
                while channel.has_unsent(limits):
                    self._post_next(channel, place.app, limits)
        if awaits_answer and place.app is None:
            self._schedule.retry_at(channel, place.locate_at)  # as soon as the resolver may be asked again
        elif awaits_answer:
            self._schedule.await_answer(channel, now, limits)
        elif channel.is_empty:
            self._registry.forget(channel)
        else:
            self._schedule.rest(channel, now, limits)

    def send_now(self, channel: Channel) -> None:
        """One round of a channel, outside of the tick."""
        self._send(channel, self._host.now)
        self._flush()

    def pay(self, channel: Channel) -> None:
        """Sends at once what a channel owes its peer, if it owes something."""
        if channel.owes_frame and channel.place.app is not None:
            self._post(channel.frame(self.me, self._registry.limits), channel.place.app)

    def _locate(self, peer: PartId, place: Place, now: float) -> None:
        if now >= place.locate_at:
            place.locate_at = now + self._registry.limits.locate_s
            self.counts.add(Count.LOCATED)
            self._exchange.locate(peer)

    def _reply(self, frame: Frame, answer: Frame | None) -> None:
        if answer is not None:
            self._post(answer, frame.home)

    def _post_next(self, channel: Channel, app: AppId, limits: ChannelLimits) -> None:
        """Sends the next frame of a channel, as a row if it is plain."""
        if app is self.me or app == self.me:
            self._local.append(channel.frame(self.me, limits))
            return
        rows = self._rows.get(app)
        if rows is None:
            rows = self._rows[app] = RowWriter()
        if not channel.row(rows, limits):
            self._post(channel.frame(self.me, limits), app)
        elif len(rows) >= _ROWS_BYTES:
            self._outbox.send(app, Frames(rows.take()))

    def _flush(self) -> None:
        """Sends the rows that are left."""
        if self._rows:
            rows, self._rows = self._rows, {}
            for app, writer in rows.items():
                if len(writer):
                    self._outbox.send(app, Frames(writer.take()))

    def _post(self, frame: Frame, app: AppId) -> None:
        if app == self.me:
            self._local.append(frame)
            return
        rows = self._rows.get(app)
        if rows is not None and len(rows):
            self._outbox.send(app, Frames(rows.take()))  # they were made before it
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
            box.is_here = False
            self._ended_parts.remember(box, self._host.now + registry.limits.stub_s)
            self._send_astray(box.part, box.strays)
            self._exchange.on_ended(box.part)
