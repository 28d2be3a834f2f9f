"""Graves: which bodies were here lately, and how they ended.

A grave keeps what comes too late from waking the dead: a creation of an older epoch than the end, a step that the end
came after. A creation of the same epoch is by the same real on the same link, so it came later, and counts; unless the
entity itself was destroyed: then only its next life, with a higher epoch, gets a body here.

It also keeps the entity's last words for witnesses that come a moment later (`cell/client/witness.py`). Graves are
forgotten after a while, and the oldest makes room when there are too many.
"""

from __future__ import annotations

from dataclasses import dataclass

from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import History

GRAVES_MAX = 16_384
GRAVE_S = 30.0
NOTHING_KNOWN = -1


@dataclass(frozen=True, slots=True)
class Grave:
    """A body that was here, or was to be."""

    epoch: int
    end: int
    """The number of its last step."""
    is_destroyed: bool
    number: int
    """Of the last step that is in `history`; NOTHING_KNOWN when no body was here."""
    history: History
    space: int
    """In which the body was that knew this."""
    until: float


class Graves:
    """All that have ended here lately."""

    def __init__(self) -> None:
        self._graves: dict[int, Grave] = {}

    def __len__(self) -> int:
        return len(self._graves)

    def get(self, entity: int) -> Grave | None:
        """The grave of an entity."""
        return self._graves.get(entity)

    def end_of(self, entity: int) -> int:
        """Up to which number everything has lost its meaning here."""
        grave = self._graves.get(entity)
        return NOTHING_KNOWN if grave is None else grave.end

    def is_too_late(self, entity: int, epoch: int) -> bool:
        """Whether what was said in this epoch cannot make a body any more."""
        grave = self._graves.get(entity)
        return grave is not None and (epoch < grave.epoch or (epoch == grave.epoch and grave.is_destroyed))

    def dig(self, entity: int, epoch: int, end: int, now: float, *, is_destroyed: bool, body: Body | None) -> None:
        """An end that was ordered in this epoch; the latest end counts."""
        known = self._graves.get(entity)
        if known is not None and known.epoch > epoch:
            return
        is_destroyed = is_destroyed or (known is not None and known.epoch == epoch and known.is_destroyed)
        number, history, space = NOTHING_KNOWN, History(0), 0
        if body is not None:
            number, history, space = body.number, body.history, body.space.id
        elif known is not None:
            number, history, space = known.number, known.history, known.space
        self._graves.pop(entity, None)
        if len(self._graves) >= GRAVES_MAX:
            del self._graves[next(iter(self._graves))]
        self._graves[entity] = Grave(epoch, end, is_destroyed, number, history, space, now + GRAVE_S)

    def expire(self, now: float) -> None:
        """Forgets those whose time is over; they are in the order in which they were dug."""
        while self._graves:
            entity = next(iter(self._graves))
            if self._graves[entity].until > now:
                return
            del self._graves[entity]
