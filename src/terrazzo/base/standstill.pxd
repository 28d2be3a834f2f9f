# C types for standstill.py.
import cython


cdef double _STANDSTILL_S, _SPARE_S, _SPARE_MAX_S


cdef class Standstill:
    cdef double _length_s, _present_at, _until

    @cython.locals(still_s=cython.double, earlier_s=cython.double)
    cpdef note_turn(self, double now)
    cpdef double spare_s(self, double now) except -1
