"""What one client is told of the places around it: the send table of a witness, and the packed PLACES messages.

**The table** has an entry for each entity that the client knows. Each tick `serve` looks at all of them and gives

    told        messages of the entities of which a step told something that the client has not got (`Area.news` beyond
                `sent`), where the headline of the entity is all that it lacks; `sent` is moved on
    news        the other entities of which it lacks something: the caller looks into their history
    places      PLACES: those whose place changed since it was told, and those whose turn to be refreshed has come

as far as the byte budget reaches, most urgent first. A **headline** is the last step of an entity that told something:
nearly always a client has everything before it. Urgent is what was not told for long, near things more than far ones:

    urgency = 16 * ticks since it was told / (1 + FAR * distance / radius)      a whole number, 1023 at most

So with too little budget a thing at the rim of the area is told about ten times less often than one close by, nobody
is forgotten, and what stood still is told soon when it moves. Who is equally urgent comes in the order of the table,
where the last one takes the place of one that is removed.

A place is unreliable: what was told and has not changed is told again after REFRESH ticks, so that a lost packet heals.
A description is reliable and needs that not. A local copy that is behind what the client has (another cell told it
more) is not told.

**PLACES** (little-endian). All places are relative to a reference, the witness's own place in whole metres:

    21 | tick u8 | reference x i24, z i24 (metres), y f32 | sections…          at most 1024 bytes, else several messages
    section   form u8 | count u8 | entries
    entry     alias (u8; 255: a u16 follows) | place | angles
    form      kind * 4 + number of angles (0 none, 1 yaw, 2 yaw pitch, 3 yaw pitch roll)

    kind 0    ground   3 bytes: x in the low 12 bits, z in the high 12; the height is the reference's
    kind 1    air      5 bytes: x and z as before, then y in 16 bits
    kind 2    full     x y z as f32; its angles are f32, too
    angles    one byte each, signed, in steps of pi/128

    12 bits = sign 1, exponent 3, mantissa 8      of |v| + 2, where v is relative: exact to 1/256 m within 2 m,
    16 bits = sign 1, exponent 4, mantissa 11     the step doubles with each exponent; up to ±510 m, ±131 km

Ground serves when the height is the reference's to 1/256 m, full when x or z is out of range or the entry is DETAILED.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, pi, sqrt
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from terrazzo._speed.area import Area

PLACES = 21
MESSAGE_MAX = 1024
REFRESH = 20
"""Ticks after which an unchanged place is told again."""
FAR = 9.0
"""How much less urgent a thing at the rim is than one close by."""

ANGLES = 3
"""Mask: how many angles are told."""
DETAILED = 4
"""Its place is told in full."""
DESCRIBED = 8
"""The client has its description; before, it gets nothing."""
WITHHELD = 16
"""The client gets nothing now."""

GROUND, AIR, FULL = 0, 1, 2

_NEVER = -(1 << 30)
_URGENCY_MAX = 1023
_UNTOLD = -1
_GROUND_M = 1 / 256
_REFERENCE_MAX = (1 << 23) - 1
_FLOAT = Struct("<f")
_BITS = Struct("<I")
_HEAD_BYTES = 12


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

    def __init__(self, tick: int, x: float, y: float, z: float) -> None:
        self.x = _whole(x)
        self.y = y
        self.z = _whole(z)
        self.head = bytes([PLACES, tick & 255]) + _int24(self.x) + _int24(self.z) + _FLOAT.pack(y)
        self.messages: list[bytes] = []
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
            self.messages.append(self.head + b"".join(sections))
            self._sections.clear()
            self.size = 0

    def pack(self, alias: int, flags: int, place: tuple[float, ...], angles: tuple[float, ...]) -> tuple[int, bytes]:
        """The form and the bytes of one entry."""
        head = _alias(alias)
        count = flags & ANGLES
        x, y, z = place
        east, north = pack12(x - self.x), pack12(z - self.z)
        height = y - self.y
        if flags & DETAILED or east < 0 or north < 0:
            return _full(head, place, angles[:count])
        flat = (east | north << 12).to_bytes(3, "little")
        turned = bytes([pack_angle(each) for each in angles[:count]])
        if -_GROUND_M < height < _GROUND_M:
            return GROUND * 4 + count, head + flat + turned
        up = pack16(height)
        if up < 0:
            return _full(head, place, angles[:count])
        return AIR * 4 + count, head + flat + up.to_bytes(2, "little") + turned


def _alias(alias: int) -> bytes:
    return bytes([alias]) if alias < 255 else bytes([255, alias & 255, alias >> 8])


def _full(head: bytes, place: tuple[float, ...], angles: tuple[float, ...]) -> tuple[int, bytes]:
    return FULL * 4 + len(angles), head + b"".join(map(_FLOAT.pack, (*place, *angles)))


def _whole(metres: float) -> int:
    return max(-_REFERENCE_MAX, min(_REFERENCE_MAX, floor(metres + 0.5)))


def _int24(value: int) -> bytes:
    return (value & 0xFFFFFF).to_bytes(3, "little")


class Headlines:
    """The last step of each entity of an area that told something, by slot."""

    def __init__(self) -> None:
        self._by_slot: dict[int, tuple[int, int, int, Sequence[tuple[int, bytes]]]] = {}

    def set(self, slot: int, entity: int, before: int, number: int, told: Sequence[tuple[int, bytes]]) -> None:
        """The step of this number told this: ids and bodies of messages, which lack the alias between the two. Whoever
        has all up to `before` lacks just this."""
        self._by_slot[slot] = (entity, before, number, told)

    def find(self, slot: int, entity: int, sent: int, newest: int) -> Sequence[tuple[int, bytes]] | None:
        """What somebody lacks who has all up to `sent`; None: more than the headline, or it is of something else."""
        known = self._by_slot.get(slot)
        if known is None or known[0] != entity or known[2] != newest or known[1] > sent:
            return None
        return known[3]


class _Entry:
    __slots__ = ("alias", "entity", "flags", "is_settled", "sent", "slot", "stamp", "told", "waits_since")

    def __init__(self, entity: int, slot: int, alias: int, sent: int, flags: int) -> None:
        self.entity = entity
        self.slot = slot
        self.alias = alias
        self.sent = sent
        self.flags = flags
        self.stamp = _UNTOLD
        self.told = _NEVER
        self.is_settled = False
        """It was told reliably, and needs no refresh."""
        self.waits_since = _NEVER


def _urgency(age: int, weight: float) -> int:
    return int(min(16.0 * age / weight, _URGENCY_MAX))


def _most_urgent_first(entries: list[tuple[int, _Entry]]) -> list[_Entry]:
    """Those who are equally urgent stay in their order."""
    return [entry for _, entry in sorted(entries, key=lambda each: -each[0])]


class Sight:
    """The send table of one witness, whose own body is at `slot`."""

    def __init__(self, area: Area, slot: int, headlines: Headlines) -> None:
        self._area = area
        self._slot = slot
        self._headlines = headlines
        self._entries: dict[int, _Entry] = {}
        self._table: list[_Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entity: int, slot: int, alias: int, sent: int, flags: int) -> None:
        """The client begins to know an entity, whose body is at `slot` (-1: it has none here now)."""
        assert entity not in self._entries
        if slot >= 0:
            self._area.stamp(slot)  # raises where there is no such slot
        entry = self._entries[entity] = _Entry(entity, slot, alias, sent, flags)
        self._table.append(entry)

    def remove(self, entity: int) -> None:
        """The client knows it no longer."""
        place = self._table.index(self._entries.pop(entity))
        last = self._table.pop()
        if place < len(self._table):
            self._table[place] = last

    def bind(self, entity: int, slot: int) -> None:
        """Its body is here now (-1: no longer here)."""
        entry = self._entries[entity]
        if slot >= 0:
            self._area.stamp(slot)  # raises where there is no such slot
        entry.slot = slot
        entry.stamp = _UNTOLD

    def get(self, entity: int) -> tuple[int, int, int, int] | None:
        """Slot, alias, sent and flags; None: the client does not know it."""
        entry = self._entries.get(entity)
        return None if entry is None else (entry.slot, entry.alias, entry.sent, entry.flags)

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
            entry.is_settled = True
        entry.flags = flags

    def entities(self) -> list[int]:
        """All that the client knows, by their numbers."""
        return sorted(self._entries)

    def serve(self, tick: int, budget_bytes: float, radius: float) -> tuple[list[int], list[bytes], list[bytes], int]:
        """News, told, places, and how many bytes the last two have; see the module. The last message of each may go
        beyond the budget: what is over is the caller's to carry on."""
        if budget_bytes <= 0:
            return [], [], [], 0
        news, due = self._look(tick, radius)
        told: list[bytes] = []
        others: list[int] = []
        used = 0
        for entry in news:
            slot = entry.slot
            found = self._headlines.find(slot, entry.entity, entry.sent, self._area.news(slot))
            if found is None:
                others.append(entry.entity)
            elif used < budget_bytes:
                messages = [bytes([id]) + _alias(entry.alias) + body for id, body in found]
                told += messages
                used += sum(map(len, messages))
                self.set_sent(entry.entity, self._area.number(slot))
        writer = _Writer(tick, *self._area.position(self._slot))
        for entry in due:
            if used + writer.used >= budget_bytes:
                break
            self._tell(writer, tick, entry)
        writer.close()
        return others, told, writer.messages, used + writer.used

    def _look(self, tick: int, radius: float) -> tuple[list[_Entry], list[_Entry]]:
        """Who has news and whose place is due, the most urgent first."""
        area = self._area
        x, _, z = area.position(self._slot)
        scale = FAR / radius
        news: list[tuple[int, _Entry]] = []
        due: list[tuple[int, _Entry]] = []
        for entry in self._table:
            slot = entry.slot
            if slot < 0 or entry.flags & (DESCRIBED | WITHHELD) != DESCRIBED:
                continue
            has_news = area.news(slot) > entry.sent
            age = tick - entry.told
            is_due = area.stamp(slot) != entry.stamp or (age >= REFRESH and not entry.is_settled)
            is_due = is_due and area.number(slot) >= entry.sent
            if not has_news and not is_due:
                continue
            at_x, _, at_z = area.position(slot)
            east, north = at_x - x, at_z - z
            weight = 1.0 + min(sqrt(east * east + north * north) * scale, FAR)
            if is_due:
                due.append((_urgency(age, weight), entry))
            if has_news:
                if entry.waits_since == _NEVER:
                    entry.waits_since = tick
                news.append((_urgency(tick - entry.waits_since + 1, weight), entry))
        return _most_urgent_first(news), _most_urgent_first(due)

    def _tell(self, writer: _Writer, tick: int, entry: _Entry) -> None:
        area, slot = self._area, entry.slot
        writer.add(writer.pack(entry.alias, entry.flags, area.position(slot), area.direction(slot)))
        entry.stamp, entry.told, entry.is_settled = area.stamp(slot), tick, False
