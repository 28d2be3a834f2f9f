"""Which clients are served in a tick, and how their messages get to the BaseApps.

Reliable messages go through the entity channel, places straight to the BaseApp. Each client is allowed so many bits a
second, and its budget keeps to that (`cell/client/budget.py`). When the app has more to do than it has time for, ticks
are not late: clients are sent less. In each tick clients are served in turn as long as there is time, and the next tick
begins with the first client that was left over:

    │◀────────────────────────── tick_s ──────────────────────────▶│
    │ messages, game, areas, steps │ clients, in turn │ frames │   │
    │ ──────── measured, frames as of late ──────────▶    FULL ▶│  │

    throttle    1 … THROTTLE_MIN    the share of the clients that a tick serves; and the share of its bytes that each of
                                    them gets, whenever it is served. With fewer bytes a client gets less often what is
                                    far, as often what is near (`_speed/sight`), and each client is served sooner

The time is that of the process's core (`cpu_s`), which the host measures. Ticks may be late nevertheless, when the
machine has no core to give: then the throttle shrinks, too. It grows again as soon as there is time. A share of
THROTTLE_MIN of the clients is served in any case: a client is served once a second or so at least.

**Too large, too much.** A client that a message cannot be sent to has missed something for good, so it is sent away:
its witness ends, its base gets SendAway, and the game gets `on_client_detached` in the next tick. Of the messages that
may be lost a client gets the last LOOSE_MAX of a tick; the others are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from msgspec.structs import replace

from terrazzo._speed.updates import UpdateRows, Words
from terrazzo.cell.client.ahead import Ahead
from terrazzo.cell.client.clients import Clients, witness_of
from terrazzo.cell.client.witness import Witness
from terrazzo.cell.core.core import Core
from terrazzo.cell.core.real import Real
from terrazzo.errors import UsageError
from terrazzo.wire.entity.channel import Channel, ChannelFull
from terrazzo.wire.ids import AppId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import MESSAGE_MAX, REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CellData, ClientUpdates, SendAway

TO_CLIENT_BYTES = 32_768
LOOSE_MAX = 64
"""Messages of one client and tick that may be lost; each has a kilobyte at most."""
UPDATES_MAX = 256
UPDATES_BYTES = 256 * 1024
"""Clients in one message of places, and the bytes in it."""
THROTTLE_MIN = 0.1
SCALE_S = 1.0
"""The throttle goes from one end to the other in this time."""
LATE = 1.2
"""A tick that takes this many times its length is late."""
FULL = 0.9
"""So much of a tick's time may be used."""
LOOK_EVERY = 16
"""Clients between two looks at the time."""


class ClientScheduler:
    """Collects the places of a tick by BaseApp; everything else goes at once."""

    def __init__(self, core: Core, clients: Clients, bits_s: float, cpu_s: Callable[[], float]) -> None:
        self.throttle = 1.0
        self._core = core
        self._switchboard = core.switchboard
        self._clients = clients
        self.cpu_s = cpu_s
        self._tick_bytes = bits_s / 8 * core.tick_s
        self._last_at: float | None = None
        self._done_cpu_s = self._served_cpu_s = 0.0
        """When the tick before was done; when the last client of this one was served."""
        self._served = 0
        self._after_s = 0.0
        """What each client that was served costs after that: its frame."""
        self._first = 0
        """The first client to serve: so many are before it."""
        self._turns = 0.0
        """The part of a client that the throttle has left over."""
        self._updates: dict[AppId, UpdateRows] = {}
        self._ahead = Ahead()
        self._words = Words(TO_CLIENT_BYTES)
        """Of the client that is being served."""
        self._now = 0.0
        self._tick = 0
        """The tick in which clients are served."""
        self._parting: list[Real] = []
        """Reals that lost their client because it was sent away, while the hook for that has not run."""

    def serve_all(self) -> None:
        """As many clients as there is time for, from where the tick before has ended."""
        witnesses = self._clients.witnesses()
        count = len(witnesses)
        is_late = self._is_late(self._core.host.now)
        most = self._most(count)
        until = self._done_cpu_s + FULL * self._core.tick_s
        self._now, self._tick = self._core.host.now, self._core.tick
        for space in self._core.spaces.values():
            space.headlines.glance(space.area)
        served = self._serve_in_turn(witnesses, most, until)
        for space in self._core.spaces.values():
            space.headlines.forget()
        self._first = (self._first + served) % max(count, 1)
        self._served, self._served_cpu_s = served, self.cpu_s()
        if is_late:
            self._set_throttle(THROTTLE_MIN)
        elif self._served_cpu_s + served * self._after_s < until:
            self._set_throttle(1.0)
        else:
            self._set_throttle(served / max(count, 1))

    def _serve_in_turn(self, witnesses: list[Witness], most: int, until: float) -> int:
        """Serves so many clients at most, and begins no more of them when the time is up; how many it served."""
        count, served = len(witnesses), 0
        at = self._first % max(count, 1)
        least = ceil(most * THROTTLE_MIN / self.throttle - 1e-9)
        serve = vars(self).get("serve")  # the judges of the simulator put theirs there
        while served < most:
            is_look = served >= least and (served - least) % LOOK_EVERY == 0
            if is_look and self.cpu_s() + served * self._after_s >= until:
                break
            at = at if at < count else at - count
            self._ahead.serve(witnesses, at)
            if serve is None:
                self._serve(witnesses[at])
            else:
                serve(witnesses[at].body.real)
            at += 1
            served += 1
        return served

    def _is_late(self, now: float) -> bool:
        last, self._last_at = self._last_at, now
        return last is not None and now - last > LATE * self._core.tick_s

    def _most(self, clients: int) -> int:
        """How many clients may be served in this tick, at best."""
        self._turns = min(self._turns, 1.0) + self.throttle * clients
        most = min(int(self._turns + 1e-9), clients)
        self._turns -= most
        return most

    def _set_throttle(self, aim: float) -> None:
        """A step towards `aim`: one long tick is no reason to starve all clients."""
        step = self._core.tick_s / SCALE_S * (1.0 - THROTTLE_MIN)
        self.throttle += max(-step, min(step, max(aim, THROTTLE_MIN) - self.throttle))

    def serve(self, real: Real) -> None:
        """Sends the client of a real what it is to get now. If that fails, the client has missed something for good."""
        self._now, self._tick = self._core.host.now, self._core.tick
        witness = witness_of(real)
        assert witness is not None
        self._serve(witness)

    def _serve(self, witness: Witness) -> None:
        try:
            self._write(witness)
        except AssertionError:
            raise
        except Exception as problem:
            self._words.drop()
            for rows in self._updates.values():
                rows.drop()
            self._core.report(witness.body, "messages for its client", problem)
            self._send_away(witness)

    def _write(self, witness: Witness) -> None:
        """Writes the messages of one client into the buffers, and the reliable ones into its channel."""
        words, channel = self._words, self._channel_of(witness)
        app = None if channel is None else channel.place.app
        rows = self.rows_for(witness.body.base if app is None else app)
        witness.sent.budget.grant(self._now, self._core.tick_s, self._tick_bytes * self.throttle)
        witness.sent.update(self._now, self._tick, max(witness.radius, 1.0), words, rows)
        if words:
            for payload in words.take(witness.number):
                if not self.send_reliable(witness, payload):
                    rows.drop()
                    return
            channel = self._channel_of(witness)
        if rows.is_begun():
            generation = number = 0
            stream = None if channel is None else channel.outgoing
            if stream is not None:
                generation, number = stream.generation, stream.first + len(stream.buffer)
            lost = rows.end(witness.entity, witness.number, generation, number, LOOSE_MAX)
            if lost:
                self._core.count(LogEvent.CLIENT_FULL, entity=witness.entity, lost=lost)

    def _channel_of(self, witness: Witness) -> Channel | None:
        """The channel of a cell part with its base part, which the witness keeps."""
        channel = witness.channel
        if channel is None or not channel.is_hooked:
            channel = self._switchboard.channel_of(witness.body.part, witness.base_part)
            witness.channel = channel
        return channel

    def send_reliable(self, witness: Witness, payload: bytes) -> bool:
        """Sends reliable messages, a ToClient, to a client, after everything before. False: that failed, and the
        client was sent away."""
        try:
            if len(payload) > MESSAGE_MAX:
                raise UsageError(f"ToClient of {len(payload)} bytes is over its limit of {MESSAGE_MAX}")
            channel = self._channel_of(witness)
            if channel is None:
                self._switchboard.send(witness.body.part, witness.base_part, payload)
            else:
                self._switchboard.send_in(channel, payload)
        except UsageError as problem:
            self._core.count(LogEvent.BASE_NOT_SENT, entity=witness.entity, problem=str(problem))
            self._send_away(witness)
            return False
        return True

    def rows_for(self, base: AppId) -> UpdateRows:
        """The rows of this tick for a BaseApp."""
        rows = self._updates.get(base)
        if rows is None:
            rows = self._updates[base] = UpdateRows()
        return rows

    def data_of(self, real: Real, *, is_last: bool) -> CellData:
        """The cell part as it is, for its base. Of properties that cannot be encoded (a game's own value fails) the
        base gets only where the body is, and keeps the values that it has."""
        try:
            return real.data(is_last=is_last)
        except Exception as problem:
            self._core.report(real.body, "properties for its base", problem)
            body = real.body
            return CellData(body.space.name, body.position, body.direction, b"", is_last)

    def send_to_base(self, real: Real, data: CellData) -> None:
        """Sends the cell part as it is to its base part, after everything before. The last one goes in any case; of
        properties that are too large the base gets an empty row."""
        try:
            self._send(real, data, is_urgent=data.is_last)
        except UsageError as problem:
            self._core.count(LogEvent.BASE_NOT_SENT, entity=real.body.id, problem=str(problem))
            if not isinstance(problem, ChannelFull):
                self.send_to_base(real, replace(data, properties=b""))

    def _send(self, real: Real, message: Message, *, is_urgent: bool) -> None:
        body = real.body
        self._core.switchboard.send(body.part, body.base_part, REGISTRY.encode(message), is_urgent=is_urgent)

    def _send_away(self, witness: Witness) -> None:
        real, number = witness.body.real, witness.number
        if real is not None and real.witness is witness:
            self._clients.set_witness(real, number, is_on=False)
            reason = "what there is to see is too large to be sent, or too much"
            self._send(real, SendAway(number, reason), is_urgent=True)
            self._parting.append(real)

    def is_parting(self, real: Real) -> bool:
        """Whether its client was sent away and the hook has not run yet."""
        return real in self._parting

    def on_tick(self) -> None:
        """Runs `on_client_detached` for each client that was sent away in the tick before."""
        parting, self._parting = self._parting, []
        for real in parting:
            if real.body.real is real and not real.is_destroyed:
                self._core.run(real.body, "on_client_detached", real.part.on_client_detached)

    def flush(self) -> None:
        """Sends the places of this tick."""
        for app, rows in list(self._updates.items()):
            parts = rows.take(UPDATES_MAX, UPDATES_BYTES)
            if not parts:
                del self._updates[app]
            for part in parts:
                self._core.send(app, ClientUpdates(part))
        self._done_cpu_s = self.cpu_s()
        after_s = (self._done_cpu_s - self._served_cpu_s) / max(self._served, 1)
        self._after_s += (after_s - self._after_s) / 4
