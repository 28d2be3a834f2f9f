"""CellApp ↔ CellApp: ghosts and offloads (100–119).

`epoch` counts an entity's offloads; `number` runs over everything that goes to its ghosts and is kept across
offloads. A ghost applies numbers strictly in order and holds what comes early; an older epoch never undoes a newer one.
"""

from __future__ import annotations

from typing import NamedTuple

from terrazzo.wire.ids import AppId
from terrazzo.wire.messages import Message, message
from terrazzo.wire.pairs.base_cell import Position


@message(100)
class CreateGhost(Message, frozen=True):
    """Hold a ghost of this entity, whose real is with the sender."""

    entity: int
    type_id: int
    space: int
    epoch: int
    number: int
    """The number of the last change that is in it."""
    position: Position
    yaw: float
    properties: bytes
    """The ghost layout."""
    base: AppId


@message(101)
class UpdateGhost(Message, frozen=True):
    """One numbered step: changes (`schema.changes`, internal form), and where the entity is now."""

    entity: int
    epoch: int
    number: int
    changes: tuple[bytes, ...]
    position: Position
    yaw: float


@message(102, max_size=256)
class DeleteGhost(Message, frozen=True):
    """The real with the sender needs this ghost no longer."""

    entity: int
    epoch: int
    is_destroyed: bool
    """The entity itself is gone, everywhere."""


@message(103, max_size=256)
class NextReal(Message, frozen=True):
    """The sender, who had the real, has sent it to `app`: from epoch on its word counts."""

    entity: int
    epoch: int
    app: AppId


class PackedWitness(NamedTuple):
    """What a client has been told, so that the next cell goes on without a seam."""

    witness: int
    seen: tuple[tuple[int, int], ...]
    """(entity, number of the last change of it that the client has) for everything in its area."""


@message(105)
class Offload(Message, frozen=True):
    """The real itself: the receiver has it from here on. Confirmed by Onloaded; until then the sender keeps a copy."""

    entity: int
    type_id: int
    space: int
    epoch: int
    """Of the new real: one more than of the old."""
    number: int
    position: Position
    yaw: float
    properties: bytes
    """The whole cell layout."""
    mailbox: bytes
    """`Switchboard.depart`."""
    haunts: tuple[AppId, ...]
    base: AppId
    witness: PackedWitness | None
    timers: tuple[tuple[int, float, float, int], ...]
    """(id, seconds until due, repeat or 0, user number)."""
    dbid: int
    moved: int = 0
    """The number of the last move of the client that was believed or refused."""


@message(106, max_size=256)
class Onloaded(Message, frozen=True):
    """The real arrived."""

    entity: int
    epoch: int
