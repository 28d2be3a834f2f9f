"""A witness: what the client of one real has been told, and what it is to be told now.

A client has a copy of everything in its area. For each of those the witness keeps one number: the last step of it that
the client has (`cell/history.py`). Everything follows from comparing it with the number of the local body, be that
real or ghost:

    local number          the client
    not in `seen`         enter, with all properties that others see; `seen` becomes the local number
    higher                the steps between, from history; where they are gone, what has changed, as it is now
    equal                 nothing
    lower                 nothing yet: this cell is behind what the client has (it was told by another cell); wait
    another life          leave, then enter: the entity got a new body

    body out of the area by more than the hysteresis, or body removed      what is left to tell, then leave, once

**Arriving.** The numbers travel with the real, so the next cell goes on where this one ended: no leave, no enter,
nothing twice, nothing missing. What the client has and this cell has not may be on its way: it is waited for a moment.
If its grave is here, its last words are told from there. What has left lately is remembered, too (packed with a
negative entity): a copy that is behind must not bring it back in an older state, and a destroyed one must not rise.

`pending` is what happened since the last tick in the order in which it happened: the own entity's changes and calls,
and the leaving of bodies that were removed between two ticks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from terrazzo.sync.protocol import Place, encode_enter, encode_leave
from terrazzo.wire.ids import life_of
from terrazzo.wire.pairs.cell_cell import PackedWitness
from terrazzo.world.rect import Rect

if TYPE_CHECKING:
    from terrazzo.cell.body import Body

HYSTERESIS_M = 5.0
PATIENCE_S = 2.0
LEFT_S = 5.0
REFRESH_TICKS = 20
"""Places are unreliable: each is told again after so many ticks, moved or not."""


class Witness:
    """What one client knows."""

    __slots__ = ("_patience_until", "body", "left", "number", "pending", "seen")

    def __init__(self, body: Body, number: int) -> None:
        self.body = body
        self.number = number
        self.seen: dict[int, int] = {}
        self.left: dict[int, tuple[int, float]] = {}
        """Entity → lowest number at which it may enter again, until when that matters."""
        self.pending: list[bytes] = []
        self._patience_until = 0.0

    def pack(self) -> PackedWitness:
        """At rest; `pending` must have been sent."""
        assert not self.pending
        left = tuple((-entity, number) for entity, (number, _) in self.left.items())
        return PackedWitness(self.number, (*self.seen.items(), *left))

    @classmethod
    def unpack(cls, body: Body, packed: PackedWitness, now: float) -> Witness:
        """Goes on here."""
        witness = cls(body, packed.witness)
        witness._patience_until = now + PATIENCE_S
        for entity, number in packed.seen:
            if entity > 0:
                witness.seen[entity] = number
            else:
                witness.left[-entity] = (number, now + LEFT_S)
        return witness

    def update(self, now: float) -> list[bytes]:
        """Looks around; gives all reliable messages since the last time."""
        self._forget_left(now)
        body = self.body
        radius = body.app.game.policy.area_radius_m
        for entity, number in list(self.seen.items()):
            other = body.space.bodies.get(entity)
            if other is None:
                self._miss(entity, number, now)
            elif life_of(other.number) > life_of(number):
                self._leave(entity, number, now)
            elif other.number >= number:
                self._tell(other, number)
                if self._distance(other) > radius + HYSTERESIS_M:
                    self._leave(entity, other.number, now)
        for other in body.space.within(Rect.around(body.position[0], body.position[2], radius)):
            if other.id not in self.seen and other is not body and self._may_enter(other):
                self._enter(other)
        pending, self.pending = self.pending, []
        return pending

    def places(self, tick: int) -> list[Place]:
        """Where those are now that moved, or whose turn it is."""
        bodies, moved = self.body.space.bodies, self.body.space.moved
        found = []
        for entity, number in self.seen.items():
            if entity in moved or (entity + tick) % REFRESH_TICKS == 0:
                other = bodies.get(entity)
                if other is not None and other.number >= number:
                    found.append(Place(entity, other.position, other.yaw))
        return found

    def on_removed(self, other: Body, *, is_destroyed: bool, now: float) -> None:
        """A body is no longer here: its last words, then its leaving."""
        number = self.seen.get(other.id)
        if number is None:
            if is_destroyed:
                self.left[other.id] = (other.number + 1, now + LEFT_S)
        elif life_of(other.number) == life_of(number):
            if other.number >= number:
                self._tell(other, number)
            self._leave(other.id, max(other.number, number) + is_destroyed, now)

    def _distance(self, other: Body) -> float:
        (x, _, z), (at_x, _, at_z) = other.position, self.body.position
        return max(abs(x - at_x), abs(z - at_z))

    def _may_enter(self, other: Body) -> bool:
        known = self.left.get(other.id)
        return other.kind.schema.on_client and (known is None or other.number >= known[0])

    def _enter(self, other: Body) -> None:
        self.seen[other.id] = other.number
        self.left.pop(other.id, None)
        row = other.kind.others_row(other.state)
        self.pending.append(encode_enter(other.id, other.kind.schema, other.position, other.yaw, row))

    def _tell(self, other: Body, number: int) -> None:
        """The steps after `number`; where history is gone, each property that has changed since, as it is."""
        if other.number == number:
            return
        messages = other.history.since(number)
        if messages is None:
            changed = [place for place in other.kind.for_others if other.history.has_changed(place, number)]
            messages = other.kind.whole_messages(other.id, other.state, changed)
        self.pending += messages
        self.seen[other.id] = other.number

    def _leave(self, entity: int, number: int, now: float) -> None:
        del self.seen[entity]
        self.left[entity] = (number, now + LEFT_S)
        self.pending.append(encode_leave(entity))

    def _miss(self, entity: int, number: int, now: float) -> None:
        """The client has it and this cell has not: it comes late, or died here just before the witness came."""
        grave = self.body.app.ghosts.graves.get(entity)
        if grave is not None and grave.number >= number and life_of(grave.number) == life_of(number):
            self.pending += grave.history.since(number) or ()
            self._leave(entity, grave.number + grave.is_destroyed, now)
        elif now >= self._patience_until:
            self._leave(entity, number, now)

    def _forget_left(self, now: float) -> None:
        for entity in [entity for entity, (_, until) in self.left.items() if until <= now]:
            del self.left[entity]
