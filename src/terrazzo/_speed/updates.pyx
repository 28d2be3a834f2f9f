"""The compiled form of updates.py, which documents it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from terrazzo.errors import DecodeError, UsageError

cdef enum:
    C_MESSAGE_MAX = 0xFFFF
    C_WORDS_NUMBER = 91
    WORDS_HEAD_MAX = 3 + 9 + 5

MESSAGE_MAX, WORDS_NUMBER = C_MESSAGE_MAX, C_WORDS_NUMBER
COUNT_MAX = (1 << 62) - 1


cdef void* _grown(void* old, size_t size) except NULL:
    cdef void* grown = realloc(old, size)
    if grown == NULL:
        raise MemoryError
    return grown


cdef class UpdateRows:
    """The rows for one BaseApp."""

    def __dealloc__(self):
        free(self._data)

    def __len__(self):
        return self._rows

    cdef uint8_t* reserve(self, Py_ssize_t size) except NULL:
        """Room for a message of this size in the row that is begun, with its head before it."""
        cdef Py_ssize_t needed
        cdef uint16_t wide = <uint16_t>size
        cdef uint8_t* at
        if size > C_MESSAGE_MAX:
            raise UsageError(f"a message of {size} bytes that may be lost; {MESSAGE_MAX} is the limit")
        if not self._messages:
            self._begun = self._size
            self._size += ROW_HEAD
        needed = self._size + SIZE_BYTES + size
        if needed > self._room:
            self._data = <uint8_t*>_grown(self._data, 2 * needed)
            self._room = 2 * needed
        memcpy(self._data + self._size, &wide, SIZE_BYTES)
        at = self._data + self._size + SIZE_BYTES
        self._size = needed
        self._messages += 1
        return at

    cdef int put_bytes(self, const uint8_t* message, Py_ssize_t size) except -1:
        memcpy(self.reserve(size), message, size)
        return 0

    cpdef put(self, bytes message):
        """One more message of the row that is begun."""
        if PyBytes_GET_SIZE(message) > C_MESSAGE_MAX:
            raise UsageError(f"a message of {len(message)} bytes that may be lost; {MESSAGE_MAX} is the limit")
        self.put_bytes(<const uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))

    cpdef bint is_begun(self) noexcept:
        """Whether a message was put into a row that has not ended."""
        return self._messages > 0

    cpdef drop(self):
        """The row that is begun is not sent."""
        if self._messages:
            self._size = self._begun
            self._messages = 0

    cdef int end_row(
        self, int32_t entity, int64_t witness, int64_t generation, int64_t number, Py_ssize_t most
    ) except -1:
        """See `end` of the plain form."""
        cdef Py_ssize_t dropped = 0, begun = self._begun + ROW_HEAD, at = begun
        cdef uint32_t size
        cdef uint16_t wide
        cdef uint8_t* head
        if not self._messages:
            return 0
        while self._messages > most:
            memcpy(&wide, self._data + at, SIZE_BYTES)
            at += SIZE_BYTES + <Py_ssize_t>wide
            self._messages -= 1
            dropped += 1
        if dropped:
            memmove(self._data + begun, self._data + at, self._size - at)
            self._size -= at - begun
        size = <uint32_t>(self._size - begun)
        head = self._data + self._begun
        memcpy(head, &entity, 4)
        memcpy(head + 4, &size, 4)
        memcpy(head + 8, &witness, 8)
        memcpy(head + 16, &generation, 8)
        memcpy(head + 24, &number, 8)
        self._messages = 0
        self._rows += 1
        return <int>dropped

    def end(self, int32_t entity, int64_t witness, int64_t generation, int64_t number, Py_ssize_t most):
        """The row that is begun is done; see the plain form."""
        return self.end_row(entity, witness, generation, number, most)

    def extend(self, bytes rows not None):
        """More rows, as `take` gives them."""
        for entity, witness, messages, after in decode_updates(rows):
            for message in messages:
                self.put(message)
            self.end_row(entity, witness, after[0], after[1], len(messages))

    def take(self, Py_ssize_t most, Py_ssize_t bytes_most):
        """All rows, in parts; see the plain form."""
        cdef Py_ssize_t at = 0, begun = 0, count = 0
        cdef uint32_t size
        cdef list parts = []
        while at < self._size:
            if count and (at - begun >= bytes_most or count >= most):
                parts.append(PyBytes_FromStringAndSize(<char*>self._data + begun, at - begun))
                begun = at
                count = 0
            memcpy(&size, self._data + at + 4, 4)
            at += ROW_HEAD + <Py_ssize_t>size
            count += 1
        if count:
            parts.append(PyBytes_FromStringAndSize(<char*>self._data + begun, at - begun))
        self._size = self._rows = 0
        return parts


def encode_updates(updates):
    """Rows for these clients, in this order."""
    cdef UpdateRows rows = UpdateRows()
    for entity, witness, messages, after in updates:
        for message in messages:
            rows.put(message)
        rows.end_row(entity, witness, after[0], after[1], len(messages))
    return b"".join(rows.take(1 << 30, 1 << 30))


def decode_updates(bytes rows not None):
    """The rows of one message; raises DecodeError if anything is wrong with one of them."""
    cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(rows)
    cdef const uint8_t* message
    cdef Py_ssize_t end = PyBytes_GET_SIZE(rows), at = 0, before = 0, inner, size
    cdef UpdateRow row
    cdef list found = [], messages
    cdef int state
    while True:
        before = at
        state = next_update(data, end, &at, &row)
        if state == 0:
            return found
        if state < 0:
            _refuse(data, end, before)
        messages = []
        inner = 0
        while True:
            state = next_message(&row, &inner, &message, &size)
            if state == 0:
                break
            if state < 0:
                raise DecodeError("the messages of a row of updates do not fill it", before + ROW_HEAD + inner)
            messages.append(PyBytes_FromStringAndSize(<const char*>message, size))
        found.append((row.entity, row.witness, tuple(messages), (row.generation, row.number)))


cdef class UpdateReader:
    """See the plain form."""

    def __init__(self, bytes rows not None):
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(rows)
        cdef const uint8_t* message
        cdef Py_ssize_t end = PyBytes_GET_SIZE(rows), at = 0, inner, size
        cdef int state
        while True:
            state = next_update(data, end, &at, &self._row)
            if state <= 0:
                break
            inner = 0
            while True:
                state = next_message(&self._row, &inner, &message, &size)
                if state <= 0:
                    break
            if state < 0:
                break
        if state < 0:
            decode_updates(rows)  # raises what is wrong
        self._rows = rows

    cpdef bint next(self) noexcept:
        """Goes on to the next row; False: there is none."""
        cdef UpdateRow* row = &self._row
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(self._rows)
        if next_update(data, PyBytes_GET_SIZE(self._rows), &self._at, row) <= 0:
            return False
        self._inner = 0
        self.entity, self.witness, self.generation, self.number = row.entity, row.witness, row.generation, row.number
        return True

    cpdef bytes next_message(self, int kind, int turn):
        """The next message of the row, or None; in one of this kind the second byte is replaced."""
        cdef const uint8_t* message
        cdef Py_ssize_t size
        cdef bytes made
        if next_message(&self._row, &self._inner, &message, &size) <= 0:
            return None
        made = PyBytes_FromStringAndSize(<const char*>message, size)
        if size > 1 and message[0] == kind:
            PyBytes_AS_STRING(made)[1] = <char>turn
        return made

    cpdef tuple row(self):
        """The row as `decode_updates` gives it."""
        cdef Py_ssize_t begun = self._inner
        cdef list messages = []
        self._inner = 0
        while True:
            message = self.next_message(-1, 0)
            if message is None:
                break
            messages.append(message)
        self._inner = begun
        return self.entity, self.witness, tuple(messages), (self.generation, self.number)


cdef int _refuse(const uint8_t* data, Py_ssize_t end, Py_ssize_t at) except -1:
    """Why the row at `at` is no row."""
    cdef int64_t count
    cdef int which
    if end - at < ROW_HEAD:
        raise DecodeError("a row of updates is cut off", at)
    for which in range(3):
        memcpy(&count, data + at + 8 + 8 * which, 8)
        if not -1 <= count < 1LL << 62:
            raise DecodeError("a counter of a row of updates is out of range", at)
    raise DecodeError("the messages of a row of updates are cut off", at + ROW_HEAD)


cdef inline Py_ssize_t _big(uint8_t* at, uint8_t mark, uint64_t value, int size) noexcept nogil:
    """A mark and a number of `size` bytes, the highest first."""
    cdef int place
    at[0] = mark
    for place in range(size):
        at[1 + place] = <uint8_t>(value >> 8 * (size - 1 - place))
    return 1 + size


cdef Py_ssize_t _put_int(uint8_t* at, int64_t value) noexcept nogil:
    """A number in msgpack, as short as it can be."""
    if value >= 0:
        if value < 128:
            at[0] = <uint8_t>value
            return 1
        if value < 1 << 8:
            return _big(at, 0xCC, <uint64_t>value, 1)
        if value < 1 << 16:
            return _big(at, 0xCD, <uint64_t>value, 2)
        if value < 1LL << 32:
            return _big(at, 0xCE, <uint64_t>value, 4)
        return _big(at, 0xCF, <uint64_t>value, 8)
    if value >= -32:
        at[0] = <uint8_t>value
        return 1
    if value >= -(1 << 7):
        return _big(at, 0xD0, <uint64_t>value, 1)
    if value >= -(1 << 15):
        return _big(at, 0xD1, <uint64_t>value, 2)
    if value >= -(1LL << 31):
        return _big(at, 0xD2, <uint64_t>value, 4)
    return _big(at, 0xD3, <uint64_t>value, 8)


cdef class Words:
    """The reliable messages of one client; one object serves all clients, one after the other."""

    def __cinit__(self, Py_ssize_t most):
        self._most = most

    def __dealloc__(self):
        free(self._data)
        free(self._parts)

    def __bool__(self):
        return self._count > 0

    cdef uint8_t* reserve(self, Py_ssize_t size) except NULL:
        """Room for a message of this size, with its head before it."""
        cdef Py_ssize_t needed = self._end + 5 + size
        cdef uint8_t* at
        cdef WordsPart* part
        if needed > self._room:
            self._data = <uint8_t*>_grown(self._data, 2 * needed)
            self._room = 2 * needed
        if not self._count or self._size + size > self._most:
            if self._count == self._parts_room:
                self._parts_room = 2 * self._parts_room + 8
                self._parts = <WordsPart*>_grown(self._parts, self._parts_room * sizeof(WordsPart))
            self._parts[self._count] = WordsPart(self._end, 0)
            self._count += 1
            self._size = 0
        at = self._data + self._end
        if size < 1 << 8:
            at += _big(at, 0xC4, <uint64_t>size, 1)
        elif size < 1 << 16:
            at += _big(at, 0xC5, <uint64_t>size, 2)
        else:
            at += _big(at, 0xC6, <uint64_t>size, 4)
        self._end = at - self._data + size
        self._size += size
        part = &self._parts[self._count - 1]
        part.end = self._end
        part.count += 1
        return at

    cpdef put(self, bytes message):
        """One more, after those before."""
        cdef Py_ssize_t size = PyBytes_GET_SIZE(message)
        memcpy(self.reserve(size), PyBytes_AS_STRING(message), size)

    cpdef drop(self):
        """None of them is sent."""
        self._count = self._end = self._size = 0

    cpdef list take(self, int64_t witness):
        """The payloads for the client of this witness, in order."""
        cdef list payloads = []
        cdef Py_ssize_t which, begun = 0, count, size
        cdef uint8_t[WORDS_HEAD_MAX] head
        cdef bytes payload
        cdef uint8_t* at
        for which in range(self._count):
            count = self._parts[which].count
            head[0] = 0x92
            head[1] = C_WORDS_NUMBER
            head[2] = 0x92
            at = head + 3
            at += _put_int(at, witness)
            if count < 16:
                at[0] = <uint8_t>(0x90 | count)
                at += 1
            elif count < 1 << 16:
                at += _big(at, 0xDC, <uint64_t>count, 2)
            else:
                at += _big(at, 0xDD, <uint64_t>count, 4)
            size = self._parts[which].end - begun
            payload = PyBytes_FromStringAndSize(NULL, at - head + size)
            memcpy(PyBytes_AS_STRING(payload), head, at - head)
            memcpy(PyBytes_AS_STRING(payload) + (at - head), self._data + begun, size)
            payloads.append(payload)
            begun = self._parts[which].end
        self.drop()
        return payloads
