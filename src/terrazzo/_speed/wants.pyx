"""The compiled form of wants.py, which documents it.

Every read is checked against the length before it is made: the bytes come from outside.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from terrazzo.errors import DecodeError

cdef enum:
    C_ALIAS_MAX = 1 << 16
    C_WANTS_MAX = 80
    C_RELEASED_MAX = 400
    WANT_BYTES = 12

cdef int64_t C_COUNT_MAX = 1LL << 62
cdef int64_t C_ENTITY_MAX = 1LL << 31

WANTS_MAX, RELEASED_MAX, ALIAS_MAX = C_WANTS_MAX, C_RELEASED_MAX, C_ALIAS_MAX
COUNT_MAX, ENTITY_MAX = C_COUNT_MAX, C_ENTITY_MAX
STEP_MAX = (1 << 63) - 1


def decode_want(bytes message not None, Py_ssize_t at=0):
    """As the plain form."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(message) + at
    cdef Py_ssize_t size = PyBytes_GET_SIZE(message) - at
    cdef const uint8_t* end = p + size
    cdef int32_t entity
    cdef uint64_t number
    cdef list wants = []
    if size <= 0 or size % WANT_BYTES or size > C_WANTS_MAX * WANT_BYTES:
        raise DecodeError(f"a want has 1 to {WANTS_MAX} entries of twelve bytes", max(size, 0))
    while p < end:
        memcpy(&entity, p, 4)
        memcpy(&number, p + 4, 8)
        if number >> 63:
            raise DecodeError("a number that no step has", 0)
        wants.append((entity, number))
        p += WANT_BYTES
    return wants


def decode_released(bytes message not None, Py_ssize_t at=0):
    """As the plain form."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(message) + at
    cdef Py_ssize_t size = PyBytes_GET_SIZE(message) - at
    cdef const uint8_t* end = p + size
    cdef list released = []
    if size <= 0 or size % 2 or size > 2 * C_RELEASED_MAX:
        raise DecodeError(f"a released has 1 to {RELEASED_MAX} aliases of two bytes", max(size, 0))
    while p < end:
        released.append(p[0] | p[1] << 8)
        p += 2
    return released


cdef uint8_t* _write_big(uint8_t* p, uint64_t value, int size) noexcept:
    while size > 0:
        size -= 1
        p[0] = <uint8_t>(value >> (8 * size) & 0xFF)
        p += 1
    return p


cdef uint8_t* _write_number(uint8_t* p, int64_t value) noexcept:
    """As short as it can be; nine bytes at most."""
    if value >= 0:
        if value < 0x80:
            p[0] = <uint8_t>value
            return p + 1
        if value < 0x100:
            p[0] = 0xCC
            return _write_big(p + 1, value, 1)
        if value < 0x10000:
            p[0] = 0xCD
            return _write_big(p + 1, value, 2)
        if value < 0x100000000:
            p[0] = 0xCE
            return _write_big(p + 1, value, 4)
        p[0] = 0xCF
        return _write_big(p + 1, value, 8)
    if value >= -32:
        p[0] = <uint8_t>(value & 0xFF)
        return p + 1
    if value >= -128:
        p[0] = 0xD0
        return _write_big(p + 1, <uint64_t>value, 1)
    if value >= -32768:
        p[0] = 0xD1
        return _write_big(p + 1, <uint64_t>value, 2)
    if value >= -2147483648:
        p[0] = 0xD2
        return _write_big(p + 1, <uint64_t>value, 4)
    p[0] = 0xD3
    return _write_big(p + 1, <uint64_t>value, 8)


cdef uint8_t* _write_count(uint8_t* p, Py_ssize_t count) noexcept:
    """The head of an array; five bytes at most."""
    if count < 16:
        p[0] = <uint8_t>(0x90 | count)
        return p + 1
    if count < 0x10000:
        p[0] = 0xDC
        return _write_big(p + 1, count, 2)
    p[0] = 0xDD
    return _write_big(p + 1, count, 4)


def encode_wants(int64_t witness, wants, released):
    """As the plain form."""
    cdef tuple pairs = tuple(wants), aliases = tuple(released)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, 32 + 19 * len(pairs) + 9 * len(aliases))
    cdef uint8_t* start = <uint8_t*>PyBytes_AS_STRING(made)
    cdef uint8_t* p = start
    cdef int64_t entity, number, alias
    p[0], p[1], p[2] = 0x92, 0x58, 0x93
    p = _write_number(p + 3, witness)
    p = _write_count(p, len(pairs))
    for entity, number in pairs:
        p[0] = 0x92
        p = _write_number(p + 1, entity)
        p = _write_number(p, number)
    p = _write_count(p, len(aliases))
    for alias in aliases:
        p = _write_number(p, alias)
    return PyBytes_FromStringAndSize(<char*>start, p - start)


cdef int64_t* _grown(int64_t* block, Py_ssize_t room) except NULL:
    cdef int64_t* grown = <int64_t*>realloc(block, room * sizeof(int64_t))
    if grown == NULL:
        raise MemoryError
    return grown


cdef class WantsReader:
    """The content of the payload that was read last."""

    def __cinit__(self):
        self._make_room(64)

    def __dealloc__(self):
        free(self.entities)
        free(self.numbers)
        free(self.aliases)

    cdef int _make_room(self, Py_ssize_t room) except -1:
        if room > self._room:
            self.entities = _grown(self.entities, room)
            self.numbers = _grown(self.numbers, room)
            self.aliases = _grown(self.aliases, room)
            self._room = room
        return 0

    cpdef bint read(self, bytes payload) except -1:
        """Reads one. False: it is something else, and nothing here counts."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(payload)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(payload), i
        if size < 6 or p[0] != 0x92 or p[1] != 0x58 or p[2] != 0x93:
            return False
        self._at, self._end = p + 3, p + size
        self.witness = self._number(C_COUNT_MAX)
        if self.witness < 0:
            return False
        self.wanted = self._count(3)
        if self.wanted < 0:
            return False
        self._make_room(self.wanted)
        for i in range(self.wanted):
            if self._at == self._end or self._at[0] != 0x92:
                return False
            self._at += 1
            self.entities[i] = self._number(C_ENTITY_MAX)
            if self.entities[i] < 0:
                return False
            self.numbers[i] = self._number(C_COUNT_MAX)
            if self.numbers[i] < 0:
                return False
        self.released = self._count(1)
        if self.released < 0:
            return False
        self._make_room(self.released)
        for i in range(self.released):
            self.aliases[i] = self._number(C_ALIAS_MAX)
            if self.aliases[i] < 0:
                return False
        return self._at == self._end

    cdef int64_t _number(self, int64_t limit) noexcept:
        """A number below the limit, or -1."""
        cdef uint64_t number = 0
        cdef int mark, size
        if self._at == self._end:
            return -1
        mark = self._at[0]
        self._at += 1
        if mark < 0x80:
            return mark
        if not 0xCC <= mark <= 0xCF:
            return -1
        size = 1 << (mark - 0xCC)
        if self._end - self._at < size:
            return -1
        while size > 0:
            number = number << 8 | self._at[0]
            self._at += 1
            size -= 1
        return <int64_t>number if number < <uint64_t>limit else -1

    cdef Py_ssize_t _count(self, Py_ssize_t least) noexcept:
        """How many follow, each of so many bytes at least; -1: more than there are bytes, or this is no array."""
        cdef Py_ssize_t count = 0
        cdef int mark, size
        if self._at == self._end:
            return -1
        mark = self._at[0]
        self._at += 1
        if mark & 0xF0 == 0x90:
            count = mark & 15
        elif mark == 0xDC or mark == 0xDD:
            size = 2 if mark == 0xDC else 4
            if self._end - self._at < size:
                return -1
            while size > 0:
                count = count << 8 | self._at[0]
                self._at += 1
                size -= 1
        else:
            return -1
        return count if count * least <= self._end - self._at else -1

    def said(self):
        """The witness, the wants and the released aliases that were read."""
        return (
            self.witness,
            [(self.entities[i], self.numbers[i]) for i in range(self.wanted)],
            [self.aliases[i] for i in range(self.released)],
        )
