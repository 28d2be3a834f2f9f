"""The compiled form of sight.py, which documents it."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport INFINITY, fabs, floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from terrazzo._speed.area cimport IS_REMOVED, IS_USED, Area
from terrazzo._speed.tally cimport Tally
from terrazzo._speed.updates cimport UpdateRows, Words

from terrazzo._speed.entry_flags import EntryFlag

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address)
    #else
    #define prefetch(address) ((void)(address))
    #endif
    """
    void prefetch(const void* address) nogil

GROUND, AIR, FULL = 0, 1, 2

cdef enum:
    C_PLACES = 21
    C_DESCRIBED = 8
    C_WITHHELD = 16
    AHEAD = 16  # entries that are fetched before their turn
    C_MESSAGE_MAX = 1024
    C_REFRESH = 20
    C_PATIENCE = 5
    C_OUTERMOST = 255
    C_LEVELS_MAX = 3
    HEAD_BYTES = 12
    ENTRY_MAX = 27
    FORMS = 12
    REFERENCE_MAX = (1 << 23) - 1
    URGENCIES = 1024

cdef double C_FAR = 9.0
cdef double PI = 3.141592653589793
cdef double STEPS = 128.0 / PI
cdef double GROUND_M = 1.0 / 256
cdef enum:
    NEVER = -(1 << 30)

PLACES, MESSAGE_MAX, REFRESH, PATIENCE = C_PLACES, C_MESSAGE_MAX, C_REFRESH, C_PATIENCE
FAR, LEVELS_MAX, OUTERMOST = C_FAR, C_LEVELS_MAX, C_OUTERMOST
DESCRIBED, WITHHELD = C_DESCRIBED, C_WITHHELD

assert (DESCRIBED, WITHHELD) == (EntryFlag.DESCRIBED.value, EntryFlag.WITHHELD.value)


cdef inline uint32_t _bits(double value) noexcept nogil:
    cdef float single = <float>value
    cdef uint32_t bits
    memcpy(&bits, &single, 4)
    return bits


cdef inline int _pack12(double value) noexcept nogil:
    cdef uint32_t bits = _bits(fabs(value) + 2.0) if fabs(value) < 1e9 else 0x7F800000
    cdef int code = <int>((bits + 0x4000) >> 15) - 0x8000
    if code > 0x7FF:
        return -1
    return code | 0x800 if value < 0 else code


cdef inline int _pack16(double value) noexcept nogil:
    cdef uint32_t bits = _bits(fabs(value) + 2.0) if fabs(value) < 1e9 else 0x7F800000
    cdef int code = <int>((bits + 0x800) >> 12) - 0x40000
    if code > 0x7FFF:
        return -1
    return code | 0x8000 if value < 0 else code


cdef inline uint8_t _pack_angle(double angle) noexcept nogil:
    cdef double steps = angle * STEPS + 0.5
    if steps - steps != 0:
        return 0
    return <uint8_t>(<int>(steps - floor(steps / 256.0) * 256.0) & 255)


def pack12(double value):
    """12 bits of a relative x or z; -1: out of range."""
    return _pack12(value)


def pack16(double value):
    """16 bits of a relative y; -1: out of range."""
    return _pack16(value)


def pack_angle(double angle):
    """8 bits of an angle in radians."""
    return _pack_angle(angle)


cdef inline int64_t _whole(double metres) noexcept nogil:
    cdef double whole = floor(metres + 0.5)
    if whole > REFERENCE_MAX:
        return REFERENCE_MAX
    if whole < -REFERENCE_MAX:
        return -REFERENCE_MAX
    return <int64_t>whole


cdef inline void _put_float(uint8_t* at, float value) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &value, 4)
    at[0] = bits & 255
    at[1] = bits >> 8 & 255
    at[2] = bits >> 16 & 255
    at[3] = bits >> 24


cdef struct Urgent:
    int32_t urgency
    int32_t index
    double distance2


cdef inline int32_t _urgency(int32_t age, double weight) noexcept nogil:
    return <int32_t>min(16.0 * age / weight, <double>(URGENCIES - 1))


cdef void _sort(const Urgent* found, Py_ssize_t count, int32_t* order) noexcept nogil:
    """The most urgent first; equally urgent ones stay in their order. Gives their places in `found`."""
    cdef int32_t[URGENCIES] starts
    cdef Py_ssize_t i
    cdef int32_t highest = 0, start = 0, size, urgency
    for i in range(count):
        highest = max(highest, found[i].urgency)
    memset(starts, 0, (highest + 1) * sizeof(int32_t))
    for i in range(count):
        starts[found[i].urgency] += 1
    for urgency in range(highest, -1, -1):
        size = starts[urgency]
        starts[urgency] = start
        start += size
    for i in range(count):
        order[starts[found[i].urgency]] = <int32_t>i
        starts[found[i].urgency] += 1


cdef struct Section:
    int size
    int count
    uint8_t data[C_MESSAGE_MAX]


cdef class Writer:
    """Collects entries by their form into messages. One for all sights: a message is written in one go."""

    cdef uint8_t head[HEAD_BYTES]
    cdef Section sections[FORMS]
    cdef int order[FORMS]
    cdef int begun
    cdef int size
    cdef int64_t used
    cdef int64_t x
    cdef int64_t z
    cdef double y
    cdef UpdateRows rows

    cdef int begin(self, UpdateRows rows, int64_t tick, float x, float y, float z) except -1:
        cdef int number
        self.rows = rows
        for number in range(self.begun):  # left by a message that could not be written
            self.sections[self.order[number]].size = self.sections[self.order[number]].count = 0
        self.begun = self.size = 0
        self.x, self.y, self.z = _whole(x), y, _whole(z)
        self.head[0] = C_PLACES
        self.head[1] = tick & 255
        self.head[2] = self.x & 255
        self.head[3] = self.x >> 8 & 255
        self.head[4] = self.x >> 16 & 255
        self.head[5] = self.z & 255
        self.head[6] = self.z >> 8 & 255
        self.head[7] = self.z >> 16 & 255
        _put_float(&self.head[8], y)
        self.used = 0
        return 0

    cdef int add(self, int form, const uint8_t* data, int size) except -1:
        cdef Section* section = &self.sections[form]
        cdef int cost = size if section.count else size + 2
        if self.size + cost > C_MESSAGE_MAX:
            self.close()
            cost = size + 2
        if not self.size:
            cost += HEAD_BYTES
        if not section.count:
            self.order[self.begun] = form
            self.begun += 1
        memcpy(&section.data[section.size], data, size)
        section.size += size
        section.count += 1
        self.size += cost
        self.used += cost
        return 0

    cdef int close(self) except -1:
        cdef uint8_t* message
        cdef Section* section
        cdef int at = HEAD_BYTES
        cdef int number
        if not self.size:
            return 0
        message = self.rows.reserve(self.size)
        memcpy(message, self.head, HEAD_BYTES)
        for number in range(self.begun):
            section = &self.sections[self.order[number]]
            message[at] = self.order[number]
            message[at + 1] = section.count
            memcpy(&message[at + 2], section.data, section.size)
            at += 2 + section.size
            section.size = section.count = 0
        self.begun = self.size = 0
        return 0

    cdef int pack(self, int alias, int angles, bint is_detailed, const float* place) except -1:
        """One entry: x, y, z, yaw, pitch and roll."""
        cdef uint8_t data[ENTRY_MAX]
        angles &= 3
        cdef int at, east, north, up, number, kind
        if alias < 255:
            data[0] = alias
            at = 1
        else:
            data[0] = 255
            data[1] = alias & 255
            data[2] = alias >> 8
            at = 3
        east = _pack12(<double>place[0] - self.x)
        north = _pack12(<double>place[2] - self.z)
        up = 0
        kind = 0
        cdef double height = <double>place[1] - self.y
        if not -GROUND_M < height < GROUND_M:
            up = _pack16(height)
            kind = 1
        if is_detailed or east < 0 or north < 0 or up < 0:
            kind = 2
            for number in range(3 + angles):
                _put_float(&data[at + 4 * number], place[number])
            at += 12 + 4 * angles
        else:
            data[at] = east & 255
            data[at + 1] = east >> 8 | (north & 15) << 4
            data[at + 2] = north >> 4
            at += 3
            if kind == 1:
                data[at] = up & 255
                data[at + 1] = up >> 8
                at += 2
            for number in range(angles):
                data[at] = _pack_angle(place[3 + number])
                at += 1
        return self.add(kind * 4 + angles, data, at)


cdef Writer WRITER = Writer()


# Where a look is written down; one for all sights, as none runs inside another.
cdef Urgent* due = NULL
cdef Urgent* news = NULL
cdef int32_t* order = NULL
cdef Py_ssize_t due_count = 0
cdef Py_ssize_t news_count = 0
cdef Py_ssize_t urgent_room = 0


cdef void* _grown(void* old, size_t size) except NULL:
    cdef void* grown = realloc(old, size)
    if grown == NULL:
        raise MemoryError
    return grown


cdef int _make_room(Py_ssize_t count) except -1:
    global due, news, order, urgent_room
    if count > urgent_room:
        due = <Urgent*>_grown(due, 2 * count * sizeof(Urgent))
        news = <Urgent*>_grown(news, 2 * count * sizeof(Urgent))
        order = <int32_t*>_grown(order, 2 * count * sizeof(int32_t))
        urgent_room = 2 * count
    return 0


cdef double _square(object metres) except -2:
    return -1.0 if metres is None else <double>metres * <double>metres


cdef class Ranges:
    """How far entities of a type are seen; see the plain form."""

    def __init__(self, position, angles=(None, None, None), levels=(), *, bint is_detailed=False, int row=0):
        cdef Reach* reach = &self.reach
        cdef int at
        if len(levels) > C_LEVELS_MAX:
            raise ValueError(f"{len(levels)} levels of detail; there are {C_LEVELS_MAX} beside the outermost")
        reach.is_detailed = is_detailed
        reach.row = row
        reach.position = _square(position)
        for at in range(3):
            reach.angles[at] = _square(angles[at])
        reach.levels = len(levels)
        for at, (start, hysteresis) in enumerate(levels):
            reach.starts[at] = _square(start)
            reach.ends[at] = _square(start + hysteresis)


cdef inline int _angles_within(const Reach* reach, double distance2) noexcept nogil:
    return (distance2 <= reach.angles[0]) + (distance2 <= reach.angles[1]) + (distance2 <= reach.angles[2])


cdef inline int _level(const Reach* reach, int level, double distance2) noexcept nogil:
    """The level of something at this distance that was in `level`."""
    level = min(level, reach.levels)
    while level > 0 and distance2 < reach.starts[level - 1]:
        level -= 1
    while level < reach.levels and distance2 > reach.ends[level]:
        level += 1
    return level


cdef inline bint _is_crossing(const Reach* reach, const Entry* entry, double distance2) noexcept nogil:
    return reach.levels and _level(reach, entry.level, distance2) != min(<int>entry.level, reach.levels)


cdef inline bint _is_due(const Reach* reach, const Entry* entry, uint32_t stamp, int age, double distance2) noexcept nogil:
    cdef bint is_beyond = distance2 > reach.position
    if reach.position < 0 or entry.is_unsent:
        return not is_beyond
    if age >= C_REFRESH and not entry.is_settled:
        return True
    if is_beyond and entry.is_beyond:
        return False
    return stamp != entry.stamp or _angles_within(reach, distance2) > entry.angles


cdef int _look_at(
    Entry* entries, Py_ssize_t count, const Glance* glances, double x, double z, int32_t tick, double scale
) noexcept nogil:
    """Finds the entries with news and those with a place that is due; gives a slot that holds nothing, or -1."""
    global news_count, due_count
    cdef Urgent* due_to = due
    cdef Urgent* news_to = news
    cdef double east, north, weight, distance2
    cdef int32_t age
    cdef bint has_news, is_due
    cdef Entry* entry
    cdef const Glance* row
    cdef const Reach* reach
    cdef Py_ssize_t index
    news_count = due_count = 0
    for index in range(count):
        entry = &entries[index]
        prefetch(entry + AHEAD)
        if entry.slot < 0 or entry.flags & (C_DESCRIBED | C_WITHHELD) != C_DESCRIBED:
            continue
        row = &glances[entry.slot]
        if not row.is_known:
            return entry.slot
        east, north = <double>row.x - x, <double>row.z - z
        distance2 = east * east + north * north
        reach = row.reach
        has_news = row.newest > entry.sent
        age = tick - entry.sent_at
        is_due = False
        if row.number >= entry.sent:
            is_due = _is_due(reach, entry, row.stamp, age, distance2)
            has_news = has_news or _is_crossing(reach, entry, distance2)
        if not has_news and not is_due:
            continue
        weight = 1.0 + min(sqrt(distance2) * scale, C_FAR)
        if is_due:
            due_to.urgency, due_to.index, due_to.distance2 = _urgency(age, weight), <int32_t>index, distance2
            due_to += 1
        if has_news:
            if entry.waits_since == NEVER:
                entry.waits_since = tick
            news_to.urgency, news_to.index = _urgency(tick - entry.waits_since + 1, weight), <int32_t>index
            news_to.distance2 = distance2
            news_to += 1
    due_count, news_count = due_to - due, news_to - news
    return -1


cdef Ranges ANYWHERE = Ranges(float("inf"))
cdef const Reach* NO_RANGES = &ANYWHERE.reach


@cython.initializedcheck(False)  # a tally has its rows from the start
cdef inline void _count(Tally tally, Py_ssize_t row, int64_t size) noexcept:
    """One more message of this size; rows of another tally are not counted."""
    if 0 <= row < tally._count:
        tally._rows[2 * row] += 1
        tally._rows[2 * row + 1] += size


cdef class Headlines:
    """By slot: the last step of each entity of an area that carries something, and the ranges of its type."""

    def __cinit__(self, Tally tally=None):
        self.tally = Tally() if tally is None else tally
        self._told = []
        self._ranges = set()

    def __dealloc__(self):
        cdef Py_ssize_t at
        for at in range(self._room):
            free(self._headlines[at].parts)
        free(self._headlines)
        free(self._reaches)
        free(self._glances)

    cdef int _make_room(self, Py_ssize_t slot) except -1:
        cdef Py_ssize_t room, at
        if slot < 0:
            raise IndexError(slot)
        if slot >= self._room:
            room = 2 * slot + 64
            self._headlines = <Headline*>_grown(self._headlines, room * sizeof(Headline))
            memset(self._headlines + self._room, 0, (room - self._room) * sizeof(Headline))
            self._reaches = <const Reach**>_grown(self._reaches, room * sizeof(Reach*))
            for at in range(self._room, room):
                self._reaches[at] = &ANYWHERE.reach
            self._told.extend([None] * (room - self._room))
            self._room = room
        return 0

    def begin(self, Py_ssize_t slot, Ranges ranges not None):
        """A body of a type with these ranges; see the plain form."""
        self._make_room(slot)
        self._ranges.add(ranges)
        self._reaches[slot] = &ranges.reach

    cdef const Reach* reach(self, Py_ssize_t slot) noexcept nogil:
        return self._reaches[slot] if slot < self._room else NO_RANGES

    cdef int _make_glances(self, Area area) except -1:
        """Room for a row of each slot."""
        cdef Py_ssize_t room
        if area.high > self._glances_room:
            room = 2 * area.high
            self._glances = <Glance*>_grown(self._glances, room * sizeof(Glance))
            self._glances_room = room
        return 0

    cdef inline void _fill(self, Area area, int slot) noexcept nogil:
        cdef Glance* row = &self._glances[slot]
        row.newest, row.number, row.stamp = area.newest[slot], area.numbers[slot], area.stamps[slot]
        row.x, row.z = area.xs[slot], area.zs[slot]
        row.reach = self._reaches[slot] if slot < self._room else NO_RANGES
        row.is_known = area.flags[slot] & (IS_USED | IS_REMOVED)

    cpdef glance(self, Area area):
        """See the plain form."""
        cdef int slot
        self._make_glances(area)
        for slot in range(area.high):
            self._fill(area, slot)
        self._glanced = area.high

    cpdef forget(self):
        """See the plain form."""
        self._glanced = 0

    def set(self, Py_ssize_t slot, int32_t entity, int64_t before, int64_t number, told, manners=None, rows=()):
        """What the step of this number carries; see the plain form."""
        cdef Headline* headline
        cdef HeadlinePart* part
        cdef Py_ssize_t at
        cdef int level
        cdef bytes body
        cdef list bodies = []
        self._make_room(slot)
        headline = &self._headlines[slot]
        headline.entity = 0  # none, if something of it is no message
        headline.count = 0
        told = list(told)
        if len(told) > headline.room:
            headline.parts = <HeadlinePart*>_grown(headline.parts, len(told) * sizeof(HeadlinePart))
            headline.room = <int32_t>len(told)
        for at, (id, body) in enumerate(told):
            part = &headline.parts[at]
            part.id = id
            part.body = <const uint8_t*>PyBytes_AS_STRING(body)
            part.size = PyBytes_GET_SIZE(body)
            part.row = rows[at] if rows else 0
            part.level, part.distance2, part.is_reliable = C_OUTERMOST, INFINITY, True
            if manners is not None:
                level, distance, is_reliable, _ = manners[at]
                part.level, part.distance2, part.is_reliable = level, distance * distance, bool(is_reliable)
            bodies.append(body)
        self._told[slot] = bodies
        headline.count = <int32_t>len(bodies)
        headline.entity, headline.before, headline.number = entity, before, number

    cdef const Headline* find(self, Py_ssize_t slot, int32_t entity, int64_t sent, int64_t newest) noexcept nogil:
        """What a client lacks that has all up to `sent`; NULL: more than the headline, or it is of something else."""
        cdef const Headline* headline
        if slot >= self._room:
            return NULL
        headline = &self._headlines[slot]
        if headline.entity != entity or headline.number != newest or headline.before > sent:
            return NULL
        return headline


cdef inline uint32_t _home(int32_t entity, int bits) noexcept nogil:
    """Where an entity is looked for first in a table of so many bits."""
    return <uint32_t>entity * 2654435769u >> (32 - bits)


cdef inline void _begin(Entry* entry, uint16_t alias, uint8_t level) noexcept nogil:
    """The client was sent no place of it yet."""
    entry.alias = alias
    entry.level = level
    entry.stamp = 0
    entry.sent_at = entry.waits_since = NEVER
    entry.is_unsent = True
    entry.is_settled = entry.is_beyond = False
    entry.angles = entry.waited = 0


cdef class Sight:
    """The send table of one witness; its own body is at `slot`."""

    def __cinit__(self, Area area, int32_t slot, Headlines headlines not None):
        self._area = area
        self._slot = slot
        self._headlines = headlines
        self._grow()

    def __dealloc__(self):
        free(self._entries)
        free(self._places)

    def __len__(self):
        return self._count

    cdef Place* _place(self, int32_t entity) noexcept:
        """Where an entity is in the table, or where it would be."""
        cdef uint32_t mask = (1u << self._bits) - 1
        cdef uint32_t at = _home(entity, self._bits)
        while self._places[at].index and self._places[at].entity != entity:
            at = (at + 1) & mask
        return &self._places[at]

    cdef Entry* _known(self, int32_t entity) noexcept:
        """The entry of an entity, if it has one."""
        cdef int32_t index = self._place(entity).index
        return &self._entries[index - 1] if index else NULL

    cdef Entry* _find(self, int32_t entity) except NULL:
        """The entry of an entity that has one."""
        cdef Entry* entry = self._known(entity)
        if entry == NULL:
            raise KeyError(entity)
        return entry

    cdef int _grow(self) except -1:
        """Room for twice as many; the table is at most half full."""
        cdef Py_ssize_t room = max(2 * self._room, 8), index
        cdef Place* place
        self._entries = <Entry*>_grown(self._entries, room * sizeof(Entry))
        self._places = <Place*>_grown(self._places, 2 * room * sizeof(Place))
        self._room = room
        self._bits = 0
        while 1 << self._bits < 2 * room:
            self._bits += 1
        memset(self._places, 0, 2 * room * sizeof(Place))
        for index in range(self._count):
            place = self._place(self._entries[index].entity)
            place.entity, place.index = self._entries[index].entity, <int32_t>index + 1
        return 0

    cpdef add(self, int32_t entity, int32_t slot, uint16_t alias, int64_t sent, int32_t flags, uint8_t level=255):
        """A new entry, for an entity with its body at `slot` (-1: it has none here now)."""
        assert self._known(entity) == NULL
        if slot >= 0:
            self._area.check_known(slot)
        if self._count == self._room:
            self._grow()
        cdef Entry* entry = &self._entries[self._count]
        cdef Place* place = self._place(entity)
        entry.entity = entity
        entry.slot = slot
        entry.sent = sent
        entry.flags = flags
        _begin(entry, alias, level)
        self._count += 1
        place.entity, place.index = entity, <int32_t>self._count

    cpdef remove(self, int32_t entity):
        """The entry ends."""
        cdef Entry* entry = self._find(entity)
        cdef Entry* last = &self._entries[self._count - 1]
        cdef uint32_t mask = (1u << self._bits) - 1
        cdef uint32_t hole, at
        if entry != last:
            self._place(last.entity).index = <int32_t>(entry - self._entries) + 1
        hole = at = <uint32_t>(self._place(entity) - self._places)
        if entry != last:
            entry[0] = last[0]
        self._count -= 1
        while True:  # an entry behind the hole that belongs in it or before it moves up
            at = (at + 1) & mask
            if not self._places[at].index:
                break
            if (at - _home(self._places[at].entity, self._bits) & mask) >= (at - hole & mask):
                self._places[hole] = self._places[at]
                hole = at
        self._places[hole].index = 0

    cpdef rename(self, int32_t entity, uint16_t alias):
        """The client has it by this alias from now on (0: it has it not), and was sent no place of it yet."""
        _begin(self._find(entity), alias, C_OUTERMOST)

    cpdef bind(self, int32_t entity, int32_t slot):
        """Its body is here now (-1: no longer here)."""
        cdef Entry* entry = self._find(entity)
        if slot >= 0:
            self._area.check_known(slot)
        entry.slot = slot
        entry.is_unsent = True

    cpdef tuple get(self, int32_t entity):
        """Slot, alias, sent and flags; None: it has no entry."""
        cdef Entry* entry = self._known(entity)
        return None if entry == NULL else (entry.slot, entry.alias, entry.sent, entry.flags)

    cpdef int flags(self, int32_t entity) except? -2:
        """Its flags; -1: it has no entry."""
        cdef Entry* entry = self._known(entity)
        return -1 if entry == NULL else entry.flags

    cpdef int slot(self, int32_t entity) except? -2:
        """Where its body is; -1: it has none here."""
        return self._find(entity).slot

    cpdef int alias(self, int32_t entity) except -1:
        """By which alias the client has it; 0: none yet."""
        return self._find(entity).alias

    cpdef int64_t sent(self, int32_t entity) except? -2:
        """Up to which number the client has it."""
        return self._find(entity).sent

    cdef bint _has_body(self, const Entry* entry) noexcept:
        """Whether the slot is still the entity's."""
        cdef Area area = self._area
        cdef int slot = entry.slot
        return 0 <= slot < area.high and area.flags[slot] & (IS_USED | IS_REMOVED) and area.entities[slot] == entry.entity

    cpdef set_sent(self, int32_t entity, int64_t sent):
        """The client has everything up to this number."""
        cdef Entry* entry = self._find(entity)
        entry.sent = sent
        entry.waits_since = NEVER

    cpdef set_flags(self, int32_t entity, int32_t flags):
        """With DESCRIBED new in them: a description goes out now, which bears the place."""
        cdef Entry* entry = self._find(entity)
        if flags & C_DESCRIBED and not entry.flags & C_DESCRIBED and entry.slot >= 0:
            self._area.check_known(entry.slot)
            self._area.check_known(self._slot)
            entry.stamp = self._area.stamps[entry.slot]
            entry.is_unsent = False
            entry.angles = 3
            entry.is_settled = True
            entry.is_beyond = self._distance2(entry.slot) > self._headlines.reach(entry.slot).position
        entry.flags = flags

    cdef double _distance2(self, int slot) noexcept:
        """From the witness, on the ground, squared."""
        cdef Area area = self._area
        cdef double east = <double>area.xs[slot] - area.xs[self._slot]
        cdef double north = <double>area.zs[slot] - area.zs[self._slot]
        return east * east + north * north

    cpdef tuple levels(self, int32_t entity):
        """The level that the client has it at, the one it is in by its distance, and that; see the plain form."""
        cdef Entry* entry = self._find(entity)
        cdef double distance2
        if not self._has_body(entry):
            return entry.level, entry.level, 0.0
        self._area.check_known(self._slot)
        distance2 = self._distance2(entry.slot)
        return entry.level, _level(self._headlines.reach(entry.slot), entry.level, distance2), sqrt(distance2)

    cpdef set_level(self, int32_t entity, uint8_t level):
        """The client has it at this level."""
        self._find(entity).level = level

    def entities(self):
        """All that have an entry, in the order of their ids."""
        cdef Py_ssize_t index
        return sorted([self._entries[index].entity for index in range(self._count)])

    cpdef int64_t serve(
        self, int32_t tick, double budget_bytes, double radius, Words words, UpdateRows rows
    ) except -1:
        """Writes what the client is sent now, and gives how many bytes that is; see the plain form."""
        cdef int64_t used = 0
        self.news = None
        if budget_bytes <= 0:
            return 0
        self._area.check_known(self._slot)
        _make_room(self._count)
        self._look(tick, radius)
        if news_count:
            used = self._tell_news(budget_bytes, words, rows)
        if not due_count:
            return used
        self._tell_places(tick, (budget_bytes if self.news is None else budget_bytes * 0.5) - used, rows)
        return used + WRITER.used

    cdef int _look(self, int32_t tick, double radius) except -1:
        """Finds the entries with news, and those with a place that is due."""
        cdef Area area = self._area
        cdef Headlines headlines = self._headlines
        cdef Py_ssize_t index
        cdef int slot
        if headlines._glanced < area.high:  # no batch, or a slot that has come since
            headlines._make_glances(area)
            for index in range(self._count):
                slot = self._entries[index].slot
                if slot >= 0:
                    headlines._fill(area, slot)
        slot = _look_at(
            self._entries, self._count, headlines._glances, area.xs[self._slot], area.zs[self._slot], tick,
            C_FAR / radius,
        )  # fmt: skip
        if slot >= 0:
            area.check_known(slot)
        return 0

    cdef int64_t _tell_news(self, double budget_bytes, Words words, UpdateRows rows) except -1:
        """The headlines that the client lacks; how many bytes they have. An entity of which it lacks more is added to `news`."""
        cdef Entry* entry
        cdef const Headline* headline
        cdef Py_ssize_t at
        cdef int64_t used = 0
        cdef double distance2
        _sort(news, news_count, order)
        for at in range(news_count):
            entry = &self._entries[news[order[at]].index]
            distance2 = news[order[at]].distance2
            headline = self._headlines.find(entry.slot, entry.entity, entry.sent, self._area.newest[entry.slot])
            if headline == NULL or _is_crossing(self._headlines.reach(entry.slot), entry, distance2):
                if self.news is None:
                    self.news = []
                self.news.append(entry.entity)
            elif used < (budget_bytes if self.news is None else budget_bytes * 0.5):
                used += _tell_headline(entry, distance2, headline, self._headlines.tally, words, rows)
                entry.sent = self._area.numbers[entry.slot]
                entry.waits_since = NEVER
        return used

    cdef int _tell_places(self, int32_t tick, double budget_bytes, UpdateRows rows) except -1:
        """Writes what is due, as far as the budget reaches."""
        cdef Area area = self._area
        cdef Entry* entry
        cdef const Reach* reach
        cdef Py_ssize_t at
        cdef float[6] place
        cdef double distance2
        cdef int64_t used
        cdef int slot, angles
        cdef bint is_beyond
        WRITER.begin(rows, tick, area.xs[self._slot], area.ys[self._slot], area.zs[self._slot])
        _sort(due, due_count, order)
        for at in range(due_count):
            if WRITER.used >= budget_bytes:
                break
            entry = &self._entries[due[order[at]].index]
            slot = entry.slot
            if area.newest[slot] > entry.sent and entry.waited < C_PATIENCE:
                entry.waited += 1
                continue
            reach = self._headlines.reach(slot)
            distance2 = due[order[at]].distance2
            is_beyond = distance2 > reach.position
            angles = _angles_within(reach, distance2)
            place[0], place[1], place[2] = area.xs[slot], area.ys[slot], area.zs[slot]
            place[3], place[4], place[5] = area.yaws[slot], area.pitches[slot], area.rolls[slot]
            used = WRITER.used
            WRITER.pack(entry.alias, angles, reach.is_detailed, place)
            _count(self._headlines.tally, reach.row, WRITER.used - used)
            entry.is_settled = is_beyond and entry.is_beyond
            entry.stamp = area.stamps[slot]
            entry.is_unsent = False
            entry.sent_at = tick
            entry.waited = 0
            entry.angles = angles
            entry.is_beyond = is_beyond
        WRITER.close()
        return 0


cdef int64_t _tell_headline(
    const Entry* entry, double distance2, const Headline* headline, Tally tally, Words words, UpdateRows rows
) except -1:
    """As much of a headline as is for this client; how many bytes that took."""
    cdef const HeadlinePart* part
    cdef int64_t used = 0
    cdef Py_ssize_t at, size
    cdef int head = 2 if entry.alias < 255 else 4
    cdef uint8_t* message
    for at in range(headline.count):
        part = &headline.parts[at]
        if entry.level > part.level or distance2 > part.distance2:
            continue
        size = head + part.size
        message = words.reserve(size) if part.is_reliable else rows.reserve(size)
        message[0] = part.id
        if head == 2:
            message[1] = entry.alias
        else:
            message[1] = 255
            message[2] = entry.alias & 255
            message[3] = entry.alias >> 8
        memcpy(message + head, part.body, part.size)
        used += size
        _count(tally, part.row, size)
    return used
