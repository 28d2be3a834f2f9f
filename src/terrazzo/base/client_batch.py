"""What the clients of one BaseApp have sent and their cell parts receive with the next turn.

A client may move many times between two turns; only its latest place is sent on, and at most once in MOVE_S: a client
that moves more often gets its latest place through with a later turn, or with the tick. Its wants and released aliases
are sent on with the turn as well (`shown.py` holds them).
"""

from __future__ import annotations

from terrazzo._speed.lanes import MoveLane, MoveLanes
from terrazzo.base.client_row import ClientRow
from terrazzo.base.limits import MOVE_S
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.ids import AppId, EntityId

_MOVE_S = MOVE_S


class ClientBatch:
    """The batch of the next turn."""

    __slots__ = ("_later", "_registry", "_wants", "lanes")

    def __init__(self, registry: PartRegistry) -> None:
        self.lanes = MoveLanes()
        """The lanes of the clients, and those with moves that were not sent on."""
        self._registry = registry
        self._wants: dict[EntityId, ClientRow] = {}
        self._later: dict[EntityId, ClientRow] = {}

    def add_wants(self, client: ClientRow) -> None:
        """The client has wants or releases for its cell part."""
        self._wants[client.entity] = client

    def on_tick(self) -> None:
        """What could not be sent is sent again."""
        later, self._later = self._later, {}
        self._wants.update(later)

    def take_moves(self, now: float) -> dict[AppId, list[MoveLane]]:
        """The lanes of the clients that moved, by the CellApp where their cell part lives, in the order of their first
        moves; a client waits until MOVE_S after its last move was taken."""
        by_app: dict[AppId, list[MoveLane]] = {}
        waiting = self.lanes.take_waiting()
        if not waiting:
            return by_app
        kept: list[MoveLane] = []
        last: AppId | None = None
        lanes: list[MoveLane] = []
        for lane in waiting:
            client: ClientRow = lane.client
            if now < client.moved_at + _MOVE_S:
                kept.append(lane)
                continue
            client.moved_at = now
            lane.waits = False
            app = client.home(self._registry)
            if app is None:
                continue  # there is no cell part, or the base has ended
            if app is not last:
                last, lanes = app, by_app.setdefault(app, [])
            lanes.append(lane)
        self.lanes.keep(kept)
        return by_app

    def send_wants(self, now: float) -> None:
        """Sends the wants to the cell parts; those that a full channel does not take, again after the next tick."""
        if not self._wants:
            return
        wants, self._wants = self._wants, {}
        for entity, client in wants.items():
            if not client.send_wants(self._registry, now):
                self._later[entity] = client
