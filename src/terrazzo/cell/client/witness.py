"""A witness: the client of one real, and which entities are in its area.

An entity in the area has an entry in the record of the client (`cell/client/sent.py`), from which everything that the
client is sent follows. An entity comes in because it is near (an event of `_speed/area`) or because the game adds it,
and stays as long as one of the two holds. The cases:

    local body         in the area or added                             neither
    number ≥ sent      stays                                            goes
    number < sent      stays; another cell has sent more, this is late  described: wait, its place may be old, too;
                                                                        else goes
    of another life    goes, and comes in anew                          goes
    was removed        goes; its last events are in its tombstone       goes
    replaced           by the new body, which came in the same round of events
    not here yet, or removed before it had caught up      wait for PATIENCE_S after the witness arrived, and as long as
                       it is sought (`cell/ghosts/seeking.py`); then goes

**When.** Events come in phase 5 of the tick; open cases are judged at once (`judge`), and the game's hooks
on_entered_aoi and on_left_aoi follow. The client is sent its messages in phase 10, when the steps of the tick are
closed: so it gets the last events of an entity in the tick in which the entity goes out of sight (race 23), an entity
that enters and leaves in one tick is never announced (race 22), nor is one that the game withholds in on_entered_aoi.

**Arriving.** The record travels with the real, and the next cell goes on where this one ended: no leave, no
announcement, nothing twice, nothing missing (race 21), and no hook is repeated. Entities that have no body here yet
are waited for; after a teleport only those that were near the new place, too. Entities that have left lately are
remembered, as well: a local copy that is behind must not bring such an entity back in an older state, nor one that was
destroyed. Such a copy waits, without an entry, until it has caught up.

**Jumping.** Before a teleport the game gets on_left_aoi for everything that the jump takes out of the area
(`take_leave`), where that can still be seen: before on_left_cell, and long before on_teleported. The entries stay,
marked PARTED, so that the client sees no gap if the jump fails: what is then in the area enters again for the game, and
only for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import hypot
from typing import NamedTuple

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo.cell.client.interests import PATIENCE_S, Interests
from terrazzo.cell.client.sent import ClientRecord
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLACE
from terrazzo.cell.ghosts.seeking import Seeking
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.errors import UsageError
from terrazzo.sync.protocol import encode_moved, encode_space
from terrazzo.wire.entity.channel import Channel
from terrazzo.wire.ids import life_of
from terrazzo.wire.pairs.base_cell import ClientWants, Position
from terrazzo.wire.pairs.cell_cell import PackedWitness

DESCRIBED = EntryFlag.DESCRIBED.value
WITHHELD = EntryFlag.WITHHELD.value
IN_AREA = EntryFlag.IN_AREA.value
MANUAL = EntryFlag.MANUAL.value
GONE = EntryFlag.GONE.value
PARTED = EntryFlag.PARTED.value


class Around(NamedTuple):
    """What a witness uses of its CellApp."""

    interests: Interests
    seeking: Seeking
    tombstones: Tombstones


class Witness:
    """The area of one client."""

    __slots__ = (
        "_awaited",
        "_has_hooks",
        "_interest",
        "_interests",
        "_patience_until",
        "_seeking",
        "_tombstones",
        "_unjudged",
        "base_part",
        "body",
        "channel",
        "entity",
        "hysteresis",
        "number",
        "radius",
        "sent",
    )  # fmt: skip

    def __init__(
        self, body: Body, number: int, radius: float, hysteresis: float, sent: ClientRecord, around: Around
    ) -> None:
        self.body = body
        self.entity: int = body.id
        self.base_part = body.base_part
        self.channel: Channel | None = None
        """From the cell part to the base part, once the client was served, as long as it is hooked."""
        self.number = number
        self.radius = radius
        self.hysteresis = hysteresis
        self.sent = sent
        self._interests, self._seeking, self._tombstones = around
        self._has_hooks = "on_entered_aoi" in body.kind.hooks or "on_left_aoi" in body.kind.hooks
        self._interest = -1
        self._unjudged: dict[int, None] = {}
        """Entities to be judged. Without an entry: those that are in the area and too old to be let in."""
        self._patience_until = 0.0
        self._awaited: Collection[int] | None = None
        """The entities that are waited for; None: all."""

    # Coming and going.

    def watch(self, members: Iterable[int]) -> None:
        """Begins to watch; `members` are in the area already."""
        self._interest = self._interests.watch(self, self.body, self.radius, self.hysteresis, members)

    def end(self) -> None:
        """It watches nothing any more."""
        self._interests.unwatch(self, self.body.space, self._interest)

    @property
    def is_watching(self) -> bool:
        """Whether the events of its area come to it."""
        return self._interests.is_watcher(self, self.body.space, self._interest)

    def awaits(self, entity: int) -> bool:
        """Whether it looks at the entity again with the next judging."""
        return entity in self._unjudged

    def pack(self) -> PackedWitness:
        """At rest; right after an update, so that nothing is pending and no entity is about to go."""
        sent = self.sent
        assert not sent.pending
        left = tuple((entity, number) for entity, (number, _) in sent.left.items())
        resting = tuple(sorted(sent.aliases.resting))
        seen = tuple(sent.pack())
        return PackedWitness(self.number, self.radius, self.hysteresis, seen, left, resting, sent.budget.deficit)

    @classmethod
    def unpack(cls, body: Body, packed: PackedWitness, sent: ClientRecord, around: Around, now: float) -> Witness:
        """Goes on here."""
        witness = cls(body, packed.witness, packed.radius, packed.hysteresis, sent, around)
        witness._patience_until = now + PATIENCE_S
        members = []
        for seen in packed.seen:
            other = body.space.bodies.get(seen.entity)
            if other is None:
                sent.unpack(seen._replace(flags=seen.flags & ~IN_AREA), -1)
            else:
                sent.unpack(seen, other.slot)
                if seen.flags & IN_AREA:
                    members.append(other.slot)
            if other is None or not seen.flags & IN_AREA or life_of(other.number) > life_of(seen.sent):
                witness._judge_later(seen.entity)
        witness.watch(members)
        return witness

    def absent(self) -> list[int]:
        """The entities that the client has and this cell has no body of, as far as they are waited for."""
        sight, awaited = self.sent.sight, self._awaited
        return [
            entity for entity in sight.entities() if sight.slot(entity) < 0 and (awaited is None or entity in awaited)
        ]

    def near(self, position: Position) -> tuple[int, ...]:
        """The entities that are in the area, and would be from there, too."""
        bodies, (x, _, z), far = self.body.space.bodies, position, self.radius + self.hysteresis
        others = [bodies[entity] for entity in self.entities() if entity in bodies]
        return tuple(
            other.id
            for other in others
            if hypot(other.position[0] - x, other.position[2] - z) <= far + other.kind.schema.appeal_radius
        )

    def take_leave(self, position: Position | None) -> None:
        """It is about to jump there; None: into another space. Whatever is not near that place leaves for the game. An
        entity that was added by hand stays within the space."""
        sight, bodies, members = self.sent.sight, self.body.space.bodies, []
        near = frozenset(() if position is None else self.near(position))
        for entity in self.entities():
            flags, other = sight.flags(entity), bodies.get(entity)
            if entity not in near and (position is None or not flags & MANUAL):
                sight.set_flags(entity, flags & ~(IN_AREA | MANUAL) | PARTED)
                self._interests.call(self.body, "on_left_aoi", entity)
            elif flags & IN_AREA and other is not None and other.slot == sight.slot(entity):
                members.append(other.slot)
                continue
            else:
                sight.set_flags(entity, flags & ~IN_AREA)
            self._unjudged[entity] = None
        self._unjudged = {entity: None for entity in self._unjudged if sight.flags(entity) >= 0}
        self.end()
        self.watch(members)  # whatever is inside and too old to be let in enters again with the next look
        self._interests.judge_later(self)

    def jump(self, space_before: int, near: Collection[int] = ()) -> None:
        """It came by a teleport, which its client is sent. An entity that was not near the new place, as seen from the
        old one, is not waited for. In another space nothing of before is there."""
        body = self.body
        if body.space.id == space_before:
            self.sent.add_own_message(PLACE, encode_moved(body.position, body.direction))
            self._awaited = frozenset(near)
            return
        self._patience_until = 0.0
        self.sent.add_own_message(PLACE, encode_space(body.space.id, body.position, body.direction))
        for entity in self.entities():
            self._interests.call(body, "on_left_aoi", entity)
        self.sent.drop_all(body.core.host.now)
        self._unjudged.clear()
        self.end()
        self.watch(())

    def on_wants(self, message: ClientWants) -> None:
        """The client of this number has answered what it was sent."""
        if message.witness == self.number:
            self.sent.on_wants(message)

    # What the game wants.

    def set_radius(self, radius: float, hysteresis: float) -> None:
        """Sees as far as this from the next look on."""
        self.radius, self.hysteresis = radius, hysteresis
        self.body.space.area.set_radius(self._interest, radius, hysteresis)

    def entities(self) -> list[int]:
        """The entities in the area, whether the client was sent them or not."""
        sight = self.sent.sight
        return [entity for entity in sight.entities() if not sight.flags(entity) & (GONE | PARTED)]

    def add_manual(self, entity: int) -> None:
        """In the area from now on, wherever it is, as long as it has a body here."""
        other = self.body.space.bodies.get(entity)
        if other is None or other is self.body or not other.kind.schema.on_client:
            what = "another one, known in this cell, whose type has a client part"
            raise UsageError(f"entity {entity} cannot be added to the area of {self.body.label}: that takes {what}")
        is_near = entity in self._unjudged and self.sent.sight.flags(entity) < 0
        self._come(other, MANUAL | IN_AREA if is_near else MANUAL)
        self._judge_later(entity)

    def remove_manual(self, entity: int) -> None:
        """The game no longer adds it to the area."""
        flags = self.sent.sight.flags(entity)
        if flags >= 0 and flags & MANUAL:
            self.sent.set_flags(entity, flags & ~MANUAL)
            self._judge_later(entity)

    def withhold(self, entity: int, is_withheld: bool) -> None:
        """The client is not sent this entity, as long as it is in the area."""
        flags = self.sent.sight.flags(entity)
        if flags < 0 or flags & (GONE | PARTED):
            problem = f"entity {entity} is not in the area of {self.body.label}: withhold it in on_entered_aoi"
            raise UsageError(f"withhold_from_client: target: {problem}")
        self.sent.set_flags(entity, flags | WITHHELD if is_withheld else flags & ~WITHHELD)

    def is_withheld(self, entity: int) -> bool:
        """Whether the client is not sent it."""
        flags = self.sent.sight.flags(entity)
        return flags >= 0 and flags & (WITHHELD | PARTED) == WITHHELD

    # What happens around (`cell/client/interests.py`).

    def enter(self, other: Body) -> None:
        """See Watcher. A type that only the game adds does not enter by being near."""
        schema = other.kind.schema
        if not schema.on_client or schema.is_manual_aoi:
            return
        if self.sent.sight.flags(other.id) >= 0 or self.sent.may_enter(other):
            self._come(other, IN_AREA)
        else:
            self._judge_later(other.id)

    def leave(self, entity: int) -> None:
        """See Watcher."""
        flags = self.sent.sight.flags(entity)
        if flags < 0:
            self._unjudged.pop(entity, None)
        else:
            self.sent.set_flags(entity, flags & ~IN_AREA)
            self._judge_later(entity)

    def judge(self, now: float) -> bool:
        """See Watcher."""
        unjudged, self._unjudged = self._unjudged, {}
        bodies = self.body.space.bodies
        for entity in unjudged:
            if self._judge_one(entity, bodies.get(entity), now):
                self._unjudged[entity] = None
        return bool(self._unjudged)

    def _judge_later(self, entity: int) -> None:
        self._unjudged[entity] = None
        self._interests.judge_later(self)

    def _judge_one(self, entity: int, other: Body | None, now: float) -> bool:
        """Decides about one, see the module; whether it must be judged again."""
        sight = self.sent.sight
        flags = sight.flags(entity)
        if flags < 0:
            is_late = other is not None and not self.sent.may_enter(other)
            if other is not None and not is_late:
                self._let_in(other, IN_AREA, flags)
            return is_late
        if flags & GONE:
            return False
        slot, sent = sight.slot(entity), sight.sent(entity)
        if other is None:
            is_early = now < self._patience_until or self._seeking.is_sought(self.body.id, entity)
            is_awaited = is_early and self._is_awaited(entity, slot, sent)
            if not is_awaited:
                self._let_go(entity, flags)
            elif slot >= 0:
                sight.bind(entity, -1)
                self._seeking.seek(self.body, entity)
            return is_awaited
        if other.slot != slot:
            sight.bind(entity, other.slot)
        number = other.number
        if flags & DESCRIBED and life_of(number) > life_of(sent):
            self._let_go(entity, flags)
            if flags & IN_AREA:
                self._come(other, IN_AREA)
            return False
        if flags & (IN_AREA | MANUAL):
            return not flags & IN_AREA
        if flags & DESCRIBED and number < sent:
            return True
        self._let_go(entity, flags)
        return False

    def _is_awaited(self, entity: int, slot: int, sent: int) -> bool:
        """Whether an entity without a body here may come. The end of a ghost that was here before the witness came
        means nothing: it may be near by now, and have another one soon."""
        if self._awaited is not None and entity not in self._awaited:
            return False
        tombstone = self._tombstones.get(entity)
        return tombstone is None or tombstone.number < sent or (slot < 0 and not tombstone.is_destroyed)

    def _come(self, other: Body, flag: int) -> None:
        """It is in the area. If a leave of an earlier life was not sent yet, it is sent first: the two lives must not
        be mixed up."""
        sight = self.sent.sight
        flags = sight.flags(other.id)
        if flags >= 0 and flags & GONE and flags & DESCRIBED and life_of(other.number) > life_of(sight.sent(other.id)):
            self.sent.part(other.id, flags, self.body.core.host.now)
            flags = -1
        self._let_in(other, flag, flags)

    def _let_in(self, other: Body, flag: int, flags: int) -> None:
        """It is in the area, for this reason; perhaps for one more, or it was about to go: then it is withheld no more,
        though the client may not have been sent anything yet."""
        if flags < 0:
            self.sent.add(other, flag)
        else:
            gone = GONE | PARTED | WITHHELD if flags & (GONE | PARTED) else 0
            self.sent.set_flags(other.id, (flags | flag) & ~gone)
            self._judge_later(other.id)
        if self._has_hooks and (flags < 0 or flags & (GONE | PARTED)):
            self._interests.call(self.body, "on_entered_aoi", other.view)

    def _let_go(self, entity: int, flags: int) -> None:
        self.sent.set_flags(entity, flags & ~(IN_AREA | MANUAL | PARTED) | GONE)
        if self._has_hooks and not flags & PARTED:
            self._interests.call(self.body, "on_left_aoi", entity)
