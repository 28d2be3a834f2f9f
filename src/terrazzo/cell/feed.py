"""What goes from witnesses to clients: reliable messages through the entity channel, places straight to the BaseApp.

Each client is allowed so many bits a second; its witness keeps to that (`cell/story.py`). They are granted by the time
since the client was last served: ticks of two CellApps come at different times, so a client that goes to and fro over a
border is served more often than once a tick, and gets no more for that. When the app has more to do
than it has time for, ticks are not late: clients are told less. Each tick they are served in turn as long as there is
time, and who was left over is the first in the next one:

    │◀────────────────────────── tick_s ──────────────────────────▶│
    │ messages, game, areas, steps │ clients, in turn │ frames │   │
    │ ──────── measured, frames as of late ──────────▶    FULL ▶│  │

    throttle    1 … THROTTLE_MIN    the part of the clients that a tick serves; and the part of its bytes that each of
                                    them gets, whenever it is its turn. With less of them the far is told of less
                                    often, the near as before (`_speed/sight`), and each is served sooner

The time is that of this process's core (`cpu_s`), which the host measures. Ticks may be late in spite of that, when the
machine has no core to give: then the throttle shrinks, too. It grows again as soon as there is time. So many clients as
THROTTLE_MIN says are served in any case: nobody waits for longer than a second or so.

**Too large, too much.** Who cannot be told something has a hole in its story, so it has to go: its witness ends, its
base is told to send it away (SendAway), and the game hears of it in the next tick. Of what may be lost a client gets
the last LOOSE_MAX messages of a tick; the others are.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from msgspec.structs import replace

from terrazzo.cell.real import Real
from terrazzo.cell.witness import Witness
from terrazzo.errors import UsageError
from terrazzo.wire.entity.channel import ChannelFull
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import CellData, ClientUpdate, ClientUpdates, SendAway, ToClient

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

TO_CLIENT_BYTES = 32_768
LOOSE_MAX = 64
"""Messages of one client and tick that may be lost; each has a kilobyte at most."""
UPDATES_MAX = 256
UPDATES_BYTES = 256 * 1024
"""Clients in one message of places, and what they are told in it."""
THROTTLE_MIN = 0.1
SCALE_S = 1.0
"""The throttle goes from one end to the other in this time."""
LATE = 1.2
"""A tick that takes this many times its length is late."""
FULL = 0.9
"""So much of a tick's time may be used."""
WAITED_MAX = 10
"""Ticks for which a client that waited gets its bytes at once."""
LOOK_EVERY = 16
"""Clients between two looks at the time."""


class Feed:
    """Collects the places of a tick by BaseApp; everything else goes at once."""

    def __init__(self, app: CellApp, bits_s: float) -> None:
        self.throttle = 1.0
        self._app = app
        self._tick_bytes = bits_s / 8 * app.tick_s
        self._last_at: float | None = None
        self._done_cpu_s = self._served_cpu_s = 0.0
        """When the tick before was done; when the last client of this one was served."""
        self._served = 0
        self._after_s = 0.0
        """What each client that was served costs after that: its frame."""
        self._first = 0
        """Whose turn it is: so many clients are before it."""
        self._turns = 0.0
        """The part of a client that the throttle has left over."""
        self._updates: dict[AppId, list[ClientUpdate]] = {}
        self._parting: list[Real] = []
        """Reals whose client was sent away, and whose game does not know."""

    def serve_all(self) -> None:
        """As many clients as there is time for, from where the tick before has ended."""
        cpu_s = self._app.cpu_s
        clients = [real for real in self._app.reals.values() if real.witness is not None]
        is_late = self._is_late(self._app.host.now)
        served, first, most = 0, self._first, self._most(len(clients))
        least = ceil(most * THROTTLE_MIN / self.throttle - 1e-9)
        until = self._done_cpu_s + FULL * self._app.tick_s
        while served < most:
            is_look = served >= least and (served - least) % LOOK_EVERY == 0
            if is_look and cpu_s() + served * self._after_s >= until:
                break
            self.serve(clients[(first + served) % len(clients)])
            served += 1
        self._first = (first + served) % max(len(clients), 1)
        self._served, self._served_cpu_s = served, cpu_s()
        if is_late:
            self._set_throttle(THROTTLE_MIN)
        elif self._served_cpu_s + served * self._after_s < until:
            self._set_throttle(1.0)
        else:
            self._set_throttle(served / max(len(clients), 1))

    def _is_late(self, now: float) -> bool:
        last, self._last_at = self._last_at, now
        return last is not None and now - last > LATE * self._app.tick_s

    def _most(self, clients: int) -> int:
        """How many clients may be served in this tick, at best."""
        self._turns = min(self._turns, 1.0) + self.throttle * clients
        most = min(int(self._turns + 1e-9), clients)
        self._turns -= most
        return most

    def _set_throttle(self, aim: float) -> None:
        """Towards what would be right now: one long tick is no reason to starve everybody."""
        step = self._app.tick_s / SCALE_S * (1.0 - THROTTLE_MIN)
        self.throttle += max(-step, min(step, max(aim, THROTTLE_MIN) - self.throttle))

    def serve(self, real: Real) -> None:
        """Tells the client of a real what it is to hear now. If that fails, its story has a hole."""
        assert real.witness is not None
        try:
            self._serve(real, real.witness)
        except AssertionError:
            raise
        except Exception as problem:
            self._app.report(real.body, "what its client is told", problem)
            self._send_away(real)

    def _serve(self, real: Real, witness: Witness) -> None:
        app, now = self._app, self._app.host.now
        waited, witness.served_at = min((now - witness.served_at) / app.tick_s, WAITED_MAX), now
        share = self._tick_bytes * self.throttle
        messages, places = witness.update(now, app.tick, share * max(waited, 1.0), share * waited)
        if len(places) > LOOSE_MAX:
            app.count("more than a client can be told in a tick", entity=real.body.id, lost=len(places) - LOOSE_MAX)
            places = places[-LOOSE_MAX:]
        if len(messages) > 1 and sum(map(len, messages)) > TO_CLIENT_BYTES:
            messages = self._tell_in_parts(real, witness.number, messages)
        if messages:
            self.tell_base(real, ToClient(witness.number, tuple(messages)))
        if places:
            after = app.switchboard.said(real.body.part, real.body.base_part)
            update = ClientUpdate(real.body.id, witness.number, tuple(places), after)
            base = app.base_of(real.body)
            updates = self._updates.get(base)
            if updates is None:
                updates = self._updates[base] = []
            updates.append(update)

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

    def data_of(self, real: Real, *, is_last: bool) -> CellData:
        """The cell part as it is, for its base. Of properties that cannot be encoded (a game's own value fails) the
        base hears only where the body is, and keeps the values that it has."""
        try:
            return real.data(is_last=is_last)
        except Exception as problem:
            self._app.report(real.body, "properties for its base", problem)
            body = real.body
            return CellData(body.space.name, body.position, body.direction, b"", is_last)

    def tell_base(self, real: Real, message: Message) -> None:
        """Sends something to the base part of a real, after everything before. The last word goes in any case; of
        properties that are too large the base hears only that; and a client that cannot be told has to go."""
        try:
            self._send(real, message, is_urgent=isinstance(message, CellData) and message.is_last)
        except UsageError as problem:
            self._app.count("base cannot be told", entity=real.body.id, problem=str(problem))
            if not isinstance(message, CellData):
                self._send_away(real)
            elif not isinstance(problem, ChannelFull):
                self.tell_base(real, replace(message, properties=b""))

    def _send(self, real: Real, message: Message, *, is_urgent: bool) -> None:
        body = real.body
        self._app.switchboard.send(body.part, body.base_part, REGISTRY.encode(message), is_urgent=is_urgent)

    def _send_away(self, real: Real) -> None:
        if real.witness is not None:
            number = real.witness.number
            real.set_witness(number, is_on=False)
            reason = "what there is to see is too large to be sent, or too much"
            self._send(real, SendAway(number, reason), is_urgent=True)
            self._parting.append(real)

    def is_parting(self, real: Real) -> bool:
        """Whether its client was sent away and its game does not know yet."""
        return real in self._parting

    def on_tick(self) -> None:
        """Those whose client was sent away in the tick before hear of it."""
        parting, self._parting = self._parting, []
        for real in parting:
            if real.body.real is real and not real.is_doomed:
                self._app.run(real.body, "on_client_detached", real.part.on_client_detached)

    def flush(self) -> None:
        """Sends the places of this tick."""
        updates, self._updates = self._updates, {}
        for app, several in updates.items():
            batch: list[ClientUpdate] = []
            size = 0
            for update in several:
                if size >= UPDATES_BYTES or len(batch) >= UPDATES_MAX:
                    self._app.send(app, ClientUpdates(tuple(batch)))
                    batch, size = [], 0
                batch.append(update)
                size += sum(map(len, update.messages))
            self._app.send(app, ClientUpdates(tuple(batch)))
        self._done_cpu_s = self._app.cpu_s()
        after_s = (self._done_cpu_s - self._served_cpu_s) / max(self._served, 1)
        self._after_s += (after_s - self._after_s) / 4
