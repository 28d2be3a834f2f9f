"""What goes from witnesses to clients: reliable messages through the entity channel, places straight to the BaseApp.

Each client is allowed so many bits a second; its witness keeps to that (`cell/witness.py`). When the app has more to do
than it has time for, all clients are told less, and soon as much as before when it has time again:

    throttle    1 … THROTTLE_MIN      shrinks while the load of this process's core is above FULL, the faster the
                                      further it is above; grows while it is below; shrinks fast when ticks come late

First the budget of bytes shrinks: far things are told of less often. When that is not enough each client is served in
every second, third or fourth tick: what it has to hear is the same, in fewer and larger portions. Ticks are not late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.real import Real
from terrazzo.wire.channel import ChannelFull
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, ToClient

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

TO_CLIENT_BYTES = 32_768
UPDATES_MAX = 256
"""Clients in one message of places."""
THROTTLE_MIN = 0.1
BYTES_MIN = 0.4
"""The budget of bytes shrinks to this part of it: sending less saves little more."""
SCALE_S = 1.0
"""From one end to the other, when ticks come late; and back, with a load of half a core."""
LATE = 1.2
"""A tick that takes this many times its length is late."""
FULL = 0.9
"""So much of a core's time may be used."""
EVERY_MAX = 4
"""Each client is served every so many ticks, at worst."""


class Feed:
    """Collects the places of a tick by BaseApp; everything else goes at once."""

    def __init__(self, app: CellApp, bits_s: float) -> None:
        self.throttle = 1.0
        self._app = app
        self._tick_bytes = bits_s / 8 * app.tick_s
        self._last_at: float | None = None
        self._updates: dict[AppId, list[ClientUpdate]] = {}

    def serve_all(self) -> None:
        """All clients, once a tick; fewer when the app is throttled."""
        self._set_throttle(self._app.host.now)
        every, tick = self._every, self._app.tick
        for real in self._app.reals.values():
            if real.witness is not None and (every == 1 or (real.body.id + tick) % every == 0):
                self.serve(real)

    def _set_throttle(self, now: float) -> None:
        if self._last_at is not None:
            passed_s = now - self._last_at
            is_late = passed_s > LATE * self._app.tick_s
            aim = -1.0 if is_late else (FULL - self._app.cpu_load()) / (FULL - 0.5)
            change = aim * passed_s / SCALE_S * (1.0 - THROTTLE_MIN)
            self.throttle = max(THROTTLE_MIN, min(1.0, self.throttle + change))
        self._last_at = now

    @property
    def _every(self) -> int:
        """How often each client is served: 1, each tick."""
        return min(EVERY_MAX, int(1.0 / self.throttle + 0.5))

    def serve(self, real: Real) -> None:
        """Tells the client of a real what it is to hear now."""
        witness, app = real.witness, self._app
        assert witness is not None
        allowed = self._tick_bytes * max(self.throttle, BYTES_MIN) * self._every
        messages, places = witness.update(app.host.now, app.tick, allowed)
        if places:
            update = ClientUpdate(real.body.id, witness.number, tuple(places))
            self._updates.setdefault(app.base_of(real.body), []).append(update)
        if len(messages) > 1 and sum(map(len, messages)) > TO_CLIENT_BYTES:
            messages = self._tell_in_parts(real, witness.number, messages)
        if messages:
            self.tell_base(real, ToClient(witness.number, tuple(messages)))

    def _tell_in_parts(self, real: Real, witness: int, messages: list[bytes]) -> list[bytes]:
        """What is too long for one message to the base; gives the last part, which is not."""
        batch: list[bytes] = []
        size = 0
        for message in messages:
            if batch and size + len(message) > TO_CLIENT_BYTES:
                self.tell_base(real, ToClient(witness, tuple(batch)))
                batch, size = [], 0
            batch.append(message)
            size += len(message)
        return batch

    def tell_base(self, real: Real, message: Message) -> None:
        """Sends something to the base part of a real, after everything before. A base that takes nothing any more
        loses its client's view, which would else be kept for it without end."""
        try:
            self._app.switchboard.send(real.body.part, real.body.base_part, REGISTRY.encode(message))
        except ChannelFull as problem:
            self._app.count("base takes nothing", entity=real.body.id, problem=str(problem))
            if real.witness is not None:
                real.set_witness(real.witness.number, is_on=False)

    def flush(self) -> None:
        """Sends the places of this tick."""
        updates, self._updates = self._updates, {}
        for app, several in updates.items():
            for at in range(0, len(several), UPDATES_MAX):
                self._app.send(app, ClientUpdates(tuple(several[at : at + UPDATES_MAX])))
