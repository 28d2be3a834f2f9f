"""What the clients of one BaseApp have sent and their cell parts receive with the next turn.

A client may move many times between two turns; only its latest place is sent on, and at most once in MOVE_S: a client
that moves more often gets its latest place through with a later turn, or with the tick. Its wants and released aliases
are sent on with the turn as well (`shown.py` holds them).
"""

from __future__ import annotations

from terrazzo._speed.lanes import MoveLanes
from terrazzo.base.client_row import ClientRow
from terrazzo.base.limits import MOVE_S
from terrazzo.wire.entity.registry import PartRegistry
from terrazzo.wire.ids import AppId, EntityId

_MOVE_S = MOVE_S


class ClientBatch:
    """The batch of the next turn."""

    __slots__ = ("_later", "_moves", "_registry", "_rows", "_wants", "lanes")

    def __init__(self, rows: dict[EntityId, ClientRow], registry: PartRegistry) -> None:
        """`rows`: the client table of the app."""
        self.lanes = MoveLanes()
        """The lanes of the clients that may move."""
        self._rows = rows
        self._registry = registry
        self._moves: dict[EntityId, bytes] = {}
        self._wants: dict[EntityId, ClientRow] = {}
        self._later: dict[EntityId, ClientRow] = {}

    def add_move(self, entity: EntityId, row: bytes) -> None:
        """The client of this entity has moved; its earlier row that was not sent on is replaced."""
        self._moves[entity] = row

    def add_moves(self, moves: list[tuple[int, bytes]]) -> None:
        """As `add_move`, for each pair of entity and row."""
        self._moves.update(moves)  # type: ignore[arg-type]  # the entities are those of proxies

    def drop_move(self, entity: EntityId) -> None:
        """The base of this entity has ended."""
        self._moves.pop(entity, None)

    def add_wants(self, client: ClientRow) -> None:
        """The client has wants or releases for its cell part."""
        self._wants[client.entity] = client

    def on_tick(self) -> None:
        """What could not be sent is sent again."""
        later, self._later = self._later, {}
        self._wants.update(later)

    def take_moves(self, now: float) -> dict[AppId, list[bytes]]:
        """The latest row of each client that moved, by the CellApp where its cell part lives, in the order of their
        first moves; a client waits until MOVE_S after its last row was taken."""
        by_app: dict[AppId, list[bytes]] = {}
        if not self._moves:
            return by_app
        moves, self._moves = self._moves, {}
        table, kept = self._rows, self._moves
        last: AppId | None = None
        rows: list[bytes] = []
        for entity, row in moves.items():
            client = table.get(entity)
            if client is None:
                continue  # its base has ended
            if now < client.moved_at + _MOVE_S:
                kept[entity] = row
                continue
            client.moved_at = now
            app = client.home(self._registry)
            if app is None:
                continue
            if app is not last:
                last, rows = app, by_app.setdefault(app, [])
            rows.append(row)
        return by_app

    def send_wants(self, now: float) -> None:
        """Sends the wants to the cell parts; those that a full channel does not take, again after the next tick."""
        if not self._wants:
            return
        wants, self._wants = self._wants, {}
        for entity, client in wants.items():
            if not client.send_wants(self._registry, now):
                self._later[entity] = client
