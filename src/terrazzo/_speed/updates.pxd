# The buffers of updates.pyx, and its rows for code that reads them without Python. updates.py has the layout.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    ROW_HEAD = 32
    SIZE_BYTES = 2


cdef struct UpdateRow:
    int32_t entity
    uint32_t size               # of the messages
    int64_t witness
    int64_t generation
    int64_t number
    const uint8_t* messages


cdef inline int next_update(const uint8_t* data, Py_ssize_t end, Py_ssize_t* at, UpdateRow* row) noexcept nogil:
    """The row at `at`, which moves on behind it. 1: there is one; 0: the end; -1: malformed (`at` stays)."""
    cdef Py_ssize_t left = end - at[0]
    cdef const uint8_t* head = data + at[0]
    if left == 0:
        return 0
    if left < ROW_HEAD:
        return -1
    memcpy(&row.entity, head, 4)
    memcpy(&row.size, head + 4, 4)
    memcpy(&row.witness, head + 8, 8)
    memcpy(&row.generation, head + 16, 8)
    memcpy(&row.number, head + 24, 8)
    if <int64_t>row.size > <int64_t>(left - ROW_HEAD):
        return -1
    if not (-1 <= row.witness < 1LL << 62 and -1 <= row.generation < 1LL << 62 and -1 <= row.number < 1LL << 62):
        return -1
    row.messages = head + ROW_HEAD
    at[0] += ROW_HEAD + <Py_ssize_t>row.size
    return 1


cdef inline int next_message(
    const UpdateRow* row, Py_ssize_t* at, const uint8_t** message, Py_ssize_t* size
) noexcept nogil:
    """The message at `at` of a row, which moves on behind it; 1, 0 and -1 as above."""
    cdef Py_ssize_t left = <Py_ssize_t>row.size - at[0]
    cdef uint16_t wide
    if left == 0:
        return 0
    if left < SIZE_BYTES:
        return -1
    memcpy(&wide, row.messages + at[0], SIZE_BYTES)
    if <Py_ssize_t>wide > left - SIZE_BYTES:
        return -1
    message[0] = row.messages + at[0] + SIZE_BYTES
    size[0] = wide
    at[0] += SIZE_BYTES + <Py_ssize_t>wide
    return 1


cdef class UpdateRows:
    cdef uint8_t* _data
    cdef Py_ssize_t _size       # with the row that is begun
    cdef Py_ssize_t _room
    cdef Py_ssize_t _begun      # where its head is
    cdef Py_ssize_t _rows
    cdef Py_ssize_t _messages   # of the row that is begun

    cdef uint8_t* reserve(self, Py_ssize_t size) except NULL
    cdef int put_bytes(self, const uint8_t* message, Py_ssize_t size) except -1
    cdef int end_row(self, int32_t entity, int64_t witness, int64_t generation, int64_t number, Py_ssize_t most) except -1
    cpdef bint is_begun(self) noexcept
    cpdef put(self, bytes message)
    cpdef drop(self)


cdef class UpdateReader:
    cdef bytes _rows
    cdef Py_ssize_t _at
    cdef Py_ssize_t _inner      # in the messages of the row
    cdef UpdateRow _row
    cdef readonly int32_t entity
    cdef readonly int64_t witness
    cdef readonly int64_t generation
    cdef readonly int64_t number

    cpdef bint next(self) noexcept
    cpdef bytes next_message(self, int kind, int turn)
    cpdef tuple row(self)


cdef struct WordsPart:
    Py_ssize_t end
    Py_ssize_t count


cdef class Words:
    cdef uint8_t* _data
    cdef Py_ssize_t _end
    cdef Py_ssize_t _room
    cdef Py_ssize_t _most
    cdef Py_ssize_t _size       # of the messages of the last part
    cdef WordsPart* _parts
    cdef Py_ssize_t _count      # of parts
    cdef Py_ssize_t _parts_room

    cdef uint8_t* reserve(self, Py_ssize_t size) except NULL
    cpdef put(self, bytes message)
    cpdef drop(self)
    cpdef list take(self, int64_t witness)
