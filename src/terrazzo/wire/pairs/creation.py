"""BaseApp or CellApp → BaseApp: entities that a game creates while it runs (130–139)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message
from terrazzo.wire.numbers import IndexNumber, Int32
from terrazzo.wire.pairs.base_cell import Direction, Position


@message(130)
class CreateEntity(Message, frozen=True):
    """Request: make an entity with these properties, and its cell part if a space is named. Answered by EntityCreated
    when the base, and the cell part that was wanted, exist; refused, there is no such entity.

    `number` is counted by the asking app. A request that is sent again, because a link was lost, has the same number,
    and makes no second entity.
    """

    number: int
    type_id: IndexNumber
    base: bytes
    """The whole base layout."""
    cell: bytes
    """The whole cell layout."""
    space: str
    """Empty: no cell part."""
    position: Position
    direction: Direction


@message(131, max_size=256)
class EntityCreated(Message, frozen=True):
    """The entity exists."""

    entity: Int32
