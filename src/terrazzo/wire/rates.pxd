# C types for rates.py.
import cython


cdef class Bucket:
    cdef double _per_s, _burst, _since, _tokens
    cdef bint _has_begun

    @cython.locals(most=cython.double)
    cpdef bint take(self, double now, double spare_s=*) except -1
