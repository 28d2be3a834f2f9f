"""What the clients of one BaseApp have sent and their cell parts receive with the next turn.

A client may move many times between two turns; only its latest place is sent on, and at most once in MOVE_S: a client
that moves more often gets its latest place through with a later turn, or with the tick. Its wants and released aliases
are sent on with the turn as well (`shown.py` holds them).
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo._speed.lanes import MoveLanes
from terrazzo.base.limits import MOVE_S
from terrazzo.wire.ids import EntityId


class ClientBatch:
    """The batch of the next turn."""

    def __init__(self) -> None:
        self.lanes = MoveLanes()
        """The lanes of the clients that may move."""
        self._moves: dict[EntityId, bytes] = {}
        self._moved_at: dict[EntityId, float] = {}
        self._wants: dict[EntityId, Callable[[], None]] = {}
        self._later: dict[EntityId, Callable[[], None]] = {}

    def add_move(self, entity: EntityId, row: bytes) -> None:
        """The client of this entity has moved; its earlier row that was not sent on is replaced."""
        self._moves[entity] = row

    def add_moves(self, moves: list[tuple[int, bytes]]) -> None:
        """As `add_move`, for each pair of entity and row."""
        self._moves.update(moves)  # type: ignore[arg-type]  # the entities are those of proxies

    def drop_move(self, entity: EntityId) -> None:
        """The base of this entity has ended."""
        self._moves.pop(entity, None)
        self._moved_at.pop(entity, None)

    def add_wants(self, entity: EntityId, send: Callable[[], None]) -> None:
        """The proxy of this entity has wants or releases for its cell part: `send` sends them."""
        self._wants[entity] = send

    def retry_wants(self, entity: EntityId, send: Callable[[], None]) -> None:
        """They could not be sent: `send` is called again after the next tick."""
        self._later[entity] = send

    def on_tick(self) -> None:
        """What could not be sent is tried again."""
        later, self._later = self._later, {}
        self._wants.update(later)

    def take_moves(self, now: float) -> dict[EntityId, bytes]:
        """The latest row of each client that moved, in the order of their first moves; a client whose last row was
        taken less than MOVE_S ago waits."""
        if not self._moves:
            return {}
        moves, self._moves = self._moves, {}
        moved_at = self._moved_at
        for entity in [each for each in moves if now < moved_at.get(each, -MOVE_S) + MOVE_S]:
            self._moves[entity] = moves.pop(entity)
        moved_at.update(dict.fromkeys(moves, now))
        return moves

    def take_wants(self) -> list[Callable[[], None]]:
        """The calls that send the wants; what they add is for a later turn."""
        wants, self._wants = self._wants, {}
        return list(wants.values())
