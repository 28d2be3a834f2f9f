# The counters of tally.pyx, for the kernels that count.
from libc.stdint cimport int64_t


cdef struct Count:
    int64_t messages
    int64_t size


cdef class Tally:
    cdef Count* _rows
    cdef Py_ssize_t _count
    cdef Py_ssize_t _room

    cpdef add(self, Py_ssize_t row, int64_t messages, int64_t size)
