# The class of wants.pyx, for the mail of a CellApp.
from libc.stdint cimport int64_t, uint8_t


cdef class WantsReader:
    cdef readonly int64_t witness
    cdef readonly Py_ssize_t wanted
    cdef readonly Py_ssize_t released
    cdef int64_t* entities
    cdef int64_t* numbers
    cdef int64_t* aliases
    cdef Py_ssize_t _room
    cdef const uint8_t* _at
    cdef const uint8_t* _end

    cpdef bint read(self, bytes payload) except -1
    cdef int64_t _number(self, int64_t limit) noexcept
    cdef Py_ssize_t _count(self, Py_ssize_t least) noexcept
    cdef int _make_room(self, Py_ssize_t room) except -1
