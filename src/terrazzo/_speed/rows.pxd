# The classes of rows.pyx, for the modules of the entity channel.
from libc.stdint cimport int64_t, uint8_t


cdef class RowWriter:
    cdef uint8_t* _out
    cdef Py_ssize_t _room
    cdef readonly Py_ssize_t size

    cdef int _grow(self, Py_ssize_t more) except -1
    cpdef bint add(
        self, int64_t to, int64_t to_part, int64_t source, int64_t source_part, int64_t version, int64_t heard,
        int64_t ack_generation, int64_t acked, int64_t generation, int64_t first, int64_t born, int64_t number,
        list payloads, Py_ssize_t start, Py_ssize_t end,
    ) except -1
    cpdef bytes take(self)


cdef class RowReader:
    cdef bytes _rows
    cdef Py_ssize_t _at
    cdef readonly bint is_malformed
    cdef readonly int64_t to
    cdef readonly int64_t to_part
    cdef readonly int64_t source
    cdef readonly int64_t source_part
    cdef readonly int64_t version
    cdef readonly int64_t heard
    cdef readonly int64_t ack_generation
    cdef readonly int64_t acked
    cdef readonly int64_t generation
    cdef readonly int64_t first
    cdef readonly int64_t born
    cdef readonly int64_t number
    cdef readonly list payloads

    cpdef bint next(self) except -1
    cdef int _read(self) except -1
