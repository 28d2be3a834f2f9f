"""Tombstones: which bodies have ended here lately, and how.

A tombstone refuses what arrives too late: a creation of an older epoch than the end, a step from before the end. A
creation of the same epoch was sent by the same real over the same link, after the end, so it counts; unless the entity
itself was destroyed: then only its next life, with a higher epoch, gets a body here.

A tombstone also has the last events of the entity, for witnesses that arrive a moment later
(`cell/client/witness.py`). Tombstones are dropped after TOMBSTONE_S, and the oldest when there are too many.
"""

from __future__ import annotations

from dataclasses import dataclass

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import History
from terrazzo.wire.pairs.base_cell import Position

TOMBSTONES_MAX = 16_384
TOMBSTONE_S = 30.0
NOTHING_KNOWN = -1


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A body that was here, or was to be."""

    epoch: int
    end: int
    """The number of its last step."""
    is_destroyed: bool
    number: int
    """Of the last step that is in `history`; NOTHING_KNOWN when no body was here."""
    history: History
    space: int
    """The space of the body that ended."""
    position: Position
    """Where that body was at its end."""
    until: float


class Tombstones:
    """All that have ended here lately."""

    def __init__(self) -> None:
        self._all: dict[int, Tombstone] = {}

    def __len__(self) -> int:
        return len(self._all)

    def get(self, entity: int) -> Tombstone | None:
        """The tombstone of an entity."""
        return self._all.get(entity)

    def end_of(self, entity: int) -> int:
        """Up to which number everything has lost its meaning here."""
        tombstone = self._all.get(entity)
        return NOTHING_KNOWN if tombstone is None else tombstone.end

    def is_too_late(self, entity: int, epoch: int) -> bool:
        """Whether a message of this epoch cannot make a body any more."""
        tombstone = self._all.get(entity)
        return tombstone is not None and (
            epoch < tombstone.epoch or (epoch == tombstone.epoch and tombstone.is_destroyed)
        )

    def add(self, entity: int, epoch: int, end: int, now: float, *, is_destroyed: bool, body: Body | None) -> None:
        """An end that was ordered in this epoch; the latest end counts."""
        known = self._all.get(entity)
        if known is not None and known.epoch > epoch:
            return
        is_destroyed = is_destroyed or (known is not None and known.epoch == epoch and known.is_destroyed)
        number, history, space, position = NOTHING_KNOWN, History(0), 0, (0.0, 0.0, 0.0)
        if body is not None:
            number, history, space, position = body.number, body.history, body.space.id, body.position
        elif known is not None:
            number, history, space, position = known.number, known.history, known.space, known.position
        self._all.pop(entity, None)
        if len(self._all) >= TOMBSTONES_MAX:
            del self._all[next(iter(self._all))]
        self._all[entity] = Tombstone(epoch, end, is_destroyed, number, history, space, position, now + TOMBSTONE_S)

    def expire(self, now: float) -> None:
        """Drops those that are too old; they are in the order in which they were added."""
        while self._all:
            entity = next(iter(self._all))
            if self._all[entity].until > now:
                return
            del self._all[entity]
