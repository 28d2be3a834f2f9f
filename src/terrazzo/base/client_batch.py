"""What the clients of one BaseApp have sent during a tick and their cell parts receive at its end.

A client may move many times within a tick; only its latest place is sent on. Its wants and released aliases are sent on
once a tick as well (`shown.py` holds them).
"""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.wire.ids import EntityId


class ClientBatch:
    """The batch of the present tick."""

    def __init__(self) -> None:
        self._moves: dict[EntityId, bytes] = {}
        self._wants: dict[EntityId, Callable[[], None]] = {}

    def add_move(self, entity: EntityId, row: bytes) -> None:
        """The client of this entity has moved; its earlier row of this tick is replaced."""
        self._moves[entity] = row

    def drop_move(self, entity: EntityId) -> None:
        """The base of this entity has ended."""
        self._moves.pop(entity, None)

    def add_wants(self, entity: EntityId, send: Callable[[], None]) -> None:
        """The proxy of this entity has wants or releases for its cell part: `send` sends them."""
        self._wants[entity] = send

    def take_moves(self) -> dict[EntityId, bytes]:
        """The latest row of each client that moved, in the order of their first moves."""
        moves, self._moves = self._moves, {}
        return moves

    def take_wants(self) -> list[Callable[[], None]]:
        """The calls that send the wants; what they add is for the next tick."""
        wants, self._wants = self._wants, {}
        return list(wants.values())
