# C types for tally.py, for the kernels that count. A row is two numbers: messages and bytes.
from libc.stdint cimport int64_t


cdef class Tally:
    cdef int64_t[::1] _rows
    cdef Py_ssize_t _count
    cdef Py_ssize_t _room

    cpdef add(self, Py_ssize_t row, int64_t messages, int64_t size)
    cpdef get(self, Py_ssize_t row)
