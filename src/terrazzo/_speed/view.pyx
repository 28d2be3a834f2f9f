"""The compiled form of view.py, which documents it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from math import pi

from terrazzo._speed.sight import AIR, FULL, GROUND
from terrazzo.errors import DecodeError

cdef double STEP = pi / 128

cdef enum:
    C_PRESENT = 128
    C_ASKED = 1
    C_SPECIAL = 2
    C_GROUND = 0
    C_AIR = 1
    C_FULL = 2
    HEAD_BYTES = 11
    C_ALIAS_MAX = 0xFFFF

ASKED, SPECIAL, ALIAS_MAX = C_ASKED, C_SPECIAL, C_ALIAS_MAX

assert (C_GROUND, C_AIR, C_FULL) == (GROUND, AIR, FULL)


cdef struct Row:
    double position[3]
    double direction[3]
    int64_t turn
    uint8_t flags


cdef struct Entry:
    int alias
    int angles
    double position[3]
    double direction[3]


cdef struct Reader:
    const uint8_t* data
    Py_ssize_t size
    Py_ssize_t at
    int form
    int left            # entries of the section that are to come
    double reference[3]
    const char* problem
    Py_ssize_t place    # of the problem


cdef inline double _unpack(int sign, int exponent, double fraction) noexcept nogil:
    cdef double size = (2 << exponent) * (1 + fraction) - 2.0
    return -size if sign else size


cdef inline double _unpack12(int code) noexcept nogil:
    return _unpack(code & 0x800, code >> 8 & 7, (code & 0xFF) / 256.0)


cdef inline double _unpack16(int code) noexcept nogil:
    return _unpack(code & 0x8000, code >> 11 & 15, (code & 0x7FF) / 2048.0)


cdef inline double _float(const uint8_t* data) noexcept nogil:
    cdef uint32_t bits = data[0] | <uint32_t>data[1] << 8 | <uint32_t>data[2] << 16 | <uint32_t>data[3] << 24
    cdef float value
    memcpy(&value, &bits, 4)
    return value


cdef inline int _int24(const uint8_t* data) noexcept nogil:
    cdef int value = data[0] | data[1] << 8 | data[2] << 16
    return value - 0x1000000 if value & 0x800000 else value


cdef inline int _fail(Reader* reader, const char* problem, Py_ssize_t place) noexcept nogil:
    reader.problem = problem
    reader.place = place
    return -1


cdef int _begin(Reader* reader, const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """0, or -1 with a problem."""
    reader.data, reader.size, reader.at, reader.left = data, size, HEAD_BYTES, 0
    reader.problem = NULL
    if size < HEAD_BYTES:
        return _fail(reader, b"places without a reference", size)
    reader.reference[0] = _int24(data + 1)
    reader.reference[1] = _float(data + 7)
    reader.reference[2] = _int24(data + 4)
    if not isfinite(reader.reference[1]):
        return _fail(reader, b"a reference that is not finite", 7)
    return 0


cdef int _next(Reader* reader, Entry* entry) noexcept nogil:
    """1 with an entry, 0 at the end, -1 with a problem."""
    cdef const uint8_t* data = reader.data
    cdef Py_ssize_t at = reader.at
    cdef int kind, angles, size, flat, i
    while not reader.left:
        if at >= reader.size:
            return 0
        if reader.size - at < 2:
            return _fail(reader, b"a section of places has a form and a count", at)
        reader.form, reader.left = data[at], data[at + 1]
        if reader.form >> 2 > C_FULL:
            return _fail(reader, b"", at)
        at += 2
    reader.left -= 1
    kind, angles = reader.form >> 2, reader.form & 3
    if at < reader.size and data[at] != 255:
        entry.alias = data[at]
        at += 1
    else:
        if reader.size - at < 3:
            return _fail(reader, b"an alias is cut off", reader.size)
        entry.alias = data[at + 1] | data[at + 2] << 8
        if entry.alias < 255:
            return _fail(reader, b"an alias in a longer form than it needs", at)
        at += 3
    size = 12 + 4 * angles if kind == C_FULL else (3 if kind == C_GROUND else 5) + angles
    if reader.size - at < size:
        return _fail(reader, b"places are cut off", reader.size)
    entry.angles = angles
    if kind == C_FULL:
        for i in range(3):
            entry.position[i] = _float(data + at + 4 * i)
            if not isfinite(entry.position[i]):
                return _fail(reader, b"a place that is not finite", at)
        for i in range(angles):
            entry.direction[i] = _float(data + at + 12 + 4 * i)
            if not isfinite(entry.direction[i]):
                return _fail(reader, b"a place that is not finite", at)
    else:
        flat = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        entry.position[0] = reader.reference[0] + _unpack12(flat & 0xFFF)
        entry.position[1] = reader.reference[1]
        if kind == C_AIR:
            entry.position[1] += _unpack16(data[at + 3] | data[at + 4] << 8)
        entry.position[2] = reader.reference[2] + _unpack12(flat >> 12)
        for i in range(angles):
            flat = data[at + size - angles + i]
            entry.direction[i] = (flat - 256 if flat > 127 else flat) * STEP
    reader.at = at + size
    return 1


cdef _raise(Reader* reader):
    if reader.problem[0]:
        raise DecodeError(reader.problem.decode(), reader.place)
    raise DecodeError(f"there is no form {reader.form} of places", reader.place)


cdef inline tuple _three(const double* values):
    return (values[0], values[1], values[2])


cdef class PlaceTable:
    """The places of one client's view."""

    cdef public object late
    cdef Row* _rows
    cdef int _room

    def __cinit__(self):
        self.late = 0

    def __dealloc__(self):
        free(self._rows)

    cdef int _grow(self, int alias) except -1:
        cdef int room = max(self._room, 32)
        while room <= alias:
            room *= 2
        cdef Row* grown = <Row*>realloc(self._rows, room * sizeof(Row))
        if grown == NULL:
            raise MemoryError
        memset(grown + self._room, 0, (room - self._room) * sizeof(Row))
        self._rows, self._room = grown, room
        return 0

    cdef Row* _row(self, int alias) except NULL:
        if not 0 <= alias < self._room or not self._rows[alias].flags & C_PRESENT:
            raise KeyError(alias)
        return &self._rows[alias]

    def add(self, int alias, tuple position, tuple direction, int64_t turn, int flags):
        """An alias is an entity's from now on."""
        cdef Row* row
        if not 0 <= alias <= C_ALIAS_MAX:
            raise ValueError(f"no alias is {alias}")
        if alias >= self._room:
            self._grow(alias)
        row = &self._rows[alias]
        row.position[0], row.position[1], row.position[2] = position
        row.direction[0], row.direction[1], row.direction[2] = direction
        row.turn = turn
        row.flags = C_PRESENT | flags & (C_ASKED | C_SPECIAL)

    def remove(self, int alias):
        """The alias is no entity's any more."""
        if 0 <= alias < self._room:
            self._rows[alias].flags = 0

    def position(self, int alias):
        """Where the entity with this alias is; KeyError without a row."""
        return _three(self._row(alias).position)

    def direction(self, int alias):
        """Yaw, pitch and roll of the entity with this alias."""
        return _three(self._row(alias).direction)

    def put(self, int alias, tuple position, tuple direction):
        """The entity with this alias is here."""
        cdef Row* row = self._row(alias)
        row.position[0], row.position[1], row.position[2] = position
        row.direction[0], row.direction[1], row.direction[2] = direction

    def turn(self, int alias):
        """The turn of a row."""
        return self._row(alias).turn

    def set_turn(self, int alias, int64_t turn):
        """What bears an earlier turn is passed over from now on."""
        self._row(alias).turn = turn

    def set_flag(self, int alias, int flag, bint is_on):
        """ASKED or SPECIAL, on or off."""
        cdef Row* row = self._row(alias)
        flag &= C_ASKED | C_SPECIAL
        row.flags = row.flags | flag if is_on else row.flags & ~flag

    def take(self, bytes data, int64_t now):
        """The body of a PLACES message, which is what follows its number; `now` is the present turn."""
        cdef Reader reader
        cdef Entry entry
        cdef Row* row
        cdef int state, i
        cdef int64_t ago
        cdef Py_ssize_t late = 0
        cdef list found = []
        state = _begin(&reader, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        while state == 0:  # all of it, before anything is changed
            state = _next(&reader, &entry)
            if state == 0:
                break
            state = 0 if state == 1 else -1
        if state < 0:
            _raise(&reader)
        ago = (now - reader.data[0]) & 255
        _begin(&reader, reader.data, reader.size)
        while _next(&reader, &entry) == 1:
            row = NULL
            if entry.alias < self._room and self._rows[entry.alias].flags & C_PRESENT:
                row = &self._rows[entry.alias]
            if row == NULL or ago >= 128 or now - ago < row.turn:
                late += 1
                continue
            for i in range(entry.angles, 3):
                entry.direction[i] = row.direction[i]
            if row.flags & C_SPECIAL:
                found.append((entry.alias, (_three(entry.position), _three(entry.direction))))
                continue
            row.position[0], row.position[1], row.position[2] = entry.position[0], entry.position[1], entry.position[2]
            row.direction[0], row.direction[1], row.direction[2] = (
                entry.direction[0], entry.direction[1], entry.direction[2]
            )
            if row.flags & C_ASKED:
                found.append((entry.alias, None))
        if late:
            self.late += late
        return found


def decode_places(data):
    """The turn and the entries of a PLACES message's body."""
    cdef bytes body = bytes(data)
    cdef Reader reader
    cdef Entry entry
    cdef int state
    cdef list entries = []
    state = _begin(&reader, <const uint8_t*>PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body))
    if state < 0:
        _raise(&reader)
    while True:
        state = _next(&reader, &entry)
        if state != 1:
            break
        entries.append((entry.alias, _three(entry.position), _three(entry.direction)[: entry.angles]))
    if state < 0:
        _raise(&reader)
    return reader.data[0], entries


def unpack12(int code):
    """Metres relative to the reference, from 12 bits."""
    return _unpack12(code)


def unpack16(int code):
    """Metres relative to the reference, from 16 bits."""
    return _unpack16(code)


def unpack_angle(int code):
    """Radians, from 8 bits."""
    return (code - 256 if code > 127 else code) * STEP
