"""The compiled form of wants.py, which documents it.

Every read is checked against the length before it is made: the bytes come from outside.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc

COUNT_MAX = 1 << 62
ENTITY_MAX = 1 << 31
ALIAS_MAX = 1 << 16

cdef enum:
    C_ALIAS_MAX = 1 << 16

cdef int64_t C_COUNT_MAX = 1LL << 62
cdef int64_t C_ENTITY_MAX = 1LL << 31


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
