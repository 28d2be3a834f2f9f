# C types for aliases.py.
import cython


cdef class Aliases:
    cdef public list _free
    cdef public long _next
    cdef public set resting

    cpdef int take(self) except -1
    cpdef rest(self, int alias)
    cpdef bint release(self, int alias) except -1
