"""The compiled form of sight.py; that file says what everything means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport fabs, floor, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from terrazzo._speed.area cimport IS_REMOVED, IS_USED, Area

PLACES = 21
MESSAGE_MAX = 1024
REFRESH = 20
FAR = 9.0
ANGLES = 3
DETAILED = 4
DESCRIBED = 8
WITHHELD = 16
GROUND, AIR, FULL = 0, 1, 2

cdef enum:
    C_PLACES = 21
    C_MESSAGE_MAX = 1024
    C_REFRESH = 20
    C_ANGLES = 3
    C_DETAILED = 4
    C_DESCRIBED = 8
    C_WITHHELD = 16
    HEAD_BYTES = 12
    ENTRY_MAX = 27
    FORMS = 12
    REFERENCE_MAX = (1 << 23) - 1
    URGENCIES = 1024

cdef double C_FAR = 9.0
cdef double PI = 3.141592653589793
cdef double STEPS = 128.0 / PI
cdef double GROUND_M = 1.0 / 256
cdef int32_t NEVER = -(1 << 30)


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


cdef inline int32_t _urgency(int32_t age, double weight) noexcept nogil:
    return <int32_t>min(16.0 * age / weight, <double>(URGENCIES - 1))


cdef void _sort(const Urgent* found, Py_ssize_t count, int32_t* order) noexcept nogil:
    """The most urgent first; those who are equally urgent stay in their order."""
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
        order[starts[found[i].urgency]] = found[i].index
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
    cdef list messages

    cdef int begin(self, int64_t tick, float x, float y, float z) except -1:
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
        self.messages = []
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
        cdef uint8_t message[C_MESSAGE_MAX]
        cdef Section* section
        cdef int at = HEAD_BYTES
        cdef int number
        if not self.size:
            return 0
        memcpy(message, self.head, HEAD_BYTES)
        for number in range(self.begun):
            section = &self.sections[self.order[number]]
            message[at] = self.order[number]
            message[at + 1] = section.count
            memcpy(&message[at + 2], section.data, section.size)
            at += 2 + section.size
            section.size = section.count = 0
        self.messages.append(PyBytes_FromStringAndSize(<char*>message, at))
        self.begun = self.size = 0
        return 0

    cdef int pack(self, int alias, int flags, const float* place) except -1:
        """One entry: x, y, z, yaw, pitch and roll."""
        cdef uint8_t data[ENTRY_MAX]
        cdef int angles = flags & C_ANGLES
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
        if flags & C_DETAILED or east < 0 or north < 0 or up < 0:
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


cdef class Headlines:
    """The last step of each entity of an area that told something, by slot."""

    def __cinit__(self):
        self._told = []

    def __dealloc__(self):
        free(self._headlines)

    def set(self, Py_ssize_t slot, int32_t entity, int64_t before, int64_t number, told):
        """The step of this number told this; see the plain form."""
        cdef Headline* headline
        cdef Py_ssize_t room
        if slot < 0:
            raise IndexError(slot)
        if slot >= self._room:
            room = 2 * slot + 64
            self._headlines = <Headline*>_grown(self._headlines, room * sizeof(Headline))
            memset(self._headlines + self._room, 0, (room - self._room) * sizeof(Headline))
            self._told.extend([None] * (room - self._room))
            self._room = room
        headline = &self._headlines[slot]
        headline.entity, headline.before, headline.number = entity, before, number
        self._told[slot] = tuple(told)

    cdef object find(self, Py_ssize_t slot, int32_t entity, int64_t sent, int64_t newest):
        """What somebody lacks who has all up to `sent`; None: more than the headline, or it is of something else."""
        cdef Headline* headline
        if slot >= self._room:
            return None
        headline = &self._headlines[slot]
        if headline.entity != entity or headline.number != newest or headline.before > sent:
            return None
        return self._told[slot]


cdef bytes _with_alias(int id, int alias, bytes body):
    """A message for a client that knows the entity by this alias."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef int head = 2 if alias < 255 else 4
    cdef bytes message = PyBytes_FromStringAndSize(NULL, head + size)
    cdef uint8_t* at = <uint8_t*>PyBytes_AS_STRING(message)
    at[0] = id
    if alias < 255:
        at[1] = alias
    else:
        at[1] = 255
        at[2] = alias & 255
        at[3] = alias >> 8
    memcpy(at + head, PyBytes_AS_STRING(body), size)
    return message


cdef class Sight:
    """The send table of one witness, whose own body is at `slot`."""

    def __cinit__(self, Area area, int32_t slot, Headlines headlines not None):
        self._area = area
        self._slot = slot
        self._headlines = headlines
        self._places = {}

    def __dealloc__(self):
        free(self._entries)

    def __len__(self):
        return self._count

    cdef Entry* _find(self, object entity) except NULL:
        return &self._entries[<Py_ssize_t>self._places[entity]]

    cpdef add(self, int32_t entity, int32_t slot, uint16_t alias, int64_t sent, int32_t flags):
        """The client begins to know an entity, whose body is at `slot` (-1: it has none here now)."""
        assert entity not in self._places
        if slot >= 0:
            self._area.check_known(slot)
        cdef Entry* entry
        if self._count == self._room:
            self._entries = <Entry*>_grown(self._entries, (2 * self._room + 16) * sizeof(Entry))
            self._room = 2 * self._room + 16
        entry = &self._entries[self._count]
        entry.entity = entity
        entry.slot = slot
        entry.alias = alias
        entry.sent = sent
        entry.flags = flags
        entry.stamp = 0
        entry.told = entry.waits_since = NEVER
        entry.is_untold = True
        entry.is_settled = False
        self._places[entity] = self._count
        self._count += 1

    cpdef remove(self, int32_t entity):
        """The client knows it no longer."""
        cdef Py_ssize_t place = self._places.pop(entity)
        self._count -= 1
        if place != self._count:
            self._entries[place] = self._entries[self._count]
            self._places[self._entries[place].entity] = place

    cpdef bind(self, int32_t entity, int32_t slot):
        """Its body is here now (-1: no longer here)."""
        cdef Entry* entry = self._find(entity)
        if slot >= 0:
            self._area.check_known(slot)
        entry.slot = slot
        entry.is_untold = True

    cpdef tuple get(self, int32_t entity):
        """Slot, alias, sent and flags; None: the client does not know it."""
        place = self._places.get(entity)
        if place is None:
            return None
        cdef Entry* entry = &self._entries[<Py_ssize_t>place]
        return entry.slot, entry.alias, entry.sent, entry.flags

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
            entry.stamp = self._area.stamps[entry.slot]
            entry.is_untold = False
            entry.is_settled = True
        entry.flags = flags

    def entities(self):
        """All that the client knows, by their numbers."""
        return sorted(self._places)

    cpdef tuple serve(self, int32_t tick, double budget_bytes, double radius):
        """News, told, places, and how many bytes the last two have; see the plain form."""
        cdef list others = [], told = []
        cdef int64_t used
        if budget_bytes <= 0:
            return others, told, [], 0
        self._area.check_known(self._slot)
        _make_room(self._count)
        self._look(tick, radius)
        used = self._tell_news(budget_bytes, others, told) if news_count else 0
        self._tell_places(tick, budget_bytes - used)
        return others, told, WRITER.messages, used + WRITER.used

    cdef int _look(self, int32_t tick, double radius) except -1:
        """Finds who has news and whose place is due."""
        global news_count, due_count
        cdef Area area = self._area
        cdef double x = area.xs[self._slot], z = area.zs[self._slot], scale = C_FAR / radius
        cdef double east, north, weight
        cdef int32_t age
        cdef bint has_news, is_due
        cdef Entry* entry
        cdef Py_ssize_t index
        cdef int slot
        news_count = due_count = 0
        for index in range(self._count):
            entry = &self._entries[index]
            slot = entry.slot
            if slot < 0 or entry.flags & (C_DESCRIBED | C_WITHHELD) != C_DESCRIBED:
                continue
            if not area.flags[slot] & (IS_USED | IS_REMOVED):
                area.check_known(slot)
            has_news = area.newest[slot] > entry.sent
            age = tick - entry.told
            is_due = (
                area.stamps[slot] != entry.stamp or entry.is_untold or (age >= C_REFRESH and not entry.is_settled)
            )
            is_due = is_due and area.numbers[slot] >= entry.sent
            if not has_news and not is_due:
                continue
            east, north = <double>area.xs[slot] - x, <double>area.zs[slot] - z
            weight = 1.0 + min(sqrt(east * east + north * north) * scale, C_FAR)
            if is_due:
                due[due_count] = Urgent(_urgency(age, weight), index)
                due_count += 1
            if has_news:
                if entry.waits_since == NEVER:
                    entry.waits_since = tick
                news[news_count] = Urgent(_urgency(tick - entry.waits_since + 1, weight), index)
                news_count += 1
        return 0

    cdef int64_t _tell_news(self, double budget_bytes, list others, list told) except -1:
        """The headlines that the client lacks; how many bytes they have. Of whom it lacks more is added to `others`."""
        cdef Entry* entry
        cdef Py_ssize_t at
        cdef int64_t used = 0
        _sort(news, news_count, order)
        for at in range(news_count):
            entry = &self._entries[order[at]]
            found = self._headlines.find(entry.slot, entry.entity, entry.sent, self._area.newest[entry.slot])
            if found is None:
                others.append(entry.entity)
            elif used < budget_bytes:
                for id, body in <tuple>found:
                    message = _with_alias(id, entry.alias, body)
                    used += PyBytes_GET_SIZE(message)
                    told.append(message)
                entry.sent = self._area.numbers[entry.slot]
                entry.waits_since = NEVER
        return used

    cdef int _tell_places(self, int32_t tick, double budget_bytes) except -1:
        """Writes what is due, as far as the budget reaches."""
        cdef Area area = self._area
        cdef Entry* entry
        cdef Py_ssize_t at
        cdef float[6] place
        cdef int slot
        WRITER.begin(tick, area.xs[self._slot], area.ys[self._slot], area.zs[self._slot])
        _sort(due, due_count, order)
        for at in range(due_count):
            if WRITER.used >= budget_bytes:
                break
            entry = &self._entries[order[at]]
            slot = entry.slot
            place[0], place[1], place[2] = area.xs[slot], area.ys[slot], area.zs[slot]
            place[3], place[4], place[5] = area.yaws[slot], area.pitches[slot], area.rolls[slot]
            WRITER.pack(entry.alias, entry.flags, place)
            entry.stamp = area.stamps[slot]
            entry.is_untold = False
            entry.told = tick
            entry.is_settled = False
        WRITER.close()
        return 0
