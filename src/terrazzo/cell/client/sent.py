"""What one client was sent of the entities around it, and what it is to be sent next.

Each of these entities has an entry in a table (`_speed/sight`): the slot of the local body, real or ghost, the alias by
which the client has it (`cell/client/aliases.py`), flags (`_speed/entry_flags.py`), and `sent`, the number of the last
step of it that the client has (`cell/core/history.py`). `cell/client/witness.py` decides which entities have an entry;
`cell/client/entry_states.py` has the life of an entry as a table, and its rules.

**Levels of detail.** The client has each entity at a level, which compiled code compares with the distance
(`_speed/sight`). For a level farther in, `away` has the number up to which the client has the properties of that level:

    described at level 2        away {}             it has the properties of level 2, and those without a level
    comes to level 0            away {}             all properties of levels 0 and 1, as they are: it never had them
    goes to level 1 at 47       away {0: 47}        from here on changes of level 0 are not sent, but `sent` moves on
    goes to level 2 at 60       away {0: 47, 1: 60}
    comes to level 0            away {}             of level 0 what is stamped later than 47, of level 1 than 60:
                                                    where nothing has changed, nothing

Before a level changes, the news of the time before are sent, at the former level; so `sent` is the same for all that
the client has. A description has all properties of its level, even for a client that remembers the entity.

The local body may be behind what the client has, since another CellApp has sent that: then nothing is sent until the
body has caught up. An entity that was announced is described at the number at which it was let in, or later, so that
the client gets nothing about it that is older than what it got before.

`update` runs once a tick, when the steps of the tick are closed. Python runs in it for entries that change their state
or level now, and for those with more news than a headline; all others cost compiled code only.

An unreliable event is sent at once or never. A client that could not be sent it gets the property with the next news,
as it is by that time, reliably, as everything that is caught up by stamps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from math import hypot, inf

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.sight import Sight
from terrazzo._speed.updates import UpdateRows, Words
from terrazzo.cell.client.aliases import Aliases
from terrazzo.cell.client.budget import Budget
from terrazzo.cell.core.account import DESCRIPTION, PRESENCE
from terrazzo.cell.core.body import Body
from terrazzo.cell.core.history import PLACE, RIDE, EntityEvent, History
from terrazzo.cell.ghosts.tombstones import Tombstones
from terrazzo.sync.protocol import OWN, encode_announce, encode_describe, encode_leave, with_alias
from terrazzo.sync.riding import encode_ride
from terrazzo.wire.ids import life_of
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import ClientWants, Position
from terrazzo.wire.pairs.cell_cell import PackedSeen

DESCRIBED = EntryFlag.DESCRIBED.value
WITHHELD = EntryFlag.WITHHELD.value
WANTED = EntryFlag.WANTED.value
GONE = EntryFlag.GONE.value

LEFT_S = 10.0
"""How long it is remembered that something left: longer than any copy of it is behind."""
WANT_S = 3.0
"""How long a client is waited for that does not want what was announced to it."""

EntryFields = tuple[int, int, int, int]
"""Slot (-1: no body here), alias (0: not announced), sent, flags."""


class ClientRecord:
    """The entries of one client."""

    __slots__ = (
        "_area",
        "_awaited",
        "_away",
        "_bodies",
        "_body",
        "_ends",
        "_forget_at",
        "_loose",
        "_patient_until",
        "_queued_bytes",
        "_remembered",
        "_tally",
        "_tombstones",
        "_undescribed",
        "aliases",
        "budget",
        "left",
        "pending",
        "sight",
    )  # fmt: skip

    def __init__(self, body: Body, aliases: Aliases, budget: Budget, tombstones: Tombstones) -> None:
        self.sight = Sight(body.space.area, body.slot, body.space.headlines)
        self.aliases = aliases
        self.budget = budget
        self.pending: list[bytes] = []
        """For the client, in order, with the next update."""
        self._loose: list[bytes] = []
        """The same, what may be lost."""
        self._away: dict[int, dict[int, int]] = {}
        """Entity → level → the number up to which the client has the properties of that level."""
        self.left: dict[int, tuple[int, float]] = {}
        """Entity → lowest number at which it may be let in again, until when that matters; soonest first."""
        self._body = body
        self._area = body.space.area
        self._bodies = body.space.bodies
        self._queued_bytes = 0
        """Bytes that are pending, or may be lost and wait."""
        self._awaited: deque[tuple[float, int, int]] = deque()
        """Announced, and not wanted yet: until when that is waited for, the entity, its alias."""
        self._patient_until = inf
        """Of the first of them."""
        self._undescribed: dict[int, None] = {}
        """Entities to be announced or described, in the order in which they became so."""
        self._ends: dict[int, None] = {}
        """Entries that the client has to lose: GONE or WITHHELD."""
        self._remembered: dict[int, int] = {}
        """Of those wanted: the number up to which the client remembers it from before."""
        self._forget_at = 0.0
        self._tombstones = tombstones
        self._tally = body.core.account.tally

    # Entries.

    def get(self, entity: int) -> EntryFields | None:
        """The entry of an entity."""
        return self.sight.get(entity)

    def entry(self, entity: int) -> EntryFields:
        """The entry of one that has one."""
        entry = self.sight.get(entity)
        assert entry is not None
        return entry

    def has_described(self, entity: int) -> bool:
        """Whether the client has the description of an entity."""
        flags = self.sight.flags(entity)
        return flags >= 0 and bool(flags & DESCRIBED)

    def is_due(self, entity: int) -> bool:
        """Whether an update is to announce, describe or end it, when there is room."""
        return entity in self._undescribed or entity in self._ends

    def may_enter(self, other: Body) -> bool:
        """Whether a body is as new as what the client has seen of it before."""
        known = self.left.get(other.id)
        return known is None or self._area.number(other.slot) >= known[0]

    def add(self, other: Body, flag: int) -> None:
        """A new entry. The client is sent it when the body is as new as what the client got of it before."""
        known = self.left.pop(other.id, None)
        number = self._area.number(other.slot)
        if known is not None:
            number = max(number, known[0])
        self.sight.add(other.id, other.slot, 0, number, flag)
        self._undescribed[other.id] = None

    def set_flags(self, entity: int, flags: int) -> None:
        """Another state; the client is sent what follows from it."""
        self.sight.set_flags(entity, flags)
        if flags & (GONE | WITHHELD):
            self._ends[entity] = None
        elif not flags & DESCRIBED:
            self._undescribed[entity] = None

    def pack(self) -> Iterator[PackedSeen]:
        """The entries at rest. Where nothing is left to send, the client has all that this cell has."""
        for entity in self.sight.entities():
            slot, alias, sent, flags = self.entry(entity)
            other = self._bodies.get(entity)
            if other is not None and other.slot == slot and flags & DESCRIBED and self._area.news(slot) <= sent:
                sent = max(sent, other.number)
            away = self._away.get(entity)
            level = self.sight.levels(entity)[0]
            yield PackedSeen(entity, alias, sent, flags, level, () if away is None else tuple(away.items()))

    def unpack(self, seen: PackedSeen, slot: int) -> None:
        """One of them goes on here."""
        entity, alias, sent, flags, level, away = seen
        self.sight.add(entity, slot, alias, sent, flags, level)
        if away:
            self._away[entity] = dict(away)
        if not flags & DESCRIBED:
            self._undescribed[entity] = None
            if alias:
                self._await_want(entity, alias)

    def drop_all(self, now: float) -> None:
        """The client is in another space and has dropped all of them."""
        for entity in self.sight.entities():
            alias = self.sight.alias(entity)
            if alias:
                self.aliases.rest(alias)
            self._forget(entity, self.sight.sent(entity), now)

    def on_wants(self, message: ClientWants) -> None:
        """The client has received announcements and wants these entities described; it has received these leaves."""
        for alias in message.released:
            self.release(alias)
        for entity, remembered in message.wants:
            self.want(entity, remembered)

    def release(self, alias: int) -> None:
        """The client has received the leave of the entity that it had by this alias."""
        if not self.aliases.release(alias):
            self._body.core.count(LogEvent.ALIAS_RELEASED_WRONGLY, entity=self._body.id, alias=alias)

    def want(self, entity: int, remembered: int) -> None:
        """The client wants this entity described, of which it remembers the state at that number; 0: nothing."""
        flags = self.sight.flags(entity)
        if flags >= 0 and not flags & (DESCRIBED | GONE) and self.sight.alias(entity):
            if remembered or self._remembered:
                self._remembered[entity] = remembered
            self.set_flags(entity, flags | WANTED)

    def _await_want(self, entity: int, alias: int) -> None:
        until = self._body.core.host.now + WANT_S
        if not self._awaited:
            self._patient_until = until
        self._awaited.append((until, entity, alias))

    def _stop_waiting(self, now: float) -> None:
        """An answer of the client to an announcement may be lost with a body or a link: then the entity is described
        unasked."""
        while self._patient_until <= now:
            _, entity, alias = self._awaited.popleft()
            self._patient_until = self._awaited[0][0] if self._awaited else inf
            flags = self.sight.flags(entity)
            if flags < 0 or flags & (DESCRIBED | GONE | WANTED | WITHHELD):
                continue
            if self.sight.alias(entity) == alias:
                self._body.core.count(LogEvent.DESCRIBED_UNASKED, entity=self._body.id, other=entity)
                self.set_flags(entity, flags | WANTED)

    # What is sent.

    def add_own_event(self, event: EntityEvent) -> None:
        """Something about the own entity."""
        message = with_alias(OWN, event.message)
        (self.pending if event.manner.is_reliable else self._loose).append(message)
        self._queued_bytes += len(message)
        self._tally.add(self._body.kind.page.own[event.subject], 1, len(message))

    def add_own_message(self, subject: int, message: bytes) -> None:
        """The same, of what is no event: a message about this subject of the account."""
        self._queue(self._body.kind.page.own[subject], message)

    def _queue(self, row: int, message: bytes) -> None:
        """Something that must not be lost, and where it is counted."""
        self.pending.append(message)
        self._queued_bytes += len(message)
        self._tally.add(row, 1, len(message))

    def _queue_event(self, alias: int, event: EntityEvent) -> None:
        self._queue(event.row, with_alias(alias, event.message))

    def update(self, now: float, tick: int, radius: float, words: Words, rows: UpdateRows) -> None:
        """Writes what is to be sent now, within what the budget has granted: reliable messages into `words`, those
        that may be lost into the row that is begun."""
        own, self._queued_bytes = self._queued_bytes, 0
        room = self.budget.room(own)
        if self.left and now >= self._forget_at:
            self._forget_left(now)
        if self._patient_until <= now:
            self._stop_waiting(now)
        if self._ends:
            self._end_all(now)
        if self._undescribed:
            self._grant(room)
        if self.pending:
            self._write_pending(words)
        if self._loose:
            loose, self._loose = self._loose, []
            for message in loose:
                rows.put(message)
        used = self.sight.serve(tick, room - self._queued_bytes, radius, words, rows)
        if self.sight.news is not None:
            for entity in self.sight.news:
                self._send_news(entity)
                if self._queued_bytes + used >= room:
                    break
            self._write_pending(words)
        self.budget.spend(own + self._queued_bytes + used)
        self._queued_bytes = 0

    def _write_pending(self, words: Words) -> None:
        pending, self.pending = self.pending, []
        for message in pending:
            words.put(message)

    def _grant(self, room: float) -> None:
        """Announces and describes as many as there is room for."""
        tried: dict[int, bool] = {}
        for entity in self._undescribed:
            if self._queued_bytes >= room:
                break
            tried[entity] = self._bring_nearer(entity)
        for entity, is_granted in tried.items():
            del self._undescribed[entity]
            if not is_granted:
                self._undescribed[entity] = None

    def _bring_nearer(self, entity: int) -> bool:
        """The next word about one that is not described yet; False: not now, the body is not here or behind."""
        flags = self.sight.flags(entity)
        if flags < 0 or flags & (DESCRIBED | WITHHELD | GONE):
            return True
        alias = self.sight.alias(entity)
        if alias and not flags & WANTED:
            return True
        other, slot = self._bodies.get(entity), self.sight.slot(entity)
        if other is None or other.slot != slot or self._area.number(slot) < self.sight.sent(entity):
            return False
        if not alias:
            return self._announce(other, entity)
        self._describe(other, entity, slot, alias, flags)
        return True

    def _announce(self, other: Body, entity: int) -> bool:
        alias, kind = self.aliases.take(), other.kind
        if not alias:
            self._body.core.count(LogEvent.NO_ALIAS, entity=self._body.id)
            return False
        self.sight.rename(entity, alias)
        self._queue(kind.page.others[PRESENCE], encode_announce(entity, alias, kind.schema))
        self._await_want(entity, alias)
        return True

    def _describe(self, other: Body, entity: int, slot: int, alias: int, flags: int) -> None:
        kind, area, number = other.kind, self._area, self._area.number(slot)
        level = self.sight.levels(entity)[1]
        remembered = self._remembered.pop(entity, 0) if self._remembered else 0
        row = None if remembered else other.history.rows.get(level)
        if row is None:
            row = kind.describe(other, level, remembered)
        described = encode_describe(alias, number, area.position(slot), area.direction(slot), row)
        self._queue(kind.page.others[DESCRIPTION], described)
        if other.ride is not None:
            self._queue_event(alias, kind.event_of_ride(encode_ride(other.ride)))
        self.sight.set_sent(entity, number)
        self.sight.set_level(entity, level)
        self.sight.set_flags(entity, flags & ~WANTED | DESCRIBED)

    def _send_news(self, entity: int) -> None:
        """The steps that the client has not got, and what it lacks at its new level."""
        other = self._bodies.get(entity)
        if other is None:
            return
        alias, sent, number = self.sight.alias(entity), self.sight.sent(entity), self._area.number(other.slot)
        if life_of(number) != life_of(sent) or number < sent:
            return  # its body was removed or replaced since the last look around: the next one sees to it
        self._send_since(other, alias, sent)
        self.sight.set_sent(entity, number)
        level, level_now, _ = self.sight.levels(entity)
        if level_now != level:
            self._change_level(other, alias, level, level_now)

    def _send_since(self, other: Body, alias: int, sent: int) -> None:
        """The steps after `sent`, as far as they are sent to a client that is so far away; where history is gone, or
        was not kept, each property that has changed since, as it is."""
        history, kind, slot = other.history, other.kind, other.slot
        if self._area.number(slot) <= sent or (self._area.news(slot) <= sent and not kind.loose):
            return
        level, _, distance = self.sight.levels(other.id)
        visible = kind.visible[min(level, len(kind.of_level))]
        if self._repeat(history, alias, sent, level, distance, True):
            subjects = [place for place in kind.loose if place in visible]
        else:
            subjects = [*visible, *kind.beside]
        self._catch_up(other, alias, [each for each in subjects if history.has_changed(each, sent)])

    def _repeat(self, history: History, alias: int, sent: int, level: int, distance: float, is_here: bool) -> bool:
        """The steps after `sent`; False: they are not stored any more. Of an entity in another space no places."""
        events = history.since(sent)
        for event in events or ():
            is_near = level <= event.manner.level and distance <= event.manner.distance
            if is_near and (is_here or event.subject not in (PLACE, RIDE)):
                self._queue_event(alias, event)
        return events is not None

    def _catch_up(self, other: Body, alias: int, subjects: list[int]) -> None:
        for subject in subjects:
            self._queue_event(alias, other.kind.event_of_now(other, subject))

    def _change_level(self, other: Body, alias: int, level: int, level_now: int) -> None:
        """It came nearer or went farther; the client has all of it that belongs to the level that was."""
        away, kind, history = self._away.setdefault(other.id, {}), other.kind, other.history
        for left in range(level, level_now):
            away[left] = other.number
        for come in range(level - 1, level_now - 1, -1):
            known = away.pop(come, None)
            places = kind.of_level[come]
            self._catch_up(other, alias, [at for at in places if known is None or history.has_changed(at, known)])
        if not away:
            del self._away[other.id]
        self.sight.set_level(other.id, level_now)

    # Leaving.

    def _end_all(self, now: float) -> None:
        """All that the client has to lose."""
        ends, self._ends = self._ends, {}
        for entity in ends:
            flags = self.sight.flags(entity)
            if flags < 0:
                continue
            if flags & GONE:
                self.part(entity, flags, now)
            elif flags & WITHHELD and self.sight.alias(entity):
                self._hide(entity, flags)

    def _hide(self, entity: int, flags: int) -> None:
        """For the client it leaves; the entry stays."""
        other, alias, sent = self._bodies.get(entity), self.sight.alias(entity), self.sight.sent(entity)
        if other is not None and flags & DESCRIBED and life_of(other.number) == life_of(sent):
            self._send_since(other, alias, sent)
            sent = max(sent, other.number)
        self._close(alias, entity, other)
        self._away.pop(entity, None)
        self._remembered.pop(entity, None)
        self.sight.rename(entity, 0)
        self.sight.set_sent(entity, sent)
        self.sight.set_flags(entity, flags & ~(DESCRIBED | WANTED))

    def part(self, entity: int, flags: int, now: float) -> None:
        """It is gone: its last events, then leave, and what has to be remembered of it."""
        other, alias, sent = self._bodies.get(entity), self.sight.alias(entity), self.sight.sent(entity)
        if other is not None and life_of(self._area.number(other.slot)) == life_of(sent):
            if flags & DESCRIBED:
                self._send_since(other, alias, sent)
            number = max(sent, self._area.number(other.slot))
        else:
            number = self._repeat_tombstone(entity, alias, sent, flags)
        if alias:
            self._close(alias, entity, other)
        self._forget(entity, number, now)

    def _repeat_tombstone(self, entity: int, alias: int, sent: int, flags: int) -> int:
        """The last events of an entity that has no body here any more; gives the number up to which they reach."""
        tombstone = self._tombstones.get(entity)
        if tombstone is None or life_of(tombstone.number) != life_of(sent):
            return sent
        if flags & DESCRIBED and tombstone.number > sent:
            is_here = tombstone.space == self._body.space.id
            distance = self._distance_to(tombstone.position) if is_here else inf
            self._repeat(tombstone.history, alias, sent, self.sight.levels(entity)[0], distance, is_here)
        return int(max(sent, tombstone.number) + tombstone.is_destroyed)

    def _distance_to(self, position: Position) -> float:
        """How far a place of this space is from the own entity, as levels and calls measure it."""
        x, _, z = self._body.position
        return hypot(position[0] - x, position[2] - z)

    def _close(self, alias: int, entity: int, other: Body | None) -> None:
        if other is None:
            row = self._body.core.account.leave_of_the_gone()
        else:
            row = other.kind.page.others[PRESENCE]
        self._queue(row, encode_leave(alias))
        self.aliases.rest(alias)
        if riders := self._body.space.riders_of(entity):
            self._strand(riders)

    def _strand(self, riders: Collection[int]) -> None:
        """Their vehicle has left, from which the client worked out where they are: it is sent their places now."""
        for rider in riders:
            other, flags = self._bodies.get(rider), self.sight.flags(rider)
            if other is not None and flags >= 0 and flags & DESCRIBED:
                self.sight.bind(rider, other.slot)
                if other.kind.is_eventful and other.number >= self.sight.sent(rider):
                    self._queue_event(
                        self.sight.alias(rider), other.kind.event_of_place(other.position, other.direction)
                    )

    def _forget(self, entity: int, number: int, now: float) -> None:
        self.sight.remove(entity)
        if self._remembered:
            self._remembered.pop(entity, None)
        if self._away:
            self._away.pop(entity, None)
        self.left.pop(entity, None)
        self.left[entity] = (number, now + LEFT_S)

    def _forget_left(self, now: float) -> None:
        while self.left:
            entity, (_, self._forget_at) = next(iter(self.left.items()))
            if self._forget_at > now:
                break
            del self.left[entity]
