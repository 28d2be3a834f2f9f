"""The compiled form of places.py, which documents it."""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort, realloc
from libc.string cimport memcpy, memset

from collections import namedtuple

from terrazzo.errors import DecodeError, UsageError

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "rows are copied as they lie in memory: this form needs a little-endian machine"
    #endif
    """

USED, REAL, REMOVED, EVENTFUL = IS_USED, IS_REAL, IS_REMOVED, IS_EVENTFUL
RADIUS_MAX = <double>RADIUS_LIMIT
PLACE_MAX = 1e9
Point = tuple
Row = namedtuple("Row", "entity epoch number position direction")

cdef double EDGE_M = 1e-9
cdef enum:
    ROW_BYTES = 44


cdef struct Near:
    double distance
    int entity
    int slot


cdef int by_distance(const void* one, const void* two) noexcept nogil:
    cdef const Near* a = <const Near*>one
    cdef const Near* b = <const Near*>two
    if a.distance != b.distance:
        return -1 if a.distance < b.distance else 1
    return (a.entity > b.entity) - (a.entity < b.entity)


cdef int read_place(position, direction, float* place) except -1:
    try:
        place[0], place[1], place[2] = position
        place[3], place[4], place[5] = direction
    except (TypeError, ValueError, OverflowError):
        place[0] = float("nan")
    if not is_finite(place):
        raise UsageError(f"place {position}, {direction}: a position and a direction have three finite numbers each")
    return 0


cdef inline bint is_finite(const float* place) noexcept nogil:
    # A number that is not finite makes the sum of differences not a number.
    return ((place[0] - place[0]) + (place[1] - place[1]) + (place[2] - place[2])
            + (place[3] - place[3]) + (place[4] - place[4]) + (place[5] - place[5])) == 0


cdef inline int lowest_bit(uint64_t mask) noexcept nogil:
    cdef int bit = 0
    while not mask & 1:
        mask >>= 1
        bit += 1
    return bit


cdef class Places:
    """The arrays of one space."""

    def __cinit__(self):
        self._removed, self._resting, self._free = [], [], []
        self.table_bits = 6
        self.table = <int*>calloc(1 << self.table_bits, sizeof(int))
        if self.table == NULL:
            raise MemoryError
        self.grow()

    def __dealloc__(self):
        free(self.xs)
        free(self.ys)
        free(self.zs)
        free(self.yaws)
        free(self.pitches)
        free(self.rolls)
        free(self.appeals)
        free(self.old_xs)
        free(self.old_zs)
        free(self.entities)
        free(self.owners)
        free(self.numbers)
        free(self.epochs)
        free(self.newest)
        free(self.stamps)
        free(self.closed)
        free(self.receivers)
        free(self.flags)
        free(self.first_watch)
        free(self.table)

    def __len__(self):
        return self.count

    # Slots.

    def add(self, int entity, position, direction, double appeal, int64_t number, int64_t epoch):
        """A body begins; its slot."""
        cdef float[6] place
        cdef int slot
        if self.slot_of(entity) >= 0:
            raise UsageError(f"entity {entity} is in this area already")
        read_place(position, direction, place)
        if not 0 <= appeal <= RADIUS_LIMIT:
            raise UsageError(f"an appeal of {appeal}: it is a distance in metres, from 0 to {RADIUS_LIMIT:.0f}")
        if self._free:
            slot = self._free.pop()
        else:
            if self.high == self.room:
                self.grow()
            slot = self.high
            self.high += 1
            self.stamps[slot] = 0
        self.xs[slot], self.ys[slot], self.zs[slot] = place[0], place[1], place[2]
        self.yaws[slot], self.pitches[slot], self.rolls[slot] = place[3], place[4], place[5]
        self.old_xs[slot], self.old_zs[slot] = place[0], place[2]
        self.entities[slot], self.appeals[slot], self.numbers[slot], self.epochs[slot] = entity, appeal, number, epoch
        self.newest[slot], self.owners[slot], self.receivers[slot] = 0, 0, 0
        self.stamps[slot] += 1
        self.closed[slot] = self.stamps[slot]
        self.flags[slot] = IS_USED | IS_NEW
        self.first_watch[slot] = -1
        self.table_put(slot)
        self.is_changed = True
        return slot

    def remove(self, int slot):
        """A body ends; what is known of it can be read until the step after the next."""
        self.check(slot)
        self.flags[slot] = IS_REMOVED
        self.table_drop(self.entities[slot])
        self._removed.append(slot)
        self.is_changed = True

    def put(self, int slot, position, direction):
        """It is here now, wherever it was."""
        cdef float[6] place
        self.check(slot)
        read_place(position, direction, place)
        self.move(slot, place)

    cpdef int put_at(self, int slot, float x, float y, float z, float yaw, float pitch, float roll) except -1:
        """It is here now: numbers that a float32 can have, as a kernel has read and checked them."""
        cdef float[6] place
        self.check(slot)
        place[0], place[1], place[2], place[3], place[4], place[5] = x, y, z, yaw, pitch, roll
        self.move(slot, place)
        return 0

    def put_many(self, array.array slots, array.array places):
        """Many at once: slots as array('i'), and array('f') with x, y, z, yaw, pitch, roll for each of them."""
        cdef Py_ssize_t i, count = len(slots)
        if slots.typecode != "i" or places.typecode != "f" or len(places) != 6 * count:
            raise UsageError("put_many takes an array('i') of slots and an array('f') with six numbers for each")
        cdef const int* at = slots.data.as_ints
        cdef const float* place = places.data.as_floats
        for i in range(count):
            self.check(at[i])
        for i in range(count):
            if not is_finite(place + 6 * i):
                raise UsageError("a place must be of finite numbers")
        for i in range(count):
            self.move(at[i], place + 6 * i)

    def position(self, int slot):
        """Where it is."""
        self.check_known(slot)
        return self.xs[slot], self.ys[slot], self.zs[slot]

    cpdef double distance(self, int slot, double x, double y, double z) except? -1:
        """How far it is from a point."""
        self.check_known(slot)
        cdef double east = x - self.xs[slot], up = y - self.ys[slot], north = z - self.zs[slot]
        return sqrt(east * east + up * up + north * north)

    def direction(self, int slot):
        """Yaw, pitch and roll."""
        self.check_known(slot)
        return self.yaws[slot], self.pitches[slot], self.rolls[slot]

    def entity(self, int slot):
        """The entity that has this slot, or had it until the last step."""
        self.check_known(slot)
        return self.entities[slot]

    cpdef int find(self, int entity) except? -2:
        """The slot of an entity, or -1."""
        return self.slot_of(entity)

    def stamp(self, int slot):
        """Another number after each change of the place."""
        self.check_known(slot)
        return self.stamps[slot]

    cpdef int64_t number(self, int slot) except? -2:
        """The running number of the entity's last step."""
        self.check_known(slot)
        return self.numbers[slot]

    def set_number(self, int slot, int64_t number):
        """See `number`."""
        self.check(slot)
        self.numbers[slot] = number

    def epoch(self, int slot):
        """The epoch of this copy: the home of the real that it takes steps from."""
        self.check_known(slot)
        return self.epochs[slot]

    def set_epoch(self, int slot, int64_t epoch):
        """See `epoch`."""
        self.check(slot)
        self.epochs[slot] = epoch

    cpdef int64_t news(self, int slot) except? -2:
        """The running number of the last step with something for clients."""
        self.check_known(slot)
        return self.newest[slot]

    def set_news(self, int slot, int64_t number):
        """See `news`."""
        self.check(slot)
        self.newest[slot] = number

    def set_owner(self, int slot, int app_number):
        """Which app has the real, as a number of the caller's."""
        self.check(slot)
        self.owners[slot] = app_number

    def set_real(self, int slot, bint is_real):
        """Whether it is a real from now on; its place as it is counts as sent."""
        self.check(slot)
        self.flags[slot] = self.flags[slot] & ~IS_REAL | (IS_REAL if is_real else 0)
        self.closed[slot] = self.stamps[slot]

    def set_eventful(self, int slot):
        """Its steps are closed one by one, even those in which only its place changed."""
        self.check(slot)
        self.flags[slot] |= IS_EVENTFUL

    def set_receivers(self, int slot, mask):
        """Which receivers get its rows: a mask of 64 bits."""
        self.check(slot)
        if not 0 <= mask < 1 << 64:
            raise UsageError("a mask of receivers has 64 bits")
        self.receivers[slot] = mask

    def within(self, double x, double z, double radius, bint appeal=False):
        """The slots at most so far from a point (and their appeal farther), nearest first, ties by entity."""
        cdef int slot, count = 0, room = 0
        cdef double distance, reach
        cdef Near* near = NULL
        try:
            for slot in range(self.high):
                if not self.flags[slot] & IS_USED:
                    continue
                distance = apart(self.xs[slot] - x, self.zs[slot] - z)
                reach = radius + self.appeals[slot] if appeal else radius
                if reach >= 0 and distance <= reach * reach:
                    if count == room:
                        room = 2 * room + 32
                        near = <Near*>room_for(near, room, sizeof(Near))
                    near[count].distance, near[count].entity, near[count].slot = distance, self.entities[slot], slot
                    count += 1
            if count > 1:
                qsort(near, count, sizeof(Near), by_distance)
            return [near[slot].slot for slot in range(count)]
        finally:
            free(near)

    # Steps of places.

    def close(self, int slot):
        """A real's step is closed: the next number, which is returned; its place as it is counts as sent."""
        self.check(slot)
        self.numbers[slot] += 1
        self.closed[slot] = self.stamps[slot]
        return self.numbers[slot]

    def is_closed(self, int slot):
        """Whether the place is that of the last closed step."""
        self.check_known(slot)
        return self.closed[slot] == self.stamps[slot]

    def eventful_moved(self):
        """The eventful reals with a place that changed since their last closed step, by slot."""
        cdef list found = []
        cdef int slot
        for slot in range(self.high):
            if self.flags[slot] & IS_EVENTFUL and self.flags[slot] & IS_REAL and self.closed[slot] != self.stamps[slot]:
                found.append(slot)
        return found

    def close_places(self):
        """Close the step of each real with a changed place, but for eventful ones; for each bit of a mask of receivers,
        the rows by slot."""
        cdef Py_ssize_t counts[64]
        cdef char* out[64]
        cdef uint64_t mask
        cdef int slot, bit, closed = 0
        cdef float[6] place
        memset(counts, 0, sizeof(counts))
        cdef int* moved = <int*>room_for(NULL, self.high, sizeof(int))
        for slot in range(self.high):
            if self.flags[slot] & (IS_REAL | IS_EVENTFUL) != IS_REAL or self.closed[slot] == self.stamps[slot]:
                continue
            self.numbers[slot] += 1
            self.closed[slot] = self.stamps[slot]
            mask = self.receivers[slot]
            if mask:
                moved[closed] = slot
                closed += 1
            while mask:
                bit = lowest_bit(mask)
                counts[bit] += 1
                mask &= mask - 1
        result = []
        for bit in range(64):
            if counts[bit]:
                rows = PyBytes_FromStringAndSize(NULL, counts[bit] * ROW_BYTES)
                out[bit] = PyBytes_AS_STRING(rows)
                result.append((bit, rows))
        for i in range(closed):
            slot = moved[i]
            mask = self.receivers[slot]
            place[0], place[1], place[2] = self.xs[slot], self.ys[slot], self.zs[slot]
            place[3], place[4], place[5] = self.yaws[slot], self.pitches[slot], self.rolls[slot]
            while mask:
                bit = lowest_bit(mask)
                memcpy(out[bit], &self.entities[slot], 4)
                memcpy(out[bit] + 4, &self.epochs[slot], 8)
                memcpy(out[bit] + 12, &self.numbers[slot], 8)
                memcpy(out[bit] + 20, place, 24)
                out[bit] += ROW_BYTES
                mask &= mask - 1
        free(moved)
        return result

    def apply_places(self, bytes rows not None, int app_number):
        """Put the rows that fit ghosts of that app here; the others come back, in their order."""
        cdef Py_ssize_t size = PyBytes_GET_SIZE(rows), at
        cdef const char* data = PyBytes_AS_STRING(rows)
        cdef int32_t entity
        cdef int64_t epoch, number
        cdef float[6] place
        cdef int slot
        if size % ROW_BYTES:
            raise DecodeError("rows of places that are cut short", size)
        for at in range(0, size, ROW_BYTES):
            memcpy(place, data + at + 20, 24)
            if not is_finite(place):
                raise DecodeError("a place that is not of finite numbers")
        others = []
        for at in range(0, size, ROW_BYTES):
            memcpy(&entity, data + at, 4)
            memcpy(&epoch, data + at + 4, 8)
            memcpy(&number, data + at + 12, 8)
            memcpy(place, data + at + 20, 24)
            slot = self.slot_of(entity)
            if (slot >= 0 and not self.flags[slot] & IS_REAL and self.owners[slot] == app_number
                    and self.epochs[slot] == epoch and self.numbers[slot] < number == self.numbers[slot] + 1):
                self.numbers[slot] = number
                self.move(slot, place)
                self.closed[slot] = self.stamps[slot]
            else:
                position, direction = (place[0], place[1], place[2]), (place[3], place[4], place[5])
                others.append(Row(entity, epoch, number, position, direction))
        return others

    # Borders.

    def outside(self, double x0, double z0, double x1, double z1, double margin):
        """The reals that are outside a rectangle by more than a margin, by slot; see `Rect.outside_by`."""
        cdef int slot
        cdef double x, z, by
        found = []
        for slot in range(self.high):
            if self.flags[slot] & IS_REAL:
                x, z = self.xs[slot], self.zs[slot]
                if x0 <= x < x1 and z0 <= z < z1:
                    by = 0.0
                else:
                    by = max(x0 - x, x - x1, z0 - z, z - z1, EDGE_M)
                if by > margin:
                    found.append(slot)
        return found

    def reaching(self, double x0, double z0, double x1, double z1, double distance):
        """The reals with a square (the distance and their appeal) not wholly inside a rectangle, by slot."""
        cdef int slot
        cdef double x, z, by
        found = []
        for slot in range(self.high):
            if self.flags[slot] & IS_REAL:
                x, z, by = self.xs[slot], self.zs[slot], distance + self.appeals[slot]
                if x - by < x0 or x + by > x1 or z - by < z0 or z + by > z1:
                    found.append(slot)
        return found

    # Within.

    cdef int check(self, int slot) except -1:
        if not 0 <= slot < self.high or not self.flags[slot] & IS_USED:
            raise UsageError(f"slot {slot} is not in use")
        return 0

    cdef int check_known(self, int slot) except -1:
        if not 0 <= slot < self.high or not self.flags[slot] & (IS_USED | IS_REMOVED):
            raise UsageError(f"slot {slot} is not in use")
        return 0

    cdef void move(self, int slot, const float* place) noexcept nogil:
        """Put a place of finite numbers."""
        if (place[0] != self.xs[slot] or place[1] != self.ys[slot] or place[2] != self.zs[slot]
                or place[3] != self.yaws[slot] or place[4] != self.pitches[slot] or place[5] != self.rolls[slot]):
            self.xs[slot] = place[0]
            self.ys[slot] = place[1]
            self.zs[slot] = place[2]
            self.yaws[slot] = place[3]
            self.pitches[slot] = place[4]
            self.rolls[slot] = place[5]
            self.stamps[slot] += 1
            self.is_changed = True

    cdef int grow(self) except -1:
        cdef int room = 2 * self.room + 64
        self.xs = <float*>room_for(self.xs, room, 4)
        self.ys = <float*>room_for(self.ys, room, 4)
        self.zs = <float*>room_for(self.zs, room, 4)
        self.yaws = <float*>room_for(self.yaws, room, 4)
        self.pitches = <float*>room_for(self.pitches, room, 4)
        self.rolls = <float*>room_for(self.rolls, room, 4)
        self.appeals = <float*>room_for(self.appeals, room, 4)
        self.old_xs = <float*>room_for(self.old_xs, room, 4)
        self.old_zs = <float*>room_for(self.old_zs, room, 4)
        self.entities = <int*>room_for(self.entities, room, 4)
        self.owners = <int*>room_for(self.owners, room, 4)
        self.numbers = <int64_t*>room_for(self.numbers, room, 8)
        self.epochs = <int64_t*>room_for(self.epochs, room, 8)
        self.newest = <int64_t*>room_for(self.newest, room, 8)
        self.stamps = <uint32_t*>room_for(self.stamps, room, 4)
        self.closed = <uint32_t*>room_for(self.closed, room, 4)
        self.receivers = <uint64_t*>room_for(self.receivers, room, 8)
        self.flags = <uint8_t*>room_for(self.flags, room, 1)
        self.first_watch = <int*>room_for(self.first_watch, room, 4)
        self.room = room
        return 0

    cdef int slot_of(self, int entity) noexcept nogil:
        """The slot of an entity, or -1."""
        cdef uint32_t mask = (<uint32_t>1 << self.table_bits) - 1
        cdef uint32_t at = <uint32_t>entity * <uint32_t>2654435769 >> (32 - self.table_bits)
        while self.table[at]:
            if self.entities[self.table[at] - 1] == entity:
                return self.table[at] - 1
            at = at + 1 & mask
        return -1

    cdef int table_put(self, int slot) except -1:
        cdef int* old = self.table
        cdef int* new
        cdef int i, size = 1 << self.table_bits
        cdef uint32_t at
        if 2 * (self.count + 1) > size:
            new = <int*>calloc(2 * size, sizeof(int))
            if new == NULL:
                raise MemoryError
            self.table = new
            self.table_bits += 1
            self.count = 0
            for i in range(size):
                if old[i]:
                    self.table_put(old[i] - 1)
            free(old)
        at = <uint32_t>self.entities[slot] * <uint32_t>2654435769 >> (32 - self.table_bits)
        while self.table[at]:
            at = at + 1 & (<uint32_t>1 << self.table_bits) - 1
        self.table[at] = slot + 1
        self.count += 1
        return 0

    cdef void table_drop(self, int entity) noexcept nogil:
        """Take an entity out, and move those behind it forward that it kept from their places."""
        cdef uint32_t mask = (<uint32_t>1 << self.table_bits) - 1
        cdef uint32_t at = <uint32_t>entity * <uint32_t>2654435769 >> (32 - self.table_bits)
        cdef uint32_t behind, home
        while self.entities[self.table[at] - 1] != entity:
            at = at + 1 & mask
        behind = at + 1 & mask
        while self.table[behind]:
            home = <uint32_t>self.entities[self.table[behind] - 1] * <uint32_t>2654435769 >> (32 - self.table_bits)
            if (behind - home & mask) >= (behind - at & mask):
                self.table[at] = self.table[behind]
                at = behind
            behind = behind + 1 & mask
        self.table[at] = 0
        self.count -= 1

    cdef list turn_over(self):
        """A step begins: those that were reported by the last are free now. Those that are reported by this one."""
        cdef int slot
        for slot in self._resting:
            self.flags[slot] = 0
        self._free += self._resting
        self._resting, self._removed = self._removed, []
        return self._resting
