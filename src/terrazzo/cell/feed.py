"""What goes from witnesses to clients: reliable messages through the entity channel, places straight to the BaseApp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.cell.real import Real
from terrazzo.sync.protocol import encode_places
from terrazzo.wire.channel import ChannelFull
from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import ClientUpdate, ClientUpdates, ToClient

if TYPE_CHECKING:
    from terrazzo.cell.cellapp import CellApp

TO_CLIENT_BYTES = 32_768
UPDATES_MAX = 256
"""Clients in one message of places."""


class Feed:
    """Collects the places of a tick by BaseApp; everything else goes at once."""

    def __init__(self, app: CellApp) -> None:
        self._app = app
        self._updates: dict[AppId, list[ClientUpdate]] = {}

    def serve(self, real: Real) -> None:
        """Tells the client of a real what it is to hear now."""
        witness = real.witness
        assert witness is not None
        batch: list[bytes] = []
        size = 0
        for message in witness.update(self._app.host.now):
            if batch and size + len(message) > TO_CLIENT_BYTES:
                self.tell_base(real, ToClient(witness.number, tuple(batch)))
                batch, size = [], 0
            batch.append(message)
            size += len(message)
        if batch:
            self.tell_base(real, ToClient(witness.number, tuple(batch)))
        places = witness.places(self._app.tick)
        if places:
            update = ClientUpdate(real.body.id, witness.number, tuple(encode_places(places)))
            self._updates.setdefault(self._app.base_of(real.body), []).append(update)

    def tell_base(self, real: Real, message: Message) -> None:
        """Sends something to the base part of a real, after everything before. A base that takes nothing any more
        loses its client's view, which would else be kept for it without end."""
        try:
            self._app.switchboard.send(real.body.part, real.body.base_part, REGISTRY.encode(message))
        except ChannelFull as problem:
            self._app.count("base takes nothing", entity=real.body.id, problem=str(problem))
            real.witness = None

    def flush(self) -> None:
        """Sends the places of this tick."""
        updates, self._updates = self._updates, {}
        for app, several in updates.items():
            for at in range(0, len(several), UPDATES_MAX):
                self._app.send(app, ClientUpdates(tuple(several[at : at + UPDATES_MAX])))
