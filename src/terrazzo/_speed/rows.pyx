"""The compiled form of rows.py, which documents it.

Every read is checked against the length before it is made: the bytes come from outside.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef enum:
    TO_CELL = 1
    FROM_CELL = 2
    OTHER_ENTITY = 4
    STREAM = 8
    ACK = 16
    BORN = 32
    ALL_FLAGS = 63
    VARINT_MAX = 9
    C_MOVES_BITS = 32
    # The most bytes of a row without its payloads.
    HEAD_MAX = 96

cdef int64_t C_NUMBER_MAX = 1LL << 62
cdef int64_t C_LIFE_MAX = 1LL << 30
cdef int64_t C_MOVES_MAX = 1LL << C_MOVES_BITS
cdef int64_t C_ENTITY_MAX = 1LL << 31

NUMBER_MAX, LIFE_MAX, ENTITY_MAX, MOVES_BITS = C_NUMBER_MAX, C_LIFE_MAX, C_ENTITY_MAX, C_MOVES_BITS


cdef inline uint8_t* _put(uint8_t* p, uint64_t number) noexcept:
    while number > 127:
        p[0] = <uint8_t>(number & 127 | 128)
        p += 1
        number >>= 7
    p[0] = <uint8_t>number
    return p + 1


cdef inline uint8_t* _put_entity(uint8_t* p, int64_t entity) noexcept:
    cdef uint32_t value = <uint32_t>entity
    p[0] = value & 255
    p[1] = value >> 8 & 255
    p[2] = value >> 16 & 255
    p[3] = value >> 24
    return p + 4


cdef inline int64_t _get(const uint8_t* p, Py_ssize_t* at, Py_ssize_t end, int64_t limit) noexcept:
    """A varint below the limit, or -1."""
    cdef uint64_t number = 0
    cdef int shift = 0
    cdef uint8_t byte
    while at[0] < end and shift < 7 * VARINT_MAX:
        byte = p[at[0]]
        at[0] += 1
        number |= <uint64_t>(byte & 127) << shift
        if byte < 128:
            return <int64_t>number if number < <uint64_t>limit else -1
        shift += 7
    return -1


cdef inline int64_t _get_version(const uint8_t* p, Py_ssize_t* at, Py_ssize_t end) noexcept:
    cdef int64_t life = _get(p, at, end, C_LIFE_MAX), moves
    if life < 0:
        return -1
    moves = _get(p, at, end, C_MOVES_MAX)
    return -1 if moves < 0 else life << 32 | moves


cdef inline bint _is_number(int64_t number) noexcept:
    return 0 <= number < C_NUMBER_MAX


cdef inline bint _is_version(int64_t version) noexcept:
    return 0 <= version < C_LIFE_MAX << 32


cdef inline bint _is_entity(int64_t entity) noexcept:
    return -C_ENTITY_MAX <= entity < C_ENTITY_MAX


cdef class RowWriter:
    """Collects rows."""

    def __dealloc__(self):
        free(self._out)

    def __len__(self):
        return self.size

    cdef int _grow(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t room
        cdef void* grown
        if self.size + more > self._room:
            room = 2 * self._room + more + 4096
            grown = realloc(self._out, room)
            if grown == NULL:
                raise MemoryError
            self._out = <uint8_t*>grown
            self._room = room
        return 0

    cpdef bint add(
        self, int64_t to, int64_t to_part, int64_t source, int64_t source_part, int64_t version, int64_t heard,
        int64_t ack_generation, int64_t acked, int64_t generation, int64_t first, int64_t born, int64_t number,
        list payloads, Py_ssize_t start, Py_ssize_t end,
    ) except -1:
        """Adds a row, if all fits."""
        cdef bint has_ack = ack_generation != -1, has_stream = generation != -1
        cdef Py_ssize_t i, size, more = HEAD_MAX
        cdef uint8_t* p
        cdef bytes payload
        if not (_is_entity(to) and _is_entity(source) and 0 <= to_part <= 1 and 0 <= source_part <= 1):
            return False
        if not (_is_version(version) and _is_version(heard)):
            return False
        if has_ack and not (_is_number(ack_generation) and _is_number(acked)):
            return False
        if has_stream:
            if not (_is_number(generation) and _is_number(first) and _is_number(born) and _is_number(number)):
                return False
            if number < first or not 0 <= start <= end <= len(payloads):
                return False
            for i in range(start, end):
                payload = <bytes?>payloads[i]
                more += VARINT_MAX + PyBytes_GET_SIZE(payload)
        self._grow(more)
        p = self._out + self.size
        p[0] = (
            to_part * TO_CELL | source_part * FROM_CELL | (OTHER_ENTITY if source != to else 0)
            | (STREAM if has_stream else 0) | (ACK if has_ack else 0) | (BORN if has_stream and born > 0 else 0)
        )
        p = _put_entity(p + 1, to)
        if source != to:
            p = _put_entity(p, source)
        p = _put(_put(p, version >> 32), version & (C_MOVES_MAX - 1))
        p = _put(_put(p, heard >> 32), heard & (C_MOVES_MAX - 1))
        if has_stream:
            p = _put(_put(p, generation), first)
            if born > 0:
                p = _put(p, born)
            p = _put(_put(p, number - first), end - start)
            for i in range(start, end):
                payload = <bytes>payloads[i]
                size = PyBytes_GET_SIZE(payload)
                p = _put(p, size)
                memcpy(p, PyBytes_AS_STRING(payload), size)
                p += size
        if has_ack:
            p = _put(_put(p, ack_generation), acked)
        self.size = p - self._out
        return True

    cpdef bytes take(self):
        """All rows; the writer is empty afterwards."""
        cdef bytes rows = PyBytes_FromStringAndSize(<char*>self._out, self.size) if self.size else b""
        self.size = 0
        return rows


cdef class RowReader:
    """Reads rows, one after another."""

    def __init__(self, bytes rows not None):
        self._rows = rows
        self._at = 0
        self.is_malformed = False
        self.ack_generation = self.acked = self.generation = -1
        self.payloads = []

    cpdef bint next(self) except -1:
        """Reads the next row, if there is one."""
        if self.is_malformed or self._at >= PyBytes_GET_SIZE(self._rows):
            return False
        if not self._read():
            self.is_malformed = True
            return False
        return True

    cdef int _read(self) except -1:
        """One row; 0: it is malformed."""
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(self._rows)
        cdef Py_ssize_t at = self._at, end = PyBytes_GET_SIZE(self._rows)
        cdef uint8_t flags = p[at]
        cdef int64_t count, size
        if flags > ALL_FLAGS or flags & (STREAM | BORN) == BORN:
            return 0
        if end - at < (9 if flags & OTHER_ENTITY else 5):
            return 0
        self.to_part = flags & 1
        self.source_part = flags >> 1 & 1
        self.to = self.source = _entity_at(p + at + 1)
        at += 5
        if flags & OTHER_ENTITY:
            self.source = _entity_at(p + at)
            at += 4
        self.version = _get_version(p, &at, end)
        if self.version < 0:
            return 0
        self.heard = _get_version(p, &at, end)
        if self.heard < 0:
            return 0
        self.ack_generation = self.acked = self.generation = -1
        self.first = self.born = self.number = 0
        self.payloads = []
        if flags & STREAM:
            self.generation = _get(p, &at, end, C_NUMBER_MAX)
            if self.generation < 0:
                return 0
            self.first = _get(p, &at, end, C_NUMBER_MAX)
            if self.first < 0:
                return 0
            if flags & BORN:
                self.born = _get(p, &at, end, C_NUMBER_MAX)
                if self.born < 0:
                    return 0
            count = _get(p, &at, end, C_NUMBER_MAX)
            if count < 0 or self.first + count >= C_NUMBER_MAX:
                return 0
            self.number = self.first + count
            count = _get(p, &at, end, C_NUMBER_MAX)
            if count < 0:
                return 0
            while count > 0:
                size = _get(p, &at, end, C_NUMBER_MAX)
                if size < 0 or size > end - at:
                    return 0
                self.payloads.append(PyBytes_FromStringAndSize(<const char*>p + at, size))
                at += size
                count -= 1
        if flags & ACK:
            self.ack_generation = _get(p, &at, end, C_NUMBER_MAX)
            if self.ack_generation < 0:
                return 0
            self.acked = _get(p, &at, end, C_NUMBER_MAX)
            if self.acked < 0:
                return 0
        self._at = at
        return 1


cdef inline int64_t _entity_at(const uint8_t* p) noexcept:
    return <int32_t>(p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24)


cdef inline int64_t _big(const uint8_t* p, Py_ssize_t* at, Py_ssize_t end, int size) noexcept:
    """A number of `size` bytes, the highest first; -1: it is cut off, or NUMBER_MAX or more."""
    cdef uint64_t number = 0
    cdef int i
    if end - at[0] < size:
        return -1
    for i in range(size):
        number = number << 8 | p[at[0] + i]
    at[0] += size
    return <int64_t>number if number < <uint64_t>C_NUMBER_MAX else -1


def read_to_client(bytes payload not None):
    """The witness and the messages of a ToClient, or None."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(payload)
    cdef Py_ssize_t at = 4, end = PyBytes_GET_SIZE(payload)
    cdef int64_t witness, count, size
    cdef list messages
    if end < 5 or p[0] != 0x92 or p[1] != 0x5B or p[2] != 0x92:
        return None
    witness = p[3]
    if witness >= 0x80:
        witness = _big(p, &at, end, 1 << (p[3] - 0xCC)) if 0xCC <= p[3] <= 0xCF else -1
    if witness < 0 or at >= end:
        return None
    count = p[at]
    at += 1
    if count & 0xF0 == 0x90:
        count &= 15
    elif count == 0xDC or count == 0xDD:
        count = _big(p, &at, end, 2 if count == 0xDC else 4)
    else:
        return None
    if count < 0:
        return None
    messages = []
    while count > 0:
        if at >= end or not 0xC4 <= p[at] <= 0xC6:
            return None
        at += 1
        size = _big(p, &at, end, 1 << (p[at - 1] - 0xC4))
        if size < 0 or size > end - at:
            return None
        messages.append(PyBytes_FromStringAndSize(<const char*>p + at, size))
        at += size
        count -= 1
    return (witness, messages) if at == end else None
