"""What one client is sent about the places around it: the send table of a witness, and the packed PLACES messages.

**The table** has an entry for each entity that the client has, or is to get. Each tick `serve` looks at all of them and
writes messages straight into the buffers that they travel in (`_speed/updates`); Python gets none of them.

    words       messages of entities with a step that carries something the client has not got (`Area.news` beyond
                `sent`), where the headline of the entity is all that it lacks; `sent` is moved on
    rows        what may be lost: messages of headlines that are so, then PLACES: places that have changed since they
                were sent, and those that are due to be refreshed
    news        the other entities of which it lacks something, or that came into another level of detail: the caller
                looks into their history

as far as the byte budget reaches, most urgent first; half of it is left where there are news, for these. A **headline**
is the last step of an entity that carries something: nearly always a client has everything before it. An entity is the
more urgent the longer nothing of it was sent, and the nearer it is:

    urgency = 16 * ticks since it was sent / (1 + FAR * distance / radius)      a whole number, 1023 at most

So with too little budget a thing at the rim of the area is sent about ten times less often than one close by, none
is left out for ever, and what stood still is sent soon when it moves. Equally urgent ones come in the order of the
table, where the last one takes the place of one that is removed.

A place does not overtake news, which may be places, too: while the client lacks news of an entity, its place waits for
the next call, when these were sent; for PATIENCE calls at most, since some entities have news all the time.

A place is unreliable: one that has not changed is sent again after REFRESH ticks, so that a lost packet heals.
A description is reliable and needs no repetition. A local copy that is behind what the client has (another cell has
sent more) is not sent.

**Distance**, on the ground, decides what is sent about an entity, by the `Ranges` of its type:

    levels of detail    0, 1, … from near to far, the outermost has no end. An entry is in one of them:

                            level 0       start 0   + hysteresis   level 1       start 1   + hysteresis   level 2
                        ├────────────────────┼───────────┼────────────────────────┼──────────┼───────────────────▶
                               comes nearer ◀┘           └▶ goes farther          ◀┘          └▶

                        What belongs to a level is sent for entries in it or nearer (`manners` of a headline).
    position            Beyond, no places are sent: once more when it goes out, and once again since that may be lost.
                        A position that is not volatile is never sent here: its places are events of the history.
    yaw, pitch, roll    Each as far as its distance.

What is sent is counted in the tally of the headlines (`_speed/tally`): a message of a headline in the row that is given
with it, an entry of PLACES in the row of its `Ranges`, with the heads where it is the first.

**PLACES** (little-endian). All places are relative to a reference, the witness's own place in whole metres:

    21 | turn u8 | reference x i24, z i24 (metres), y f32 | sections…          at most 1024 bytes, else several messages
    turn      left to the BaseApp (`sync/turns.py`); here it is the tick
    section   form u8 | count u8 | entries
    entry     alias (u8; 255: a u16 follows) | place | angles
    form      kind * 4 + number of angles (0 none, 1 yaw, 2 yaw pitch, 3 yaw pitch roll)

    kind 0    ground   3 bytes: x in the low 12 bits, z in the high 12; the height is the reference's
    kind 1    air      5 bytes: x and z as before, then y in 16 bits
    kind 2    full     x y z as f32; its angles are f32, too
    angles    one byte each, signed, in steps of pi/128

    12 bits = sign 1, exponent 3, mantissa 8      of |v| + 2, where v is relative: exact to 1/256 m within 2 m,
    16 bits = sign 1, exponent 4, mantissa 11     the step doubles with each exponent; up to ±510 m, ±131 km

Ground serves when the height is the reference's to 1/256 m, full when x or z is out of range or the type is detailed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, pi, sqrt
from struct import Struct
from typing import TYPE_CHECKING

from terrazzo._speed.entry_flags import EntryFlag
from terrazzo._speed.tally import Tally
from terrazzo.errors import UsageError

if TYPE_CHECKING:
    from terrazzo._speed.area import Area
    from terrazzo._speed.updates import UpdateRows, Words

PLACES = 21
MESSAGE_MAX = 1024
REFRESH = 20
"""Ticks after which an unchanged place is sent again."""
PATIENCE = 5
"""Calls that a place waits for news to be sent before it."""
FAR = 9.0
"""How much less urgent a thing at the rim is than one close by."""
LEVELS_MAX = 3
"""Levels of detail that a type has beside the outermost."""

OUTERMOST = 255
"""As the level of an entry: not known yet. As the level of a message: it belongs to none."""

DESCRIBED = EntryFlag.DESCRIBED.value
WITHHELD = EntryFlag.WITHHELD.value

GROUND, AIR, FULL = 0, 1, 2

_NEVER = -(1 << 30)
_URGENCY_MAX = 1023
_UNSENT = -1
_GROUND_M = 1 / 256
_REFERENCE_MAX = (1 << 23) - 1
_FLOAT = Struct("<f")
_BITS = Struct("<I")
_HEAD_BYTES = 12

Manner = tuple[int, float, bool, bool]
"""How a message is sent: the level that it belongs to, how far it reaches, whether it must not be lost, and whether
only the latest of its kind matters, which is history's business (`cell/core/history.py`)."""


def pack12(value: float) -> int:
    """12 bits of a relative x or z; -1: out of range."""
    bits = _BITS.unpack(_FLOAT.pack(abs(value) + 2.0))[0] if abs(value) < 1e9 else 0x7F800000
    code: int = ((bits + 0x4000) >> 15) - 0x8000
    return -1 if code > 0x7FF else code | 0x800 if value < 0 else code


def pack16(value: float) -> int:
    """16 bits of a relative y; -1: out of range."""
    bits = _BITS.unpack(_FLOAT.pack(abs(value) + 2.0))[0] if abs(value) < 1e9 else 0x7F800000
    code: int = ((bits + 0x800) >> 12) - 0x40000
    return -1 if code > 0x7FFF else code | 0x8000 if value < 0 else code


def pack_angle(angle: float) -> int:
    """8 bits of an angle in radians."""
    steps = angle * (128.0 / pi) + 0.5
    if steps - steps != 0:
        return 0
    return int(steps - floor(steps / 256.0) * 256.0) & 255


class _Writer:
    """Collects entries by their form into messages."""

    def __init__(self, rows: UpdateRows, tick: int, x: float, y: float, z: float) -> None:
        self.rows = rows
        self.x = _whole(x)
        self.y = y
        self.z = _whole(z)
        self.head = bytes([PLACES, tick & 255]) + _int24(self.x) + _int24(self.z) + _FLOAT.pack(y)
        self.size = 0
        """Of the message begun; 0: none is."""
        self.used = 0
        self._sections: dict[int, list[bytes]] = {}

    def add(self, entry: tuple[int, bytes]) -> None:
        """One entry: its form and its bytes. A section never has more than 255: those would not fit a message."""
        form, data = entry
        cost = len(data) + (0 if form in self._sections else 2)
        if self.size + cost > MESSAGE_MAX:
            self.close()
            cost = len(data) + 2
        if not self.size:
            cost += _HEAD_BYTES
        self._sections.setdefault(form, []).append(data)
        self.size += cost
        self.used += cost

    def close(self) -> None:
        """The message begun is done."""
        if self.size:
            sections = (bytes([form, len(entries)]) + b"".join(entries) for form, entries in self._sections.items())
            self.rows.put(self.head + b"".join(sections))
            self._sections.clear()
            self.size = 0

    def pack(
        self, alias: int, place: tuple[float, ...], angles: tuple[float, ...], *, is_detailed: bool
    ) -> tuple[int, bytes]:
        """The form and the bytes of one entry."""
        head = _alias(alias)
        x, y, z = place
        east, north = pack12(x - self.x), pack12(z - self.z)
        height = y - self.y
        if is_detailed or east < 0 or north < 0:
            return _full(head, place, angles)
        flat = (east | north << 12).to_bytes(3, "little")
        turned = bytes(map(pack_angle, angles))
        if -_GROUND_M < height < _GROUND_M:
            return GROUND * 4 + len(angles), head + flat + turned
        up = pack16(height)
        if up < 0:
            return _full(head, place, angles)
        return AIR * 4 + len(angles), head + flat + up.to_bytes(2, "little") + turned


def _alias(alias: int) -> bytes:
    return bytes([alias]) if alias < 255 else bytes([255, alias & 255, alias >> 8])


def _full(head: bytes, place: tuple[float, ...], angles: tuple[float, ...]) -> tuple[int, bytes]:
    return FULL * 4 + len(angles), head + b"".join(map(_FLOAT.pack, (*place, *angles)))


def _whole(metres: float) -> int:
    return max(-_REFERENCE_MAX, min(_REFERENCE_MAX, floor(metres + 0.5)))


def _int24(value: int) -> bytes:
    return (value & 0xFFFFFF).to_bytes(3, "little")


class Ranges:
    """How far entities of a type are seen: metres for the position and for yaw, pitch and roll (None: not sent as
    a place), and (start, hysteresis) of each level of detail."""

    def __init__(
        self,
        position: float | None,
        angles: tuple[float | None, float | None, float | None] = (None, None, None),
        levels: Sequence[tuple[float, float]] = (),
        *,
        is_detailed: bool = False,
        row: int = 0,
    ) -> None:
        if len(levels) > LEVELS_MAX:
            raise ValueError(f"{len(levels)} levels of detail; there are {LEVELS_MAX} beside the outermost")
        self.is_detailed = is_detailed
        self.row = row
        self.position = _square(position)
        self.angles = [_square(each) for each in angles]
        self.starts = [start * start for start, _ in levels]
        self.ends = [(start + hysteresis) * (start + hysteresis) for start, hysteresis in levels]

    def angles_within(self, distance2: float) -> int:
        """How many angles are sent at this distance, squared."""
        return sum(distance2 <= each for each in self.angles)

    def level(self, level: int, distance2: float) -> int:
        """The level of something at this distance, squared, that was in `level`."""
        count = len(self.starts)
        level = min(level, count)
        while level > 0 and distance2 < self.starts[level - 1]:
            level -= 1
        while level < count and distance2 > self.ends[level]:
            level += 1
        return level


def _square(metres: float | None) -> float:
    return -1.0 if metres is None else metres * metres


_ANYWHERE = Ranges(inf)


Headline = tuple[Sequence[tuple[int, bytes]], Sequence[Manner] | None, Sequence[int]]
"""Messages, in which manner each is sent, and in which row of the tally it is counted."""


class Headlines:
    """By slot: the last step of each entity of an area that carries something, and the ranges of its type."""

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = tally or Tally()
        self._by_slot: dict[int, tuple[int, int, int, Headline]] = {}
        self._ranges: dict[int, Ranges] = {}

    def begin(self, slot: int, ranges: Ranges) -> None:
        """A body of a type with these ranges; of others everything is sent at any distance, but no angles."""
        self._ranges[slot] = ranges

    def glance(self, area: Area) -> None:
        """Many sights of this area are served one after the other, and meanwhile nothing in it changes. The compiled
        form copies what a look needs of each slot, side by side."""

    def forget(self) -> None:
        """They are served: the area may change."""

    def ranges(self, slot: int) -> Ranges:
        """See `begin`."""
        return self._ranges.get(slot, _ANYWHERE)

    def set(
        self,
        slot: int,
        entity: int,
        before: int,
        number: int,
        told: Sequence[tuple[int, bytes]],
        manners: Sequence[Manner] | None = None,
        rows: Sequence[int] = (),
    ) -> None:
        """What the step of this number carries: ids and bodies of messages, which lack the alias between the two. A
        client that has all up to `before` lacks just this. Without manners it is for all, and not to be lost."""
        self._by_slot[slot] = (entity, before, number, (told, manners, rows or (0,) * len(told)))

    def find(self, slot: int, entity: int, sent: int, newest: int) -> Headline | None:
        """What a client lacks that has all up to `sent`; None: more than the headline, or it is of something else."""
        known = self._by_slot.get(slot)
        if known is None or known[0] != entity or known[2] != newest or known[1] > sent:
            return None
        return known[3]


class _Entry:
    __slots__ = (
        "alias", "angles", "entity", "flags", "is_beyond", "is_settled", "level", "sent", "sent_at", "slot", "stamp",
        "waited", "waits_since",
    )  # fmt: skip

    def __init__(self, entity: int, slot: int, sent: int, flags: int) -> None:
        self.entity = entity
        self.slot = slot
        self.sent = sent
        self.flags = flags

    def begin(self, alias: int, level: int) -> None:
        """The client was sent no place of it yet."""
        self.alias = alias
        self.level = level
        self.stamp = _UNSENT
        self.sent_at = _NEVER
        self.angles = 0
        """How many were sent with the stamp."""
        self.is_settled = False
        """It was sent reliably, and needs no refresh."""
        self.is_beyond = False
        """When it was sent, it was farther away than its position reaches."""
        self.waits_since = _NEVER
        self.waited = 0
        """For news to be sent before its place, that many calls."""


def _count(tally: Tally, row: int, size: int) -> None:
    """One more message of this size; rows of another tally are not counted."""
    if 0 <= row < len(tally):
        tally.add(row, 1, size)


def _urgency(age: int, weight: float) -> int:
    return int(min(16.0 * age / weight, _URGENCY_MAX))


def _most_urgent_first(entries: list[tuple[int, _Entry]]) -> list[_Entry]:
    """Equally urgent ones stay in their order."""
    return [entry for _, entry in sorted(entries, key=lambda each: -each[0])]


class Sight:
    """The send table of one witness; its own body is at `slot`."""

    def __init__(self, area: Area, slot: int, headlines: Headlines) -> None:
        self._area = area
        self._slot = slot
        self._headlines = headlines
        self._entries: dict[int, _Entry] = {}
        self._table: list[_Entry] = []
        self.news: list[int] | None = None
        """Of the last call of `serve`: entities of which the client lacks more than a headline."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entity: int, slot: int, alias: int, sent: int, flags: int, level: int = OUTERMOST) -> None:
        """A new entry, for an entity with its body at `slot` (-1: it has none here now)."""
        assert entity not in self._entries
        if slot >= 0:
            self._area.stamp(slot)  # raises where there is no such slot
        entry = self._entries[entity] = _Entry(entity, slot, sent, flags)
        entry.begin(alias, level)
        self._table.append(entry)

    def remove(self, entity: int) -> None:
        """The entry ends."""
        place = self._table.index(self._entries.pop(entity))
        last = self._table.pop()
        if place < len(self._table):
            self._table[place] = last

    def rename(self, entity: int, alias: int) -> None:
        """The client has it by this alias from now on (0: it has it not), and was sent no place of it yet."""
        self._entries[entity].begin(alias, OUTERMOST)

    def bind(self, entity: int, slot: int) -> None:
        """Its body is here now (-1: no longer here)."""
        entry = self._entries[entity]
        if slot >= 0:
            self._area.stamp(slot)  # raises where there is no such slot
        entry.slot = slot
        entry.stamp = _UNSENT

    def get(self, entity: int) -> tuple[int, int, int, int] | None:
        """Slot, alias, sent and flags; None: it has no entry."""
        entry = self._entries.get(entity)
        return None if entry is None else (entry.slot, entry.alias, entry.sent, entry.flags)

    def flags(self, entity: int) -> int:
        """Its flags; -1: it has no entry."""
        entry = self._entries.get(entity)
        return -1 if entry is None else entry.flags

    def slot(self, entity: int) -> int:
        """Where its body is; -1: it has none here."""
        return self._entries[entity].slot

    def alias(self, entity: int) -> int:
        """By which alias the client has it; 0: none yet."""
        return self._entries[entity].alias

    def sent(self, entity: int) -> int:
        """Up to which number the client has it."""
        return self._entries[entity].sent

    def set_sent(self, entity: int, sent: int) -> None:
        """The client has everything up to this number."""
        entry = self._entries[entity]
        entry.sent = sent
        entry.waits_since = _NEVER

    def set_flags(self, entity: int, flags: int) -> None:
        """With DESCRIBED new in them: a description goes out now, which bears the place."""
        entry = self._entries[entity]
        if flags & DESCRIBED and not entry.flags & DESCRIBED and entry.slot >= 0:
            entry.stamp = self._area.stamp(entry.slot)
            entry.angles = 3
            entry.is_settled = True
            entry.is_beyond = self._distance2(entry.slot) > self._headlines.ranges(entry.slot).position
        entry.flags = flags

    def levels(self, entity: int) -> tuple[int, int, float]:
        """The level that the client has it at, the one it is in by its distance, and that; 0 where it has no body."""
        entry = self._entries[entity]
        if not self._has_body(entry):
            return entry.level, entry.level, 0.0
        distance2 = self._distance2(entry.slot)
        level = self._headlines.ranges(entry.slot).level(entry.level, distance2)
        return entry.level, level, sqrt(distance2)

    def set_level(self, entity: int, level: int) -> None:
        """The client has it at this level."""
        self._entries[entity].level = level

    def entities(self) -> list[int]:
        """All that have an entry, in the order of their ids."""
        return sorted(self._entries)

    def serve(self, tick: int, budget_bytes: float, radius: float, words: Words, rows: UpdateRows) -> int:
        """Writes what the client is sent now, and gives how many bytes that is; `news` are left to the caller. See the
        module. The last message of each kind may go beyond the budget: what is over is the caller's to carry on."""
        self.news = None
        if budget_bytes <= 0:
            return 0
        news, due = self._look(tick, radius)
        used = 0
        for entry in news:
            slot = entry.slot
            found = self._headlines.find(slot, entry.entity, entry.sent, self._area.news(slot))
            if found is None or self._is_crossing(entry):
                self.news = [*(self.news or ()), entry.entity]
            elif used < self._share(budget_bytes):
                used += self._tell_headline(entry, found, words, rows)
                self.set_sent(entry.entity, self._area.number(slot))
        writer = _Writer(rows, tick, *self._area.position(self._slot))
        rest = self._share(budget_bytes) - used
        for entry in due:
            if writer.used >= rest:
                break
            if self._area.news(entry.slot) > entry.sent and entry.waited < PATIENCE:
                entry.waited += 1
            else:
                self._tell(writer, tick, entry)
        writer.close()
        return used + writer.used

    def _share(self, budget_bytes: float) -> float:
        return budget_bytes if self.news is None else budget_bytes * 0.5

    def _look(self, tick: int, radius: float) -> tuple[list[_Entry], list[_Entry]]:
        """The entries with news and those with a place that is due, the most urgent first."""
        area = self._area
        scale = FAR / radius
        news: list[tuple[int, _Entry]] = []
        due: list[tuple[int, _Entry]] = []
        for entry in self._table:
            slot = entry.slot
            if slot < 0 or entry.flags & (DESCRIBED | WITHHELD) != DESCRIBED:
                continue
            age = tick - entry.sent_at
            is_behind = area.number(slot) < entry.sent
            has_news = area.news(slot) > entry.sent or (not is_behind and self._is_crossing(entry))
            is_due = not is_behind and self._is_due(entry, age)
            if not has_news and not is_due:
                continue
            weight = 1.0 + min(sqrt(self._distance2(slot)) * scale, FAR)
            if is_due:
                due.append((_urgency(age, weight), entry))
            if has_news:
                if entry.waits_since == _NEVER:
                    entry.waits_since = tick
                news.append((_urgency(tick - entry.waits_since + 1, weight), entry))
        return _most_urgent_first(news), _most_urgent_first(due)

    def _has_body(self, entry: _Entry) -> bool:
        """Whether the slot is still the entity's."""
        try:
            return self._area.entity(entry.slot) == entry.entity
        except UsageError:
            return False

    def _distance2(self, slot: int) -> float:
        """From the witness, on the ground, squared."""
        x, _, z = self._area.position(self._slot)
        at_x, _, at_z = self._area.position(slot)
        east, north = at_x - x, at_z - z
        return east * east + north * north

    def _is_crossing(self, entry: _Entry) -> bool:
        """Whether it is in another level of detail than the client has it at."""
        ranges = self._headlines.ranges(entry.slot)
        level = min(entry.level, len(ranges.starts))
        return ranges.level(level, self._distance2(entry.slot)) != level

    def _is_due(self, entry: _Entry, age: int) -> bool:
        """Whether its place is to be sent."""
        ranges, distance2 = self._headlines.ranges(entry.slot), self._distance2(entry.slot)
        is_beyond = distance2 > ranges.position
        if ranges.position < 0 or entry.stamp == _UNSENT:
            return not is_beyond
        if age >= REFRESH and not entry.is_settled:
            return True
        if is_beyond and entry.is_beyond:
            return False
        return self._area.stamp(entry.slot) != entry.stamp or ranges.angles_within(distance2) > entry.angles

    def _tell_headline(self, entry: _Entry, headline: Headline, words: Words, rows: UpdateRows) -> int:
        """As much of it as is for this client; how many bytes that took."""
        several, manners, tally_rows = headline
        used, distance2 = 0, self._distance2(entry.slot)
        for at, (id, body) in enumerate(several):
            level, distance, is_reliable, _ = (OUTERMOST, inf, True, False) if manners is None else manners[at]
            if entry.level <= level and distance2 <= distance * distance:
                message = bytes([id]) + _alias(entry.alias) + body
                (words if is_reliable else rows).put(message)
                _count(self._headlines.tally, tally_rows[at], len(message))
                used += len(message)
        return used

    def _tell(self, writer: _Writer, tick: int, entry: _Entry) -> None:
        area, slot = self._area, entry.slot
        ranges, distance2 = self._headlines.ranges(slot), self._distance2(slot)
        is_beyond = distance2 > ranges.position
        angles = ranges.angles_within(distance2)
        direction = area.direction(slot)[:angles]
        used = writer.used
        writer.add(writer.pack(entry.alias, area.position(slot), direction, is_detailed=ranges.is_detailed))
        _count(self._headlines.tally, ranges.row, writer.used - used)
        entry.is_settled = is_beyond and entry.is_beyond
        entry.stamp, entry.sent_at, entry.angles, entry.is_beyond = area.stamp(slot), tick, angles, is_beyond
        entry.waited = 0
